"""Units in sequence on a common time axis, so that a whole corpus is swept at once.

The length of an axis is limited by the range of integers; larger corpora get several.

dscore writes turns and regions to files with few decimals for md-eval. Under its
convention, times are rounded, ids of regions lose a part, and recordings that lose
their region that way are scored over the extent of their reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention, Settings
from sms_diar.metrics.diarization.scored_regions import (
    UnitTurns,
    extents,
    first_part_removed,
)
from sms_diar.metrics.diarization.sweep import Regions, Turns, merge_turns, trim_turns
from sms_diar.timeline.ticks import (
    DECIMALS,
    TICKS_PER_SECOND,
    distinct,
    seconds_array,
    seconds_of,
)
from sms_diar.types import BoolArray, FloatArray, IntArray


def _rounded_turns(
    turns: Turns, raw: Turns, unit_of: IntArray, zeros: IntArray, decimals: int
) -> Turns:
    """Round onsets and durations of turns to a number of decimals.

    `turns` are trimmed and merged, `raw` is the state before. `unit_of` is the unit of
    each speaker, and `zeros` the position of time zero of each unit on the axis.
    """
    zero = zeros[unit_of[turns.speaker]]
    onset = _rounded(turns.start - zero, decimals)
    duration = turns.end - turns.start
    step = 10 ** (DECIMALS - decimals)
    inexact = np.flatnonzero(duration % step).tolist()
    # dscore adds onset and duration as floats and subtracts them again when writing,
    # which decides how a half is rounded.
    ends = _float_ends(raw, zeros[unit_of[raw.speaker]]) if inexact else {}
    for i in inexact:
        start = seconds_of(int(turns.start[i] - zero[i]))
        key = (int(turns.speaker[i]), int(turns.end[i]))
        cut = seconds_of(int(turns.end[i] - zero[i]))
        seconds = round(ends.get(key, cut) - start, decimals)
        duration[i] = round(seconds * 10**decimals) * step
    return Turns(turns.speaker, onset + zero, onset + zero + duration)


def _float_ends(turns: Turns, zero: IntArray) -> dict[tuple[int, int], float]:
    """Add onset and duration as floats; keys are speaker and exact end."""
    ends = seconds_array(turns.start - zero) + seconds_array(turns.end - turns.start)
    keys = zip(turns.speaker.tolist(), turns.end.tolist(), strict=True)
    return dict(zip(keys, ends.tolist(), strict=True))


def _rounded(ticks: IntArray, decimals: int) -> IntArray:
    """Round times as floats: the float 0.0005 is not exactly half a millisecond."""
    step = 10 ** (DECIMALS - decimals)
    rounded = ticks.copy()
    for i in np.flatnonzero(ticks % step):
        seconds = round(seconds_of(int(ticks[i])), decimals)
        rounded[i] = round(seconds * 10**decimals) * step
    return rounded


def _rounded_regions(
    regions: Regions, names: Sequence[str], zeros: IntArray, decimals: int
) -> Regions:
    """Round regions and assign them to units as md-eval does.

    md-eval removes the first ``.part`` of an id, so a region may be assigned to another
    recording or to none.
    """
    index = {name: unit for unit, name in enumerate(names)}
    owner = np.array(
        [index.get(first_part_removed(name), -1) for name in names], dtype=np.int64
    )
    zero = zeros[regions.unit]
    start = _rounded(regions.start - zero, decimals)
    end = _rounded(regions.end - zero, decimals)
    unit = owner[regions.unit]
    keep = (unit >= 0) & (end > start)
    unit, start, end = unit[keep], start[keep], end[keep]
    # Regions of two recordings may now overlap. Join them like turns of a speaker.
    joined = merge_turns(
        Turns(unit, start + zeros[unit], end + zeros[unit]), touching=True
    )
    return Regions(*joined)


def _completed_regions(
    regions: Regions, turns: Turns, unit_of: IntArray, n_units: int
) -> Regions:
    """Add the extent of the reference for units without a region."""
    # shape: (n_units,)
    low, high = extents([(unit_of[turns.speaker], turns.start, turns.end)], n_units)
    high[regions.unit] = -1
    lacking = np.flatnonzero(high > low)
    table = np.stack(  # shape: (3, n_regions)
        [
            np.concatenate([regions.unit, lacking]),
            np.concatenate([regions.start, low[lacking]]),
            np.concatenate([regions.end, high[lacking]]),
        ]
    )
    table = table[:, np.argsort(table[1], kind="stable")]
    return Regions(table[0], table[1], table[2])


_ROOM = 2**61
"""Maximum length of an axis in ticks."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers of one side, numbered unit by unit.

    `unit` is the unit of each speaker in ascending order, and `count` the number of
    speakers of each unit.
    """

    unit: IntArray
    names: tuple[str, ...]
    count: IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    """Turns and regions of the units that share an axis, in ticks.

    `units` are the recordings of the units, `bases` the starts of the units on the axis
    and `zeros` the positions of their time zero; all arrays have shape (n_units,).
    `fixed_rate` is the DER that the convention assigns without computing it, NaN
    otherwise. `reference` and `hypothesis` follow the rules of the convention and may
    include turns of length zero. The raw turns and regions are not trimmed, merged or
    rounded; they are for metrics on frames.
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
    """Consecutive units, numbered from 0, with times relative to their recordings."""

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
    """Lay out units by the rules of a convention, usually on a single axis.

    Turns are valid under the convention; times are relative to the recordings.
    """
    high = np.zeros(len(names), dtype=np.int64)
    for side in (reference, hypothesis, regions):
        np.maximum.at(high, side.unit, side.end)
    # A second of space at each end absorbs the effect of rounding.
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
    for unit, span in enumerate(spans.tolist()):
        if filled and filled + span > _ROOM:
            yield first, unit
            first, filled = unit, 0
        filled += span
    if len(spans):
        yield first, len(spans)


def _turns_between(turns: UnitTurns, first: int, stop: int) -> UnitTurns:
    part = turns.select((turns.unit >= first) & (turns.unit < stop))
    return UnitTurns(part.unit - first, part.speaker, part.start, part.end, part.names)


def _regions_between(regions: Regions, first: int, stop: int) -> Regions:
    keep = (regions.unit >= first) & (regions.unit < stop)
    return Regions(regions.unit[keep] - first, regions.start[keep], regions.end[keep])


def _axis(batch: _Batch, settings: Settings) -> Axis:
    """Lay out the units of a batch in sequence."""
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
        ref = _rounded_turns(ref, raw_ref, ref_speakers.unit, zeros, decimals)
        hyp = _rounded_turns(hyp, raw_hyp, hyp_speakers.unit, zeros, decimals)
        regions = _rounded_regions(regions, batch.names, zeros, decimals)
        regions = _completed_regions(regions, ref, ref_speakers.unit, n_units)
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
    """Shift turns to the axis and number their speakers unit by unit."""
    n_names = max(len(turns.names), 1)
    codes, speaker = distinct(turns.unit * n_names + turns.speaker)
    of_unit = codes // n_names
    count = np.bincount(of_unit, minlength=len(zeros))
    speakers = Speakers(
        of_unit, tuple(turns.names[name] for name in (codes % n_names).tolist()), count
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
    """Mask of the units that have a turn."""
    occupied = np.zeros(n_units, dtype=np.bool_)
    occupied[speakers.unit[turns.speaker]] = True
    return occupied
