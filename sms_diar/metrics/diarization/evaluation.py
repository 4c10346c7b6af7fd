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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sms_diar.metrics.diarization.conventions import (
    SMS_DIAR,
    Convention,
    Extent,
    Settings,
)
from sms_diar.metrics.diarization.preparation import prepare
from sms_diar.metrics.diarization.rates import RATES, rates
from sms_diar.metrics.diarization.sums import TICK_COLUMNS, Swept, sweep_units
from sms_diar.metrics.diarization.sweep import Entries
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import seconds_of
from sms_diar.types import AnyArray, FloatArray, Problem, Turn

Figures = dict[str, float | int | None]

SECONDS = ("scored", "missed", "false_alarm", "confusion")
"""Components of DER."""


@dataclass(frozen=True)
class RecordingScore:
    """Figures of one recording.

    Parameters
    ----------
    figures : dict
        Seconds of the components of DER, all of `RATES`, and numbers of speakers;
        None where a figure is undefined.
    mapping : dict
        Reference speaker of each hypothesis speaker that has one.
    speaker_jer : dict
        JER of each reference speaker.
    """

    figures: Figures
    mapping: dict[str, str]
    speaker_jer: dict[str, float]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A hypothesis scored against a reference.

    Parameters
    ----------
    settings : Settings
        Rules and options in force.
    names : tuple of str
        Recordings, sorted.
    columns : dict of ndarray
        Sums of each recording, from which all figures follow.
    recordings : dict
        Scores by recording.
    overall : dict
        Figures of all recordings pooled: times are added before dividing, so
        long recordings weigh more.
    macro : dict
        Means of the recordings' figures, each recording weighing the same.
    remarks : tuple of Problem
        What a careful reader should know.
    swept : tuple of Swept
        Intervals and who speaks in them, for lists of errors.
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
        """Pooled figure of samples of recordings.

        Parameters
        ----------
        weights : ndarray of shape (n_samples, n_recordings)
            How often each recording is in each sample.
        measure : str
            One of `RATES`.
        """
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
    """Score a hypothesis.

    Parameters
    ----------
    reference, hypothesis : Annotation or iterable of Turn
        Who speaks when, in any number of recordings.
    uem : Uem, optional
        What is scored; without it, the `extent`.
    convention : {"sms-diar", "nist", "dscore", "pyannote"} or Convention
        Whose rules apply, see ``CONVENTIONS.md``.
    collar : float, default=0.0
        Seconds left unscored on *each side* of a reference boundary, as in md-eval
        and dscore; pyannote's collar is the total, twice this.
    ignore_overlap : bool, default=False
        Whether time with several reference speakers is left unscored.
    extent : {"reference", "joint"}, optional
        What is scored without a UEM, if not what the convention says.
    """
    settings = Settings.of(
        convention,
        collar=collar,
        ignore_overlap=ignore_overlap,
        extent=extent,
        has_uem=uem is not None,
    )
    ref = Annotation.from_turns(reference, source="reference")
    hyp = Annotation.from_turns(hypothesis, source="hypothesis")
    prepared, remarks = prepare(ref, hyp, uem, settings)
    swept = tuple(sweep_units(part, settings) for part in prepared)
    units = [name for part in swept for name in part.prepared.units]
    names = tuple(sorted(set(units)))
    index = {name: place for place, name in enumerate(names)}
    place = np.array([index[unit] for unit in units], dtype=np.int64)
    columns = _by_recording(swept, place, len(names))
    figures = _figures(columns, settings, _decreed(swept, place, len(names)))
    details = _details(swept)
    recordings = {
        name: RecordingScore(figures[at], *details[name])
        for at, name in enumerate(names)
    }
    for at in np.flatnonzero(columns["scored"] == 0) if columns else ():
        text = f"recording {names[at]!r} has no scored reference speech"
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


def _by_recording(
    swept: tuple[Swept, ...], place: AnyArray, n: int
) -> dict[str, AnyArray]:
    """Sums of recordings, which may have several channels."""
    columns: dict[str, AnyArray] = {}
    for name in swept[0].columns if swept else ():
        values = np.concatenate([part.columns[name] for part in swept])
        sums = np.zeros(n, dtype=values.dtype)
        np.add.at(sums, place, values)
        columns[name] = sums
    return columns


def _decreed(swept: tuple[Swept, ...], place: AnyArray, n: int) -> FloatArray:
    """DER that does not follow from times, by recording."""
    rate = np.full(n, np.nan)
    if swept:
        rate[place] = np.concatenate([part.prepared.rate for part in swept])
    return rate


def _figures(
    columns: Mapping[str, AnyArray], settings: Settings, decreed: FloatArray
) -> list[Figures]:
    if not columns:
        return []
    found = rates(columns, settings.convention)
    found["der"] = np.where(np.isnan(decreed), found["der"], decreed)
    return _rows(columns, found)


def _rows(
    columns: Mapping[str, AnyArray], found: Mapping[str, FloatArray]
) -> list[Figures]:
    """Figures of each place of the columns."""
    names = (*SECONDS, *RATES, "n_ref", "n_hyp")
    values: list[list[float | int | None]] = [
        [seconds_of(ticks) for ticks in columns[name].tolist()] for name in SECONDS
    ]
    values += [
        [None if math.isnan(rate) else rate for rate in found[name].tolist()]
        for name in RATES
    ]
    values += [columns["n_ref"].tolist(), columns["n_hyp"].tolist()]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _overall(columns: Mapping[str, AnyArray], settings: Settings) -> Figures:
    """Pooled figures; times are added as Python ints, which do not overflow."""
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
    """Means over the recordings for which a figure is defined."""
    means: Figures = {}
    for name in figures[0] if figures else RATES:
        values = [float(row[name]) for row in figures if row[name] is not None]  # type: ignore[arg-type]
        means[name] = float(np.mean(values)) if values else None
    return means


def _details(
    swept: tuple[Swept, ...],
) -> dict[str, tuple[dict[str, str], dict[str, float]]]:
    """Mapping and JER of speakers, by recording."""
    details: dict[str, tuple[dict[str, str], dict[str, float]]] = {}
    for part in swept:
        ref, hyp = part.prepared.reference_speakers, part.prepared.hypothesis_speakers
        units = part.prepared.units
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


def error_intervals(
    evaluation: Evaluation,
) -> Iterator[tuple[str, int, int, str, tuple[str, ...], tuple[str, ...], int]]:
    """Where the errors are.

    Yields
    ------
    recording : str
    start, end : int
        Ticks.
    kind : {"missed", "false_alarm", "confusion"}
    reference, hypothesis : tuple of str
        Speakers without a right partner at that time.
    count : int
        Speakers in error: the time counts so many times.
    """
    for part in evaluation.swept:
        yield from _errors_of(part)


def _errors_of(
    part: Swept,
) -> Iterator[tuple[str, int, int, str, tuple[str, ...], tuple[str, ...], int]]:
    prepared, sweep = part.prepared, part.sweep
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
        names_ref = tuple(prepared.reference_speakers.names[s] for s in wrong_ref)
        names_hyp = tuple(prepared.hypothesis_speakers.names[s] for s in wrong_hyp)
        unit = int(sweep.unit[i])
        zero = int(prepared.zeros[unit])
        start, end = int(sweep.cuts[i]) - zero, int(sweep.cuts[i + 1]) - zero
        where = (prepared.units[unit], start, end)
        both = min(len(wrong_ref), len(wrong_hyp))
        if both:
            yield (*where, "confusion", names_ref, names_hyp, both)
        if len(wrong_ref) > both:
            yield (*where, "missed", names_ref, names_hyp, len(wrong_ref) - both)
        if len(wrong_hyp) > both:
            yield (*where, "false_alarm", names_ref, names_hyp, len(wrong_hyp) - both)


def _lists(entries: Entries, n: int) -> Callable[[int], list[int]]:
    """Speakers of an interval, as often as they are counted."""
    first = np.searchsorted(entries.interval, np.arange(n + 1))

    def at(i: int) -> list[int]:
        part = slice(int(first[i]), int(first[i + 1]))
        speakers: list[int] = np.repeat(
            entries.speaker[part], entries.times[part]
        ).tolist()
        return speakers

    return at
