"""Scores of turns or labels against a reference: ``sms-diar score``.

`score` takes turns, `score_systems` compares the turns of several systems,
`score_words` takes transcripts, and `score_labels` takes tables of labels. All accept
paths or values.

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
from sms_diar.errors import InvalidParameterError, MissingExtraError
from sms_diar.metrics import labels as label_metrics
from sms_diar.metrics import words as word_metrics
from sms_diar.metrics.diarization.bootstrap import (
    INTERVAL_METHODS,
    compare,
    compare_values,
    confidence_interval,
)
from sms_diar.metrics.diarization.bootstrap import bootstrap as draw_interval
from sms_diar.metrics.diarization.conventions import Convention, Extent
from sms_diar.metrics.diarization.evaluation import Evaluation, score_diarization
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.pipeline.score import inputs
from sms_diar.report.score_report import (
    LabelReport,
    ScoreReport,
    SystemsReport,
    WordReport,
)
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
    resampling = _resampling("score", bootstrap, method, level, seed)
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


def score_words(
    reference: inputs.WordSource,
    hypothesis: inputs.WordSource | Mapping[str, inputs.WordSource],
    *,
    collar: float = 5.0,
    normalise: str = "simple",
    measure: str = "cpwer",
    bootstrap: int = 0,
    method: str = "percentile",
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> WordReport:
    """Score words and their speakers against a reference.

    meeteval computes WER, cpWER, tcpWER, ORC-WER and DI-cpWER; if it is not installed,
    a warning says so. WDER is always computed.

    Parameters
    ----------
    reference : path, list of paths, Transcript or iterable of Phrase
        True words, in any number of recordings.
    hypothesis : the same, or a mapping from str to the same
        Words of a system, or of several systems that are compared with the first.
    collar : float, default=5.0
        Seconds by which the times of matching words may differ in tcpWER.
    normalise : {"simple", "none"}
        Compare words in lower case without punctuation, or as they are written.
    measure : {"wer", "cpwer", "tcpwer", "orcwer", "dicpwer", "wder"}
        Rate that gets intervals.
    bootstrap, method, level, seed
        As for `score`.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    report : WordReport
        Report that prints like the command; `to_dict` returns its JSON.
    """
    check_not_negative("score_words", "collar", collar)
    rules, known = word_metrics.NORMALISATIONS, word_metrics.WORD_RATES
    check_choice("score_words", "normalise", normalise, tuple(rules))
    check_choice("score_words", "measure", measure, known)
    resampling = _resampling("score_words", bootstrap, method, level, seed)
    true = inputs.words_of("score_words", "reference", reference)
    if not any(True for _ in true.words):
        problem = "has no words to score against"
        raise InvalidParameterError(problem, owner="score_words", parameter="reference")
    if not isinstance(hypothesis, Mapping):
        hypothesis = {"hypothesis": hypothesis}
    if not hypothesis:
        problem = "must contain at least one system, got an empty mapping"
        raise InvalidParameterError(
            problem, owner="score_words", parameter="hypothesis"
        )
    systems, remarks = {}, []
    for system, source in hypothesis.items():
        words = inputs.words_of("score_words", "hypothesis", source)
        pairs, problems = inputs.matched_words(true, words, reference, source)
        remarks += problems
        aligned = {
            name: word_metrics.AlignedWords(*p, normalise) for name, p in pairs.items()
        }
        rates = {name: {"wder": words.wder} for name, words in aligned.items()}
        systems[system] = word_metrics.WordScores(rates, aligned)
        try:
            with (progress or Silence()).track("recordings", len(pairs)) as advance:
                for name, pair in pairs.items():
                    rates[name] |= word_metrics.meeteval_rates(*pair, collar, normalise)
                    advance()
        except MissingExtraError as error:
            remarks.append(Problem(str(error), severity="warning", kind="extra"))
            continue
        missing = [rate for rate in known if rate not in systems[system].overall]
        if missing:
            text = (
                f"meeteval refuses {', '.join(missing)} of more than 10 or 20 speakers"
            )
            remarks.append(Problem(text, severity="warning", kind="many speakers"))
    names = sorted({name for scores in systems.values() for name in scores.recordings})
    reason, interval, comparisons = "", None, []
    if bootstrap and any(measure not in scores.overall for scores in systems.values()):
        reason = f"no intervals: {measure} was not computed for all recordings"
    elif bootstrap and len(names) < 2:
        reason = "no intervals: they are made by drawing recordings, and there is one"
    elif bootstrap:
        first, *others = (scores.counts(measure, names) for scores in systems.values())
        if not others:
            rate = partial(word_metrics.drawn_rate, [first])
            interval = draw_interval(lambda w: rate([w]), len(names), **resampling)
        for other in others:
            rate = partial(word_metrics.drawn_rate, [other, first])
            comparisons.append(compare_values(rate, len(names), measure, **resampling))
    settings = {
        "collar": collar,
        "normalise": normalise,
        "measure": measure,
        "in_words": f"{rules[normalise]}; collar of tcpWER {collar:g} s",
    }
    return WordReport(
        systems,
        settings,
        tuple(dict.fromkeys(remarks)),
        interval,
        tuple(comparisons),
        reason,
    )


def _resampling(
    owner: str, n_samples: int, method: str, level: float, seed: int
) -> dict[str, Any]:
    """Return the checked options of intervals and comparisons."""
    check_count(owner, "bootstrap", n_samples, least=0, most=MOST_SAMPLES)
    check_count(owner, "seed", seed, least=0)
    check_choice(owner, "method", method, INTERVAL_METHODS)
    options = {"method": method, "level": level}
    return {**options, "n_samples": n_samples, "random_state": seed}


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
