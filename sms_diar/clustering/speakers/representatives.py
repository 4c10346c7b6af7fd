"""Rows that are evidence of their own: neither copies nor shadows of other rows.

A passage that is heard twice, word for word or cut a little later, is no new evidence,
and neither is a window that shares most of its speech with the one before it. Such
rows are left out, each represented by another one, and get its label at the end.

Equal rows are copies. That others are is told by distances:

* Where windows overlap in time, those that share half of their speech are the measure.
  In recordings in which nothing recurs, three windows in a hundred at most have one
  elsewhere that is nearer than 0.8 of that; where passages recur, most have. Then all
  that is nearer than such halves is left out.
* Elsewhere ranks are the measure. Vectors have many dimensions, so that all things
  that a speaker says are about equally far from each other: the nearest neighbour of a
  row is hardly nearer than the fifth (0.9 of its distance, in vectors of four
  extractors). Where passages recur, it is far nearer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sms_diar.clustering.speakers.neighbour_space import distance_blocks
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.types import FloatArray, IntArray

COPY = 0.35
"""Share of the typical distance of two rows within which one is a copy."""

COPY_OF_HALF = 0.8
"""Share of the typical distance of windows that share half of their speech within which
one must be a copy."""

NEW_OF_HALF = 0.25
"""Share of new speech in windows that are left where passages recur. They are half of a
window apart, but what comes before and after a passage differs each time: in simulated
recordings about twice as many are left as there would be windows of the passages."""

LEAST_NEW = 0.5
"""Share of new speech that a window has at least, once others are left out."""

_SHADOWED = 0.45  # new speech per row below which windows are thinned out
_BLOCK = 256  # rows that are compared at once
_PROBES = 1000  # rows that tell whether passages recur
_RECURRING = 0.25  # share of rows with a copy from which on passages recur
_RANK = 5  # neighbour that the nearest one is compared with
_RATIO = 0.5  # of their distances, below which a row has a copy
_HALVES = 20  # pairs of windows that tell how far apart halves are
_LEAST_DIM = 8  # in fewer dimensions neighbours are near by chance


class Representatives(NamedTuple):
    """Rows that stand for others.

    Parameters
    ----------
    rows : ndarray of shape (m,)
        Which they are.
    of : ndarray of shape (n,)
        For each row, the place in `rows` of the one that stands for it.
    new_speech : float
        Share of a representative that no other one has, on average.
    """

    rows: IntArray
    of: IntArray
    new_speech: float


class _Copies(NamedTuple):
    """How near copies are: a squared distance, and how much of them is new."""

    radius2: float
    new_speech: float


def find_representatives(
    directions: FloatArray, times: RowTimes | None, row_weight: float
) -> Representatives:
    """Choose the rows that are evidence.

    Parameters
    ----------
    directions : ndarray of shape (n, d)
        Rows of unit length.
    times : RowTimes or None
        When they were spoken, if known.
    row_weight : float
        Share of new speech in a row, on average.
    """
    n = len(directions)
    new_speech = max(row_weight, LEAST_NEW)
    chosen = Representatives(np.arange(n), np.arange(n), new_speech)
    if times is not None and row_weight < _SHADOWED:
        chosen = _behind(chosen, *_thinned(times))
    chosen = _behind(chosen, *_unequal(directions[chosen.rows]))
    kept = directions[chosen.rows]
    copies = _copies(kept, None if times is None else times.take(chosen.rows))
    if copies is not None:
        chosen = _behind(chosen, *_leaders(kept, copies.radius2))
        new_speech = min(new_speech, copies.new_speech)
    return chosen._replace(new_speech=new_speech)


def _behind(first: Representatives, rows: IntArray, of: IntArray) -> Representatives:
    """Representatives of representatives."""
    return first._replace(rows=first.rows[rows], of=of[first.of])


def _thinned(times: RowTimes) -> tuple[IntArray, IntArray]:
    """Windows that overlap by half at most; others go to the nearest in time."""
    kept: list[int] = []
    free = -np.inf
    for row in np.argsort(times.start, kind="stable"):
        if times.start[row] >= free - 1e-6:
            kept.append(int(row))
            free = times.start[row] + LEAST_NEW * (times.end[row] - times.start[row])
    middles = (times.start + times.end) / 2.0
    ordered = middles[kept]  # rising, because starts are
    right = np.clip(np.searchsorted(ordered, middles), 1, max(1, len(kept) - 1))
    right = np.minimum(right, len(kept) - 1)
    left = np.maximum(right - 1, 0)
    nearer = np.abs(middles - ordered[left]) <= np.abs(ordered[right] - middles)
    place = np.where(nearer, left, right)
    rows = np.array(kept, dtype=np.int64)
    order = np.argsort(rows)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rows[order], rank[place]


def _unequal(directions: FloatArray) -> tuple[IntArray, IntArray]:
    """The first of all rows that are equal."""
    _, first, of = np.unique(
        np.round(directions, 9), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[of.ravel()]


def _copies(directions: FloatArray, times: RowTimes | None) -> _Copies | None:
    """How near copies are; None where nothing recurs."""
    n, d = directions.shape
    if d < _LEAST_DIM or n <= _RANK:
        return None
    near = _nearest(directions, times)
    half2 = None if times is None else _half_distance2(directions, times)
    if half2 is not None:
        copies = _Copies(half2, NEW_OF_HALF)
        copied = near[:, 0] < COPY_OF_HALF**2 * half2
    else:
        spread = 2.0 * max(1.0 - float(np.sum(directions.mean(axis=0) ** 2)), 0.0)
        copies = _Copies(COPY**2 * spread, 1.0)
        ranked = near[np.isfinite(near[:, -1])]
        copied = ranked[:, 0] < _RATIO**2 * ranked[:, -1]
    return copies if len(copied) and copied.mean() > _RECURRING else None


def _nearest(directions: FloatArray, times: RowTimes | None) -> FloatArray:
    """Squared distances of some rows to their nearest ones, elsewhere in time."""
    n = len(directions)
    probes = np.unique(np.linspace(0, n - 1, min(n, _PROBES)).astype(np.int64))
    found = [
        np.sort(np.partition(distances, _RANK - 1, axis=1)[:, :_RANK], axis=1)
        for _, distances in distance_blocks(directions, times, probes)
    ]
    return np.maximum(np.concatenate(found), 1e-18)


def _half_distance2(directions: FloatArray, times: RowTimes) -> float | None:
    """Typical squared distance of windows that share half of their speech."""
    before, after = times.overlapping()
    shared = np.minimum(times.end[before], times.end[after]) - times.start[after]
    share = shared / (times.end[before] - times.start[before])
    half = np.abs(share - 0.5) < 0.1
    if np.count_nonzero(half) < _HALVES:
        return None
    apart = directions[before[half]] - directions[after[half]]
    return float(np.median(np.sum(apart**2, axis=1)))


def _leaders(directions: FloatArray, radius2: float) -> tuple[IntArray, IntArray]:
    """Rows farther than a radius (squared) from all rows kept before them.

    Others go to the nearest of these.
    """
    n = len(directions)
    kept: list[int] = []
    of = np.empty(n, dtype=np.int64)
    for first in range(0, n, _BLOCK):
        block = directions[first : first + _BLOCK]
        near = np.full(len(block), np.inf)
        if kept:
            distances = 2.0 - 2.0 * block @ directions[kept].T
            of[first : first + len(block)] = np.argmin(distances, axis=1)
            near = distances.min(axis=1)
        within = 2.0 - 2.0 * block @ block.T
        new: list[int] = []
        for i in np.flatnonzero(near > radius2):
            if new and within[i, new].min() <= radius2:
                of[first + i] = len(kept) + int(np.argmin(within[i, new]))
            else:
                of[first + i] = len(kept) + len(new)
                new.append(int(i))
        kept += [first + i for i in new]
    return np.array(kept, dtype=np.int64), of
