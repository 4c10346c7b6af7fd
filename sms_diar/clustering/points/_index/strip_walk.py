"""Moving points through strips: sums over discs, and what moves change.

``_strips`` says what strips are and why sums over them are exact.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import borrowing, inlined
from sms_diar.clustering.points._index.lane_code import LANES
from sms_diar.clustering.points._index.lanes import (
    add_blocks,
    add_right,
    fetch,
    list_run,
    list_strips,
    slot,
)
from sms_diar.clustering.points._index.records import (
    CHECKED,
    DONE,
    FULL,
    LAST_MOVE,
    PLACE,
    RESTING,
    WEARY,
)
from sms_diar.clustering.points._index.strips import PARTS, SPARE, Strips
from sms_diar.types import FloatArray, IntArray


@inlined
def _sum_disc(
    geometry: FloatArray,
    n_columns: int,
    stencil: IntArray,
    left: IntArray,
    stretches: IntArray,
    in_strip: IntArray,
    store: FloatArray,
    n_waiting: int,
    x: FloatArray,
    limit: float,
    listed: IntArray,
    total: IntArray,
    work: IntArray,
) -> None:
    """Count the points within reach of `x` and add up their differences."""
    down = (x[0] - geometry[0]) * geometry[2]
    along = (x[1] - geometry[1]) * geometry[3]
    strip = int(down)
    column = int(along)
    part = min(int((down - strip) * PARTS), PARTS - 1)
    across = min(int((along - column) * PARTS), PARTS - 1)
    for c in range(4):
        total[c] = 0
    n_listed = list_strips(
        stencil[part, across],
        left,
        stretches,
        in_strip,
        strip - stencil.shape[2] // 2,
        column,
        n_columns,
        listed,
        total,
    )
    n_listed = list_run(listed, n_listed, 0, n_waiting)
    total[1] -= total[0] * np.int64(x[0])
    total[2] -= total[0] * np.int64(x[1])
    add_blocks((0, 1), store, listed, n_listed, x, limit, total)
    work[1] += stencil.shape[2]
    work[2] += n_listed


@borrowing
def strip_moves(
    queries: FloatArray,
    moving: IntArray,
    bandwidth: float,
    strips: Strips,
    lengths: FloatArray,
    work: IntArray,
) -> None:
    """Move the queries named in `moving` once, in place; the arranged points stay.

    Queries must lie within the rectangle of the points.
    """
    geometry, stencil = strips.geometry, strips.stencil
    left, stretches, in_strip = strips.left, strips.stretches, strips.in_strip
    listed, total, x = strips.listed, strips.total, strips.x
    limit = bandwidth * bandwidth
    for m in range(moving.shape[0]):
        q = moving[m]
        x[0] = queries[0, q]
        x[1] = queries[1, q]
        _sum_disc(
            geometry,
            strips.n_columns,
            stencil,
            left,
            stretches,
            in_strip,
            strips.store,
            0,
            x,
            limit,
            listed,
            total,
            work,
        )
        move_x = 0.0
        move_y = 0.0
        if total[0] > 0:
            move_x = np.rint(float(total[1]) / float(total[0]))
            move_y = np.rint(float(total[2]) / float(total[0]))
        lengths[q] = math.sqrt(move_x * move_x + move_y * move_y)
        queries[0, q] = x[0] + move_x
        queries[1, q] = x[1] + move_y
    work[0] += moving.shape[0]


@borrowing
def strip_steps(
    points: FloatArray,
    draws: IntArray,
    first: int,
    bandwidth: float,
    strips: Strips,
    tol: float,
    resting: int,
    n_at_rest: int,
    prices: tuple[float, ...],
    patience: float,
    work: IntArray,
) -> tuple[int, int, int]:
    """Move drawn points one after the other; return the next step and why it stops.

    The arrangement follows the moves. The second number returned is that of the
    points at rest. The loop stops when draws are used up (DONE), no room is left
    (FULL), enough points rest (RESTING), or the work done costs more than it may
    (WEARY), for the caller to arrange anew. `work` counts steps, strips and blocks,
    `prices` says what each of them costs, and `patience` what they may cost.
    """
    geometry, n_columns, stencil = strips.geometry, strips.n_columns, strips.stencil
    left, stretches = strips.left, strips.stretches
    used, in_strip = strips.used, strips.in_strip
    store, owner = strips.store, strips.owner
    n_waiting = strips.n_waiting[0]
    listed, total, x = strips.listed, strips.total, strips.x
    limit = bandwidth * bandwidth
    status = DONE
    step = first
    while step < draws.shape[0]:
        i = draws[step]
        fetch(points, draws[min(step + 4, draws.shape[0] - 1)])
        x[0] = points[i, 0]
        x[1] = points[i, 1]
        _sum_disc(
            geometry,
            n_columns,
            stencil,
            left,
            stretches,
            in_strip,
            store,
            n_waiting,
            x,
            limit,
            listed,
            total,
            work,
        )
        # The point itself is within reach: the count is never nought.
        move_x = np.rint(float(total[1]) / float(total[0]))
        move_y = np.rint(float(total[2]) / float(total[0]))
        length = math.sqrt(move_x * move_x + move_y * move_y)
        if length > 0.0:
            new_x = x[0] + move_x
            new_y = x[1] + move_y
            strip = int((new_x - geometry[0]) * geometry[2])
            to = strip * n_columns + int((new_y - geometry[1]) * geometry[3])
            p = int(points[i, PLACE])
            end = (strip + 1) * n_columns
            # A point that waits is in no cell.
            row = int((x[0] - geometry[0]) * geometry[2])
            at = row * n_columns + int((x[1] - geometry[1]) * geometry[3])
            if p < SPARE:
                at = -1
            if at == to:
                add_right(
                    left, stretches, to, end, 0, np.int64(move_x), np.int64(move_y)
                )
            else:
                # The last point of the cell takes the place that is left.
                if at >= 0:
                    used[at] -= 1
                    last = left[at, 3] + used[at]
                    in_strip[row] -= 1
                    add_right(
                        left,
                        stretches,
                        at,
                        (row + 1) * n_columns,
                        -1,
                        -np.int64(x[0]),
                        -np.int64(x[1]),
                    )
                else:
                    n_waiting -= 1
                    last = n_waiting
                _move_place(points, store, owner, last, p)
                free = to
                while free < end and used[free] == left[free + 1, 3] - left[free, 3]:
                    free += 1
                if free == end:
                    free = to - 1
                    begin = end - n_columns
                    while free >= begin and (
                        used[free] == left[free + 1, 3] - left[free, 3]
                    ):
                        free -= 1
                    if free < begin:
                        free = end
                if free < end:
                    if free != to:
                        _shift(points, left, used, store, owner, free, to)
                    p = left[to, 3] + used[to]
                    used[to] += 1
                    in_strip[strip] += 1
                    add_right(
                        left,
                        stretches,
                        to,
                        end,
                        1,
                        np.int64(new_x),
                        np.int64(new_y),
                    )
                else:
                    p = n_waiting
                    n_waiting += 1
                owner[p] = i
                points[i, PLACE] = p
            q = slot(p, 2)
            store[q] = new_x
            store[q + LANES] = new_y
            points[i, 0] = new_x
            points[i, 1] = new_y
        if points[i, LAST_MOVE] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        points[i, LAST_MOVE] = length
        step += 1
        if n_waiting == SPARE:
            status = FULL
            break
        if resting >= n_at_rest:
            status = RESTING
            break
        if step % CHECKED == 0:
            spent = prices[1] * work[1] + prices[2] * work[2]
            if spent + prices[0] * (work[0] + step - first) > patience:
                status = WEARY
                break
    strips.n_waiting[0] = n_waiting
    work[0] += step - first
    return step, resting, status


@borrowing
def _shift(
    points: FloatArray,
    left: IntArray,
    used: IntArray,
    store: FloatArray,
    owner: IntArray,
    free: int,
    to: int,
) -> None:
    """Hand the free place of a cell to another one of its strip.

    Each cell on the way gives its first place to the one before it, or its last to
    the one after it, and puts the point that was there at its other end.
    """
    for cell in range(free, to, -1):
        first = left[cell, 3]
        left[cell, 3] += 1
        if used[cell] > 0:
            _move_place(points, store, owner, first, first + used[cell])
    for cell in range(free + 1, to + 1):
        left[cell, 3] -= 1
        if used[cell] > 0:
            first = left[cell, 3]
            _move_place(points, store, owner, first + used[cell], first)


@inlined
def _move_place(
    points: FloatArray, store: FloatArray, owner: IntArray, p: int, to: int
) -> None:
    """Move what is stored at place `p` to place `to`, and free `p`."""
    j = owner[p]
    owner[to] = j
    points[j, PLACE] = to
    q = slot(p, 2)
    r = slot(to, 2)
    store[r] = store[q]
    store[r + LANES] = store[q + LANES]
    store[q] = np.nan
    store[q + LANES] = np.nan
