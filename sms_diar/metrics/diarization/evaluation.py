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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.diarization.conventions import (
    SMS_DIAR,
    Convention,
    Extent,
    Settings,
)
from sms_diar.metrics.diarization.preparation import prepare
from sms_diar.metrics.diarization.rates import RATES, rates
from sms_diar.metrics.diarization.sums import TICK_COLUMNS, Swept, sweep_units
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
    ref = _columns_of(reference, "reference")
    hyp = _columns_of(hypothesis, "hypothesis")
    axes, remarks = prepare(ref, hyp, uem, settings)
    swept = tuple(sweep_units(axis, settings) for axis in axes)
    units = [name for part in swept for name in part.axis.units]
    names = tuple(sorted(set(units)))
    index = {name: place for place, name in enumerate(names)}
    place = np.array([index[unit] for unit in units], dtype=np.int64)
    columns = _by_recording(swept, place, len(names))
    figures = _figures(columns, settings, _fixed_rates(swept, place, len(names)))
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


def _columns_of(turns: Annotation | Iterable[Turn], name: str) -> Annotation:
    if isinstance(turns, Annotation):
        return turns
    if isinstance(turns, str | Path):
        raise InvalidParameterError(
            f"score_diarization: {name} must be an Annotation or an iterable of Turn, "
            f"got the path {str(turns)!r}; sms_diar.score takes paths"
        )
    return Annotation.from_turns(turns, source=name)


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


def _fixed_rates(swept: tuple[Swept, ...], place: AnyArray, n: int) -> FloatArray:
    """DER that does not follow from times, by recording."""
    rate = np.full(n, np.nan)
    if swept:
        rate[place] = np.concatenate([part.axis.fixed_rate for part in swept])
    return rate


def _figures(
    columns: Mapping[str, AnyArray], settings: Settings, fixed: FloatArray
) -> list[Figures]:
    if not columns:
        return []
    found = rates(columns, settings.convention)
    found["der"] = np.where(np.isnan(fixed), found["der"], fixed)
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
