"""Cells of the search for neighbours: balls around centres that stay in place.

For all members j of a cell with centre c, by Cauchy and Schwarz,

    |score(i, j) - score(i, c)| <= |u_i| max_j |u_j - u_c| + max_j |b_j - b_c|,

so a score with the centre bounds the scores of the members from both sides. Here
cells are made, widened and left; `CellSearch` decides when to make new ones, and
``_kernels.py`` searches them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import kernel, part
from sms_diar.types import AnyArray, FloatArray, IntArray

MARGIN = 1.005
"""Factor of lengths and biases that covers rounding to single precision."""


class ScoreCells(NamedTuple):
    """Disjoint sets of points; points outside of all cells are always scored.

    The members of cell c are ``order[start[c] : start[c] + sizes[c]]``; point j is
    ``order[position[j]]``. ``tally`` holds the numbers of cells and of points outside,
    which ``outside`` lists; ``cell`` is -1 for these. ``top`` is at least the length
    and the absolute bias of any centre.
    """

    centers: AnyArray
    center_bias: AnyArray
    reach: FloatArray
    spread: FloatArray
    start: IntArray
    sizes: IntArray
    order: IntArray
    position: IntArray
    cell: IntArray
    outside: IntArray
    tally: IntArray
    top: FloatArray


@part
def dot(a: AnyArray, b: AnyArray) -> float:
    """Inner product, always summed in the same order."""
    total = 0.0
    for c in range(a.shape[0]):
        total += a[c] * b[c]
    return total


@part
def distance(u: FloatArray, center: AnyArray) -> float:
    """Euclidean distance."""
    total = 0.0
    for c in range(u.shape[0]):
        gap = u[c] - center[c]
        total += gap * gap
    return math.sqrt(total)


@part
def score_centers(cells: ScoreCells, u: FloatArray, row: AnyArray) -> None:
    """Write the products of `u` with the centres of all cells into `row`."""
    rounded = np.empty(u.shape[0], dtype=cells.centers.dtype)
    for c in range(u.shape[0]):
        rounded[c] = u[c]
    m = row.shape[0]
    np.dot(cells.centers[:m], rounded, row)


@part
def widen(c: int, j: int, U: FloatArray, bias: FloatArray, cells: ScoreCells) -> None:
    """Let cell c reach point j."""
    cells.reach[c] = max(cells.reach[c], distance(U[j], cells.centers[c]))
    cells.spread[c] = max(cells.spread[c], abs(bias[j] - cells.center_bias[c]))


@kernel
def group_cells(
    U: FloatArray,
    bias: FloatArray,
    radius: float,
    most: int,
    friends: IntArray,
    cells: ScoreCells,
) -> bool:
    """Assign each point to the closest cell within the radius, or start one there.

    ``friends`` is a neighbour of each point, whose cell is tried first; most points
    need no search. Returns False if there would be more than `most` cells; the caller
    then makes a cell of each point.
    """
    n = U.shape[0]
    half_squares = np.empty(most, dtype=cells.centers.dtype)
    products = np.empty(most, dtype=cells.centers.dtype)
    m = 0
    for j in range(n):
        found = -1
        if friends[j] < j:
            hint = cells.cell[friends[j]]
            if distance(U[j], cells.centers[hint]) <= radius:
                found = hint
        if found < 0 and m > 0:
            # Closest is the largest u . c - |c|^2 / 2.
            score_centers(cells, U[j], products[:m])
            closest = 0
            for c in range(m):
                products[c] -= half_squares[c]
                if products[c] > products[closest]:
                    closest = c
            if distance(U[j], cells.centers[closest]) <= radius:
                found = closest
        if found < 0:
            if m == most:
                cells.tally[0] = 0
                return False
            found = m
            m += 1
            square = dot(U[j], U[j])
            for d in range(U.shape[1]):
                cells.centers[found, d] = U[j, d]
            cells.center_bias[found] = bias[j]
            cells.reach[found] = cells.spread[found] = 0.0
            cells.top[0] = max(cells.top[0], MARGIN * math.sqrt(square))
            cells.top[1] = max(cells.top[1], MARGIN * abs(bias[j]))
            half_squares[found] = square / 2
            cells.sizes[found] = 0
        cells.cell[j] = found
        cells.sizes[found] += 1
        widen(found, j, U, bias, cells)
    total = 0
    for c in range(m):
        cells.start[c] = total
        total += cells.sizes[c]
        cells.sizes[c] = 0
    for j in range(n):
        c = cells.cell[j]
        at = cells.start[c] + cells.sizes[c]
        cells.order[at] = j
        cells.position[j] = at
        cells.sizes[c] += 1
    cells.tally[0] = m
    cells.tally[1] = 0
    return True


@part
def leave(j: int, cells: ScoreCells) -> None:
    """Take point j out of its cell."""
    c = cells.cell[j]
    at = cells.position[j]
    cells.sizes[c] -= 1
    last = cells.order[cells.start[c] + cells.sizes[c]]
    cells.order[at] = last
    cells.position[last] = at
    cells.cell[j] = -1
    cells.outside[cells.tally[1]] = j
    cells.tally[1] += 1


class CellSearch:
    """Cells of scoring vectors `U`, which the kernel moves, and their renewal.

    Nothing here changes results, only speed.
    """

    def __init__(self, U: FloatArray, bias: FloatArray) -> None:
        n, r = U.shape
        self.U, self.bias = U, bias
        norms = np.linalg.norm(U, axis=1)
        # Outside this range single precision would lose more than digits.
        top = max(float(norms.max()) ** 2, float(np.abs(bias).max()))
        dtype = np.float32 if 1e-12 < top < 1e12 else np.float64
        # u_i . u_c + b_c is a sum of r + 1 terms of rounded numbers. In any order,
        # it is off by at most (r + 4) eps/2 times |u_i| |u_c| + |b_c|. So is the
        # kernel's own sum, and the lengths in its bounds: eight times is plenty.
        self.precision = 4 * (r + 8) * float(np.finfo(dtype).eps)
        self.cells = ScoreCells(
            centers=np.empty((n, r), dtype),
            center_bias=np.empty(n, dtype),
            reach=np.empty(n),
            spread=np.empty(n),
            start=np.empty(n, dtype=np.int64),
            sizes=np.empty(n, dtype=np.int64),
            order=np.empty(n, dtype=np.int64),
            position=np.empty(n, dtype=np.int64),
            cell=np.empty(n, dtype=np.int64),
            outside=np.empty(n, dtype=np.int64),
            tally=np.zeros(2, dtype=np.int64),
            top=np.zeros(2),
        )
        self.friends = np.arange(n)
        self.radius = 0.0
        # Share of the typical length; values from 0.15 to 0.5 are about as fast.
        self._wide = 0.3 * float(np.sqrt(np.mean(norms**2)))
        self._age = 0

    @property
    def grouped(self) -> bool:
        """True if cells contain more than one point."""
        return self.radius > 0.0

    def snapshot(self, draws: IntArray) -> AnyArray:
        """Scores of drawn points with the centres of all cells."""
        if self._is_due():
            self._age = 0
            self.radius = self._wide
            most = min(256 + len(self.U) // 8, len(self.U) // 2)
            if not group_cells(
                self.U, self.bias, self.radius, most, self.friends, self.cells
            ):
                self.radius = 0.0
        if not self.grouped:
            self._separate()
        m = int(self.cells.tally[0])
        drawn = self.U[draws].astype(self.cells.centers.dtype)
        scores: AnyArray = drawn @ self.cells.centers[:m].T
        scores += self.cells.center_bias[:m]
        return scores

    def _separate(self) -> None:
        """Make a cell of every point that does not have one; its ball has no width."""
        n = len(self.U)
        cells = self.cells
        stale = cells.outside[: cells.tally[1]] if cells.tally[0] == n else np.arange(n)
        for index in (cells.cell, cells.start, cells.order, cells.position):
            index[stale] = stale
        cells.sizes[stale] = 1
        U, bias = self.U[stale], self.bias[stale]
        cells.centers[stale] = U
        cells.center_bias[stale] = bias
        cells.reach[stale] = cells.spread[stale] = 0.0
        length = np.sqrt(np.square(U).sum(axis=1).max(initial=0.0))
        largest = np.abs(bias).max(initial=0.0)
        np.maximum(cells.top, [MARGIN * length, MARGIN * largest], out=cells.top)
        cells.tally[:] = n, 0

    def _is_due(self) -> bool:
        n = len(self.U)
        if self.grouped:
            return self._age >= n or int(self.cells.tally[1]) > 64 + n // 200
        return self._wide > 0.0 and self._age >= n // 4

    def learn(self, steps: int, scored: int) -> None:
        """Count the steps of a batch; give up cells that did not save much."""
        self._age += steps
        if scored > steps * len(self.U) / 6:
            self.radius = 0.0
