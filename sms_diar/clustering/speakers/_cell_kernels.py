"""Cells of the search for neighbours: balls around centres that stay in place.

For all members j of a cell with centre c, by Cauchy and Schwarz,

    |score(i, j) - score(i, c)| <= |u_i| max_j |u_j - u_c| + max_j |b_j - b_c|,

so a score with the centre bounds the scores of the members from both sides. Here
cells are made, widened and left; ``_kernels.py`` searches them.
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
