"""Diarization or labels against a reference: what ``sms-diar score`` does.

`score` is for turns, `score_systems` for the turns of several systems, which it
compares, and `score_labels` for tables of labels. All take paths or values.

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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from sms_diar._parallel import process_map
from sms_diar._validation import check_choice, check_count, check_not_negative
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.annotation import read_annotation, unnamed_recording
from sms_diar.io.labels import read_labels
from sms_diar.io.sniff import is_label_table
from sms_diar.io.uem import read_uem
from sms_diar.metrics.diarization.bootstrap import (
    INTERVAL_METHODS,
    Comparison,
    Interval,
    IntervalMethod,
    compare,
    confidence_interval,
)
from sms_diar.metrics.diarization.conventions import Convention, Extent
from sms_diar.metrics.diarization.evaluation import Evaluation, score_diarization
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.metrics.labels import matching
from sms_diar.report.label_report import LabelReport
from sms_diar.report.score_report import ScoreReport, SystemsReport
from sms_diar.timeline.annotation import Annotation, require_turns
from sms_diar.timeline.regions import Uem
from sms_diar.types import Problem, Turn

TurnSource: TypeAlias = str | Path | Annotation | Iterable[str | Path] | Iterable[Turn]
"""Turns, or where they are: files of any format that holds turns, folders, patterns,
lists of files, ``-`` for standard input."""

LONG_COLLAR = 5.0
"""Seconds above which a collar was perhaps meant in milliseconds."""

LabelSource: TypeAlias = str | Path | Mapping[str, str]
"""Speaker of each id, or where that is: utt2spk, CSV or JSON."""


def score(
    reference: TurnSource,
    hypothesis: TurnSource,
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
    """Score who spoke when.

    Parameters
    ----------
    reference, hypothesis : path, list of paths, Annotation or iterable of Turn
        True turns, and those of a system, in any number of recordings. Paths are
        files of any format that holds turns, folders, patterns, or lists of files
        (``.lst``, ``.scp``).
    uem : path or Uem, optional
        Regions that are scored; without it, the `extent`.
    convention : {"sms-diar", "nist", "dscore", "pyannote"} or Convention
        Whose rules apply where tools disagree.
    collar : float, default=0.0
        Seconds left unscored on each side of a reference boundary (md-eval -c).
    collar_total : float, optional
        The same as the width of both sides together (pyannote's collar).
    ignore_overlap : bool, default=False
        Leave time with several reference speakers unscored (md-eval -1).
    extent : {"reference", "joint"}, optional
        What is scored without a UEM: from the first to the last boundary of the
        reference, or of reference and hypothesis. By default as the convention says.
    measure : str, default="der"
        Which of `sms_diar.metrics.RATES` gets a confidence interval.
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
        Prints as the command does; `to_dict` gives what it writes as JSON.
    """
    found = score_systems(
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
    return found.systems["hypothesis"]


def score_systems(
    reference: TurnSource,
    hypotheses: Mapping[str, TurnSource],
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
        Which of `sms_diar.metrics.RATES` is compared.
    bootstrap : int, default=2000
        Samples of recordings for intervals; with 0 nothing is compared.
    method, level, seed
        As for `score`.
    """
    if not isinstance(hypotheses, Mapping) or not hypotheses:
        raise InvalidParameterError(
            f"score_systems: hypotheses must map names of systems to their turns, at "
            f"least one, got {hypotheses!r}"
        )
    resampling = _Resampling(measure, bootstrap, method, level, seed)
    side = _one_side(collar, collar_total)
    true = _reference(reference)
    regions = _regions(uem)
    questions = list(_long_collar(side))
    rules = partial(
        score_diarization,
        true,
        uem=regions,
        convention=convention,
        collar=side,
        ignore_overlap=ignore_overlap,
        extent=cast(Extent | None, extent),
    )
    one = partial(_scored, true, _paths(reference), rules)
    scored = process_map(one, [_System.of(*given) for given in hypotheses.items()])
    results: dict[str, Evaluation] = {}
    asked: dict[str, tuple[Problem, ...]] = {}
    for name, (result, found) in zip(hypotheses, scored, strict=True):
        results[name] = result
        asked[name] = (*questions, *found)
    first, *others = results.values()
    md_eval = first.settings.md_eval(
        _shown(reference, "REF"),
        "HYP" if others else _shown(next(iter(hypotheses.values())), "HYP"),
        None if regions is None else regions.path,
    )
    reason = ""
    if bootstrap and len(first.names) < 2:
        reason = (
            f"{'no comparison' if others else 'no interval'}: it is made by drawing "
            f"recordings, and there is only one"
        )
    if not bootstrap or reason:
        reports = {
            name: ScoreReport(
                one, md_eval, measure, None, asked[name], "" if others else reason
            )
            for name, one in results.items()
        }
        return SystemsReport(reports, (), reason if others else "")
    return SystemsReport(
        {
            name: ScoreReport(
                one, md_eval, measure, resampling.interval(one), asked[name]
            )
            for name, one in results.items()
        },
        tuple(resampling.comparison(other, first) for other in others),
    )


def score_labels(reference: LabelSource, hypothesis: LabelSource) -> LabelReport:
    """Score a clustering of segments.

    Parameters
    ----------
    reference, hypothesis : path or mapping from str to str
        True speaker, and cluster, of each segment id. Paths are utt2spk, CSV or
        JSON files.

    Returns
    -------
    report : LabelReport
        Figures of the ids that both sides have. It prints as the command does;
        `to_dict` gives what that writes as JSON.
    """
    truth, labels = _labels("reference", reference), _labels("hypothesis", hypothesis)
    figures = matching.score_labels(truth, labels)
    problems = []
    for one, other, source in (
        (truth, labels, _shown(hypothesis, "hypothesis")),
        (labels, truth, _shown(reference, "reference")),
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


@dataclass(frozen=True)
class _Resampling:
    """How recordings are resampled, under the names of the options."""

    measure: str
    bootstrap: int
    method: str
    level: float
    seed: int

    def __post_init__(self) -> None:
        check_choice("score", "measure", self.measure, RATES)
        check_count("score", "bootstrap", self.bootstrap, least=0)
        check_choice("score", "method", self.method, INTERVAL_METHODS)

    def interval(self, result: Evaluation) -> Interval:
        return confidence_interval(
            result,
            self.measure,
            method=cast(IntervalMethod, self.method),
            level=self.level,
            n_samples=self.bootstrap,
            random_state=self.seed,
        )

    def comparison(self, result: Evaluation, first: Evaluation) -> Comparison:
        return compare(
            result,
            first,
            self.measure,
            method=cast(IntervalMethod, self.method),
            level=self.level,
            n_samples=self.bootstrap,
            random_state=self.seed,
        )


def _one_side(collar: float, collar_total: float | None) -> float:
    """Collar on each side of a boundary."""
    if collar_total is None:
        return collar
    if collar:
        raise InvalidParameterError(
            f"score: collar_total must be given without collar, got "
            f"collar_total={collar_total!r} and collar={collar!r}"
        )
    return check_not_negative("score", "collar_total", collar_total) / 2.0


def _long_collar(side: float) -> Iterable[Problem]:
    """Question a collar that leaves next to nothing to score."""
    if side > LONG_COLLAR:
        text = (
            f"a collar of {side:g} s on each side leaves little to score; was it meant "
            f"in milliseconds? {side:g} ms are --collar {side / 1000.0:g}"
        )
        yield Problem(text, severity="warning", kind="long collar")


@dataclass(frozen=True)
class _System:
    """Where the turns of a system are, or the turns if they are in no file."""

    name: str
    paths: list[str | Path]
    turns: Annotation | None

    @classmethod
    def of(cls, name: str, source: TurnSource) -> _System:
        """Read what others, on other machines perhaps, cannot."""
        paths = _paths(source)
        several = isinstance(source, list | tuple) and len(source) > len(paths)
        anyone = paths and not several and "-" not in map(str, paths)
        return cls(name, paths, None if anyone else turns_of(name, source))


def _scored(
    true: Annotation,
    reference: list[str | Path],
    rules: Callable[[Annotation], Evaluation],
    system: _System,
) -> tuple[Evaluation, tuple[Problem, ...]]:
    """Score one system, and say what is odd about it."""
    turns = system.turns
    if turns is None:
        turns = turns_of(system.name, system.paths)
    turns, found = _matched(true, reference, turns, system.paths)
    return rules(turns), found


def _matched(
    true: Annotation,
    reference: list[str | Path],
    found: Annotation,
    source: list[str | Path],
) -> tuple[Annotation, tuple[Problem, ...]]:
    """Turns of a hypothesis under the names of the reference, and what is odd.

    Files of some formats do not say which recording they are of. One such file is
    taken for the recording of the other side if that has one only, too.
    """
    if not len(found) or set(found.recordings) & set(true.recordings):
        return found, ()
    both_single = len(true.recordings) == len(found.recordings) == 1
    unnamed = any(paths and unnamed_recording(paths) for paths in (reference, source))
    if both_single and unnamed:
        return replace(found, recordings=true.recordings), ()
    shown = [
        ", ".join(repr(name) for name in sorted(one.recordings)[:3])
        + (", ..." if len(one.recordings) > 3 else "")
        for one in (true, found)
    ]
    text = (
        f"no recording is in both: the reference has {shown[0]}, the hypothesis "
        f"{shown[1]}; nothing is compared, so give them the same names"
    )
    where = found.files[0] if found.files else None
    return found, (Problem(text, where, severity="warning", kind="nothing in common"),)


def _paths(source: TurnSource) -> list[str | Path]:
    """Paths that a source is made of; none if it holds turns."""
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple):
        return [item for item in source if isinstance(item, str | Path)]
    return []


def _reference(source: TurnSource) -> Annotation:
    if isinstance(source, str | Path) and is_label_table(source):
        raise InvalidParameterError(
            f"score: reference must hold turns, got the table of labels {source}; use "
            f"score_labels"
        )
    true = turns_of("reference", source)
    if not len(true) and _paths(source):
        raise DataFormatError("holds no turns to score against", path=true.files[0])
    require_turns("score", "reference", true)
    return true


def turns_of(name: str, source: TurnSource) -> Annotation:
    """Turns of files or of values; `name` is what messages call them."""
    if isinstance(source, Annotation):
        return source
    if isinstance(source, str | Path):
        return read_annotation(source)
    rule = "a path, a list of paths, an Annotation or an iterable of Turn"
    if isinstance(source, Mapping):
        raise InvalidParameterError(
            f"score: {name} must be {rule}, got a mapping; use score_labels for labels "
            f"by id"
        )
    if not isinstance(source, Iterable):
        raise InvalidParameterError(f"score: {name} must be {rule}, got {source!r}")
    paths: list[str | Path] = []
    turns: list[Turn] = []
    for place, item in enumerate(source):
        if isinstance(item, Turn) and not paths:
            turns.append(item)
        elif isinstance(item, str | Path) and not turns:
            paths.append(item)
        else:
            raise InvalidParameterError(
                f"score: {name} must be {rule}, got {item!r} at place {place}"
            )
    return (
        read_annotation(paths) if paths else Annotation.from_turns(turns, source=name)
    )


def _regions(uem: str | Path | Uem | None) -> Uem | None:
    if uem is None or isinstance(uem, Uem):
        return uem
    if isinstance(uem, str | Path):
        return read_uem(uem)
    raise InvalidParameterError(f"score: uem must be a path or a Uem, got {uem!r}")


def _labels(name: str, source: LabelSource) -> Mapping[str, str]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str | Path):
        return read_labels(source)
    raise InvalidParameterError(
        f"score_labels: {name} must be a path or a mapping from id to speaker, got "
        f"{source!r}"
    )


def _shown(source: object, otherwise: str) -> str:
    """Path as it was given, or what stands for values."""
    if isinstance(source, list | tuple) and len(source) == 1:
        (source,) = source
    return str(source) if isinstance(source, str | Path) else otherwise
