"""Turns of all recordings on one axis, cut where anything begins or ends.

Recordings are laid out one after the other, so that a whole corpus is swept at
once: between two neighbouring cuts nothing changes, and each such interval is
weighed once. All times are whole numbers.

::

    reference   |--A--|   |----B----|
    hypothesis     |----x----|   |y|
    intervals   |--|--|---|--|---|-|-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sms_diar.timeline.ticks import running_maximum
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray

EMPTY: IntArray = np.zeros(0, dtype=np.int64)


class Turns(NamedTuple):
    """Turns as columns: speaker, start and end; speakers belong to one unit."""

    speaker: IntArray
    start: IntArray
    end: IntArray

    def select(self, keep: BoolArray | IntArray) -> Turns:
        """Some of the turns."""
        return Turns(self.speaker[keep], self.start[keep], self.end[keep])


class Regions(NamedTuple):
    """Stretches of the axis, sorted, without overlap: unit, start and end."""

    unit: IntArray
    start: IntArray
    end: IntArray


def merge_turns(turns: Turns, *, touching: bool) -> Turns:
    """Join the turns of each speaker that overlap, or also those that touch."""
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
    """Parts of turns that lie in regions; a turn may fall into several."""
    first = np.searchsorted(regions.end, turns.start, side="right")
    stop = np.searchsorted(regions.start, turns.end, side="left")
    source, place = expand(first, np.maximum(stop - first, 0))
    return Turns(
        turns.speaker[source],
        np.maximum(turns.start[source], regions.start[place]),
        np.minimum(turns.end[source], regions.end[place]),
    )


def expand(first: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """List ``first[i], first[i] + 1, ...``, `count[i]` of them for each i.

    Returns
    -------
    source, value : ndarray
        i and the listed number.

    Examples
    --------
    >>> [a.tolist() for a in expand(np.array([5, 9]), np.array([2, 1]))]
    [[0, 0, 1], [5, 6, 9]]
    """
    source = np.repeat(np.arange(len(first)), count)
    begin = np.cumsum(count) - count
    value = np.arange(len(source)) - np.repeat(begin - first, count)
    return source, value


class Entries(NamedTuple):
    """Who speaks in which interval, by interval; `times` is how many of their turns."""

    interval: IntArray
    speaker: IntArray
    times: IntArray


class Pairs(NamedTuple):
    """Reference and hypothesis speakers who speak in the same interval.

    The entries are where they stand among `Entries`.
    """

    interval: IntArray
    reference: IntArray
    hypothesis: IntArray
    reference_times: IntArray
    hypothesis_times: IntArray
    reference_entry: IntArray
    hypothesis_entry: IntArray


@dataclass(frozen=True, eq=False)
class Sweep:
    """The axis cut into intervals.

    Parameters
    ----------
    cuts : ndarray of shape (n + 1,)
        Rising times between which nothing changes.
    length : ndarray of shape (n,)
        Lengths of the intervals.
    unit : ndarray of shape (n,)
        Unit that each interval belongs to.
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

    def cover(self, start: IntArray, end: IntArray) -> IntArray:
        """How many of the stretches cover each interval."""
        return self._count(
            np.searchsorted(self.cuts, start), np.searchsorted(self.cuts, end)
        )

    def _count(self, first: IntArray, stop: IntArray) -> IntArray:
        n = len(self.cuts)
        change = np.bincount(first, minlength=n)
        change -= np.bincount(stop, minlength=n)
        count: IntArray = np.cumsum(change)[:-1]
        return count

    def stretches(self, chosen: BoolArray) -> Regions:
        """Join neighbours among the chosen intervals, an array of shape (n,)."""
        edge = np.diff(chosen.astype(np.int8), prepend=0, append=0)
        first, stop = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
        return Regions(self.unit[first], self.cuts[first], self.cuts[stop])

    def entries(self, turns: Turns, *, merged: bool) -> tuple[Entries, IntArray]:
        """Who speaks in which interval, and how many turns cover each.

        Parameters
        ----------
        turns : Turns
            Of positive length.
        merged : bool
            Whether no two turns of a speaker overlap.
        """
        first = np.searchsorted(self.cuts, turns.start)
        stop = np.searchsorted(self.cuts, turns.end)
        count = self._count(first, stop)
        source, interval = expand(first, stop - first)
        speaker = turns.speaker[source]
        if merged:
            order = np.argsort(interval, kind="stable")
            found = Entries(interval[order], speaker[order], np.ones_like(order))
            return found, count
        order = np.lexsort((speaker, interval))
        interval, speaker = interval[order], speaker[order]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = (interval[1:] != interval[:-1]) | (speaker[1:] != speaker[:-1])
        first = np.flatnonzero(is_new)
        times = np.diff(np.append(first, len(order)))
        return Entries(interval[first], speaker[first], times), count

    def pairs(self, reference: Entries, hypothesis: Entries) -> Pairs:
        """All pairs of speakers in the intervals where both sides speak."""
        count = np.bincount(hypothesis.interval, minlength=self.n)
        first = np.cumsum(count) - count
        source, place = expand(first[reference.interval], count[reference.interval])
        return Pairs(
            reference.interval[source],
            reference.speaker[source],
            hypothesis.speaker[place],
            reference.times[source],
            hypothesis.times[place],
            source,
            place,
        )


def weights_by(group: IntArray, values: AnyArray, n_groups: int) -> FloatArray:
    """Sums of floats by group."""
    sums = np.bincount(group, weights=values, minlength=n_groups)
    return sums.astype(np.float64, copy=False)


def sums_by(group: IntArray, values: IntArray, n_groups: int) -> IntArray:
    """Exact sums of whole numbers by group."""
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums
