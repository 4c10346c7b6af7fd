"""Units laid out one after the other on a common axis of time.

A whole corpus is then swept at once. An axis is as long as whole numbers allow;
corpora that need more get several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention, Settings
from sms_diar.metrics.diarization.scored_regions import extents, first_part_removed
from sms_diar.metrics.diarization.sweep import (
    Regions,
    Turns,
    merge_turns,
    trim_turns,
)
from sms_diar.metrics.diarization.units import UnitTurns
from sms_diar.timeline.ticks import (
    DECIMALS,
    TICKS_PER_SECOND,
    distinct,
    seconds_array,
    seconds_of,
)
from sms_diar.types import BoolArray, FloatArray, IntArray


def handed_turns(
    turns: Turns, raw: Turns, unit_of: IntArray, zeros: IntArray, decimals: int
) -> Turns:
    """Round onsets and durations.

    Parameters
    ----------
    turns : Turns
        On the axis, trimmed and merged.
    raw : Turns
        The same before.
    unit_of : ndarray
        Unit of each speaker.
    zeros : ndarray
        Where the time zero of each unit lies.
    decimals : int
        Decimals of a second that are kept.
    """
    zero = zeros[unit_of[turns.speaker]]
    onset = _rounded(turns.start - zero, decimals)
    duration = turns.end - turns.start
    step = 10 ** (DECIMALS - decimals)
    odd = np.flatnonzero(duration % step).tolist()
    # dscore adds onset and duration in floats, and subtracts them again when it
    # writes: which way a half is rounded depends on it.
    ends = _float_ends(raw, zeros[unit_of[raw.speaker]]) if odd else {}
    for place in odd:
        start = seconds_of(int(turns.start[place] - zero[place]))
        key = (int(turns.speaker[place]), int(turns.end[place]))
        cut = seconds_of(int(turns.end[place] - zero[place]))
        seconds = round(ends.get(key, cut) - start, decimals)
        duration[place] = round(seconds * 10**decimals) * step
    return Turns(turns.speaker, onset + zero, onset + zero + duration)


def _float_ends(turns: Turns, zero: IntArray) -> dict[tuple[int, int], float]:
    """Onset plus duration in floats, by speaker and exact end."""
    ends = seconds_array(turns.start - zero) + seconds_array(turns.end - turns.start)
    keys = zip(turns.speaker.tolist(), turns.end.tolist(), strict=True)
    return dict(zip(keys, ends.tolist(), strict=True))


def _rounded(ticks: IntArray, decimals: int) -> IntArray:
    """Round as floats are: 0.0005 is a little more or less than it says."""
    step = 10 ** (DECIMALS - decimals)
    rounded = ticks.copy()
    for place in np.flatnonzero(ticks % step):
        seconds = round(seconds_of(int(ticks[place])), decimals)
        rounded[place] = round(seconds * 10**decimals) * step
    return rounded


def handed_regions(
    regions: Regions, names: Sequence[str], zeros: IntArray, decimals: int
) -> Regions:
    """Round regions, and give them to the units that md-eval finds for them.

    It removes the first ``.part`` of their ids, and so may give them to another
    recording, or to none.
    """
    index = {name: place for place, name in enumerate(names)}
    owner = np.array(
        [index.get(first_part_removed(name), -1) for name in names], dtype=np.int64
    )
    zero = zeros[regions.unit]
    start = _rounded(regions.start - zero, decimals)
    end = _rounded(regions.end - zero, decimals)
    unit = owner[regions.unit]
    keep = (unit >= 0) & (end > start)
    unit, start, end = unit[keep], start[keep], end[keep]
    # Joined where two recordings now share them: turns of a speaker called unit.
    joined = merge_turns(
        Turns(unit, start + zeros[unit], end + zeros[unit]), touching=True
    )
    return Regions(*joined)


def completed_regions(
    regions: Regions, turns: Turns, unit_of: IntArray, n_units: int
) -> Regions:
    """Add the extent of the reference where a unit has no region."""
    low, high = extents([(unit_of[turns.speaker], turns.start, turns.end)], n_units)
    high[regions.unit] = -1
    lacking = np.flatnonzero(high > low)
    table = np.stack(
        [
            np.concatenate([regions.unit, lacking]),
            np.concatenate([regions.start, low[lacking]]),
            np.concatenate([regions.end, high[lacking]]),
        ]
    )
    table = table[:, np.argsort(table[1], kind="stable")]
    return Regions(table[0], table[1], table[2])


_ROOM = 2**61
"""Ticks on one axis."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers of one side, numbered unit by unit.

    Parameters
    ----------
    unit : ndarray of shape (n,)
        Unit of each speaker, rising.
    names : tuple of str
        Names.
    count : ndarray of shape (n_units,)
        Speakers of each unit.
    """

    unit: IntArray
    names: tuple[str, ...]
    count: IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    """Everything a sweep needs, for the units that share an axis.

    Parameters
    ----------
    units : tuple of str
        Recording of each unit.
    bases : ndarray of shape (n_units,)
        Where each unit begins on the axis.
    zeros : ndarray of shape (n_units,)
        Where its time zero lies.
    reference, hypothesis : Turns
        By the rules of the convention, perhaps with turns without length.
    reference_speakers, hypothesis_speakers : Speakers
        Whose turns they are.
    regions : Regions
        What is scored.
    fixed_rate : ndarray of shape (n_units,)
        DER that the convention gives a unit without computing it, else NaN.
    raw_reference, raw_hypothesis, raw_regions
        The same before trimming, merging and rounding, for measures on frames.
    """

    units: tuple[str, ...]
    bases: IntArray
    zeros: IntArray
    reference: Turns
    hypothesis: Turns
    reference_speakers: Speakers
    hypothesis_speakers: Speakers
    regions: Regions
    fixed_rate: FloatArray
    raw_reference: Turns
    raw_hypothesis: Turns
    raw_regions: Regions


@dataclass(frozen=True, eq=False)
class _Batch:
    """Consecutive units, numbered from 0, in the times of their recordings."""

    names: tuple[str, ...]
    spans: IntArray
    reference: UnitTurns
    hypothesis: UnitTurns
    regions: Regions


def lay_out(
    names: tuple[str, ...],
    reference: UnitTurns,
    hypothesis: UnitTurns,
    regions: Regions,
    settings: Settings,
) -> list[Axis]:
    """Lay out units by the rules of a convention.

    Parameters
    ----------
    names : tuple of str
        Recording of each unit.
    reference, hypothesis : UnitTurns
        Turns that the convention knows.
    regions : Regions
        What is scored, in the times of the recordings.
    settings : Settings
        Convention and collar.

    Returns
    -------
    axes : list of Axis
        Usually one.
    """
    high = np.zeros(len(names), dtype=np.int64)
    for side in (reference, hypothesis, regions):
        np.maximum.at(high, side.unit, side.end)
    # A second of air takes up what rounding may add.
    spans: IntArray = high + 2 * settings.collar + 2 * TICKS_PER_SECOND
    axes = []
    for first, stop in _ranges(spans):
        batch = _Batch(
            names[first:stop],
            spans[first:stop],
            _turns_between(reference, first, stop),
            _turns_between(hypothesis, first, stop),
            _regions_between(regions, first, stop),
        )
        axes.append(_axis(batch, settings))
    return axes


def _ranges(spans: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of units whose spans fit on one axis."""
    first, filled = 0, 0
    for place, span in enumerate(spans.tolist()):
        if filled and filled + span > _ROOM:
            yield first, place
            first, filled = place, 0
        filled += span
    if len(spans):
        yield first, len(spans)


def _turns_between(turns: UnitTurns, first: int, stop: int) -> UnitTurns:
    some = turns.select((turns.unit >= first) & (turns.unit < stop))
    return UnitTurns(some.unit - first, some.speaker, some.start, some.end, some.names)


def _regions_between(regions: Regions, first: int, stop: int) -> Regions:
    keep = (regions.unit >= first) & (regions.unit < stop)
    return Regions(regions.unit[keep] - first, regions.start[keep], regions.end[keep])


def _axis(batch: _Batch, settings: Settings) -> Axis:
    """Lay the units of a batch out one after the other."""
    convention, n_units = settings.convention, len(batch.spans)
    bases = np.cumsum(batch.spans) - batch.spans
    zeros = bases + settings.collar + TICKS_PER_SECOND
    unit, start, end = batch.regions
    raw_regions = Regions(unit, start + zeros[unit], end + zeros[unit])
    raw_ref, ref_speakers = _placed(batch.reference, zeros)
    raw_hyp, hyp_speakers = _placed(batch.hypothesis, zeros)
    ref = _trimmed_and_merged(raw_ref, raw_regions, convention)
    hyp = _trimmed_and_merged(raw_hyp, raw_regions, convention)
    regions = raw_regions
    fixed_rate = np.full(n_units, np.nan)
    if convention.hypothesis_only == "rate only":
        has_ref = _occupied(ref, ref_speakers, n_units)
        has_hyp = _occupied(hyp, hyp_speakers, n_units)
        fixed_rate[~has_ref] = has_hyp[~has_ref]
    if convention.decimals is not None:
        decimals = convention.decimals
        ref = handed_turns(ref, raw_ref, ref_speakers.unit, zeros, decimals)
        hyp = handed_turns(hyp, raw_hyp, hyp_speakers.unit, zeros, decimals)
        regions = handed_regions(regions, batch.names, zeros, decimals)
        regions = completed_regions(regions, ref, ref_speakers.unit, n_units)
        keep = np.isnan(fixed_rate[regions.unit])
        regions = Regions(*(column[keep] for column in regions))
    return Axis(
        batch.names,
        bases,
        zeros,
        ref,
        hyp,
        ref_speakers,
        hyp_speakers,
        regions,
        fixed_rate,
        raw_ref,
        raw_hyp,
        raw_regions,
    )


def _placed(turns: UnitTurns, zeros: IntArray) -> tuple[Turns, Speakers]:
    """Turns on the axis, and their speakers numbered unit by unit."""
    n_names = max(len(turns.names), 1)
    codes, speaker = distinct(turns.unit * n_names + turns.speaker)
    of_unit = codes // n_names
    count = np.bincount(of_unit, minlength=len(zeros))
    speakers = Speakers(
        of_unit,
        tuple(turns.names[place] for place in (codes % n_names).tolist()),
        count,
    )
    zero = zeros[turns.unit]
    return Turns(speaker, turns.start + zero, turns.end + zero), speakers


def _trimmed_and_merged(
    turns: Turns, regions: Regions, convention: Convention
) -> Turns:
    if convention.trims:
        turns = trim_turns(turns, regions)
    if convention.merging != "none":
        turns = merge_turns(turns, touching=convention.merging == "touching")
    return turns


def _occupied(turns: Turns, speakers: Speakers, n_units: int) -> BoolArray:
    """Units that have a turn."""
    found = np.zeros(n_units, dtype=np.bool_)
    found[speakers.unit[turns.speaker]] = True
    return found
