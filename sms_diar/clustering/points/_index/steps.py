"""Moving points through boxes: sums over balls, and what moves change.

The loop over steps is long, and its helpers take many arrays, for one reason: numba
counts who uses an array, with an atomic operation that takes as long as a tenth of a
step. It leaves the counting out where an array comes from outside the loop and goes to
helpers that have one way out; with ``Boxes`` handed over whole, or with one helper for
all that follows a move, a run of 30,000 points takes 1.3 times as long.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering.points._index.ball import nearest_group, sum_ball
from sms_diar.clustering.points._index.boxes import (
    CAPACITY,
    CLOSED,
    FAR,
    FIRST,
    GROUP,
    LARGE,
    PACK,
    PARENT,
    PART,
    STALE,
    Boxes,
    free_places,
    give,
    part_of,
    whole_packs,
)
from sms_diar.clustering.points._index.grouping import gap
from sms_diar.clustering.points._index.records import (
    BOX,
    DONE,
    EXPIRED,
    FULL,
    LAST_MOVE,
    PLACE,
    RESTING,
)
from sms_diar.clustering.points._scan import mean_move
from sms_diar.types import FloatArray, IntArray

_CHECKED = 32  # steps after which a loop asks whether it has served long enough


@kernel
def move_past_boxes(
    queries: FloatArray,
    moving: IntArray,
    bandwidth: float,
    boxes: Boxes,
    lengths: FloatArray,
    work: IntArray,
) -> None:
    """Move the queries named in `moving` once, in place; the grouped points stay."""
    dims, n_groups = boxes.dims, boxes.n_groups
    corners, tally, layout = boxes.corners, boxes.tally, boxes.layout
    store, listed, squared = boxes.store, boxes.listed, boxes.squared
    x, move, total = boxes.vectors[0], boxes.vectors[1], boxes.total
    limit = bandwidth * bandwidth
    n_dims = len(dims)
    for m in range(moving.shape[0]):
        q = moving[m]
        for d in range(n_dims):
            x[d] = queries[d, q]
        sum_ball(
            dims,
            n_groups,
            corners,
            tally,
            layout,
            store,
            listed,
            squared,
            x,
            limit,
            total,
            work,
        )
        lengths[q] = mean_move(total, move)
        for d in range(n_dims):
            queries[d, q] = x[d] + move[d]
    work[0] += moving.shape[0]
    work[3] += moving.shape[0]


@kernel
def step_through_boxes(
    points: FloatArray,
    draws: IntArray,
    first_step: int,
    bandwidths: FloatArray,
    boxes: Boxes,
    tol: float,
    resting: int,
    n_at_rest: int,
    prices: tuple[float, float, float, float],
    budget: float,
    work: IntArray,
) -> tuple[int, int, int]:
    """Move drawn points one after the other; the grouping follows the moves.

    Parameters
    ----------
    points : ndarray of shape (n, d + N_EXTRA)
        Records of the points, updated in place.
    draws, bandwidths : ndarray of shape (n_steps,)
        Point and bandwidth of each step. Bandwidths lie within the range that the boxes
        were made for.
    first_step : int
        Where to begin.
    boxes : Boxes
        The grouping.
    tol : float
        A point rests while its last move was shorter than this.
    resting, n_at_rest : int
        Points at rest, and how many have to be.
    prices : tuple of four floats
        Nanoseconds of each thing that `work` counts.
    budget : float
        Nanoseconds after which the grouping has served long enough.
    work : ndarray of shape (4,)
        Counts of steps, boxes that met a sphere, packs of points, and looks at all
        groups; updated in place.

    Returns
    -------
    step : int
        The next step.
    resting : int
        Points at rest.
    status : int
        Why the loop has stopped: DONE, FULL, RESTING or EXPIRED.
    """
    dims, n_groups = boxes.dims, boxes.n_groups
    corners, tally, layout = boxes.corners, boxes.tally, boxes.layout
    cut, axes, closed = boxes.cut, boxes.axes, boxes.closed
    store, owner = boxes.store, boxes.owner
    listed, squared, total = boxes.listed, boxes.squared, boxes.total
    n_dims = len(dims)
    x, move, y = boxes.vectors[0], boxes.vectors[1], boxes.vectors[2]
    is_outdated = False
    status = DONE
    step = first_step
    while step < draws.shape[0]:
        i = draws[step]
        b = int(points[i, BOX])
        group = layout[b, GROUP]
        for d in range(n_dims):
            x[d] = points[i, d]
        if layout[group, CLOSED]:
            # All its points are within reach, and no other. Their mean is inside the
            # box; the store is brought up to date when the group is opened.
            total[0] = tally[0, group]
            for d in range(n_dims):
                total[1 + d] = tally[1 + d, group] - tally[0, group] * np.int64(x[d])
            length = mean_move(total, move)
            for d in range(n_dims):
                points[i, d] = x[d] + move[d]
                tally[1 + d, group] += np.int64(move[d])
        else:
            work[3] += 1
            sum_ball(
                dims,
                n_groups,
                corners,
                tally,
                layout,
                store,
                listed,
                squared,
                x,
                bandwidths[step] * bandwidths[step],
                total,
                work,
            )
            length = mean_move(total, move)
            if length > 0.0:
                for d in range(n_dims):
                    y[d] = x[d] + move[d]
                outside = _distance(dims, corners, group, y)
                if outside > boxes.near:
                    work[3] += 1
                    group = nearest_group(dims, n_groups, corners, y, squared)
                    if layout[group, CLOSED]:
                        is_outdated |= _open(boxes, points, group)
                to = _leaf(layout, cut, axes, group, y)
                if to != b:
                    if tally[0, to] == layout[to, CAPACITY] and not (
                        _enlarge(boxes, points, to)
                    ):
                        status = FULL
                        break
                    _change_box(points, tally, layout, store, owner, i, b, to)
                _write(dims, points, store, i, y)
                if to == b:
                    _keep(dims, corners, tally, layout, b, move, y)
                else:
                    _take(dims, corners, tally, layout, b, x)
                    _give(dims, corners, tally, layout, to, y)
                if outside > 0.0:  # the box of the group has grown
                    for k in range(closed[0], 0, -1):
                        if gap(corners, closed[k], group) <= boxes.apart:
                            is_outdated |= _open(boxes, points, closed[k])
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
            status = EXPIRED
            break
        if step % _CHECKED == 0:
            spent = prices[1] * work[1] + prices[2] * work[2] + prices[3] * work[3]
            if spent + prices[0] * (work[0] + step - first_step) > budget:
                status = EXPIRED
                break
    work[0] += step - first_step
    return step, resting, status


@inlined
def _distance(
    dims: tuple[int, ...], corners: FloatArray, b: int, y: FloatArray
) -> float:
    """Squared distance of a position from a box; zero inside."""
    n_dims = len(dims)
    squared = 0.0
    for d in range(n_dims):
        beside = max(corners[d, b] - y[d], y[d] - corners[n_dims + d, b], 0.0)
        squared += beside * beside
    return squared


@inlined
def _leaf(
    layout: IntArray, cut: FloatArray, axes: IntArray, b: int, y: FloatArray
) -> int:
    """The part of a part of a box, and so on, to which a position belongs."""
    while layout[b, PART] >= 0:
        b = layout[b, PART] + part_of(cut, axes, b, y)
    return b


@inlined
def _write(
    dims: tuple[int, ...], points: FloatArray, store: FloatArray, i: int, y: FloatArray
) -> None:
    """Write where a point is."""
    p = int(points[i, PLACE])
    for d in range(len(dims)):
        store[d, p] = y[d]
        points[i, d] = y[d]


@inlined
def _change_box(
    points: FloatArray,
    tally: IntArray,
    layout: IntArray,
    store: FloatArray,
    owner: IntArray,
    i: int,
    b: int,
    to: int,
) -> None:
    """Give a point a place in another box, which has a free one.

    The last point of the box takes the place that is left.
    """
    p = int(points[i, PLACE])
    last = layout[b, FIRST] + tally[0, b] - 1
    j = owner[last]
    owner[p] = j
    points[j, PLACE] = p
    for d in range(store.shape[0]):
        store[d, p] = store[d, last]
        store[d, last] = FAR
    p = layout[to, FIRST] + tally[0, to]
    owner[p] = i
    points[i, PLACE] = p
    points[i, BOX] = to


@inlined
def _keep(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    b: int,
    move: FloatArray,
    y: FloatArray,
) -> None:
    """Note that a point moves within a box, and within those that it is part of."""
    n_dims = len(dims)
    while b >= 0:
        layout[b, STALE] += 1
        for d in range(n_dims):
            tally[1 + d, b] += np.int64(move[d])
            corners[d, b] = min(corners[d, b], y[d])
            corners[n_dims + d, b] = max(corners[n_dims + d, b], y[d])
        b = layout[b, PARENT]


@inlined
def _take(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    b: int,
    x: FloatArray,
) -> None:
    """Take a point out of the sums of a box and of those that it is part of."""
    n_dims = len(dims)
    while b >= 0:
        layout[b, STALE] += 1
        tally[0, b] -= 1
        for d in range(n_dims):
            tally[1 + d, b] -= np.int64(x[d])
            if tally[0, b] == 0:
                corners[d, b] = np.inf
                corners[n_dims + d, b] = -np.inf
        b = layout[b, PARENT]


@inlined
def _give(
    dims: tuple[int, ...],
    corners: FloatArray,
    tally: IntArray,
    layout: IntArray,
    b: int,
    y: FloatArray,
) -> None:
    """Add a point to the sums of a box and of those that it is part of."""
    while b >= 0:
        give(dims, corners, tally, b, y)
        b = layout[b, PARENT]


@kernel
def _open(boxes: Boxes, points: FloatArray, g: int) -> bool:
    """Let a group be closed no longer; bring its part of the store up to date.

    Tells whether the group is so large that it should have had parts.
    """
    closed = boxes.closed
    boxes.layout[g, CLOSED] = 0
    for k in range(1, closed[0] + 1):
        if closed[k] == g:
            closed[k] = closed[closed[0]]
    closed[0] -= 1
    begin = boxes.layout[g, FIRST]
    for p in range(begin, begin + boxes.tally[0, g]):
        for d in range(len(boxes.dims)):
            boxes.store[d, p] = points[boxes.owner[p], d]
    return bool(boxes.tally[0, g] >= LARGE)


@kernel
def _enlarge(boxes: Boxes, points: FloatArray, b: int) -> bool:
    """Move the points of a full box to the free end of the store, if it is long enough.

    Tells whether it is.
    """
    store, owner = boxes.store, boxes.owner
    size = boxes.tally[0, b]
    begin, first = boxes.layout[b, FIRST], boxes.tail[0]
    end = first + whole_packs(2 * size) + 2 * PACK
    if end > owner.shape[0]:
        return False
    for k in range(size):
        for d in range(store.shape[0]):
            store[d, first + k] = store[d, begin + k]
        owner[first + k] = owner[begin + k]
        points[owner[begin + k], PLACE] = first + k
    free_places(store, first + size, end)
    boxes.layout[b, FIRST] = first
    boxes.layout[b, CAPACITY] = end - first
    boxes.tail[0] = end
    return True
