"""Exact sums over balls, for points that have drawn together, in any dimension.

Points are kept in groups, each with its sum and with a box around it. A group whose
box lies wholly inside the ball adds its sum, one that lies outside adds nothing; only
a group whose box meets the sphere is looked at more closely. Large groups are cut
into parts, which again have sums and boxes, so that few points are left to compare
one by one. Any grouping gives the right sums; a good one has few groups with small
boxes, so groups start as the cells of a grid, and small neighbours are joined.

A group is *closed* when its points are all within reach of each other and of no
other point. Such a point moves to the mean of its group, which is known: a step
costs next to nothing. A mean lies inside the box of its points, so a closed group
stays closed until another group's box grows towards it.

Sums are of whole numbers and exact (``_lattice``), so states are those of the plain
loop. Boxes are compared with a margin far above the rounding of the distances that
the plain loop compares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering._hash import mix
from sms_diar.clustering._scan import BLOCK, add_run, mean_move, planar_sums
from sms_diar.clustering._strips import DONE, FULL, MARGIN, RESTING, WEARY
from sms_diar.types import FloatArray, IntArray

MOST_GROUPS = 512
_JOIN_BELOW = 64  # groups are joined only when there are no more than this
_LARGE = 768  # points from which a group is cut into parts
_PARTS = 64  # 8 along the two longest edges of its box


# Rows of ``Boxes.layout``.
_FIRST, _ROOM, _GROUP, _PART, _STALE, _CLOSED = range(6)


class Boxes(NamedTuple):
    """The grouping: groups come first, the parts of large ones after them.

    Both are called boxes; points belong to a part, or to a group that has none. Few
    arrays with many rows, because handing arrays to a helper costs time.
    """

    dims: tuple[int, ...]  # 0, 1, ..., d - 1: its length is known to the compiler
    n_groups: int
    corners: FloatArray  # (2 d, boxes): low corners, then high corners
    tally: IntArray  # (1 + d, boxes): points, and the sums of their coordinates
    layout: IntArray  # (6, boxes): first place, places, group, first part or -1,
    #                   moves since the box was fitted, whether it is closed
    cut: FloatArray  # (groups, 4): corner and steps along the two edges that are cut
    axes: IntArray  # (groups, 2): which edges
    tail: IntArray  # one number: the first place that nobody owns
    store: FloatArray  # (d, places)
    owner: IntArray  # point at each place
    place: IntArray  # of each point
    box: IntArray  # of each point
    apart: float  # squared distance at which a box cannot be seen from another


def enclose(
    coords: FloatArray, side: float, shortest: float, longest: float
) -> tuple[Boxes, float]:
    """Group lattice points by the cells of a grid.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points.
    side : float
        Wanted side of the cells; grows until there are MOST_GROUPS at most.
    shortest, longest : float
        Range of the bandwidths to come, for which groups are to be closed.

    Returns
    -------
    boxes : Boxes
        The grouping.
    side : float
        Side of the cells it was made of.
    """
    n_dims, n = coords.shape
    box = np.empty(n, dtype=np.int64)
    keys = np.empty(4 * MOST_GROUPS, dtype=np.int64)
    numbers = np.empty(4 * MOST_GROUPS, dtype=np.int64)
    while True:
        n_groups = _number_cells(coords, side, MOST_GROUPS, keys, numbers, box)
        if n_groups >= 0:
            break
        side *= 1.5
    n_boxes = n_groups + _PARTS * min(n_groups, n // _LARGE)
    corners = np.full((2 * n_dims, n_boxes), np.inf)
    corners[n_dims:] = -np.inf
    _bound(coords, box, corners)
    if 1 < n_groups <= _JOIN_BELOW:
        n_groups = _join(corners, n_groups, (0.25 * shortest) ** 2, box)
    n_places = 3 * n + n // 4 + 8 * n_boxes + 1024
    boxes = Boxes(
        tuple(range(n_dims)),
        n_groups,
        corners,
        np.zeros((1 + n_dims, n_boxes), dtype=np.int64),
        np.zeros((6, n_boxes), dtype=np.int64),
        np.zeros((n_groups, 4)),
        np.zeros((n_groups, 2), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty((n_dims, n_places)),
        np.empty(n_places, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        box,
        longest * longest * (1.0 + MARGIN),
    )
    _fill(coords, boxes)
    _close(boxes, shortest)
    return boxes, side


@kernel
def _number_cells(
    coords: FloatArray,
    side: float,
    most: int,
    keys: IntArray,
    numbers: IntArray,
    group: IntArray,
) -> int:
    """Number the occupied cells; -1 if there are too many.

    Two cells of one key become one group, which costs time but no precision.
    """
    n_dims, n = coords.shape
    mask = keys.shape[0] - 1
    numbers[:] = -1
    n_groups = 0
    for i in range(n):
        key = 0
        for d in range(n_dims):
            key = mix(key, math.floor(coords[d, i] / side))
        at = key & mask
        while numbers[at] >= 0 and keys[at] != key:
            at = (at + 1) & mask
        if numbers[at] < 0:
            if n_groups == most:
                return -1
            keys[at] = key
            numbers[at] = n_groups
            n_groups += 1
        group[i] = numbers[at]
    return n_groups


@kernel
def _bound(coords: FloatArray, box: IntArray, corners: FloatArray) -> None:
    n_dims, n = coords.shape
    for d in range(n_dims):
        for i in range(n):
            b = box[i]
            corners[d, b] = min(corners[d, b], coords[d, i])
            corners[n_dims + d, b] = max(corners[n_dims + d, b], coords[d, i])


@kernel
def _join(corners: FloatArray, n_groups: int, limit: float, group: IntArray) -> int:
    """Join boxes as long as the common diagonal stays short; return how many remain."""
    n_dims = corners.shape[0] // 2
    target = np.arange(n_groups)
    kept = 0
    for g in range(n_groups):
        into = -1
        for k in range(kept):
            diagonal = 0.0
            for d in range(n_dims):
                top = max(corners[n_dims + d, g], corners[n_dims + d, k])
                edge = top - min(corners[d, g], corners[d, k])
                diagonal += edge * edge
            if diagonal < limit:
                into = k
                break
        if into < 0:
            into = kept
            kept += 1
            for c in range(2 * n_dims):
                corners[c, into] = corners[c, g]
        for d in range(n_dims):
            corners[d, into] = min(corners[d, into], corners[d, g])
            high = max(corners[n_dims + d, into], corners[n_dims + d, g])
            corners[n_dims + d, into] = high
        target[g] = into
    for i in range(group.shape[0]):
        group[i] = target[group[i]]
    for d in range(n_dims):
        corners[d, kept:n_groups] = np.inf
        corners[n_dims + d, kept:n_groups] = -np.inf
    return kept


@kernel
def _fill(coords: FloatArray, boxes: Boxes) -> None:
    """Cut large groups, give every point its place, and add everything up."""
    n_dims, n = coords.shape
    tally, layout, box = boxes.tally, boxes.layout, boxes.box
    n_groups = boxes.n_groups
    x = np.empty(n_dims)
    for i in range(n):
        tally[0, box[i]] += 1
        for d in range(n_dims):
            tally[1 + d, box[i]] += np.int64(coords[d, i])
    n_boxes = n_groups
    for g in range(n_groups):
        layout[_GROUP, g] = g
        layout[_PART, g] = -1
        if tally[0, g] >= _LARGE and _cut(boxes.corners, boxes.cut, boxes.axes, g):
            layout[_PART, g] = n_boxes
            for b in range(n_boxes, n_boxes + _PARTS):
                layout[_GROUP, b] = g
                layout[_PART, b] = -1
            n_boxes += _PARTS
    for i in range(n):
        g = box[i]
        if layout[_PART, g] >= 0:
            for d in range(n_dims):
                x[d] = coords[d, i]
            box[i] = layout[_PART, g] + _part(boxes.cut, boxes.axes, g, x)
            _give(boxes.dims, boxes.corners, tally, box[i], x)
    tail = 0
    for b in range(n_boxes):
        layout[_FIRST, b] = tail
        if layout[_PART, b] < 0 and tally[0, b] > 0:
            layout[_ROOM, b] = tally[0, b] + tally[0, b] // 4 + 8
            tail += layout[_ROOM, b]
    boxes.tail[0] = tail
    used = np.zeros(n_boxes, dtype=np.int64)
    for i in range(n):
        b = box[i]
        p = layout[_FIRST, b] + used[b]
        used[b] += 1
        boxes.place[i] = p
        boxes.owner[p] = i
        for d in range(n_dims):
            boxes.store[d, p] = coords[d, i]


@kernel
def _cut(corners: FloatArray, cut: FloatArray, axes: IntArray, g: int) -> bool:
    """Lay a grid over the two longest edges of a box; False if it is a point."""
    n_dims = corners.shape[0] // 2
    edges = corners[n_dims:, g] - corners[:n_dims, g]
    longest = int(np.argmax(edges))
    length = edges[longest]
    if length <= 0.0:
        return False
    edges[longest] = -1.0
    second = int(np.argmax(edges))
    axes[g, 0] = longest
    axes[g, 1] = second
    cut[g, 0] = corners[longest, g]
    cut[g, 1] = corners[second, g]
    cut[g, 2] = 8.0 / length
    cut[g, 3] = 8.0 / max(edges[second], 1.0)
    return True


@inlined
def _part(cut: FloatArray, axes: IntArray, g: int, x: FloatArray) -> int:
    """Part of a group that a position belongs to, be it outside or not."""
    along = (x[axes[g, 0]] - cut[g, 0]) * cut[g, 2]
    across = (x[axes[g, 1]] - cut[g, 1]) * cut[g, 3]
    row = int(min(max(along, 0.0), 7.0))
    column = int(min(max(across, 0.0), 7.0))
    return 8 * row + column


@inlined
def _gap(corners: FloatArray, a: int, b: int) -> float:
    """Squared distance of two boxes."""
    n_dims = corners.shape[0] // 2
    squared = 0.0
    for d in range(n_dims):
        below = corners[d, a] - corners[n_dims + d, b]
        above = corners[d, b] - corners[n_dims + d, a]
        apart = max(below, above, 0.0)
        squared += apart * apart
    return squared


@kernel
def _close(boxes: Boxes, shortest: float) -> None:
    """Find the groups that are closed for all bandwidths of the range."""
    corners, n_groups = boxes.corners, boxes.n_groups
    n_dims = corners.shape[0] // 2
    within = shortest * shortest * (1.0 - MARGIN)
    for g in range(n_groups):
        diagonal = 0.0
        for d in range(n_dims):
            diagonal += (corners[n_dims + d, g] - corners[d, g]) ** 2
        is_closed = diagonal < within
        for k in range(n_groups):
            if not is_closed:
                break
            is_closed = k == g or _gap(corners, g, k) > boxes.apart
        boxes.layout[_CLOSED, g] = is_closed


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
    begin = layout[_FIRST, b]
    end = begin + tally[0, b]
    if len(dims) == 2:
        count, along_x, along_y = planar_sums(store, begin, end, x[0], x[1], limit)
        total[0] += np.int64(count)
        total[1] += np.int64(along_x)
        total[2] += np.int64(along_y)
    else:
        add_run(store, begin, end, x, limit, 0, 1.0, squared, total)
    if 8 * layout[_STALE, b] > tally[0, b]:
        _tighten(corners, b, store, begin, end)
        layout[_STALE, b] = 0


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
        begin = layout[_PART, g]
        if begin < 0:
            _compare(dims, corners, tally, layout, g, store, x, limit, squared, total)
            work[2] += tally[0, g]
            continue
        end = begin + _PARTS
        n_parts = _look(dims, corners, tally, begin, end, x, limit, listed_parts, total)
        work[1] += n_parts + _PARTS // 20
        for p in range(n_parts):
            b = listed_parts[p]
            _compare(dims, corners, tally, layout, b, store, x, limit, squared, total)
            work[2] += tally[0, b]
        if layout[_STALE, g] > _PARTS // 4:
            _unite(corners, g, begin, end)
            layout[_STALE, g] = 0


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
    listed_parts = np.empty(_PARTS + 1, dtype=np.int64)
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
    listed_parts = np.empty(_PARTS + 1, dtype=np.int64)
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
        g = layout[_GROUP, b]
        for d in range(n_dims):
            x[d] = coords[d, i]
        if layout[_CLOSED, g]:
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
            if layout[_PART, to] >= 0:
                to = layout[_PART, to] + _part(cut, axes, to, y)
            p = place[i]
            if to != b:
                if tally[0, to] == layout[_ROOM, to]:
                    if tail[0] + 2 * tally[0, to] + 8 > store.shape[1]:
                        status = FULL
                        break
                    _make_room(tally, layout, to, tail, store, owner, place)
                last = layout[_FIRST, b] + tally[0, b] - 1
                j = owner[last]
                owner[p] = j
                place[j] = p
                for d in range(n_dims):
                    store[d, p] = store[d, last]
                p = layout[_FIRST, to] + tally[0, to]
                owner[p] = i
                place[i] = p
                box[i] = to
            for d in range(n_dims):
                store[d, p] = y[d]
                coords[d, i] = y[d]
            _take(boxes.dims, corners, tally, b, x)
            _give(boxes.dims, corners, tally, to, y)
            layout[_STALE, b] += 1
            if b != g:
                _take(boxes.dims, corners, tally, g, x)
                layout[_STALE, g] += 1
            if to != new_group:
                _give(boxes.dims, corners, tally, new_group, y)
            if new_group != g:
                layout[_CLOSED, new_group] = 0
            if has_left:
                for k in range(n_groups):
                    is_seen = layout[_CLOSED, k] and k != new_group
                    if is_seen and _gap(corners, k, new_group) <= apart:
                        layout[_CLOSED, k] = 0
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


@inlined
def _give(
    dims: tuple[int, ...], corners: FloatArray, tally: IntArray, b: int, y: FloatArray
) -> None:
    """Add a point to the sums of a box, which grows if it must."""
    n_dims = len(dims)
    tally[0, b] += 1
    for d in range(n_dims):
        tally[1 + d, b] += np.int64(y[d])
        corners[d, b] = min(corners[d, b], y[d])
        corners[n_dims + d, b] = max(corners[n_dims + d, b], y[d])


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
    begin = layout[_FIRST, b]
    target = tail[0]
    for q in range(tally[0, b]):
        for d in range(store.shape[0]):
            store[d, target + q] = store[d, begin + q]
        j = owner[begin + q]
        owner[target + q] = j
        place[j] = target + q
    layout[_FIRST, b] = target
    layout[_ROOM, b] = 2 * tally[0, b] + 8
    tail[0] = target + layout[_ROOM, b]
