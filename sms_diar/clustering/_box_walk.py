"""Moving points through boxes: what to add, what to look at, what to keep up.

``_boxes`` says what boxes are and why sums over them are exact.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering._boxes import (
    CLOSED,
    FIRST,
    GROUP,
    PART,
    PARTS,
    ROOM,
    STALE,
    Boxes,
    gap,
    give,
    part_of,
)
from sms_diar.clustering._scan import BLOCK, add_run, mean_move, planar_sums
from sms_diar.clustering._strips import DONE, FULL, MARGIN, RESTING, WEARY
from sms_diar.types import FloatArray, IntArray


@kernel
def _tighten(
    corners: FloatArray, b: int, store: FloatArray, begin: int, end: int
) -> None:
    """Fit a box to its points again."""
    n_dims = store.shape[0]
    for d in range(n_dims):
        least = np.inf
        most = -np.inf
        for p in range(np.uintp(begin), np.uintp(end)):
            least = min(least, store[d, p])
            most = max(most, store[d, p])
        corners[d, b] = least
        corners[n_dims + d, b] = most


@kernel
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
def _look(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    begin: int,
    end: int,
    x: FloatArray,
    limit: float,
    listed: IntArray,
    total: IntArray,
) -> int:
    """Add the boxes that lie inside the ball; list those that meet the sphere."""
    n_dims = len(dims)
    within = limit * (1.0 - MARGIN)
    beyond = limit * (1.0 + MARGIN)
    n_listed = 0
    for b in range(np.uintp(begin), np.uintp(end)):
        near = 0.0
        far = 0.0
        for d in range(n_dims):
            below = corners[d, b] - x[d]
            above = x[d] - corners[n_dims + d, b]
            to_near = max(below, above, 0.0)
            to_far = min(below, above)
            near += to_near * to_near
            far += to_far * to_far
        if far < within:
            total[0] += tally[0, b]
            for d in range(n_dims):
                total[1 + d] += tally[1 + d, b] - tally[0, b] * np.int64(x[d])
        elif near <= beyond:
            listed[n_listed] = np.int64(b)
            n_listed += 1
    return n_listed


@inlined
def _compare(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    b: int,
    store: FloatArray,
    x: FloatArray,
    limit: float,
    squared: FloatArray,
    total: IntArray,
) -> None:
    """Look at the points of a box one by one, and fit the box if it may be loose."""
    begin = layout[FIRST, b]
    end = begin + tally[0, b]
    if len(dims) == 2:
        count, along_x, along_y = planar_sums(store, begin, end, x[0], x[1], limit)
        total[0] += np.int64(count)
        total[1] += np.int64(along_x)
        total[2] += np.int64(along_y)
    else:
        add_run(store, begin, end, x, limit, 0, 1.0, squared, total)
    if 8 * layout[STALE, b] > tally[0, b]:
        _tighten(corners, b, store, begin, end)
        layout[STALE, b] = 0


@kernel
def _examine(
    dims: tuple[int, ...],
    x: FloatArray,
    limit: float,
    n_crossed: int,
    listed: IntArray,
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    store: FloatArray,
    listed_parts: IntArray,
    squared: FloatArray,
    total: IntArray,
    work: IntArray,
) -> None:
    """Add what lies inside the ball of the groups whose boxes meet the sphere.

    Not part of the loops that call it: numba counts references to all these arrays
    on each call, which most steps are spared, as they meet no box.
    """
    work[1] += n_crossed
    for c in range(n_crossed):
        g = listed[c]
        begin = layout[PART, g]
        if begin < 0:
            _compare(dims, corners, tally, layout, g, store, x, limit, squared, total)
            work[2] += tally[0, g]
            continue
        end = begin + PARTS
        n_parts = _look(dims, corners, tally, begin, end, x, limit, listed_parts, total)
        work[1] += n_parts + PARTS // 20
        for p in range(n_parts):
            b = listed_parts[p]
            _compare(dims, corners, tally, layout, b, store, x, limit, squared, total)
            work[2] += tally[0, b]
        if layout[STALE, g] > PARTS // 4:
            _unite(corners, g, begin, end)
            layout[STALE, g] = 0


@kernel
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
    listed = np.empty(n_groups + 1, dtype=np.int64)
    listed_parts = np.empty(PARTS + 1, dtype=np.int64)
    squared = np.empty(BLOCK)
    total = np.empty(1 + n_dims, dtype=np.int64)
    move = np.empty(n_dims)
    x = np.empty(n_dims)
    limit = bandwidth * bandwidth
    for m in range(moving.shape[0]):
        q = moving[m]
        for d in range(n_dims):
            x[d] = queries[d, q]
        for c in range(1 + n_dims):
            total[c] = 0
        n_crossed = _look(
            boxes.dims, corners, tally, 0, n_groups, x, limit, listed, total
        )
        if n_crossed > 0:
            _examine(
                boxes.dims,
                x,
                limit,
                n_crossed,
                listed,
                corners,
                tally,
                layout,
                store,
                listed_parts,
                squared,
                total,
                work,
            )
        lengths[q] = mean_move(total, move)
        for d in range(n_dims):
            queries[d, q] = x[d] + move[d]
    work[0] += moving.shape[0]
    work[3] += moving.shape[0]


@kernel
def box_steps(
    coords: FloatArray,
    draws: IntArray,
    first_step: int,
    bandwidths: FloatArray,
    boxes: Boxes,
    tol: float,
    last_move: FloatArray,
    resting: int,
    n_at_rest: int,
    patience: float,
    work: IntArray,
) -> tuple[int, int, int]:
    """Move drawn points one after the other; return the next step and why it stops.

    As ``strip_steps``, but bandwidths may change from step to step within the
    range that the boxes were made for.
    """
    n_groups, corners, tally = boxes.n_groups, boxes.corners, boxes.tally
    layout, store, cut, axes = boxes.layout, boxes.store, boxes.cut, boxes.axes
    owner, place, box, tail = boxes.owner, boxes.place, boxes.box, boxes.tail
    apart = boxes.apart
    n_dims = len(boxes.dims)
    listed = np.empty(n_groups + 1, dtype=np.int64)
    listed_parts = np.empty(PARTS + 1, dtype=np.int64)
    squared = np.empty(BLOCK)
    total = np.empty(1 + n_dims, dtype=np.int64)
    move = np.empty(n_dims)
    x = np.empty(n_dims)
    y = np.empty(n_dims)
    done = np.zeros(4, dtype=np.int64)
    status = DONE
    step = first_step
    while step < draws.shape[0]:
        i = draws[step]
        b = box[i]
        g = layout[GROUP, b]
        for d in range(n_dims):
            x[d] = coords[d, i]
        if layout[CLOSED, g]:
            total[0] = tally[0, g]
            for d in range(n_dims):
                total[1 + d] = tally[1 + d, g] - tally[0, g] * np.int64(x[d])
        else:
            done[3] += 1
            limit = bandwidths[step] * bandwidths[step]
            for c in range(1 + n_dims):
                total[c] = 0
            n_crossed = _look(
                boxes.dims, corners, tally, 0, n_groups, x, limit, listed, total
            )
            if n_crossed > 0:
                _examine(
                    boxes.dims,
                    x,
                    limit,
                    n_crossed,
                    listed,
                    corners,
                    tally,
                    layout,
                    store,
                    listed_parts,
                    squared,
                    total,
                    done,
                )
        length = mean_move(total, move)
        if length > 0.0:
            has_left = False
            for d in range(n_dims):
                y[d] = x[d] + move[d]
                has_left |= y[d] < corners[d, g]
                has_left |= y[d] > corners[n_dims + d, g]
            new_group = g
            if has_left:
                done[3] += 1
                new_group = _nearest(boxes.dims, corners, n_groups, y)
            to = new_group
            if layout[PART, to] >= 0:
                to = layout[PART, to] + part_of(cut, axes, to, y)
            p = place[i]
            if to != b:
                if tally[0, to] == layout[ROOM, to]:
                    if tail[0] + 2 * tally[0, to] + 8 > store.shape[1]:
                        status = FULL
                        break
                    _make_room(tally, layout, to, tail, store, owner, place)
                last = layout[FIRST, b] + tally[0, b] - 1
                j = owner[last]
                owner[p] = j
                place[j] = p
                for d in range(n_dims):
                    store[d, p] = store[d, last]
                p = layout[FIRST, to] + tally[0, to]
                owner[p] = i
                place[i] = p
                box[i] = to
            for d in range(n_dims):
                store[d, p] = y[d]
                coords[d, i] = y[d]
            _take(boxes.dims, corners, tally, b, x)
            give(boxes.dims, corners, tally, to, y)
            layout[STALE, b] += 1
            if b != g:
                _take(boxes.dims, corners, tally, g, x)
                layout[STALE, g] += 1
            if to != new_group:
                give(boxes.dims, corners, tally, new_group, y)
            if new_group != g:
                layout[CLOSED, new_group] = 0
            if has_left:
                for k in range(n_groups):
                    is_seen = layout[CLOSED, k] and k != new_group
                    if is_seen and gap(corners, k, new_group) <= apart:
                        layout[CLOSED, k] = 0
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        step += 1
        if resting >= n_at_rest:
            status = RESTING
            break
        spent = 20.0 * (step - first_step) + (30.0 + 1.1 * n_dims * n_groups) * done[3]
        if spent + 45.0 * done[1] + 0.3 * n_dims * done[2] > patience:
            status = WEARY
            break
    work[0] += step - first_step
    for c in range(1, 4):
        work[c] += done[c]
    return step, resting, status


@inlined
def _nearest(
    dims: tuple[int, ...], corners: FloatArray, n_groups: int, y: FloatArray
) -> int:
    """The group whose box has to grow least: any group would do."""
    n_dims = len(dims)
    best = 0
    least = np.inf
    for g in range(n_groups):
        near = 0.0
        for d in range(n_dims):
            below = corners[d, g] - y[d]
            above = y[d] - corners[n_dims + d, g]
            to_near = max(below, above, 0.0)
            near += to_near * to_near
        if near < least:
            least = near
            best = g
    return best


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


@kernel
def _make_room(
    tally: IntArray,
    layout: IntArray,
    b: int,
    tail: IntArray,
    store: FloatArray,
    owner: IntArray,
    place: IntArray,
) -> None:
    """Move the points of a full box to the free end of the store."""
    begin = layout[FIRST, b]
    target = tail[0]
    for q in range(tally[0, b]):
        for d in range(store.shape[0]):
            store[d, target + q] = store[d, begin + q]
        j = owner[begin + q]
        owner[target + q] = j
        place[j] = target + q
    layout[FIRST, b] = target
    layout[ROOM, b] = 2 * tally[0, b] + 8
    tail[0] = target + layout[ROOM, b]
