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

from sms_diar._numba import kernel
from sms_diar.types import AnyArray, FloatArray, IntArray


class ScoreCells(NamedTuple):
    """Disjoint groups of points; those in none of them are scored always.

    The members of cell c are ``order[start[c] : start[c] + sizes[c]]``; point j is
    at ``order[position[j]]``. ``tally`` holds the numbers of cells and of the
    points outside, which ``outside`` lists; ``cell`` is -1 for these. ``top`` is
    at least the length and the absolute bias of any centre.
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


@kernel
def dot(a: AnyArray, b: AnyArray) -> float:
    """Inner product, always summed in the same order."""
    total = 0.0
    for c in range(a.shape[0]):
        total += a[c] * b[c]
    return total


@kernel
def distance(u: FloatArray, center: AnyArray) -> float:
    """Euclidean distance."""
    total = 0.0
    for c in range(u.shape[0]):
        gap = u[c] - center[c]
        total += gap * gap
    return math.sqrt(total)


@kernel
def single_cells(U: FloatArray, bias: FloatArray, cells: ScoreCells) -> None:
    """Make a cell of every point that is in no such cell; no ball has a width."""
    n = U.shape[0]
    fresh = cells.tally[0] != n
    cells.tally[0] = n
    n_stale = n if fresh else cells.tally[1]
    for s in range(n_stale):
        j = s if fresh else cells.outside[s]
        cells.cell[j] = cells.start[j] = cells.order[j] = cells.position[j] = j
        cells.sizes[j] = 1
        _put_center(j, j, U, bias, cells)
    cells.tally[1] = 0


@kernel
def _put_center(
    c: int, j: int, U: FloatArray, bias: FloatArray, cells: ScoreCells
) -> None:
    """Put the centre of cell c where point j is."""
    cells.centers[c] = U[j]
    cells.center_bias[c] = bias[j]
    cells.reach[c] = cells.spread[c] = 0.0
    # Half a per cent for what rounding to single precision may add.
    cells.top[0] = max(cells.top[0], 1.005 * math.sqrt(dot(U[j], U[j])))
    cells.top[1] = max(cells.top[1], 1.005 * abs(bias[j]))


@kernel
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
    """Give each point to the closest cell within the radius, or start one there.

    ``friends`` names a neighbour of each point, whose cell is tried first and is
    good enough: most points need no search. Gives up when there would be more
    than `most` cells, and leaves them to ``single_cells``.
    """
    n = U.shape[0]
    half_squares = np.empty(most, dtype=cells.centers.dtype)
    m = 0
    for j in range(n):
        found = -1
        if friends[j] < j:
            hint = cells.cell[friends[j]]
            if distance(U[j], cells.centers[hint]) <= radius:
                found = hint
        if found < 0 and m > 0:
            # Closest is the largest u . c - |c|^2 / 2.
            u = U[j].astype(cells.centers.dtype)
            closest = int(np.argmax(cells.centers[:m] @ u - half_squares[:m]))
            if distance(U[j], cells.centers[closest]) <= radius:
                found = closest
        if found < 0:
            if m == most:
                cells.tally[0] = 0
                return False
            found = m
            m += 1
            _put_center(found, j, U, bias, cells)
            half_squares[found] = dot(U[j], U[j]) / 2
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


@kernel
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
