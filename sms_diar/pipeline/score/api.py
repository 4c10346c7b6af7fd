"""Scores of turns or labels against a reference: ``sms-diar score``.

`score` takes turns, `score_systems` compares the turns of several systems, and
`score_labels` takes tables of labels. All accept paths or values.

>>> from sms_diar.types import Segment, Turn
>>> truth = [Turn(Segment("r", 0.0, 6.0), "A"), Turn(Segment("r", 6.0, 10.0), "B")]
>>> found = [Turn(Segment("r", 0.0, 10.0), "x")]
>>> report = score(truth, found)
>>> report.overall["der"], report.recordings["r"].mapping
(0.4, {'x': 'A'})
>>> score_labels({"u1": "a", "u2": "b"}, {"u1": "1", "u2": "1"}).figures["acp"]
0.5
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from sms_diar._parallel import process_map
from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_choice, check_count, check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import labels as label_metrics
from sms_diar.metrics.diarization.bootstrap import (
    INTERVAL_METHODS,
    compare,
    confidence_interval,
)
from sms_diar.metrics.diarization.conventions import Convention, Extent
from sms_diar.metrics.diarization.evaluation import Evaluation, score_diarization
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.pipeline.score import inputs
from sms_diar.report.score_report import LabelReport, ScoreReport, SystemsReport
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import MAX_SECONDS
from sms_diar.types import Problem

MOST_SAMPLES = 10**6
"""Number of samples beyond which an interval changes only in digits not shown."""

LONG_COLLAR = 5.0
"""Collar in seconds above which milliseconds were probably intended."""


def score(
    reference: inputs.TurnSource,
    hypothesis: inputs.TurnSource,
    *,
    uem: str | Path | Uem | None = None,
    convention: str | Convention = "sms-diar",
    collar: float = 0.0,
    collar_total: float | None = None,
    ignore_overlap: bool = False,
    extent: str | None = None,
    measure: str = "der",
    bootstrap: int = 0,
    method: str = "percentile",
    level: float = 0.95,
    seed: int = 0,
) -> ScoreReport:
    """Score turns against a reference.

    Parameters
    ----------
    reference, hypothesis : path, list of paths, Annotation or iterable of Turn
        True turns and turns of a system, in any number of recordings. Paths are files
        of any turn format, folders, patterns, or lists of files (``.lst``,
        ``.scp``).
    uem : path or Uem, optional
        Regions that are scored; without it, the `extent`.
    convention : {"sms-diar", "nist", "dscore", "pyannote"} or Convention
        Scoring rules to follow, because tools differ.
    collar : float, default=0.0
        Seconds left unscored on each side of a reference boundary (md-eval -c).
    collar_total : float, optional
        The same as the width of both sides together (pyannote's collar).
    ignore_overlap : bool, default=False
        Leave time with several reference speakers unscored (md-eval -1).
    extent : {"reference", "joint"}, optional
        Scored region without a UEM: from the first to the last boundary of the
        reference, or of both sides. By default as in the convention.
    measure : str, default="der"
        Rate of `sms_diar.metrics.RATES` that gets a confidence interval.
    bootstrap : int, default=0
        Samples of recordings for the interval; 0 for none. A single recording
        never gets one.
    method : {"percentile", "bca"}
        Kind of interval.
    level : float, default=0.95
        Nominal coverage of the interval.
    seed : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    report : ScoreReport
        Report that prints like the command; `to_dict` returns its JSON.
    """
    report = score_systems(
        reference,
        {"hypothesis": hypothesis},
        uem=uem,
        convention=convention,
        collar=collar,
        collar_total=collar_total,
        ignore_overlap=ignore_overlap,
        extent=extent,
        measure=measure,
        bootstrap=bootstrap,
        method=method,
        level=level,
        seed=seed,
    )
    return report.systems["hypothesis"]


def score_systems(
    reference: inputs.TurnSource,
    hypotheses: Mapping[str, inputs.TurnSource],
    *,
    uem: str | Path | Uem | None = None,
    convention: str | Convention = "sms-diar",
    collar: float = 0.0,
    collar_total: float | None = None,
    ignore_overlap: bool = False,
    extent: str | None = None,
    measure: str = "der",
    bootstrap: int = 2000,
    method: str = "percentile",
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> SystemsReport:
    """Score several systems on one reference and compare them with the first.

    Parameters
    ----------
    reference : path, list of paths, Annotation or iterable of Turn
        True turns.
    hypotheses : mapping
        Turns of each system, as `score` takes them, by its name.
    uem, convention, collar, collar_total, ignore_overlap, extent
        As for `score`.
    measure : str, default="der"
        Rate of `sms_diar.metrics.RATES` that is compared.
    bootstrap : int, default=2000
        Samples of recordings for intervals; with 0 nothing is compared.
    method, level, seed
        As for `score`.
    progress : Progress, optional
        Receives progress.
    """
    if not isinstance(hypotheses, Mapping) or not hypotheses:
        raise InvalidParameterError(
            f"must map names of systems to their turns, at least one, got "
            f"{hypotheses!r}",
            owner="score_systems",
            parameter="hypotheses",
        )
    check_choice("score", "measure", measure, RATES)
    check_count("score", "bootstrap", bootstrap, least=0, most=MOST_SAMPLES)
    check_count("score", "seed", seed, least=0)
    check_choice("score", "method", method, INTERVAL_METHODS)
    resampling: dict[str, Any] = {
        "method": method,
        "level": level,
        "n_samples": bootstrap,
        "random_state": seed,
    }
    side = _one_side(collar, collar_total)
    true = inputs.reference_turns(reference)
    regions = inputs.regions_of(uem)
    questions = _long_collar(side)
    rules = partial(
        score_diarization,
        true,
        uem=regions,
        convention=convention,
        collar=side,
        ignore_overlap=ignore_overlap,
        extent=cast(Extent | None, extent),
    )
    score_one = partial(_scored, true, inputs.paths_of(reference), rules)
    systems = [inputs.System.of(name, source) for name, source in hypotheses.items()]
    scored = process_map(score_one, systems)
    results: dict[str, Evaluation] = {}
    asked: dict[str, tuple[Problem, ...]] = {}
    listener = progress or Silence()
    with listener.track("systems", len(systems)) as advance:
        for name, (result, found) in zip(hypotheses, scored, strict=True):
            results[name] = result
            asked[name] = (*questions, *found)
            advance()
    first, *others = results.values()
    md_eval = first.settings.md_eval(
        inputs.shown_source(reference, "REF"),
        "HYP"
        if others
        else inputs.shown_source(next(iter(hypotheses.values())), "HYP"),
        None if regions is None else regions.path,
    )
    reason = ""
    if bootstrap and len(first.names) < 2:
        reason = (
            f"{'no comparison' if others else 'no interval'}: it is made by drawing "
            f"recordings, and there is only one"
        )
    drawn = bootstrap and not reason
    compared = others if drawn else []
    reports, comparisons = {}, []
    with listener.track("intervals", len(results) + len(compared)) as advance:
        for name, result in results.items():
            reports[name] = ScoreReport(
                result,
                md_eval,
                measure,
                confidence_interval(result, measure, **resampling) if drawn else None,
                asked[name],
                "" if others else reason,
            )
            advance()
        for other in compared:
            comparisons.append(compare(other, first, measure, **resampling))
            advance()
    return SystemsReport(reports, tuple(comparisons), reason if others else "")


def score_labels(
    reference: inputs.LabelSource, hypothesis: inputs.LabelSource
) -> LabelReport:
    """Score a clustering of segments.

    Parameters
    ----------
    reference, hypothesis : path or mapping from str to str
        True speaker, and cluster, of each segment id. Paths are utt2spk, CSV or
        JSON files.

    Returns
    -------
    report : LabelReport
        Report on the ids of both sides. It prints like the command; `to_dict`
        returns its JSON.
    """
    truth = inputs.labels_of("reference", reference)
    labels = inputs.labels_of("hypothesis", hypothesis)
    figures = label_metrics.score_labels(truth, labels)
    problems = []
    for one, other, source in (
        (truth, labels, inputs.shown_source(hypothesis, "hypothesis")),
        (labels, truth, inputs.shown_source(reference, "reference")),
    ):
        missing = [name for name in one if name not in other]
        if missing:
            text = (
                f"{len(missing)} of {len(one)} ids are missing, the first is "
                f"{missing[0]!r}; they are not scored"
            )
            problems.append(
                Problem(text, path=source, severity="warning", kind="missing id")
            )
    return LabelReport(figures, tuple(problems))


def _one_side(collar: float, collar_total: float | None) -> float:
    """Return the collar on each side of a boundary."""
    if collar_total is None:
        return collar
    if collar:
        raise InvalidParameterError(
            f"must be given without collar, got collar_total={collar_total!r} and "
            f"collar={collar!r}",
            owner="score",
            parameter="collar_total",
            mentions=(f"collar_total={collar_total!r}", f"collar={collar!r}"),
        )
    if check_not_negative("score", "collar_total", collar_total) > 2 * MAX_SECONDS:
        problem = f"must be at most {2 * MAX_SECONDS} seconds, got {collar_total!r}"
        raise InvalidParameterError(problem, owner="score", parameter="collar_total")
    return collar_total / 2.0


def _long_collar(side: float) -> tuple[Problem, ...]:
    """Warn about a collar that excludes nearly everything."""
    if side > LONG_COLLAR:
        text = (
            f"a collar of {side:g} s on each side leaves little to score; was it meant "
            f"in milliseconds? {side:g} ms are a collar of {side / 1000.0:g}"
        )
        return (Problem(text, severity="warning", kind="long collar"),)
    return ()


def _scored(
    true: Annotation,
    reference: list[str | Path],
    rules: Callable[[Annotation], Evaluation],
    system: inputs.System,
) -> tuple[Evaluation, tuple[Problem, ...]]:
    """Score one system and collect remarks."""
    turns = system.turns
    if turns is None:
        turns = inputs.turns_of(system.name, system.paths)
    turns, found = inputs.matched_turns(true, reference, turns, system.paths)
    return rules(turns), found
