"""Rows of a session: their times, how far they overlap, and which are evidence.

Windows that overlap share speech, and equal rows or repeated passages bring none. Rows
that add nothing are represented by another row and get its label at the end. Repeated
passages are only looked for if times are known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sms_diar.types import AnyArray, FloatArray, IntArray, Segment

MIN_NEW_SPEECH = 0.5
"""Share of new speech in a window below which windows are thinned out."""

REPEATED = 0.25
"""Share of windows with a repetition from which repetitions are removed, and of windows
that must share half of their speech with the next one, to look for repetitions."""

MAX_QUERIES = 1000
"""Rows, evenly spaced, whose neighbours are examined."""

_ROUNDING = 0.01  # Seconds by which times may be rounded.
_BLOCK = 256  # Rows that are compared with all others at once.
_DISTANCES = 16_000_000  # Distances that are held at a time.
_CHUNK = 8192  # Rows of long sessions that are processed at a time.


@dataclass(frozen=True, eq=False)
class RowTimes:
    """Start and end of each row in seconds, on one axis for all recordings."""

    start: FloatArray
    end: FloatArray
    n_recordings: int = 1

    @classmethod
    def of_segments(cls, segments: Sequence[Segment]) -> RowTimes:
        """Return the times of segments, one for each row."""
        names = [segment.recording for segment in segments]
        start = np.array([segment.start for segment in segments])
        end = np.array([segment.end for segment in segments])
        # Recordings are farther apart than any of them is long.
        recordings, number = np.unique(names, return_inverse=True)
        offsets = number * 3.0 * end.max(initial=0.0)
        return cls(start + offsets, end + offsets, len(recordings))

    @classmethod
    def of_steps(cls, n: int, row_weight: float) -> RowTimes:
        """Return times of n windows of length 1, each with `row_weight` new speech."""
        start = row_weight * np.arange(n, dtype=np.float64)
        return cls(start, start + 1.0)

    def take(self, rows: IntArray) -> RowTimes:
        """Return the times of some rows."""
        return replace(self, start=self.start[rows], end=self.end[rows])

    def weights(self) -> FloatArray:
        """Return durations as shares of the median."""
        durations = self.end - self.start
        return np.asarray(durations / np.median(durations))

    def row_weight(self) -> float:
        """Return the time that rows cover as a share of their summed durations."""
        summed = float((self.end - self.start).sum())
        return self.covered() / summed if summed > 0.0 else 1.0

    def covered(self) -> float:
        """Return the seconds that rows cover; overlap counts once."""
        order = np.argsort(self.start, kind="stable")
        start, end = self.start[order], self.end[order]
        reached = np.concatenate(([-np.inf], np.maximum.accumulate(end)[:-1]))
        return float(np.maximum(end - np.maximum(start, reached), 0.0).sum())

    def successors(self) -> tuple[IntArray, IntArray]:
        """Return pairs of rows of which one begins where the other ends."""
        order = np.argsort(self.start, kind="stable")
        position = np.searchsorted(self.start[order], self.end - _ROUNDING)
        before = np.flatnonzero(position < len(order))
        after = order[position[before]]
        near = self.start[after] < self.end[before] + _ROUNDING
        return before[near], after[near]

    def halves(self) -> tuple[IntArray, IntArray]:
        """Return pairs of rows next to each other in time that share about half."""
        order = np.argsort(self.start, kind="stable")
        before, after = order[:-1], order[1:]
        shared = np.minimum(self.end[before], self.end[after]) - self.start[after]
        share = shared / (self.end[before] - self.start[before])
        half = np.abs(share - 0.5) < 0.1
        return before[half], after[half]


def row_weight_of(segments: Sequence[Segment]) -> float:
    """Return the time covered by segments as a share of their summed durations.

    Examples
    --------
    >>> windows = [Segment("a", 0.5 * i, 0.5 * i + 1.0) for i in range(99)]
    >>> round(row_weight_of(windows), 3)  # 50 of 99 seconds
    0.505
    """
    return RowTimes.of_segments(segments).row_weight()


def estimate_row_weight(rows: FloatArray) -> float:
    """Estimate the share of new speech per row from vectors in order of time.

    The squared difference of rows at distance l grows in proportion to l while windows
    overlap, and is constant beyond. The lower quartile of the differences excludes
    changes of speaker. The result is 1 if rows do not overlap, or are too few.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Vectors in a space in which all directions have the same weight.
    """
    n = len(rows)
    if n < 16:
        return 1.0

    def differences(lag: int, queries: IntArray) -> FloatArray:
        return np.asarray(np.sum((rows[queries + lag] - rows[queries]) ** 2, axis=1))

    # The middle one of three windows that overlap lies between the others. In random
    # order this is true of a third of the rows, and of at most half if they are sorted
    # by speaker; two standard deviations above half are required.
    queries = evenly(n - 2)
    outer = differences(2, queries)
    is_between = (differences(1, queries) < outer) & (
        differences(1, queries + 1) < outer
    )
    if is_between.mean() <= 0.5 + 1.0 / np.sqrt(len(queries)):
        return 1.0
    first = last = float(np.quantile(differences(1, evenly(n - 1)), 0.25))
    steps = 1
    while steps < n // 4:
        lag = steps + 1
        following = float(np.quantile(differences(lag, evenly(n - lag)), 0.25))
        if following - last <= 0.5 * first:
            break
        steps, last = lag, following
    return 1.0 / steps


class Representatives(NamedTuple):
    """Rows that are evidence.

    Parameters
    ----------
    rows : ndarray of shape (m,)
        Indices of the representatives.
    of : ndarray of shape (n,)
        For each row, the index in `rows` of its representative.
    new_speech : float
        Mean share of a representative that no other one contains.
    weights : ndarray of shape (m,)
        Durations of the representatives as shares of the median, because long segments
        say more about a voice; 1 without times.
    """

    rows: IntArray
    of: IntArray
    new_speech: float
    weights: FloatArray


def find_representatives(
    directions: FloatArray, times: RowTimes | None, row_weight: float
) -> Representatives:
    """Select the rows that are evidence.

    Parameters
    ----------
    directions : ndarray of shape (n, d)
        Rows of unit length.
    times : RowTimes or None
        Times of the rows, if known.
    row_weight : float
        Mean share of new speech in a row.
    """
    n = len(directions)
    new_speech = max(row_weight, MIN_NEW_SPEECH)
    weights = np.ones(n) if times is None else times.weights()
    chosen = Representatives(np.arange(n), np.arange(n), new_speech, weights)
    if times is not None and row_weight < 0.9 * MIN_NEW_SPEECH:
        chosen = _compose(chosen, *_thin(times))
    kept = directions if len(chosen.rows) == n else directions[chosen.rows]
    chosen = _compose(chosen, *_distinct(kept))
    if times is not None:
        kept = directions[chosen.rows]
        half2 = _repeated_half2(kept, times.take(chosen.rows))
        if half2 is not None:
            chosen = _compose(chosen, *_leaders(kept, half2))
    return chosen


def evenly(n: int) -> IntArray:
    """Return the indices of at most `MAX_QUERIES` of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, MAX_QUERIES)).astype(np.int64))


def chunks(n: int) -> Iterator[slice]:
    """Yield slices that divide n rows into parts of limited size."""
    return (slice(first, min(first + _CHUNK, n)) for first in range(0, n, _CHUNK))


def sum_rows(
    labels: IntArray, rows: AnyArray, weights: FloatArray | None = None
) -> FloatArray:
    """Sum the rows of clusters 0, 1, ... in double precision, shape (g, d).

    `weights` of shape (n,) multiply the rows.
    """
    n_clusters = int(labels.max()) + 1
    sums = np.zeros((n_clusters, rows.shape[1]))
    for part in chunks(len(rows)):
        m = part.stop - part.start
        shape = (n_clusters, m)
        values = np.ones(m) if weights is None else weights[part]
        members = csr_array((values, (labels[part], np.arange(m))), shape)
        sums += members @ rows[part]
    return sums


def _compose(first: Representatives, rows: IntArray, of: IntArray) -> Representatives:
    """Select representatives of representatives."""
    weights = first.weights[rows]
    return first._replace(rows=first.rows[rows], of=of[first.of], weights=weights)


def _thin(times: RowTimes) -> tuple[IntArray, IntArray]:
    """Keep windows that overlap by at most half; others go to the nearest in time."""
    kept: list[int] = []
    free = -np.inf
    for row in np.argsort(times.start, kind="stable"):
        if times.start[row] >= free - _ROUNDING:
            kept.append(int(row))
            length = times.end[row] - times.start[row]
            free = times.start[row] + MIN_NEW_SPEECH * length
    middles = (times.start + times.end) / 2.0
    kept_middles = middles[kept]  # increasing, because starts are
    right = np.clip(np.searchsorted(kept_middles, middles), 1, max(1, len(kept) - 1))
    right = np.minimum(right, len(kept) - 1)
    left = np.maximum(right - 1, 0)
    left_distance = np.abs(middles - kept_middles[left])
    is_left = left_distance <= np.abs(kept_middles[right] - middles)
    nearest = np.array(kept, dtype=np.int64)[np.where(is_left, left, right)]
    rows = np.sort(kept)
    return rows, np.searchsorted(rows, nearest)


def _distinct(directions: AnyArray) -> tuple[IntArray, IntArray]:
    """Keep the first of all rows that are equal."""
    numbers: dict[bytes, int] = {}
    of = np.empty(len(directions), dtype=np.int64)
    first: list[int] = []
    for part in chunks(len(directions)):
        # Adding zero makes negative zeros positive.
        rounded = np.round(directions[part].astype(np.float64), 9) + 0.0
        for index, row in enumerate(rounded, start=part.start):
            key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
            of[index] = numbers.setdefault(key, len(numbers))
            if of[index] == len(first):
                first.append(index)
    return np.array(first, dtype=np.int64), of


def _repeated_half2(directions: FloatArray, times: RowTimes) -> float | None:
    """Return the squared distance of windows that share half, if many are repeated.

    A repeated window shares at least three quarters of its speech with one of the
    windows that begin every half of a window. Distances of windows grow in proportion
    to what they do not share, so it is closer to that one than windows that share half,
    by a factor of two. Returns None if too few windows are.
    """
    before, after = times.halves()
    if len(before) < REPEATED * len(directions):
        return None
    differences = directions[before] - directions[after]
    half2 = float(np.median(np.sum(differences**2, axis=1)))
    repeated = [
        distances.min(axis=1) < 0.5 * half2
        for _, distances in distance_blocks(directions, times, evenly(len(directions)))
    ]
    return half2 if np.concatenate(repeated).mean() > REPEATED else None


def _leaders(directions: FloatArray, radius2: float) -> tuple[IntArray, IntArray]:
    """Keep rows that are farther than the radius from all rows kept before them."""
    n = len(directions)
    kept: list[int] = []
    of = np.empty(n, dtype=np.int64)
    for first in range(0, n, _BLOCK):
        block = directions[first : first + _BLOCK]
        nearest = np.full(len(block), np.inf)
        if kept:
            distances = 2.0 - 2.0 * block @ directions[kept].T
            of[first : first + len(block)] = np.argmin(distances, axis=1)
            nearest = distances.min(axis=1)
        within = 2.0 - 2.0 * block @ block.T
        new: list[int] = []
        for i in np.flatnonzero(nearest > radius2):
            if new and within[i, new].min() <= radius2:
                of[first + i] = len(kept) + int(np.argmin(within[i, new]))
            else:
                of[first + i] = len(kept) + len(new)
                new.append(int(i))
        kept += [first + i for i in new]
    return np.array(kept, dtype=np.int64), of


def distance_blocks(
    rows: FloatArray, times: RowTimes | None, queries: IntArray
) -> Iterator[tuple[int, FloatArray]]:
    """Yield squared distances of blocks of queries to all rows.

    Yields the position of the first query of a block, and distances of shape
    (n_block, n). A row has an infinite distance to itself and to rows that overlap it
    in time.
    """
    n = len(rows)
    energy = np.concatenate([np.sum(rows[part] ** 2, axis=1) for part in chunks(n)])
    step = max(1, min(_BLOCK, _DISTANCES // n))
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        distances = energy[block, None] + energy
        distances -= 2.0 * rows[block] @ rows.T  # in place, to save memory
        distances[np.arange(len(block)), block] = np.inf
        if times is not None:
            begins = times.start < times.end[block, None] - _ROUNDING
            goes_on = times.end > times.start[block, None] + _ROUNDING
            distances[begins & goes_on] = np.inf
        yield first, distances
