"""Exact sums over balls, for points in boxes, in any dimension.

A box that lies wholly inside the ball adds its sum, one that lies outside adds nothing;
only a box that meets the sphere is looked at more closely: its parts, if it has any, or
its points, one by one.

Sums are of whole numbers and exact (``_lattice``), so states are those of the plain
loop. Boxes are compared with a margin far above the rounding of the distances that the
plain loop compares.

Loops are plain ones that the compiler turns into vector instructions: they run through
memory without a branch, and over whole packs, so that nothing is left for a slow end.
Their indices are unsigned, because the compiler gives up where one might be negative.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import inlined, whole_sums
from sms_diar.clustering.points._index.boxes import (
    FIRST,
    PACK,
    PART,
    PARTS,
    STALE,
    whole_packs,
)
from sms_diar.clustering.points._index.records import MARGIN
from sms_diar.clustering.points._scan import add_equal
from sms_diar.types import FloatArray, IntArray

_CHUNK = 48  # boxes that are marked at a time, each by one bit of a whole number
_BITS = 2.0 ** np.arange(_CHUNK)
# Powers of two leave different remainders when divided by 67: the number of a bit.
_BIT_NUMBERS = np.zeros(67, dtype=np.int64)
_BIT_NUMBERS[[pow(2, bit, 67) for bit in range(_CHUNK)]] = np.arange(_CHUNK)


@inlined
def sum_ball(
    dims: tuple[int, ...],
    n_groups: int,
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    store: FloatArray,
    listed: IntArray,
    squared: FloatArray,
    x: FloatArray,
    limit: float,
    total: IntArray,
    work: IntArray,
) -> None:
    """Count the points within reach of `x` and add up their differences.

    `limit` is the square of the bandwidth; the arguments before `x` are those of
    ``Boxes``. `work` counts boxes that met the sphere and packs of points. Boxes that
    have seen many moves are fitted again on the way.
    """
    n_dims = len(dims)
    for c in range(1 + n_dims):
        total[c] = 0
    end = whole_packs(n_groups)
    n_listed = _look(dims, corners, tally, 0, end, x, limit, listed, 0, total)
    # Parts of boxes that meet the sphere join the list at its end; boxes without parts
    # go to its front, which has been read by then.
    n_leaves = 0
    at = 0
    while at < n_listed:
        b = listed[at]
        at += 1
        begin = layout[b, PART]
        if begin >= 0:
            end = begin + PARTS
            n_listed = _look(
                dims, corners, tally, begin, end, x, limit, listed, n_listed, total
            )
            if layout[b, STALE] > PARTS:
                _fit(dims, corners, b, corners, n_dims, begin, end)
                layout[b, STALE] = 0
            continue
        if 8 * layout[b, STALE] > tally[0, b]:
            first = layout[b, FIRST]
            _fit(dims, corners, b, store, 0, first, first + tally[0, b])
            layout[b, STALE] = 0
        listed[n_leaves] = b
        n_leaves += 1
    work[1] += n_listed
    for d in range(n_dims):
        total[1 + d] -= total[0] * np.int64(x[d])
    for at in range(n_leaves):
        b = listed[at]
        first = layout[b, FIRST]
        size = whole_packs(tally[0, b])
        work[2] += size // PACK
        add_equal(store, first, first + size, x, limit, squared, total)


@inlined
def _look(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    begin: int,
    end: int,
    x: FloatArray,
    limit: float,
    listed: IntArray,
    n_listed: int,
    total: IntArray,
) -> int:
    """Add the boxes that lie inside the ball; list those that meet the sphere.

    Returns how many are listed then.
    """
    within = limit * (1.0 - MARGIN)
    beyond = limit * (1.0 + MARGIN)
    for first in range(begin, end, _CHUNK):
        size = min(_CHUNK, end - first)
        met, inside = _mark(dims, corners, first, size, x, within, beyond)
        crossed = met - inside
        while crossed:
            bit = crossed & -crossed
            crossed -= bit
            listed[n_listed] = first + _BIT_NUMBERS[np.uint64(bit) % np.uint64(67)]
            n_listed += 1
        while inside:
            bit = inside & -inside
            inside -= bit
            b = first + _BIT_NUMBERS[np.uint64(bit) % np.uint64(67)]
            for c in range(1 + len(dims)):
                total[c] += tally[c, b]
    return n_listed


@whole_sums
def _mark(
    dims: tuple[int, ...],
    corners: FloatArray,
    first: int,
    size: int,
    x: FloatArray,
    within: float,
    beyond: float,
) -> tuple[int, int]:
    """Boxes some point of which may lie in the ball, and those that lie inside.

    Each box is one bit of a whole number, which is added up like any other sum.
    """
    n_dims = len(dims)
    begin = np.uintp(first)
    met = 0.0
    inside = 0.0
    for k in range(np.uintp(size)):
        near = 0.0
        far = 0.0
        for d in range(n_dims):
            below = corners[d, begin + k] - x[d]
            above = x[d] - corners[n_dims + d, begin + k]
            to_near = max(below, above, 0.0)
            to_far = min(below, above)
            near += to_near * to_near
            far += to_far * to_far
        met += _BITS[k] * (1.0 if near <= beyond else 0.0)
        inside += _BITS[k] * (1.0 if far < within else 0.0)
    return int(met), int(inside)


@inlined
def _fit(
    dims: tuple[int, ...],
    corners: FloatArray,
    b: int,
    table: FloatArray,
    row: int,
    begin: int,
    end: int,
) -> None:
    """Fit a box again to what lies in it: its parts or its points.

    These are the columns of `table` from `begin` to `end`; their least coordinates are
    its first rows, their greatest ones its rows from `row` on.
    """
    n_dims = len(dims)
    for d in range(n_dims):
        least = np.inf
        most = -np.inf
        for k in range(np.uintp(begin), np.uintp(end)):
            least = min(least, table[d, k])
            most = max(most, table[row + d, k])
        corners[d, b] = least
        corners[n_dims + d, b] = most


@inlined
def nearest_group(
    dims: tuple[int, ...],
    n_groups: int,
    corners: FloatArray,
    y: FloatArray,
    squared: FloatArray,
) -> int:
    """The group whose box has to grow least to hold a position.

    `squared` is room for the squared distances.
    """
    n_dims = len(dims)
    for g in range(np.uintp(n_groups)):
        total = 0.0
        for d in range(n_dims):
            below = corners[d, g] - y[d]
            above = y[d] - corners[n_dims + d, g]
            beside = max(below, above, 0.0)
            total += beside * beside
        squared[g] = total
    nearest = 0
    least = np.inf
    for g in range(n_groups):
        if squared[g] < least:
            least = squared[g]
            nearest = g
    return nearest
