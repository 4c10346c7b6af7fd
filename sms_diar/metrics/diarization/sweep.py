"""Intervals between the boundaries of turns, for all recordings on one axis.

Recordings are laid out in sequence, so that a whole corpus is processed at once.
Between two neighbouring cuts nothing changes, so each interval is counted once. All
times are integers.

::

    reference   |--A--|   |----B----|
    hypothesis     |----x----|   |y|
    intervals   |--|--|---|--|---|-|-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sms_diar.timeline.ticks import running_maximum
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray

EMPTY: IntArray = np.zeros(0, dtype=np.int64)


class Turns(NamedTuple):
    """Turns as columns: speaker, start and end. A speaker belongs to one unit."""

    speaker: IntArray
    start: IntArray
    end: IntArray

    def select(self, keep: BoolArray | IntArray) -> Turns:
        """Select turns by a mask or by indices."""
        return Turns(self.speaker[keep], self.start[keep], self.end[keep])


class Regions(NamedTuple):
    """Sorted stretches of the axis without overlap: unit, start and end."""

    unit: IntArray
    start: IntArray
    end: IntArray


def merge_turns(turns: Turns, *, touching: bool) -> Turns:
    """Join turns of a speaker that overlap or, with `touching`, touch."""
    if not len(turns.start):
        return turns
    order = np.lexsort((turns.start, turns.speaker))
    speaker, start, end = (column[order] for column in turns)
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = speaker[1:] != speaker[:-1]
    latest = running_maximum(end, is_first)
    gap = start[1:] > latest[:-1] if touching else start[1:] >= latest[:-1]
    begins = is_first.copy()
    begins[1:] |= gap
    last = np.append(np.flatnonzero(begins)[1:], len(order)) - 1
    return Turns(speaker[begins], start[begins], latest[last])


def trim_turns(turns: Turns, regions: Regions) -> Turns:
    """Cut turns to regions; a turn may be split into several."""
    # shape: (n_turns,) for first and stop, (n_parts,) for source and region
    first = np.searchsorted(regions.end, turns.start, side="right")
    stop = np.searchsorted(regions.start, turns.end, side="left")
    source, region = expand(first, np.maximum(stop - first, 0))
    return Turns(
        turns.speaker[source],
        np.maximum(turns.start[source], regions.start[region]),
        np.minimum(turns.end[source], regions.end[region]),
    )


def expand(first: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """List the `count[i]` numbers ``first[i], first[i] + 1, ...`` for each i.

    Returns the index i and the number of each entry of the list.

    >>> [a.tolist() for a in expand(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    source = np.repeat(np.arange(len(first)), count)  # shape: (sum of count,)
    begin = np.cumsum(count) - count
    value = np.arange(len(source)) - np.repeat(begin - first, count)
    return source, value


class Entries(NamedTuple):
    """Speakers of the intervals, sorted by interval and speaker.

    `times` counts the turns of the speaker in the interval.
    """

    interval: IntArray
    speaker: IntArray
    times: IntArray


class Overlaps(NamedTuple):
    """Pairs of a reference and a hypothesis turn at the same time.

    `reference` and `hypothesis` are speakers; the pair shares the intervals from
    `first` up to `stop`.
    """

    reference: IntArray
    hypothesis: IntArray
    first: IntArray
    stop: IntArray


def overlaps(reference: Turns, hypothesis: Turns) -> Overlaps:
    """Find all pairs of turns that share intervals (turns in indices of intervals)."""
    ref, hyp = (
        turns.select(np.argsort(turns.start, kind="stable"))
        for turns in (reference, hypothesis)
    )
    # If two turns overlap, the later turn starts within the earlier turn.
    later_hyp = _starts_within(ref, hyp, side="left")
    later_ref = _starts_within(hyp, ref, side="right")[::-1]
    i, j = (np.concatenate(parts) for parts in zip(later_hyp, later_ref, strict=True))
    return Overlaps(
        ref.speaker[i],
        hyp.speaker[j],
        np.maximum(ref.start[i], hyp.start[j]),
        np.minimum(ref.end[i], hyp.end[j]),
    )


def _starts_within(
    turns: Turns, others: Turns, *, side: Literal["left", "right"]
) -> tuple[IntArray, IntArray]:
    """List which of `others` start in which turn, both sorted by start.

    With ``side="right"``, starts at the same time do not count.
    """
    first = np.searchsorted(others.start, turns.start, side=side)
    stop = np.searchsorted(others.start, turns.end, side="left")
    return expand(first, np.maximum(stop - first, 0))


@dataclass(frozen=True, eq=False)
class Sweep:
    """Axis divided into intervals.

    `cuts` of shape (n + 1,) are ascending times between which nothing changes; `length`
    and `unit` of shape (n,) are the length and the unit of each interval.
    """

    cuts: IntArray
    length: IntArray
    unit: IntArray

    @classmethod
    def of(cls, times: list[IntArray], bases: IntArray) -> Sweep:
        """Cut at all `times`; unit u begins at ``bases[u]``."""
        joined = np.concatenate([bases, *times])
        joined.sort()
        is_new = np.ones(len(joined), dtype=np.bool_)
        is_new[1:] = joined[1:] != joined[:-1]
        cuts = joined[is_new]
        unit = np.searchsorted(bases, cuts[:-1], side="right") - 1
        return cls(cuts, np.diff(cuts), unit)

    @property
    def n(self) -> int:
        """Number of intervals."""
        return len(self.length)

    def indices(self, turns: Turns) -> Turns:
        """Convert starts and ends of turns from times to indices of intervals."""
        return Turns(
            turns.speaker,
            np.searchsorted(self.cuts, turns.start),
            np.searchsorted(self.cuts, turns.end),
        )

    def cover(self, start: IntArray, end: IntArray) -> IntArray:
        """Count the stretches that cover each interval."""
        n = len(self.cuts)
        change = np.bincount(np.searchsorted(self.cuts, start), minlength=n)
        change -= np.bincount(np.searchsorted(self.cuts, end), minlength=n)
        count: IntArray = np.cumsum(change)[:-1]
        return count

    def stretches(self, chosen: BoolArray) -> Regions:
        """Join neighbours among the chosen intervals, an array of shape (n,)."""
        edge = np.diff(chosen.astype(np.int8), prepend=0, append=0)
        first, stop = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
        return Regions(self.unit[first], self.cuts[first], self.cuts[stop])


def entries(turns: Turns, *, merged: bool) -> Entries:
    """List the speakers of each interval, from turns in indices of intervals.

    `merged` says that turns of one speaker do not overlap and that speakers are sorted.
    """
    source, interval = expand(turns.start, turns.end - turns.start)
    speaker = turns.speaker[source]
    if merged:
        order = np.argsort(interval, kind="stable")
        return Entries(interval[order], speaker[order], np.ones_like(order))
    order = np.lexsort((speaker, interval))
    interval, speaker = interval[order], speaker[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (interval[1:] != interval[:-1]) | (speaker[1:] != speaker[:-1])
    first = np.flatnonzero(is_new)
    times = np.diff(np.append(first, len(order)))
    return Entries(interval[first], speaker[first], times)


def turns_of(entries: Entries, chosen: BoolArray) -> Turns:
    """Join the chosen entries to turns, in indices of intervals."""
    interval, speaker = entries.interval[chosen], entries.speaker[chosen]
    order = np.lexsort((interval, speaker))
    interval, speaker = interval[order], speaker[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (speaker[1:] != speaker[:-1]) | (interval[1:] != interval[:-1] + 1)
    ends = np.append(begins[1:], True)[: len(order)]
    return Turns(speaker[begins], interval[begins], interval[ends] + 1)


def weights_by(group: IntArray, values: AnyArray, n_groups: int) -> FloatArray:
    """Add floats by group."""
    sums = np.bincount(group, weights=values, minlength=n_groups)
    return sums.astype(np.float64, copy=False)


def sums_by(group: IntArray, values: IntArray, n_groups: int) -> IntArray:
    """Add integers exactly by group."""
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums
