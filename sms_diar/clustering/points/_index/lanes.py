"""Four at a time: the sums over neighbours, spelled out for vector units.

Points are stored in blocks of LANES: the first coordinate of each, then the second,
and so on, so that a block of the plane is one cache line. Free places hold NaN,
which is closer to nothing. Boxes are stored as one row for each edge.

What is here is written twice: as plain Python, which says what is computed and runs
when compilation is off, and in ``_lane_code`` as vector instructions, which compilers
find by themselves only where loops are long; here they are short, and most of the
time would go into their ends. Sums are of whole numbers (``_lattice``), hence the
same in any order. No product is fused with a sum, so distances are those of the plain
loop.

numba's disk cache notices edits of a file, not of the files it imports from:
after a change here, touch the files that use this one.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import inlined, vectorised
from sms_diar.clustering.points._index import lane_code as code
from sms_diar.clustering.points._index.lane_code import (
    ALL,
    LANE_BITS,
    LANES,
    STRETCH_BITS,
)
from sms_diar.types import AnyArray, FloatArray, IntArray, Whole


@inlined
def slot(p: int, n_dims: int) -> int:
    """Where the first coordinate of place `p` is stored; others follow LANES apart."""
    lane = p & (LANES - 1)
    return (p - lane) * n_dims + lane


def _entries(first: int, end: int) -> IntArray:
    """Blocks that hold the places from `first` to `end`.

    An entry is the number of a block and, in its last LANES bits, which of its places
    count.
    """
    blocks = np.arange(first >> LANE_BITS, (end + LANES - 1) >> LANE_BITS)
    entries: IntArray = (blocks << LANES) | ALL
    if end <= first:
        return entries[:0]
    entries[0] &= ~((1 << (first & (LANES - 1))) - 1)
    entries[-1] &= ~(ALL ^ (ALL >> (-end & (LANES - 1))))
    return entries


@vectorised(code.write_list_run)
def list_run(listed: IntArray, n_listed: int, first: int, end: int) -> int:
    """List the blocks of the places from `first` to `end`; return how many are listed.

    AHEAD entries behind these may be overwritten.
    """
    entries = _entries(first, end)
    listed[n_listed : n_listed + len(entries)] = entries
    return n_listed + len(entries)


@vectorised(code.write_add_blocks)
def add_blocks(
    dims: tuple[int, ...],
    store: FloatArray,
    listed: IntArray,
    n_listed: int,
    x: FloatArray,
    limit: float,
    total: IntArray,
) -> None:
    """Count the listed points within reach and add up their differences."""
    counts = (listed[:n_listed, None] >> np.arange(LANES)) & 1
    blocks = store.reshape(-1, len(dims), LANES)[listed[:n_listed] >> LANES]
    gaps = blocks.transpose(1, 0, 2) - x[:, None, None]
    squared = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        squared = squared + gap * gap
    inside = (squared < limit) & (counts > 0)
    total[0] += np.count_nonzero(inside)
    for d in dims:
        total[1 + d] += np.int64(np.sum(gaps[d][inside]))


@vectorised(code.write_list_strips)
def list_strips(
    stencil: IntArray,
    left: IntArray,
    stretches: IntArray,
    in_strip: IntArray,
    strip: int,
    column: int,
    n_columns: int,
    listed: IntArray,
    total: IntArray,
) -> int:
    """Add what lies left of the inner ends of a disc in each strip, and list its rim.

    `stencil` has a row for each strip from `strip` on: where, counted from `column`,
    the disc begins, where its inside begins and ends, and where it ends. See
    ``_strips`` for the tables. Returns how many blocks were listed.
    """
    found = [_entries(0, 0)]
    for row, cells in enumerate(stencil, start=strip):
        if in_strip[row]:
            begin, inner, inner_end, end = row * n_columns + column + cells
            total += left[inner_end] - left[inner]
            total += stretches[inner_end >> STRETCH_BITS]
            total -= stretches[inner >> STRETCH_BITS]
            found.append(_entries(left[begin, 3], left[inner, 3]))
            found.append(_entries(left[inner_end, 3], left[end, 3]))
    entries = np.concatenate(found)
    listed[: len(entries)] = entries
    return len(entries)


@vectorised(code.write_add_right)
def add_right(
    left: IntArray,
    stretches: IntArray,
    cell: int,
    end: int,
    count: int,
    along_x: Whole,
    along_y: Whole,
) -> None:
    """Tell the cells and stretches right of a cell what has changed in it.

    `end` is the first cell of the next strip.
    """
    change = np.array([count, along_x, along_y, 0])
    stretch = cell >> STRETCH_BITS
    left[cell + 1 : (stretch + 1) << STRETCH_BITS] += change
    stretches[stretch + 1 : end >> STRETCH_BITS] += change


@vectorised(code.write_tighten)
def tighten(
    dims: tuple[int, ...],
    corners: FloatArray,
    b: int,
    store: FloatArray,
    first: int,
    end: int,
) -> None:
    """Fit a box to the points of the blocks from `first` to `end`."""
    n_dims = len(dims)
    blocks = store.reshape(-1, n_dims, LANES)[first:end]
    corners[:n_dims, b] = np.nanmin(blocks, axis=(0, 2))
    corners[n_dims:, b] = np.nanmax(blocks, axis=(0, 2))


@vectorised(code.write_look)
def look(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    begin: int,
    end: int,
    x: FloatArray,
    within: float,
    beyond: float,
    listed: IntArray,
    total: IntArray,
) -> int:
    """Add the boxes that lie inside the ball; list those that meet the sphere.

    Boxes are counted from `begin` by LANES; those from `end` on must be empty.
    """
    n_dims = len(dims)
    some = slice(begin, end)
    below = corners[:n_dims, some] - x[:, None]
    above = x[:, None] - corners[n_dims:, some]
    near = np.zeros(end - begin)
    far = np.zeros(end - begin)
    for d in dims:
        near += np.maximum(np.maximum(below[d], above[d]), 0.0) ** 2
        far += np.minimum(below[d], above[d]) ** 2
    inside = far < within
    total[: 1 + n_dims] += tally[:, some][:, inside].sum(axis=1)
    crossed = begin + np.flatnonzero(~inside & (near <= beyond))
    listed[: len(crossed)] = crossed
    return len(crossed)


@vectorised(code.write_nearest)
def nearest(dims: tuple[int, ...], corners: FloatArray, end: int, y: FloatArray) -> int:
    """The box that has to grow least to hold a position."""
    n_dims = len(dims)
    near = np.zeros(end)
    for d in dims:
        below = corners[d, :end] - y[d]
        above = y[d] - corners[n_dims + d, :end]
        near += np.maximum(np.maximum(below, above), 0.0) ** 2
    return int(np.argmin(near))


@vectorised(code.write_fetch)
def fetch(array: AnyArray, at: int) -> None:
    """Ask for an entry, or the row of a table, that will be needed soon."""
