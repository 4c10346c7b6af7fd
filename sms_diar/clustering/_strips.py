"""Exact sums over discs of the plane, for points that are spread out.

The plane is cut into strips, strips into cells. Along each strip the sums of all
cells to the left are kept (in two steps, by blocks of cells and within the block,
so that a change has to be told to few). The stretch of a strip that lies wholly
inside a disc then costs a few look-ups however many points it holds; only the cells
that the circle crosses are looked at point by point. Because the radius never
changes, how far a disc reaches in each strip follows from where in its own strip
the centre lies: a small table of half-widths, the stencil, made once.

A point that moves leaves its cell and enters another. Cells have a little room to
spare, filled with points far away that count nowhere, so that the cells of a strip
are one run through memory. Points that find no room wait in a short list of their
own until everything is arranged anew.

Sums are of whole numbers and exact (``_lattice``), so states are those of the plain
loop. Whether a cell is inside, outside or crossed is decided with a margin far
above the rounding of the distances that the plain loop compares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import kernel
from sms_diar.clustering._scan import planar_sums
from sms_diar.types import FloatArray, IntArray, Whole

PARTS = 8  # positions within a strip that the stencil tells apart
NARROWER = 2  # cells are so much shorter along a strip than the strip is high
SPARE = 256  # points that may wait for room
BLOCK_BITS = 4  # blocks are of 16 cells
MARGIN = 1e-12  # relative; distances are rounded to 2**-52
_AWAY = 1e150  # its square is finite and beyond any bandwidth

DONE, FULL, RESTING, WEARY = 0, 1, 2, 3


class Strips(NamedTuple):
    """The arrangement. Cells are numbered strip by strip."""

    geometry: FloatArray  # origin, strip height and cell length
    n_columns: int
    inner: FloatArray  # stencil: half-widths of what is wholly inside
    outer: FloatArray  # ... and of what is touched at all; negative for none
    left: IntArray  # (cells + 1, 4): points, x, y left of it in its block; first place
    blocks: IntArray  # (blocks + 1, 3): points, x, y left of the block in its strip
    used: IntArray  # points in each cell
    in_strip: IntArray  # points in each strip
    store: FloatArray  # (2, places)
    owner: IntArray  # point at each place
    waiting: FloatArray  # (2, SPARE)
    waiting_owner: IntArray
    n_waiting: IntArray  # one number
    place: IntArray  # of each point, or its position in the list of waiting ones
    cell: IntArray  # of each point; -1 while it waits


def arrange(coords: FloatArray, bandwidth: float, height: float) -> Strips:
    """Arrange lattice points of the plane in strips of the given height."""
    n = coords.shape[1]
    length = height / NARROWER
    reach = int(bandwidth / height) + 2
    wide_reach = int(bandwidth / length) + 3
    low = coords.min(axis=1)
    extent = coords.max(axis=1) - low
    # Empty cells all around, so that no disc around a point leaves the table. The
    # points themselves never leave the rectangle: means lie between their points.
    n_strips = int(extent[0] / height) + 2 * reach + 3
    n_columns = int(extent[1] / length) + 2 * wide_reach + 3
    n_columns += -n_columns % (1 << BLOCK_BITS)
    n_cells = n_strips * n_columns
    inner = np.empty((PARTS, 2 * reach + 1))
    outer = np.empty((PARTS, 2 * reach + 1))
    _stencil(bandwidth, height, inner, outer)
    n_places = n + n // 4 + 2 * min(n, n_cells) + 8
    origin = low - [(reach + 1) * height, (wide_reach + 1) * length]
    strips = Strips(
        np.array([origin[0], origin[1], height, length]),
        n_columns,
        inner,
        outer,
        np.zeros((n_cells + 1, 4), dtype=np.int64),
        np.zeros(((n_cells >> BLOCK_BITS) + 1, 3), dtype=np.int64),
        np.zeros(n_cells, dtype=np.int64),
        np.zeros(n_strips, dtype=np.int64),
        np.full((2, n_places), _AWAY),
        np.empty(n_places, dtype=np.int64),
        np.empty((2, SPARE)),
        np.empty(SPARE, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )
    _fill(coords, strips)
    return strips


def n_cells_needed(coords: FloatArray, height: float) -> float:
    """Tell how many cells strips of this height would take, padding aside."""
    extent = coords.max(axis=1) - coords.min(axis=1)
    return float((extent[0] / height + 1.0) * (extent[1] * NARROWER / height + 1.0))


@kernel
def _stencil(
    bandwidth: float, height: float, inner: FloatArray, outer: FloatArray
) -> None:
    """Half-widths of the disc in each strip.

    The centre lies in a known part of its strip. A lattice unit is added or taken
    off, far more than what a quotient may be rounded by.
    """
    n_offsets = inner.shape[1]
    reach = n_offsets // 2
    within = bandwidth * bandwidth * (1.0 - MARGIN)
    beyond = bandwidth * bandwidth * (1.0 + MARGIN)
    for part in range(PARTS):
        low = part * height / PARTS - 1.0
        high = (part + 1) * height / PARTS + 1.0
        for offset in range(-reach, reach + 1):
            top = offset * height
            bottom = top + height
            near = max(top - high, low - bottom, 0.0)
            far = max(bottom - low, high - top)
            outer[part, offset + reach] = -1.0
            if near * near <= beyond:
                outer[part, offset + reach] = math.sqrt(beyond - near * near) + 1.0
            inner[part, offset + reach] = -1.0
            if far * far < within:
                inner[part, offset + reach] = math.sqrt(within - far * far) - 1.0


@kernel
def _fill(coords: FloatArray, strips: Strips) -> None:
    """Give every point its place and add up the cells."""
    n = coords.shape[1]
    geometry, n_columns = strips.geometry, strips.n_columns
    left, blocks = strips.left, strips.blocks
    used, in_strip = strips.used, strips.in_strip
    n_cells = used.shape[0]
    per_length = 1.0 / geometry[3]
    for i in range(n):
        strip = int((coords[0, i] - geometry[0]) / geometry[2])
        column = int((coords[1, i] - geometry[1]) * per_length)
        at = strip * n_columns + column
        strips.cell[i] = at
        used[at] += 1
        in_strip[strip] += 1
        left[at + 1, 0] += 1
        left[at + 1, 1] += np.int64(coords[0, i])
        left[at + 1, 2] += np.int64(coords[1, i])
    tail = 0
    for at in range(n_cells):
        left[at, 3] = tail
        if used[at] > 0:
            tail += used[at] + used[at] // 4 + 2
        used[at] = 0
        in_block = at & ((1 << BLOCK_BITS) - 1)
        if in_block > 0:
            for c in range(3):
                left[at, c] += left[at - 1, c]
            continue
        # A block begins. What was put down here is the sum of the cell before it,
        # which completes the block before, unless a strip begins.
        block = at >> BLOCK_BITS
        for c in range(3):
            if at % n_columns > 0:
                before = left[at, c] + left[at - 1, c]
                blocks[block, c] = blocks[block - 1, c] + before
            left[at, c] = 0
    left[n_cells, 3] = tail
    for i in range(n):
        at = strips.cell[i]
        p = left[at, 3] + used[at]
        used[at] += 1
        strips.place[i] = p
        strips.owner[p] = i
        strips.store[0, p] = coords[0, i]
        strips.store[1, p] = coords[1, i]


@kernel
def strip_steps(
    coords: FloatArray,
    draws: IntArray,
    first: int,
    bandwidth: float,
    strips: Strips,
    tol: float,
    last_move: FloatArray,
    resting: int,
    n_at_rest: int,
    patience: float,
    work: IntArray,
    is_arranged: bool,  # noqa: FBT001 - compiled code takes no keywords
) -> tuple[int, int, int]:
    """Move drawn points one after the other; return the next step and why it stops.

    The points are those of the arrangement, which follows their moves, unless
    `is_arranged` is false; then they must lie within its rectangle. The second
    number returned is that of the points at rest. The loop stops when draws are
    used up (DONE), no room is left (FULL), enough points rest (RESTING), or the
    work done exceeds `patience` (WEARY), for the caller to arrange anew.

    One long function: numba would count references to all arrays on each call of a
    helper, which takes as long as a short step.
    """
    geometry, n_columns = strips.geometry, strips.n_columns
    inner, outer, left = strips.inner, strips.outer, strips.left
    blocks = strips.blocks
    used, in_strip = strips.used, strips.in_strip
    store, owner = strips.store, strips.owner
    place, cell = strips.place, strips.cell
    waiting, waiting_owner = strips.waiting, strips.waiting_owner
    n_waiting = strips.n_waiting[0]
    n_offsets = inner.shape[1]
    per_length = 1.0 / geometry[3]
    limit = bandwidth * bandwidth
    n_strips_seen = 0
    n_seen = np.int64(0)
    status = DONE
    step = first
    while step < draws.shape[0]:
        i = draws[step]
        x = coords[0, i]
        y = coords[1, i]
        where = (x - geometry[0]) / geometry[2]
        strip = int(where)
        part = min(int((where - strip) * PARTS), PARTS - 1)
        along = y - geometry[1]
        count = np.int64(0)  # cells inside the disc
        sum_x = np.int64(0)
        sum_y = np.int64(0)
        rim = 0.0  # points of the cells that its rim crosses
        rim_x = 0.0
        rim_y = 0.0
        for offset in range(n_offsets):
            row = strip + offset - n_offsets // 2
            wide = outer[part, offset]
            if in_strip[row] == 0 or wide < 0:
                continue
            n_strips_seen += 1
            base = row * n_columns
            begin = left[np.uintp(base + int((along - wide) * per_length)), 3]
            end = left[np.uintp(base + int((along + wide) * per_length) + 1), 3]
            narrow = inner[part, offset]
            a = np.uintp(base + int((along - narrow) * per_length) + 1)
            b = np.uintp(base + int((along + narrow) * per_length))
            if narrow > 0.0 and a < b:
                c = a >> np.uintp(BLOCK_BITS)
                d = b >> np.uintp(BLOCK_BITS)
                count += left[b, 0] - left[a, 0] + blocks[d, 0] - blocks[c, 0]
                sum_x += left[b, 1] - left[a, 1] + blocks[d, 1] - blocks[c, 1]
                sum_y += left[b, 2] - left[a, 2] + blocks[d, 2] - blocks[c, 2]
                more, along_x, along_y = planar_sums(
                    store, begin, left[a, 3], x, y, limit
                )
                rim += more
                rim_x += along_x
                rim_y += along_y
                n_seen += left[a, 3] - begin
                begin = left[b, 3]
            n_seen += end - begin
            more, along_x, along_y = planar_sums(store, begin, end, x, y, limit)
            rim += more
            rim_x += along_x
            rim_y += along_y
        n_seen += n_waiting
        if n_waiting > 0:
            more, along_x, along_y = planar_sums(waiting, 0, n_waiting, x, y, limit)
            rim += more
            rim_x += along_x
            rim_y += along_y
        sum_x += np.int64(rim_x) - count * np.int64(x)
        sum_y += np.int64(rim_y) - count * np.int64(y)
        count += np.int64(rim)
        move_x = 0.0
        move_y = 0.0
        if count > 0:
            move_x = np.rint(float(sum_x) / float(count))
            move_y = np.rint(float(sum_y) / float(count))
        length = math.sqrt(move_x * move_x + move_y * move_y)
        new_x = x + move_x
        new_y = y + move_y
        if is_arranged and length > 0.0:
            strip = int((new_x - geometry[0]) / geometry[2])
            to = strip * n_columns + int((new_y - geometry[1]) * per_length)
            at = cell[i]
            p = place[i]
            old_end = 0
            if at >= 0:
                old_end = (at // n_columns + 1) * n_columns
            new_end = (strip + 1) * n_columns
            is_free = left[to, 3] + used[to] < left[to + 1, 3]
            if at == to:
                store[0, p] = new_x
                store[1, p] = new_y
                _add_right(
                    left, blocks, to, new_end, 0, np.int64(move_x), np.int64(move_y)
                )
            elif at < 0 and not is_free:
                waiting[0, p] = new_x
                waiting[1, p] = new_y
            elif not is_free and n_waiting == SPARE:
                status = FULL
                break
            else:
                if at >= 0:
                    last = left[at, 3] + used[at] - 1
                    j = owner[last]
                    owner[p] = j
                    place[j] = p
                    store[0, p] = store[0, last]
                    store[1, p] = store[1, last]
                    store[0, last] = _AWAY
                    store[1, last] = _AWAY
                    used[at] -= 1
                    in_strip[at // n_columns] -= 1
                    _add_right(
                        left, blocks, at, old_end, -1, -np.int64(x), -np.int64(y)
                    )
                else:
                    n_waiting -= 1
                    j = waiting_owner[n_waiting]
                    waiting_owner[p] = j
                    place[j] = p
                    waiting[0, p] = waiting[0, n_waiting]
                    waiting[1, p] = waiting[1, n_waiting]
                if is_free:
                    p = left[to, 3] + used[to]
                    owner[p] = i
                    place[i] = p
                    cell[i] = to
                    store[0, p] = new_x
                    store[1, p] = new_y
                    used[to] += 1
                    in_strip[strip] += 1
                    _add_right(
                        left, blocks, to, new_end, 1, np.int64(new_x), np.int64(new_y)
                    )
                else:
                    waiting_owner[n_waiting] = i
                    waiting[0, n_waiting] = new_x
                    waiting[1, n_waiting] = new_y
                    place[i] = n_waiting
                    cell[i] = -1
                    n_waiting += 1
        coords[0, i] = new_x
        coords[1, i] = new_y
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        step += 1
        if resting >= n_at_rest:
            status = RESTING
            break
        if 35.0 * n_strips_seen + 0.35 * n_seen > patience:
            status = WEARY
            break
    strips.n_waiting[0] = n_waiting
    work[0] += step - first
    work[1] += n_strips_seen
    work[2] += n_seen
    return step, resting, status


@kernel
def _add_right(
    left: IntArray,
    blocks: IntArray,
    cell: int,
    end: int,
    count: int,
    along_x: Whole,
    along_y: Whole,
) -> None:
    """Tell the cells and blocks to the right of a cell what has changed in it."""
    block = cell >> BLOCK_BITS
    for c in range(np.uintp(cell + 1), np.uintp((block + 1) << BLOCK_BITS)):
        left[c, 0] += count
        left[c, 1] += along_x
        left[c, 2] += along_y
    for b in range(np.uintp(block + 1), np.uintp(end >> BLOCK_BITS)):
        blocks[b, 0] += count
        blocks[b, 1] += along_x
        blocks[b, 2] += along_y
