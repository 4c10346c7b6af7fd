"""Sums over the intervals of an axis, unit by unit.

All metrics are functions of sums that are additive over recordings
(`sms_diar.metrics.diarization.rates`). Metrics of recordings, pooled metrics and
bootstrap samples are all computed from the columns made here.

dscore computes all metrics except DER on frames of 10 ms. Frame k is the instant
``0.01 * k``, computed in floats, and belongs to a turn if
``onset <= 0.01 * k < onset + duration``, computed in floats too. If a boundary is on
the grid, rounding in the last bit decides, so `_framed` uses the same float operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.metrics.diarization.axis import Axis, Speakers
from sms_diar.metrics.diarization.conventions import Settings
from sms_diar.metrics.diarization.information import class_sums
from sms_diar.metrics.diarization.mapping import Cells
from sms_diar.metrics.diarization.scored_regions import scanned_regions
from sms_diar.metrics.diarization.sweep import (
    Entries,
    Regions,
    Sweep,
    Turns,
    entries,
    merge_turns,
    overlaps,
    sums_by,
    trim_turns,
    turns_of,
    weights_by,
)
from sms_diar.timeline.ticks import TICKS_PER_SECOND, seconds_array
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray

STEP = 0.010


def _framed(axis: Axis, *, has_uem: bool) -> tuple[IntArray, Turns, Turns, Regions]:
    """Convert unit starts, turns and regions to frames."""
    regions = axis.raw_regions
    zero = axis.zeros[regions.unit]
    region_start = seconds_array(regions.start - zero)
    region_end = seconds_array(regions.end - zero)
    sides = (
        (axis.raw_reference, axis.reference_speakers.unit),
        (axis.raw_hypothesis, axis.hypothesis_speakers.unit),
    )
    if not has_uem:  # the extent ends exactly at the float end of a turn
        latest = np.zeros(len(axis.bases))
        for turns, unit_of in sides:
            unit = unit_of[turns.speaker]
            np.maximum.at(latest, unit, _float_times(turns, axis.zeros[unit])[1])
        region_end = latest[regions.unit]
    # shape: (n_units,) for n_frames and bases, (longest + 1,) for times
    n_frames = np.zeros(len(axis.bases), dtype=np.int64)
    np.maximum.at(n_frames, regions.unit, (region_end / STEP).astype(np.int64))
    bases = np.cumsum(n_frames + 1) - (n_frames + 1)
    times = STEP * np.arange(int(n_frames.max(initial=0)) + 1)

    def frame_of(unit: IntArray, seconds: FloatArray) -> IntArray:
        # Times after the last frame of a unit are clipped to its end.
        frame = np.searchsorted(times, seconds, side="left")
        on_axis: IntArray = np.minimum(frame, n_frames[unit]) + bases[unit]
        return on_axis

    def in_frames(turns: Turns, unit_of: IntArray) -> Turns:
        unit = unit_of[turns.speaker]
        start, end = _float_times(turns, axis.zeros[unit])
        first, stop = frame_of(unit, start), frame_of(unit, end)
        keep = stop > first
        return Turns(turns.speaker[keep], first[keep], stop[keep])

    return (
        bases,
        in_frames(*sides[0]),
        in_frames(*sides[1]),
        Regions(
            regions.unit,
            frame_of(regions.unit, region_start),
            frame_of(regions.unit, region_end),
        ),
    )


def _float_times(turns: Turns, zero: IntArray) -> tuple[FloatArray, FloatArray]:
    """Onset, and onset plus duration, as floats."""
    start = seconds_array(turns.start - zero)
    return start, start + seconds_array(turns.end - turns.start)


Columns = dict[str, AnyArray]

TICK_COLUMNS = (
    "scored",
    "missed",
    "false_alarm",
    "confusion",
    "speech",
    "overlap",
    "hypothesis_speech",
    "hypothesis_overlap",
    "purity_part",
    "purity_whole",
    "coverage_part",
    "coverage_whole",
)
"""Columns that are exact times in ticks."""


@dataclass(frozen=True, eq=False)
class Swept:
    """Sums and details of the units of one axis.

    `columns` are the sums of each unit. `mapped` is the hypothesis speaker mapped to
    each reference speaker, -1 for none, and `speaker_jer` the JER of each reference
    speaker, NaN for speakers that are not scored. `is_scored` marks the scored
    intervals of `sweep`, and `reference` and `hypothesis` are the speakers of its
    intervals.
    """

    axis: Axis
    columns: Columns
    mapped: IntArray
    speaker_jer: FloatArray
    sweep: Sweep
    is_scored: BoolArray
    reference: Entries
    hypothesis: Entries


@dataclass(frozen=True, eq=False)
class _SweptSide:
    """Speakers of one side in each interval.

    `turns` have positive length. `boundaries` get a collar if this side is the
    reference. `sets` are the merged turns of each speaker and `counted` the turns that
    are counted, which may overlap; both are in indices of intervals. `n_sets` and
    `n_counted` of shape (n_intervals,) are the numbers of speakers and of counted
    turns.
    """

    speakers: Speakers
    turns: Turns
    boundaries: IntArray
    sets: Turns
    counted: Turns
    entries: Entries
    n_sets: IntArray
    n_counted: IntArray

    @classmethod
    def of(
        cls, sweep: Sweep, turns: Turns, speakers: Speakers, *, counts_turns: bool
    ) -> _SweptSide:
        present = _positive(turns)
        sets = merge_turns(present, touching=True)
        counted = present if counts_turns else sets
        return cls(
            speakers,
            present,
            np.concatenate([turns.start, turns.end]),
            sweep.indices(sets),
            sweep.indices(counted),
            entries(sweep.indices(counted), merged=not counts_turns),
            sweep.cover(sets.start, sets.end),
            sweep.cover(counted.start, counted.end),
        )

    def time(self, weight: IntArray) -> IntArray:
        """Add the weights of the intervals of each speaker."""
        values = weight[self.entries.interval]
        return sums_by(self.entries.speaker, values, len(self.speakers.unit))

    def count(self, chosen: BoolArray, n_units: int) -> IntArray:
        """Count the chosen speakers of each unit."""
        return np.bincount(self.speakers.unit[chosen], minlength=n_units)


def sweep_units(axis: Axis, settings: Settings) -> Swept:
    """Compute all sums for the units of one axis."""
    convention = settings.convention
    regions, n_units = axis.regions, len(axis.bases)
    sweep = Sweep.of(_cuts(axis, settings), axis.bases)
    counts_turns = convention.counts_turns
    ref, hyp = (
        _SweptSide.of(sweep, turns, speakers, counts_turns=counts_turns)
        for turns, speakers in (
            (axis.reference, axis.reference_speakers),
            (axis.hypothesis, axis.hypothesis_speakers),
        )
    )
    # shape: (n_intervals,) for inside, is_scored, span and time
    inside = sweep.cover(regions.start, regions.end) > 0
    is_scored = _scored(sweep, inside, ref, axis, settings)
    span, time = sweep.length * inside, sweep.length * is_scored
    # shape: (n_cells,) for shared_scored and shared_inside, (n_ref,) for mapped
    cells = Cells(ref.speakers, hyp.speakers, overlaps(ref.sets, hyp.sets))
    counted = overlaps(ref.counted, hyp.counted) if counts_turns else cells.overlaps
    shared_scored = cells.sums(time, counted)
    shared_inside = cells.sums(span)
    mapped = cells.mapping(
        shared_scored if convention.maps_scored else shared_inside, shared_scored
    )
    ref_right, hyp_right = _right(ref.entries, hyp.entries, mapped, cells.n_hyp)
    correct = sums_by(  # shape: (n_intervals,)
        ref.entries.interval[ref_right],
        np.minimum(ref.entries.times[ref_right], hyp.entries.times[hyp_right]),
        sweep.n,
    )
    columns = _error_columns(sweep, ref, hyp, time, correct)
    columns |= _speech_columns(sweep, ref, hyp, span, n_units)
    if convention.purity_everywhere:
        shared_all = cells.sums(sweep.length)
        columns |= _majorities(cells, shared_all, ref, hyp, sweep.length)
    else:
        columns |= _majorities(cells, shared_inside, ref, hyp, span)
    settled = _settled(cells, ref.entries, hyp.entries, time, (ref_right, hyp_right))
    columns |= _purity_columns(cells, settled)
    columns |= _entropy_columns(cells, shared_scored, given_hypothesis=True)
    mirrored = shared_scored
    if counts_turns and (settings.collar or settings.ignore_overlap):
        # For completeness pyannote swaps the sides, including collars.
        other = sweep.length * _scored(sweep, inside, hyp, axis, settings)
        mirrored = cells.sums(other, counted)
    columns |= _entropy_columns(cells, mirrored, given_hypothesis=False)

    if convention.jer == "frames":
        jer, more = _frame_columns(axis, has_uem=settings.has_uem)
        columns |= more
    else:
        seconds = span / TICKS_PER_SECOND
        columns |= class_sums(sweep, ref.entries, hyp.entries, seconds, n_units)
        if convention.jer == "own mapping":
            jer = cells.best_jer(shared_inside, ref.time(span), hyp.time(span))
        else:
            # Use sets instead of turns: overlapping turns of a speaker count once.
            shared = cells.sums(time)
            jer = cells.mapped_jer(shared, ref.time(time), hyp.time(time), mapped)
    columns["jer_sum"] = weights_by(ref.speakers.unit, np.nan_to_num(jer), n_units)
    columns["jer_speakers"] = ref.count(~np.isnan(jer), n_units)
    return Swept(axis, columns, mapped, jer, sweep, is_scored, ref.entries, hyp.entries)


def _positive(turns: Turns) -> Turns:
    return turns.select(turns.end > turns.start)


def _cuts(axis: Axis, settings: Settings) -> list[IntArray]:
    """Times at which speakers or scoring may change."""
    ref, hyp, regions = axis.reference, axis.hypothesis, axis.regions
    times = [ref.start, ref.end, hyp.start, hyp.end, regions.start, regions.end]
    collared = times[:2]
    if settings.convention.counts_turns:
        collared = times[:4]
    if settings.collar:
        for boundaries in collared:
            times += [boundaries - settings.collar, boundaries + settings.collar]
    return times


def _scored(
    sweep: Sweep, inside: BoolArray, side: _SweptSide, axis: Axis, settings: Settings
) -> BoolArray:
    """Mask of intervals inside the regions, without collars and ignored overlap."""
    scored = inside
    if settings.collar:
        low = side.boundaries - settings.collar
        high = side.boundaries + settings.collar
        scored = inside & (sweep.cover(low, high) == 0)
    if not settings.ignore_overlap:
        return scored
    if not settings.convention.scans_overlap:
        return scored & (sweep.cover(side.turns.start, side.turns.end) <= 1)
    regions = sweep.stretches(scored) if settings.collar else axis.regions
    regions = scanned_regions(regions, side.turns, axis.bases)
    return sweep.cover(regions.start, regions.end) > 0


def _right(
    reference: Entries, hypothesis: Entries, mapped: IntArray, n_hyp: int
) -> tuple[IntArray, IntArray]:
    """Indices of reference and hypothesis entries that are mapped to each other."""
    partner = mapped[reference.speaker]
    has_partner = np.flatnonzero(partner >= 0)
    ref_code = reference.interval[has_partner] * n_hyp + partner[has_partner]
    hyp_code = hypothesis.interval * n_hyp + hypothesis.speaker
    position = np.searchsorted(hyp_code, ref_code)
    inside = np.flatnonzero(position < len(hyp_code))
    match = inside[hyp_code[position[inside]] == ref_code[inside]]
    return has_partner[match], position[match]


def _error_columns(
    sweep: Sweep, ref: _SweptSide, hyp: _SweptSide, time: IntArray, correct: IntArray
) -> Columns:
    """Sum the components of DER."""
    n_units = len(ref.speakers.count)
    n_ref, n_hyp = ref.n_counted, hyp.n_counted
    parts = {
        "scored": n_ref,
        "missed": np.maximum(n_ref - n_hyp, 0),
        "false_alarm": np.maximum(n_hyp - n_ref, 0),
        "confusion": np.minimum(n_ref, n_hyp) - correct,
    }
    return {
        name: sums_by(sweep.unit, time * count, n_units)
        for name, count in parts.items()
    }


def _speech_columns(
    sweep: Sweep, ref: _SweptSide, hyp: _SweptSide, span: IntArray, n_units: int
) -> Columns:
    """Sum speech and overlap in the regions, and count the speakers there."""
    columns: Columns = {}
    for prefix, side in (("", ref), ("hypothesis_", hyp)):
        for name, least in (("speech", 1), ("overlap", 2)):
            values = span * (side.n_sets >= least)
            columns[prefix + name] = sums_by(sweep.unit, values, n_units)
    columns["n_ref"] = ref.count(ref.time(span) > 0, n_units)
    columns["n_hyp"] = hyp.count(hyp.time(span) > 0, n_units)
    return columns


def _majorities(
    cells: Cells, shared: IntArray, ref: _SweptSide, hyp: _SweptSide, weight: IntArray
) -> Columns:
    """Sum the time of speakers shared with their main partner, and their total time."""
    columns: Columns = {}
    for name, side, speaker in (
        ("purity", hyp, cells.hyp),
        ("coverage", ref, cells.ref),
    ):
        whole = side.time(weight)
        best = np.zeros_like(whole)
        np.maximum.at(best, speaker, shared)
        columns[f"{name}_part"] = sums_by(side.speakers.unit, best, cells.n_units)
        columns[f"{name}_whole"] = sums_by(side.speakers.unit, whole, cells.n_units)
    return columns


def _settled(
    cells: Cells,
    reference: Entries,
    hypothesis: Entries,
    time: IntArray,
    right: tuple[IntArray, IntArray],
) -> IntArray:
    """Compute shared time by cell, with correct speakers paired to partners only.

    Otherwise a perfect hypothesis would be impure wherever speakers overlap, because
    each speaker shares that time with the clusters of the others.
    """
    rest, pairs = [], []
    for side, is_right in zip((reference, hypothesis), right, strict=True):
        is_free = np.ones(len(side.speaker), dtype=np.bool_)
        is_free[is_right] = False
        rest.append(turns_of(side, is_free))
        pairs.append(side.speaker[is_right])
    shared = cells.sums(time, overlaps(*rest))
    cell = cells.of(pairs[0], pairs[1])
    np.add.at(shared, cell, time[reference.interval[right[0]]])
    return shared


def _purity_columns(cells: Cells, shared: IntArray) -> Columns:
    """Compute sums for ACP, ASP and K, on time that is speech on both sides."""
    columns: Columns = {}
    for name, speaker, n in (
        ("cluster", cells.hyp, cells.n_hyp),
        ("speaker", cells.ref, cells.n_ref),
    ):
        whole = sums_by(speaker, shared, n)
        share = shared / np.maximum(whole[speaker], 1)
        columns[f"{name}_purity"] = cells.by_unit(share**2)
        unit = np.zeros(n, dtype=np.int64)
        unit[speaker] = cells.unit
        columns[f"{name}_count"] = np.bincount(unit[whole > 0], minlength=cells.n_units)
    return columns


def _entropy_columns(
    cells: Cells, shared: IntArray, *, given_hypothesis: bool
) -> Columns:
    """Compute entropy and conditional entropy of one side, in nats."""
    sides = [(cells.ref, cells.n_ref), (cells.hyp, cells.n_hyp)]
    (side, n_side), (given, n_given) = sides if given_hypothesis else sides[::-1]
    name = "homogeneity" if given_hypothesis else "completeness"
    time = shared / TICKS_PER_SECOND
    total = cells.by_unit(time)
    side_time = weights_by(side, time, n_side)  # shape: (n_side,)
    given_time = weights_by(given, time, n_given)
    unit = np.zeros(n_side, dtype=np.int64)
    unit[side] = cells.unit
    share = _over(side_time, total[unit])
    within = _over(time, given_time[given])
    entropy = weights_by(unit, -share * _log(share), cells.n_units)
    left = cells.by_unit(-_over(time, total[cells.unit]) * _log(within))
    return {f"{name}_entropy": entropy[: cells.n_units], f"{name}_left": left}


def _over(part: AnyArray, whole: AnyArray) -> FloatArray:
    result: FloatArray = part / np.where(whole > 0.0, whole, 1.0)
    return result


def _log(x: FloatArray) -> FloatArray:
    result: FloatArray = np.log(np.where(x > 0.0, x, 1.0))
    return result


def _frame_columns(axis: Axis, *, has_uem: bool) -> tuple[FloatArray, Columns]:
    """Compute JER, class sums and numbers of speakers on frames."""
    n_units = len(axis.bases)
    bases, ref_turns, hyp_turns, regions = _framed(axis, has_uem=has_uem)
    times = [column for turns in (ref_turns, hyp_turns) for column in turns[1:]]
    sweep = Sweep.of([*times, regions.start, regions.end], bases)
    weight = sweep.length * (sweep.cover(regions.start, regions.end) > 0)
    ref = _SweptSide.of(sweep, ref_turns, axis.reference_speakers, counts_turns=False)
    hyp = _SweptSide.of(sweep, hyp_turns, axis.hypothesis_speakers, counts_turns=False)
    cells = Cells(ref.speakers, hyp.speakers, overlaps(ref.sets, hyp.sets))
    jer = cells.best_jer(cells.sums(weight), ref.time(weight), hyp.time(weight))
    # A speaker with a turn in the regions counts even if no frame is covered.
    ref_there = _present(axis.raw_reference, axis, cells.n_ref)
    hyp_there = _present(axis.raw_hypothesis, axis, cells.n_hyp)
    jer = np.where(ref_there & np.isnan(jer), 1.0, jer)
    columns: Columns = {
        "n_ref": ref.count(ref_there, n_units),
        "n_hyp": hyp.count(hyp_there, n_units),
    }
    frames = weight.astype(np.float64)
    columns |= class_sums(sweep, ref.entries, hyp.entries, frames, n_units)
    return jer, columns


def _present(turns: Turns, axis: Axis, n: int) -> BoolArray:
    is_present = np.zeros(n, dtype=np.bool_)
    is_present[trim_turns(turns, axis.raw_regions).speaker] = True
    return is_present
