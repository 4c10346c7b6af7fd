"""Exact sums over discs of the plane, for points that are spread out.

The plane is cut into strips, strips into cells. Along each strip the sums of all
cells to the left are kept (in two steps, by stretches of cells and within the
stretch, so that a change has to be told to few). The part of a strip that lies
wholly inside a disc then costs a few look-ups however many points it holds; only
the cells that the circle crosses are looked at point by point. Because the radius
never changes, how many cells a disc covers in each strip follows from where in its
own cell the centre lies: a small table, the stencil, made once.

A point that moves leaves its cell and enters another. The cells of a strip are one
run through memory with a free place here and there; a full cell gets the next free
place of the strip, handed on by the cells between. Points that find no room wait
in places of their own until everything is arranged anew.

Sums are of whole numbers and exact (``_lattice``), so states are those of the plain
loop. Whether a cell is inside, outside or crossed is decided with a margin far
above the rounding of the distances that the plain loop compares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import kernel
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.clustering.points._index.lane_code import (
    AHEAD,
    LANE_BITS,
    LANES,
    STRETCH_BITS,
)
from sms_diar.clustering.points._index.lanes import slot
from sms_diar.clustering.points._index.records import MARGIN, PLACE
from sms_diar.types import FloatArray, IntArray

PARTS = 8  # positions within a cell that the stencil tells apart, along each edge
NARROWER = 2  # cells are so much shorter along a strip than the strip is high
SPARE = 256  # points that may wait for room
SLACK = 4  # points for which there is one free place


class Strips(NamedTuple):
    """The arrangement. Cells are numbered strip by strip."""

    geometry: FloatArray  # origin, strips per unit and cells per unit
    n_columns: int
    stencil: IntArray  # (PARTS, PARTS, strips, 4): first cell touched, first and
    #                    end of those inside, end of those touched; from the centre's
    left: IntArray  # (cells + 1, 4): points, x, y left of it in its stretch; its
    #                 first place
    stretches: IntArray  # (stretches + 1, 4): points, x, y left of it in its strip; 0
    used: IntArray  # points in each cell
    in_strip: IntArray  # points in each strip
    store: FloatArray  # blocks of places
    owner: IntArray  # point at each place
    n_waiting: IntArray  # one number
    listed: IntArray  # room for a list of blocks
    total: IntArray  # ... for sums
    x: FloatArray  # ... for a position


def arrange(
    points: FloatArray, bandwidth: float, height: float, buffers: Buffers
) -> Strips:
    """Arrange points of the plane, given by their records, in strips."""
    length = height / NARROWER
    reach = int(bandwidth / height) + 1
    wide_reach = int(bandwidth / length) + 3
    low, extent = _rectangle(points)
    # Empty cells all around, so that no disc around a point leaves the table. The
    # points themselves never leave the rectangle: means lie between their points.
    n_strips = int(extent[0] / height) + 2 * reach + 3
    n_columns = int(extent[1] / length) + 2 * wide_reach + 3
    n_columns += -n_columns % (1 << STRETCH_BITS)
    n_cells = n_strips * n_columns
    origin = low - [(reach + 1) * height, (wide_reach + 1) * length]
    take = buffers.take
    geometry = np.array([origin[0], origin[1], 1.0 / height, 1.0 / length])
    stencil = take("stencil", (PARTS, PARTS, 2 * reach + 1, 4))
    _draw_stencil(bandwidth, height, length, stencil)
    left = take("left", (n_cells + 1, 4))
    stretches = take("stretches", ((n_cells >> STRETCH_BITS) + 1, 4))
    used = take("used", (n_cells,))
    in_strip = take("in_strip", (n_strips,))
    for table in (left, stretches, used, in_strip):
        table[...] = 0
    n_places = _add_up(points, geometry, n_columns, left, stretches, used, in_strip)
    n_blocks = (n_places + LANES - 1) >> LANE_BITS
    n_runs = 2 * stencil.shape[2] + 1  # which may share blocks where they end
    strips = Strips(
        geometry=geometry,
        n_columns=n_columns,
        stencil=stencil,
        left=left,
        stretches=stretches,
        used=used,
        in_strip=in_strip,
        store=take("strip store", (n_blocks * 2 * LANES,), float),
        owner=take("strip owner", (n_blocks * LANES,)),
        n_waiting=np.zeros(1, dtype=np.int64),
        listed=take("strip blocks", (n_blocks + 2 * n_runs + AHEAD,)),
        total=np.empty(4, dtype=np.int64),
        x=np.empty(2),
    )
    strips.store[:] = np.nan
    _settle(points, strips)
    return strips


def n_cells_needed(points: FloatArray, height: float) -> float:
    """Tell how many cells strips of this height would take, padding aside."""
    _, extent = _rectangle(points)
    return float((extent[0] / height + 1.0) * (extent[1] * NARROWER / height + 1.0))


@kernel
def _rectangle(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least coordinates of the points, and how far they spread from there."""
    low = np.full(2, np.inf)
    high = np.full(2, -np.inf)
    for i in range(points.shape[0]):
        for d in range(2):
            low[d] = min(low[d], points[i, d])
            high[d] = max(high[d], points[i, d])
    return low, high - low


@kernel
def _draw_stencil(
    bandwidth: float, height: float, length: float, stencil: IntArray
) -> None:
    """Find the cells that discs cover, for centres anywhere in a part of a cell.

    A lattice unit is added or taken off, far more than what a quotient may be
    rounded by.
    """
    n_offsets = stencil.shape[2]
    reach = n_offsets // 2
    within = bandwidth * bandwidth * (1.0 - MARGIN)
    beyond = bandwidth * bandwidth * (1.0 + MARGIN)
    for part in range(PARTS):
        low = part * height / PARTS - 1.0
        high = (part + 1) * height / PARTS + 1.0
        for offset in range(n_offsets):
            top = (offset - reach) * height
            bottom = top + height
            near = max(top - high, low - bottom, 0.0)
            far = max(bottom - low, high - top)
            for across in range(PARTS):
                first = across * length / PARTS - 2.0
                last = (across + 1) * length / PARTS + 2.0
                cells = stencil[part, across, offset]
                cells[:] = 0
                if near * near <= beyond:
                    wide = math.sqrt(beyond - near * near)
                    cells[0] = math.floor((first - wide) / length)
                    cells[3] = math.floor((last + wide) / length) + 1
                    cells[1] = cells[2] = cells[3]
                if far * far < within:
                    narrow = math.sqrt(within - far * far)
                    begin = math.floor((last - narrow) / length) + 1
                    end = math.floor((first + narrow) / length)
                    if begin < end:
                        cells[1] = begin
                        cells[2] = end


@kernel
def _add_up(
    points: FloatArray,
    geometry: FloatArray,
    n_columns: int,
    left: IntArray,
    stretches: IntArray,
    used: IntArray,
    in_strip: IntArray,
) -> int:
    """Find the cell of each point, add up the cells, and return the places needed."""
    for i in range(points.shape[0]):
        x, y = points[i, 0], points[i, 1]
        strip = int((x - geometry[0]) * geometry[2])
        at = strip * n_columns + int((y - geometry[1]) * geometry[3])
        points[i, PLACE] = at
        used[at] += 1
        in_strip[strip] += 1
        left[at, 1] += np.int64(x)
        left[at, 2] += np.int64(y)
    tail = SPARE
    for strip in range(in_strip.shape[0]):
        begin = strip * n_columns
        if in_strip[strip] == 0:
            for at in range(begin, begin + n_columns):
                left[at, 3] = tail
            continue
        count, sum_x, sum_y = 0, np.int64(0), np.int64(0)
        all_count, all_x, all_y = 0, np.int64(0), np.int64(0)
        for at in range(begin, begin + n_columns):
            if at & ((1 << STRETCH_BITS) - 1) == 0:
                all_count += count
                all_x += sum_x
                all_y += sum_y
                stretch = at >> STRETCH_BITS
                stretches[stretch, 0] = all_count
                stretches[stretch, 1] = all_x
                stretches[stretch, 2] = all_y
                count, sum_x, sum_y = 0, np.int64(0), np.int64(0)
            x, y = left[at, 1], left[at, 2]
            left[at, 0] = count
            left[at, 1] = sum_x
            left[at, 2] = sum_y
            left[at, 3] = tail
            if used[at] > 0:
                count += used[at]
                sum_x += x
                sum_y += y
                tail += used[at] + (count // SLACK - (count - used[at]) // SLACK)
    left[used.shape[0], 3] = tail
    return tail


@kernel
def _settle(points: FloatArray, strips: Strips) -> None:
    """Give every point its place."""
    left, used, store, owner = strips.left, strips.used, strips.store, strips.owner
    used[:] = 0
    for i in range(points.shape[0]):
        at = int(points[i, PLACE])
        p = left[at, 3] + used[at]
        used[at] += 1
        points[i, PLACE] = p
        owner[p] = i
        q = slot(p, 2)
        store[q] = points[i, 0]
        store[q + LANES] = points[i, 1]
