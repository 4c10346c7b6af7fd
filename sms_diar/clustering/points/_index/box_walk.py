"""Moving points through boxes: what to add, what to look at, what to keep up.

``_boxes`` says what boxes are and why sums over them are exact.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import borrowing, inlined
from sms_diar.clustering.points._index.boxes import (
    CLOSED,
    FIRST,
    GROUP,
    LARGE,
    PARENT,
    PART,
    PARTS,
    ROOM,
    STALE,
    Boxes,
    empty_places,
    give,
    part_of,
)
from sms_diar.clustering.points._index.groups import gap
from sms_diar.clustering.points._index.lane_code import LANE_BITS, LANES
from sms_diar.clustering.points._index.lanes import (
    add_blocks,
    fetch,
    list_run,
    look,
    nearest,
    slot,
    tighten,
)
from sms_diar.clustering.points._index.records import (
    CHECKED,
    DONE,
    FULL,
    LAST_MOVE,
    MARGIN,
    PLACE,
    RESTING,
    WEARY,
)
from sms_diar.clustering.points._scan import mean_move
from sms_diar.types import FloatArray, IntArray


@borrowing
def _unite(corners: FloatArray, g: int, begin: int, end: int) -> None:
    """Fit the box of a group to those of its parts again."""
    n_dims = corners.shape[0] // 2
    for d in range(n_dims):
        least = np.inf
        most = -np.inf
        for b in range(np.uintp(begin), np.uintp(end)):
            least = min(least, corners[d, b])
            most = max(most, corners[n_dims + d, b])
        corners[d, g] = least
        corners[n_dims + d, g] = most


@inlined
def _sum_ball(
    dims: tuple[int, ...],
    n_groups: int,
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    store: FloatArray,
    x: FloatArray,
    limit: float,
    listed: IntArray,
    blocks: IntArray,
    total: IntArray,
    work: IntArray,
) -> None:
    """Count the points within reach of `x` and add up their differences."""
    n_dims = len(dims)
    within = limit * (1.0 - MARGIN)
    beyond = limit * (1.0 + MARGIN)
    for c in range(1 + n_dims):
        total[c] = 0
    # Boxes that meet the sphere; parts of such boxes join the list at its end.
    n_listed = look(dims, corners, tally, 0, n_groups, x, within, beyond, listed, total)
    n_blocks = 0
    at = 0
    while at < n_listed:
        b = listed[at]
        at += 1
        begin = layout[b, PART]
        if begin >= 0:
            n_listed += look(
                dims,
                corners,
                tally,
                begin,
                begin + PARTS,
                x,
                within,
                beyond,
                listed[n_listed:],
                total,
            )
            work[1] += PARTS // 8
            if layout[b, STALE] > PARTS // 4:
                _unite(corners, b, begin, begin + PARTS)
                layout[b, STALE] = 0
            continue
        first = layout[b, FIRST] * LANES
        size = tally[0, b]
        if 8 * layout[b, STALE] > size:
            end = layout[b, FIRST] + ((size + LANES - 1) >> LANE_BITS)
            tighten(dims, corners, b, store, layout[b, FIRST], end)
            layout[b, STALE] = 0
        n_blocks = list_run(blocks, n_blocks, first, first + size)
    work[1] += n_listed
    work[2] += n_blocks
    for d in range(n_dims):
        total[1 + d] -= total[0] * np.int64(x[d])
    if n_blocks > 0:
        add_blocks(dims, store, blocks, n_blocks, x, limit, total)


@borrowing
def box_moves(
    queries: FloatArray,
    moving: IntArray,
    bandwidth: float,
    boxes: Boxes,
    lengths: FloatArray,
    work: IntArray,
) -> None:
    """Move the queries named in `moving` once, in place; the grouped points stay."""
    n_groups, corners, tally = boxes.n_groups, boxes.corners, boxes.tally
    layout, store = boxes.layout, boxes.store
    n_dims = len(boxes.dims)
    listed, blocks, total = boxes.rooms[0], boxes.rooms[1], boxes.rooms[2]
    x, move = boxes.vectors[0], boxes.vectors[1]
    limit = bandwidth * bandwidth
    for m in range(moving.shape[0]):
        q = moving[m]
        for d in range(n_dims):
            x[d] = queries[d, q]
        _sum_ball(
            boxes.dims,
            n_groups,
            corners,
            tally,
            layout,
            store,
            x,
            limit,
            listed,
            blocks,
            total,
            work,
        )
        lengths[q] = mean_move(total, move)
        for d in range(n_dims):
            queries[d, q] = x[d] + move[d]
    work[0] += moving.shape[0]
    work[3] += moving.shape[0]


@borrowing
def box_steps(
    points: FloatArray,
    draws: IntArray,
    first_step: int,
    bandwidths: FloatArray,
    boxes: Boxes,
    tol: float,
    resting: int,
    n_at_rest: int,
    prices: tuple[float, ...],
    patience: float,
    work: IntArray,
) -> tuple[int, int, int]:
    """Move drawn points one after the other; return the next step and why it stops.

    As ``strip_steps``, but bandwidths may change from step to step within the
    range that the boxes were made for. `work` counts steps, boxes that met the
    sphere, blocks, and looks at all groups.
    """
    n_groups, corners, tally = boxes.n_groups, boxes.corners, boxes.tally
    layout, store, cut, axes = boxes.layout, boxes.store, boxes.cut, boxes.axes
    owner, home, tail = boxes.owner, boxes.home, boxes.tail
    apart, near = boxes.apart, boxes.near
    n_dims = len(boxes.dims)
    listed, blocks, total = boxes.rooms[0], boxes.rooms[1], boxes.rooms[2]
    x, move, y = boxes.vectors[0], boxes.vectors[1], boxes.vectors[2]
    is_outdated = False
    status = DONE
    step = first_step
    while step < draws.shape[0]:
        i = draws[step]
        fetch(points, draws[min(step + 4, draws.shape[0] - 1)])
        q = int(points[draws[min(step + 2, draws.shape[0] - 1)], PLACE])
        fetch(home, q >> LANE_BITS)
        fetch(store, slot(q, n_dims))
        fetch(owner, q)
        p = int(points[i, PLACE])
        b = home[np.uintp(p >> LANE_BITS)]
        g = layout[b, GROUP]
        is_closed = layout[g, CLOSED] > 0
        for d in range(n_dims):
            x[d] = points[i, d]
        if is_closed:
            # All its points are within reach, and no other.
            total[0] = tally[0, g]
            for d in range(n_dims):
                total[1 + d] = tally[1 + d, g] - tally[0, g] * np.int64(x[d])
        else:
            work[3] += 1
            _sum_ball(
                boxes.dims,
                n_groups,
                corners,
                tally,
                layout,
                store,
                x,
                bandwidths[step] * bandwidths[step],
                listed,
                blocks,
                total,
                work,
            )
        length = mean_move(total, move)
        if length > 0.0 and is_closed:
            # The mean is inside the box. Places are brought up when it is opened.
            for d in range(n_dims):
                points[i, d] = x[d] + move[d]
                tally[1 + d, g] += np.int64(move[d])
        elif length > 0.0:
            outside = 0.0
            for d in range(n_dims):
                y[d] = x[d] + move[d]
                beside = max(corners[d, g] - y[d], y[d] - corners[n_dims + d, g], 0.0)
                outside += beside * beside
            new_group = g
            if outside > near:
                work[3] += 1
                new_group = nearest(boxes.dims, corners, n_groups, y)
                if layout[new_group, CLOSED]:
                    is_outdated |= _open(boxes, points, new_group)
            to = new_group
            while layout[to, PART] >= 0:
                to = layout[to, PART] + part_of(cut, axes, to, y)
            if to != b:
                if tally[0, to] == layout[to, ROOM] * LANES:
                    if tail[0] + (tally[0, to] >> 1) + 2 > home.shape[0]:
                        status = FULL
                        break
                    _make_room(boxes, points, to)
                last = layout[b, FIRST] * LANES + tally[0, b] - 1
                j = owner[last]
                owner[p] = j
                points[j, PLACE] = p
                q = slot(p, n_dims)
                r = slot(last, n_dims)
                for d in range(n_dims):
                    store[q + d * LANES] = store[r + d * LANES]
                    store[r + d * LANES] = np.nan
                p = layout[to, FIRST] * LANES + tally[0, to]
                owner[p] = i
                points[i, PLACE] = p
            q = slot(p, n_dims)
            for d in range(n_dims):
                store[q + d * LANES] = y[d]
                points[i, d] = y[d]
            if to == b:
                # The box and those that it is part of keep the point.
                while b >= 0:
                    layout[b, STALE] += 1
                    for d in range(n_dims):
                        tally[1 + d, b] += np.int64(move[d])
                        corners[d, b] = min(corners[d, b], y[d])
                        corners[n_dims + d, b] = max(corners[n_dims + d, b], y[d])
                    b = layout[b, PARENT]
                to = -1
            while b >= 0:
                _take(boxes.dims, corners, tally, b, x)
                layout[b, STALE] += 1
                b = layout[b, PARENT]
            while to >= 0:
                give(boxes.dims, corners, tally, to, y)
                to = layout[to, PARENT]
            if outside > 0.0:
                k = boxes.closed[0]
                while k > 0:
                    if gap(corners, boxes.closed[k], new_group) <= apart:
                        is_outdated |= _open(boxes, points, boxes.closed[k])
                    k -= 1
        if points[i, LAST_MOVE] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        points[i, LAST_MOVE] = length
        step += 1
        if resting >= n_at_rest:
            status = RESTING
            break
        if is_outdated:
            status = WEARY
            break
        if step % CHECKED == 0:
            spent = prices[1] * work[1] + prices[2] * work[2] + prices[3] * work[3]
            if spent + prices[0] * (work[0] + step - first_step) > patience:
                status = WEARY
                break
    work[0] += step - first_step
    return step, resting, status


@borrowing
def _open(boxes: Boxes, points: FloatArray, g: int) -> bool:
    """End that a group is closed; bring the places of its points up to date.

    Tells whether the group is so large that it should have had parts.
    """
    n_dims = len(boxes.dims)
    boxes.layout[g, CLOSED] = 0
    for k in range(1, boxes.closed[0] + 1):
        if boxes.closed[k] == g:
            boxes.closed[k] = boxes.closed[boxes.closed[0]]
    boxes.closed[0] -= 1
    begin = boxes.layout[g, FIRST] * LANES
    for p in range(begin, begin + boxes.tally[0, g]):
        q = slot(p, n_dims)
        for d in range(n_dims):
            boxes.store[q + d * LANES] = points[boxes.owner[p], d]
    return bool(boxes.tally[0, g] >= LARGE)


@inlined
def _take(
    dims: tuple[int, ...], corners: FloatArray, tally: IntArray, b: int, x: FloatArray
) -> None:
    """Take a point out of the sums of a box."""
    n_dims = len(dims)
    tally[0, b] -= 1
    for d in range(n_dims):
        tally[1 + d, b] -= np.int64(x[d])
        if tally[0, b] == 0:
            corners[d, b] = np.inf
            corners[n_dims + d, b] = -np.inf


@borrowing
def _make_room(boxes: Boxes, points: FloatArray, b: int) -> None:
    """Move the points of a full box to the free end of the store."""
    n_dims = len(boxes.dims)
    layout, owner, store = boxes.layout, boxes.owner, boxes.store
    begin = layout[b, FIRST] * LANES
    first = boxes.tail[0]
    for k in range(boxes.tally[0, b]):
        q = slot(begin + k, n_dims)
        r = slot(first * LANES + k, n_dims)
        for d in range(n_dims):
            store[r + d * LANES] = store[q + d * LANES]
        j = owner[begin + k]
        owner[first * LANES + k] = j
        points[j, PLACE] = first * LANES + k
    room = (boxes.tally[0, b] >> 1) + 2
    for block in range(first, first + room):
        boxes.home[block] = b
    end = (first + room) * LANES
    empty_places(store, n_dims, first * LANES + boxes.tally[0, b], end)
    layout[b, FIRST] = first
    layout[b, ROOM] = room
    boxes.tail[0] = first + room
