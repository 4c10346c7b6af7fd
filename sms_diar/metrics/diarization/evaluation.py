"""Score turns against a reference: the entry point for diarization.

>>> from sms_diar.types import Segment, Turn
>>> ref = [Turn(Segment("r", 0.0, 6.0), "A"), Turn(Segment("r", 6.0, 10.0), "B")]
>>> hyp = [Turn(Segment("r", 0.0, 10.0), "x")]
>>> result = score_diarization(ref, hyp)
>>> result.overall["der"], result.recordings["r"].mapping
(0.4, {'x': 'A'})
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.diarization.axis import Axis, lay_out
from sms_diar.metrics.diarization.conventions import (
    SMS_DIAR,
    Convention,
    Extent,
    Settings,
)
from sms_diar.metrics.diarization.rates import RATES, rates
from sms_diar.metrics.diarization.scored_regions import (
    Key,
    Units,
    UnitTurns,
    given_regions,
    scored_regions,
)
from sms_diar.metrics.diarization.sums import TICK_COLUMNS, Swept, sweep_units
from sms_diar.metrics.diarization.sweep import Entries, merge_turns
from sms_diar.timeline.annotation import Annotation, turn_problems
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import seconds_of
from sms_diar.types import AnyArray, FloatArray, Problem, Turn

Figures = dict[str, float | int | None]

SECONDS = ("scored", "missed", "false_alarm", "confusion")
"""Components of DER, in seconds."""


@dataclass(frozen=True)
class RecordingScore:
    """Metrics of one recording.

    Parameters
    ----------
    figures : dict
        Seconds of the components of DER, all of `RATES`, and numbers of speakers;
        None where a metric is undefined.
    mapping : dict from str to str
        Reference speaker of each mapped hypothesis speaker.
    speaker_jer : dict from str to float
        Jaccard error rate of each reference speaker.
    """

    figures: Figures
    mapping: dict[str, str]
    speaker_jer: dict[str, float]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of scoring a hypothesis against a reference.

    Parameters
    ----------
    settings : Settings
        Scoring rules and options of this evaluation.
    names : tuple of str
        Sorted names of the recordings.
    columns : dict of ndarray of shape (n_recordings,)
        Sums of each recording, from which all metrics are computed.
    recordings : dict from str to RecordingScore
        Scores of each recording, by name.
    overall : dict
        Pooled metrics: times are added before dividing, so long recordings have more
        weight.
    macro : dict
        Unweighted means of the metrics of recordings.
    remarks : tuple of Problem
        Warnings that matter for the interpretation of the scores.
    swept : tuple of Swept
        Intervals with their speakers, for lists of errors.
    """

    settings: Settings
    names: tuple[str, ...]
    columns: dict[str, AnyArray]
    recordings: dict[str, RecordingScore]
    overall: Figures
    macro: Figures
    remarks: tuple[Problem, ...]
    swept: tuple[Swept, ...]

    def resampled(self, weights: FloatArray, measure: str) -> FloatArray:
        """Compute a pooled metric of samples of recordings, shape (n_samples,).

        `weights` of shape (n_samples, n_recordings) is the number of times that each
        sample contains each recording; `measure` is one of `RATES`.
        """
        # shape: (n_samples, n_recordings) @ (n_recordings,)
        sums = {
            name: weights @ column.astype(np.float64)
            for name, column in self.columns.items()
        }
        return rates(sums, self.settings.convention)[measure]


def score_diarization(
    reference: Annotation | Iterable[Turn],
    hypothesis: Annotation | Iterable[Turn],
    uem: Uem | None = None,
    *,
    convention: str | Convention = SMS_DIAR,
    collar: float = 0.0,
    ignore_overlap: bool = False,
    extent: Extent | None = None,
) -> Evaluation:
    """Score a hypothesis against a reference.

    Parameters
    ----------
    reference, hypothesis : Annotation or iterable of Turn
        Turns of any number of recordings.
    uem : Uem, optional
        Regions to score; by default the `extent` of each recording.
    convention : {"sms-diar", "nist", "dscore", "pyannote"} or Convention
        Name or definition of the scoring rules, see ``CONVENTIONS.md``.
    collar : float, default=0.0
        Seconds that are not scored on *each side* of a reference boundary, as in
        md-eval and dscore; the collar of pyannote is the total, twice this value.
    ignore_overlap : bool, default=False
        If True, time with several reference speakers is not scored.
    extent : {"reference", "joint"}, optional
        Region scored without a UEM; by default the convention decides.

    Returns
    -------
    evaluation : Evaluation
        Metrics of each recording, pooled and averaged.
    """
    settings = Settings.of(
        convention,
        collar=collar,
        ignore_overlap=ignore_overlap,
        extent=extent,
        has_uem=uem is not None,
    )
    ref = _columns_of(reference, "reference")
    hyp = _columns_of(hypothesis, "hypothesis")
    axes, remarks = prepare(ref, hyp, uem, settings)
    swept = tuple(sweep_units(axis, settings) for axis in axes)
    units = [name for part in swept for name in part.axis.units]
    names = tuple(sorted(set(units)))
    index = {name: recording for recording, name in enumerate(names)}
    recording = np.array([index[unit] for unit in units], dtype=np.int64)
    columns = _by_recording(swept, recording, len(names))
    figures = _figures(columns, settings, _fixed_rates(swept, recording, len(names)))
    details = _details(swept)
    recordings = {
        name: RecordingScore(figures[i], *details[name]) for i, name in enumerate(names)
    }
    for i in np.flatnonzero(columns["scored"] == 0) if columns else ():
        text = f"recording {names[i]!r} has no scored reference speech"
        source = ref.files[0] if ref.files else "reference"
        remarks.append(Problem(text, source, severity="warning", kind="nothing scored"))
    return Evaluation(
        settings,
        names,
        columns,
        recordings,
        _overall(columns, settings),
        _macro(figures),
        tuple(remarks),
        swept,
    )


def _columns_of(turns: Annotation | Iterable[Turn], name: str) -> Annotation:
    if isinstance(turns, Annotation):
        return turns
    if isinstance(turns, str | Path):
        problem = (
            f"must be an Annotation or an iterable of Turn, got the path "
            f"{str(turns)!r}; sms_diar.score takes paths"
        )
        raise InvalidParameterError(problem, owner="score_diarization", parameter=name)
    return Annotation.from_turns(turns, source=name)


def _by_recording(
    swept: tuple[Swept, ...], recording: AnyArray, n: int
) -> dict[str, AnyArray]:
    """Add the sums of units that belong to the same recording."""
    columns: dict[str, AnyArray] = {}
    for name in swept[0].columns if swept else ():
        values = np.concatenate([part.columns[name] for part in swept])
        sums = np.zeros(n, dtype=values.dtype)
        np.add.at(sums, recording, values)
        columns[name] = sums
    return columns


def _fixed_rates(swept: tuple[Swept, ...], recording: AnyArray, n: int) -> FloatArray:
    """DER that the convention assigns, by recording; NaN otherwise."""
    rate = np.full(n, np.nan)
    if swept:
        rate[recording] = np.concatenate([part.axis.fixed_rate for part in swept])
    return rate


def _figures(
    columns: Mapping[str, AnyArray], settings: Settings, fixed: FloatArray
) -> list[Figures]:
    if not columns:
        return []
    values = rates(columns, settings.convention)
    values["der"] = np.where(np.isnan(fixed), values["der"], fixed)
    return _rows(columns, values)


def _rows(
    columns: Mapping[str, AnyArray], metrics: Mapping[str, FloatArray]
) -> list[Figures]:
    """Convert columns to one dictionary per row."""
    names = (*SECONDS, *RATES, "n_ref", "n_hyp")
    values: list[list[float | int | None]] = [
        [seconds_of(ticks) for ticks in columns[name].tolist()] for name in SECONDS
    ]
    values += [
        [None if math.isnan(rate) else rate for rate in metrics[name].tolist()]
        for name in RATES
    ]
    values += [columns["n_ref"].tolist(), columns["n_hyp"].tolist()]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _overall(columns: Mapping[str, AnyArray], settings: Settings) -> Figures:
    """Pool the recordings; times are added as Python ints, which do not overflow."""
    if not columns:
        empty: Figures = dict.fromkeys(SECONDS, 0.0)
        return empty | dict.fromkeys(RATES) | {"n_ref": 0, "n_hyp": 0}
    sums: dict[str, AnyArray] = {}
    for name, column in columns.items():
        if name in TICK_COLUMNS:
            sums[name] = np.array([float(sum(column.tolist()))])
        else:
            sums[name] = np.array([column.sum()])
    (row,) = _rows(sums, rates(sums, settings.convention))
    for name in SECONDS:
        row[name] = seconds_of(sum(columns[name].tolist()))
    return row


def _macro(figures: list[Figures]) -> Figures:
    """Average each metric over the recordings for which it is defined."""
    means: Figures = {}
    for name in figures[0] if figures else RATES:
        values = [float(row[name]) for row in figures if row[name] is not None]  # type: ignore[arg-type]
        means[name] = float(np.mean(values)) if values else None
    return means


def _details(
    swept: tuple[Swept, ...],
) -> dict[str, tuple[dict[str, str], dict[str, float]]]:
    """Collect the mapping and JER of speakers, by recording."""
    details: dict[str, tuple[dict[str, str], dict[str, float]]] = {}
    for part in swept:
        ref, hyp = part.axis.reference_speakers, part.axis.hypothesis_speakers
        units = part.axis.units
        for unit in units:
            details.setdefault(unit, ({}, {}))
        rows = zip(
            ref.unit.tolist(),
            ref.names,
            part.mapped.tolist(),
            part.speaker_jer.tolist(),
            strict=True,
        )
        for unit, name, partner, jer in rows:
            mapping, speaker_jer = details[units[unit]]
            if partner >= 0:
                mapping[hyp.names[partner]] = name
            if not math.isnan(jer):
                speaker_jer[name] = jer
    return details


_WITHOUT_REFERENCE = {
    "left out": "is not scored",
    "rate only": "gets a DER of 1 that is not pooled",
    "false alarm": "counts as false alarm",
}
_WITHOUT_REGION = {
    "reference": "scored over the extent of its reference",
    "joint": "scored over the extent of reference and hypothesis",
    "left out": "not scored",
}


def mismatch_remarks(
    units: Units,
    given: Collection[Key] | None,
    hypothesis: Annotation,
    convention: Convention,
    source: str,
) -> Iterator[Problem]:
    """Report recordings that are not in all inputs, and how they are scored.

    `given` are the units of the UEM, None without a UEM; `source` is the file of the
    reference.
    """
    in_ref = set(units.in_reference.values())
    in_hyp = set(units.in_hypothesis.values())
    treatment = _WITHOUT_REFERENCE[convention.hypothesis_only]
    for key in sorted(in_hyp - in_ref):
        recording = hypothesis.recordings.index(key[0])
        first = int(np.flatnonzero(hypothesis.recording == recording)[0])
        yield Problem(
            f"recording {_shown(key)} is not in the reference and {treatment}",
            hypothesis.files[hypothesis.file[first]],
            int(hypothesis.line[first]) or None,
            severity="warning",
            kind="hypothesis only",
        )
    for key in sorted(in_ref - in_hyp):
        text = f"recording {_shown(key)} is not in the hypothesis and is missed"
        yield Problem(text, source, severity="warning", kind="reference only")
    if given is None:
        return
    treatment = _WITHOUT_REGION[convention.without_region]
    scored = set(units.keys)
    for key in sorted((in_ref | in_hyp) - set(given)):
        if key in scored or convention.without_region == "left out":
            text = f"recording {_shown(key)} is not in the UEM and is {treatment}"
            yield Problem(text, source, severity="warning", kind="not in the UEM")


def _shown(key: Key) -> str:
    return repr(key[0]) + (f" (channel {key[1]})" if key[1] else "")


def prepare(
    reference: Annotation, hypothesis: Annotation, uem: Uem | None, settings: Settings
) -> tuple[list[Axis], list[Problem]]:
    """Lay out all turns and regions to be scored, usually on a single axis.

    Also returns warnings that matter for the interpretation of the scores.
    """
    convention = settings.convention
    source = reference.files[0] if reference.files else "reference"
    remarks = [*reference.problems, *hypothesis.problems]
    remarks += turn_problems(reference) + turn_problems(hypothesis)
    given = None
    if uem is not None:
        given, uem_remarks = given_regions(uem, convention)
        remarks += uem_remarks
    units = Units.of(reference, hypothesis, given, convention)
    remarks += mismatch_remarks(units, given, hypothesis, convention, source)
    ref = _valid(units.reference_turns(reference), convention, is_reference=True)
    hyp = _valid(units.hypothesis_turns(hypothesis), convention, is_reference=False)
    regions = scored_regions(units, given, ref, hyp, convention)
    axes = lay_out(units.names, ref, hyp, regions, settings)
    if convention.merging == "overlapping" and settings.collar:
        remarks += _touching_remarks(axes, source)
    return axes, remarks


def _valid(
    turns: UnitTurns, convention: Convention, *, is_reference: bool
) -> UnitTurns:
    """Drop turns that the convention ignores."""
    if convention.zero_turns and is_reference:
        return turns.select(turns.end >= turns.start)
    return turns.select(turns.end - turns.start > convention.shortest)


def _touching_remarks(axes: Sequence[Axis], source: str) -> list[Problem]:
    """Report touching turns, which dscore joins or not depending on rounding."""
    count = 0
    for axis in axes:
        joined = merge_turns(axis.reference, touching=True)
        count += len(axis.reference.start) - len(joined.start)
    if not count:
        return []
    text = (
        f"turns of one speaker touch in {count} places and keep their collars; dscore "
        f"joins some of them, depending on rounding of floats"
    )
    return [Problem(text, source, severity="warning", kind="touching turns")]


ErrorKind: TypeAlias = Literal["missed", "false_alarm", "confusion"]


class ErrorInterval(NamedTuple):
    """Interval of a recording with an error of one kind.

    `start` and `end` are ticks. `reference` and `hypothesis` are the speakers without a
    correct partner at that time. The time counts `n_speakers` times, once for each
    speaker in error.
    """

    recording: str
    start: int
    end: int
    kind: ErrorKind
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]
    n_speakers: int


def error_intervals(evaluation: Evaluation) -> Iterator[ErrorInterval]:
    """Yield the errors, sorted by recording and time."""
    for part in evaluation.swept:
        yield from _errors_of(part)


def _errors_of(part: Swept) -> Iterator[ErrorInterval]:
    axis, sweep = part.axis, part.sweep
    inverse = {
        int(partner): speaker
        for speaker, partner in enumerate(part.mapped.tolist())
        if partner >= 0
    }
    ref_at, hyp_at = _lists(part.reference, sweep.n), _lists(part.hypothesis, sweep.n)
    for i in np.flatnonzero(part.is_scored).tolist():
        ref, hyp = ref_at(i), hyp_at(i)
        if not ref and not hyp:
            continue
        wrong_ref = list(ref)
        wrong_hyp = []
        for speaker in hyp:
            owner = inverse.get(speaker)
            if owner is not None and owner in wrong_ref:
                wrong_ref.remove(owner)
            else:
                wrong_hyp.append(speaker)
        names = (
            tuple(axis.reference_speakers.names[s] for s in wrong_ref),
            tuple(axis.hypothesis_speakers.names[s] for s in wrong_hyp),
        )
        unit = int(sweep.unit[i])
        zero = int(axis.zeros[unit])
        start, end = int(sweep.cuts[i]) - zero, int(sweep.cuts[i + 1]) - zero
        where = (axis.units[unit], start, end)
        both = min(len(wrong_ref), len(wrong_hyp))
        counts: dict[ErrorKind, int] = {
            "confusion": both,
            "missed": len(wrong_ref) - both,
            "false_alarm": len(wrong_hyp) - both,
        }
        for kind, count in counts.items():
            if count:
                yield ErrorInterval(*where, kind, *names, count)


def _lists(entries: Entries, n: int) -> Callable[[int], list[int]]:
    """Make a function that lists the speakers of an interval, once per counted turn."""
    first = np.searchsorted(entries.interval, np.arange(n + 1))

    def at(i: int) -> list[int]:
        part = slice(int(first[i]), int(first[i + 1]))
        speakers: list[int] = np.repeat(
            entries.speaker[part], entries.times[part]
        ).tolist()
        return speakers

    return at
