"""One-to-one mapping of speakers with the largest shared time.

Integers are added exactly, so the best mapping is found even if mappings differ by less
than the resolution of a float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sms_diar.metrics.diarization.axis import Speakers
from sms_diar.metrics.diarization.sweep import Overlaps, sums_by, weights_by
from sms_diar.timeline.ticks import distinct
from sms_diar.types import AnyArray, FloatArray, IntArray


class _Block(NamedTuple):
    """Speakers connected by shared time, with the cells between them.

    `row` and `column` are the positions of the cells among the speakers.
    """

    ref: IntArray
    hyp: IntArray
    cell: IntArray
    row: IntArray
    column: IntArray

    def table(self, values: AnyArray) -> AnyArray:
        """Values of cells as an array of shape (n_ref, n_hyp), 0 elsewhere."""
        table = np.zeros((len(self.ref), len(self.hyp)), dtype=values.dtype)
        table[self.row, self.column] = values[self.cell]
        return table


class Cells:
    """Pairs of a reference and a hypothesis speaker who speak at the same time.

    Other pairs have no cell, so memory does not grow with the product of the numbers of
    speakers. `unit`, `ref` and `hyp` of shape (n_cells,) are the unit and the speakers
    of each cell in ascending order.
    """

    def __init__(
        self, reference: Speakers, hypothesis: Speakers, overlaps: Overlaps
    ) -> None:
        self.n_units = len(reference.count)
        self.n_ref, self.n_hyp = len(reference.unit), len(hypothesis.unit)
        self.overlaps = overlaps
        # shape: (n_overlaps,)
        pair = overlaps.reference * self.n_hyp + overlaps.hypothesis
        self._pair = distinct(pair)[0]
        self.ref: IntArray = self._pair // max(self.n_hyp, 1)
        self.hyp: IntArray = self._pair % max(self.n_hyp, 1)
        self.unit: IntArray = reference.unit[self.ref]

    def of(self, reference: IntArray, hypothesis: IntArray) -> IntArray:
        """Cell of each pair of speakers who speak at the same time."""
        pair = reference * self.n_hyp + hypothesis
        cell: IntArray = np.searchsorted(self._pair, pair)
        return cell

    def sums(self, weight: IntArray, overlaps: Overlaps | None = None) -> IntArray:
        """Add the weights of intervals exactly, by cell.

        `weight` has shape (n_intervals,). By default the intervals of all turns are
        added, otherwise those of `overlaps`.
        """
        pairs = self.overlaps if overlaps is None else overlaps
        total = np.concatenate([[0], np.cumsum(weight)])
        shared = total[pairs.stop] - total[pairs.first]
        cell = self.of(pairs.reference, pairs.hypothesis)
        return sums_by(cell, shared, len(self.unit))

    def by_unit(self, values: AnyArray) -> FloatArray:
        """Add the values of cells, by unit."""
        return weights_by(self.unit, values, self.n_units)

    def mapping(self, primary: IntArray, secondary: IntArray) -> IntArray:
        """Map each reference speaker to a hypothesis speaker, or to -1.

        The mapping maximizes the sum of `primary`; ties are broken by `secondary`.
        """
        mapped = np.full(self.n_ref, -1, dtype=np.int64)
        for block in self._blocks(primary, mapped):
            choice = best_mapping(block.table(primary), block.table(secondary))
            rows = np.flatnonzero(choice >= 0)
            mapped[block.ref[rows]] = block.hyp[choice[rows]]
        return mapped

    def best_jer(
        self, shared: IntArray, ref_time: IntArray, hyp_time: IntArray
    ) -> FloatArray:
        """JER of each reference speaker with speech, by the mapping with lowest JER."""
        union = ref_time[self.ref] + hyp_time[self.hyp] - shared
        index = shared / np.maximum(union, 1)
        mapped = np.full(self.n_ref, -1, dtype=np.int64)
        for block in self._blocks(index, mapped):
            choice = best_assignment(block.table(index))
            rows = np.flatnonzero(choice >= 0)
            mapped[block.ref[rows]] = block.hyp[choice[rows]]
        jer = np.where(ref_time > 0, 1.0, np.nan)
        is_pair = mapped[self.ref] == self.hyp
        jer[self.ref[is_pair]] = 1.0 - index[is_pair]
        return jer

    def mapped_jer(
        self, shared: IntArray, ref_time: IntArray, hyp_time: IntArray, mapped: IntArray
    ) -> FloatArray:
        """JER of each reference speaker with speech, by a given mapping."""
        jer = np.where(ref_time > 0, 1.0, np.nan)
        is_pair = mapped[self.ref] == self.hyp
        ref, hyp, both = self.ref[is_pair], self.hyp[is_pair], shared[is_pair]
        union = ref_time[ref] + hyp_time[hyp] - both
        jer[ref] = (union - both) / np.maximum(union, 1)
        return jer

    def _blocks(self, values: AnyArray, mapped: IntArray) -> Iterator[_Block]:
        """Split the cells into blocks that do not share speakers.

        `values` of shape (n_cells,) are shared times or Jaccard indices; zeros do not
        connect speakers. Blocks in which reference speakers have different and unique
        best partners are written to `mapped` of shape (n_ref,) instead of being listed.
        """
        cell = np.flatnonzero(values > 0)
        # shape: (n_ref,) for label, top and is_hard
        label = _connected(self.ref[cell], self.hyp[cell], self.n_ref, self.n_hyp)
        top = np.zeros(self.n_ref, dtype=values.dtype)
        np.maximum.at(top, self.ref[cell], values[cell])
        best = cell[values[cell] == top[self.ref[cell]]]
        is_hard = np.zeros(self.n_ref, dtype=np.bool_)
        for side, n in ((self.ref, self.n_ref), (self.hyp, self.n_hyp)):
            clash = np.bincount(side[best], minlength=n)[side[best]] > 1
            is_hard[label[self.ref[best[clash]]]] = True
        plain = best[~is_hard[label[self.ref[best]]]]
        mapped[self.ref[plain]] = self.hyp[plain]
        hard = cell[is_hard[label[self.ref[cell]]]]
        of_block = label[self.ref[hard]]
        hard = hard[np.argsort(of_block, kind="stable")]
        bounds = np.flatnonzero(np.diff(label[self.ref[hard]])) + 1
        for part in np.split(hard, bounds) if len(hard) else ():
            ref, row = distinct(self.ref[part])
            hyp, column = distinct(self.hyp[part])
            yield _Block(ref, hyp, part, row, column)


def _connected(ref: IntArray, hyp: IntArray, n_ref: int, n_hyp: int) -> IntArray:
    """Smallest index in the connected component of each reference speaker."""
    label = np.arange(n_ref)
    while True:
        of_hyp = np.full(n_hyp, n_ref)
        np.minimum.at(of_hyp, hyp, label[ref])
        least = label.copy()
        np.minimum.at(least, ref, of_hyp[hyp])
        least = least[least]  # follow labels that have changed in this step
        if np.array_equal(least, label):
            return label
        label = least


Weights: TypeAlias = list[list[Any]]
"""Rows of ints or rows of floats."""

LARGE = 10_000
"""Minimum number of cells of a table to use scipy. Plain Python needs 10 ms for a table
of this size, and loading scipy takes 300 ms."""

_EXACT = 2**53
"""Integers up to this one are exact as floats."""


def best_assignment(weights: AnyArray) -> IntArray:
    """Assign rows to columns, each used at most once, for the largest sum.

    `weights` of shape (n, m) are non-negative ints, floats, or Python ints as objects.
    Returns the column of each row, -1 where the row gains nothing.

    Large tables of integers are passed to scipy if all sums are exact in floats, after
    division by the common factor. Other tables take cubic time in plain Python: several
    seconds for a table of 700 by 700.

    >>> best_assignment(np.array([[3, 2], [2, 0]])).tolist()
    [1, 0]
    """
    n, m = weights.shape
    if not n or not m:
        return np.full(n, -1, dtype=np.int64)
    if n * m < LARGE or (floats := _as_floats(weights)) is None:
        return np.array(_assign(weights.tolist()), dtype=np.int64)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - takes 300 ms

    rows, columns = linear_sum_assignment(floats, maximize=True)
    gains = floats[rows, columns] > 0
    choice = np.full(n, -1, dtype=np.int64)
    choice[rows[gains]] = columns[gains]
    return choice


def best_mapping(primary: IntArray, secondary: IntArray) -> IntArray:
    """Assign rows for the largest sum of `primary`; break ties by `secondary`.

    Both are non-negative integers of shape (n, m). Because ties are broken, both sums
    are independent of the order of rows and columns, and therefore of the names of
    speakers.
    """
    if not primary.size or np.array_equal(primary, secondary):
        return best_assignment(primary)
    return best_assignment(_joint(primary, secondary))


def _joint(first: IntArray, second: IntArray) -> AnyArray:
    """Combine weights so that sums are ordered by `first`, then by `second`."""
    first, second = _reduced(first), _reduced(second)
    # More than the largest possible sum of `second`.
    scale = 1 + min(sum(second.max(axis=axis).tolist()) for axis in (0, 1))
    if int(first.max()) * scale + int(second.max()) >= 2**63:
        first, second = first.astype(object), second.astype(object)
    joint: AnyArray = first * scale + second
    return joint


def _reduced(weights: AnyArray) -> AnyArray:
    """Divide by the common factor, which is large for times with few decimals."""
    reduced: AnyArray = weights // (np.gcd.reduce(weights, axis=None) or 1)
    return reduced


def _as_floats(weights: AnyArray) -> AnyArray | None:
    """Convert to floats; return None if floats cannot add the weights exactly."""
    if weights.dtype.kind == "f":
        return weights
    weights = _reduced(weights)
    # The algorithm adds a path length, a weight and the prices of a row and a column.
    # None exceeds the largest weight, because a free column has price 0.
    if 4 * int(weights.max()) >= _EXACT:
        return None
    return weights.astype(np.float64)


# Tables usually have a few rows and columns, for which lists are faster than arrays,
# and Python ints do not overflow.


def _assign(weights: Weights) -> list[int]:
    """Assign a column to each row for the largest sum, -1 if the row gains nothing."""
    best = [max(row) for row in weights]
    choice = [row.index(top) for row, top in zip(weights, best, strict=True)]
    used = [column for column, top in zip(choice, best, strict=True) if top > 0]
    if len(set(used)) < len(used):  # rows compete
        if len(weights) <= len(weights[0]):
            choice = _shortest_paths(weights)
        else:
            choice = [-1] * len(weights)
            turned = [list(column) for column in zip(*weights, strict=True)]
            for column, row in enumerate(_shortest_paths(turned)):
                choice[row] = column
    return [
        column if column >= 0 and row[column] > 0 else -1
        for column, row in zip(choice, weights, strict=True)
    ]


def _shortest_paths(weights: Weights) -> list[int]:
    """Apply the Hungarian method with shortest augmenting paths, for n <= m."""
    n, m = len(weights), len(weights[0])
    most = max(map(max, weights))
    # Column 0 and row 0 are auxiliary.
    cost = [[most - weight for weight in row] for row in weights]
    row_price: list[float] = [0, *map(min, cost)]
    column_price: list[float] = [0] * (m + 1)
    row_of = [0] * (m + 1)
    # Assign rows whose best column is free; only the other rows need a path.
    waiting = []
    for row, costs in enumerate(cost, start=1):
        column = costs.index(row_price[row]) + 1
        if row_of[column]:
            waiting.append(row)
        else:
            row_of[column] = row
    for row in waiting:
        _augment(cost, row, row_price, column_price, row_of)
    choice = [-1] * n
    for column, row in enumerate(row_of[1:]):
        if row:
            choice[row - 1] = column
    return choice


def _augment(
    cost: Weights,
    row: int,
    row_price: list[float],
    column_price: list[float],
    row_of: list[int],
) -> None:
    """Assign a column to one more row, moving others along the cheapest path."""
    row_of[0] = row
    column = 0
    free = list(range(1, len(row_of)))
    done = []
    distance = [math.inf] * len(row_of)
    came_from = [0] * len(row_of)
    while True:
        done.append(column)
        at = row_of[column]
        costs, price = cost[at - 1], row_price[at]
        step, nearest = math.inf, 0
        for other in free:
            reduced = costs[other - 1] - price - column_price[other]
            if reduced < distance[other]:
                distance[other] = reduced
                came_from[other] = column
            if distance[other] < step:
                step, nearest = distance[other], other
        for other in done:
            row_price[row_of[other]] += step
            column_price[other] -= step
        free.remove(nearest)
        for other in free:
            distance[other] -= step
        column = nearest
        if not row_of[column]:
            break
    while column:
        previous = came_from[column]
        row_of[column] = row_of[previous]
        column = previous
