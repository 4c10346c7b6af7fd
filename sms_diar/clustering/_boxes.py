"""Exact sums over balls, for points that have drawn together, in any dimension.

Points are kept in groups, each with its sum and with a box around it. A group whose
box lies wholly inside the ball adds its sum, one that lies outside adds nothing; only
a group whose box meets the sphere is looked at more closely. Large groups are cut
into parts, which again have sums and boxes, so that few points are left to compare
one by one. Any grouping gives the right sums; a good one has few groups with small
boxes, so groups start as the cells of a grid, and small neighbours are joined.

A group is *closed* when its points are all within reach of each other and of no
other point. Such a point moves to the mean of its group, which is known: a step
costs next to nothing. A mean lies in the convex hull of its points, in which none are
farther from each other than the farthest of them, so a closed group stays closed until
another group's box grows towards it.

Sums are of whole numbers and exact (``_lattice``), so states are those of the plain
loop. Boxes are compared with a margin far above the rounding of the distances that
the plain loop compares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering._buffers import Buffers
from sms_diar.clustering._hash import mix
from sms_diar.clustering._lane_code import AHEAD, LANES
from sms_diar.clustering._lanes import slot
from sms_diar.clustering._records import MARGIN, PLACE
from sms_diar.types import FloatArray, IntArray

MOST_GROUPS = 512
_JOIN_BELOW = 64  # groups are joined or closed when there are no more than this
LARGE = 512  # points from which a box is cut into parts
PARTS = 64  # 8 along the two longest edges of the box
LEVELS = 2  # how often boxes are cut, at most


# Columns of ``Boxes.layout``; the last is not used: eight make a cache line.
FIRST, ROOM, GROUP, PARENT, PART, STALE, CLOSED = range(7)


class Boxes(NamedTuple):
    """The grouping: groups come first, the parts of large ones after them.

    Both are called boxes; points belong to one that has no parts. Few arrays with
    many rows, because handing arrays to compiled code costs time.
    """

    dims: tuple[int, ...]  # 0, 1, ..., d - 1: its length is known to the compiler
    n_groups: int
    corners: FloatArray  # (2 d, boxes): low corners, then high corners
    tally: IntArray  # (1 + d, boxes): points, and the sums of their coordinates
    layout: IntArray  # (boxes, 8): first block, blocks, group, box of which it is a
    #                   part or -1, first part or -1, moves since the box was fitted,
    #                   whether it is closed
    closed: IntArray  # how many groups are closed, then which
    cut: FloatArray  # (boxes, 4): corner and steps along the two edges that are cut
    axes: IntArray  # (boxes, 2): which edges
    tail: IntArray  # one number: the first block that nobody owns
    store: FloatArray  # blocks of places; out of date for points of closed groups
    owner: IntArray  # point at each place
    home: IntArray  # box of each block
    rooms: IntArray  # (3, ...): room for lists of boxes and of blocks, and for sums
    vectors: FloatArray  # (3, d): room for a position, a move and where it leads
    apart: float  # squared distance at which a box cannot be seen from another
    near: float  # squared distance below which a point need not change its group


def enclose(
    points: FloatArray,
    side: float,
    shortest: float,
    longest: float,
    buffers: Buffers,
    levels: int = LEVELS,
) -> tuple[Boxes, float]:
    """Group points by the cells of a grid.

    Parameters
    ----------
    points : ndarray of shape (n, d + 2)
        Records of lattice points.
    side : float
        Wanted side of the cells; grows until there are MOST_GROUPS at most.
    shortest, longest : float
        Range of the bandwidths to come, for which groups are to be closed.
    buffers : Buffers
        Memory to use.
    levels : int, default=LEVELS
        How often large boxes are cut into parts.

    Returns
    -------
    boxes : Boxes
        The grouping.
    side : float
        Side of the cells it was made of.
    """
    n, n_dims = points.shape[0], points.shape[1] - 2
    take = buffers.take
    box = take("box", (n,))
    keys, numbers = take("keys", (2, 4 * MOST_GROUPS))
    while True:
        n_groups = _number_cells(points, side, MOST_GROUPS, keys, numbers, box)
        if n_groups >= 0:
            break
        side *= 1.5
    # Boxes are looked at LANES at a time: an empty few end the groups.
    n_boxes = n_groups + LANES + PARTS * levels * (n // LARGE)
    corners = take("corners", (2 * n_dims, n_boxes), float)
    corners[:n_dims] = np.inf
    corners[n_dims:] = -np.inf
    _bound(points, box, corners)
    apart = longest * longest * (1.0 + MARGIN)
    within = shortest * shortest * (1.0 - MARGIN)
    closed = take("closed", (1 + n_groups,))
    closed[0] = 0
    if n_groups <= _JOIN_BELOW:
        n_groups = _join(corners, n_groups, apart, within, box, closed)
    n_blocks = n // 2 + 3 * min(n, n_boxes) + 256
    boxes = Boxes(
        dims=tuple(range(n_dims)),
        n_groups=n_groups,
        corners=corners,
        tally=take("tally", (1 + n_dims, n_boxes)),
        layout=take("layout", (n_boxes, 8)),
        closed=closed,
        cut=take("cut", (n_boxes, 4), float),
        axes=take("axes", (n_boxes, 2)),
        tail=np.zeros(1, dtype=np.int64),
        store=take("store", (n_blocks * n_dims * LANES,), float),
        owner=take("owner", (n_blocks * LANES,)),
        home=take("home", (n_blocks,)),
        rooms=take("rooms", (3, n_blocks + 2 * AHEAD)),
        vectors=np.empty((3, n_dims)),
        apart=apart,
        near=(shortest / 64.0) ** 2,
    )
    boxes.tally[:] = 0
    boxes.layout[:] = 0
    boxes.layout[closed[1 : 1 + closed[0]], CLOSED] = 1
    _fill(points, box, boxes, levels)
    return boxes, side


@kernel
def _number_cells(
    points: FloatArray,
    side: float,
    most: int,
    keys: IntArray,
    numbers: IntArray,
    group: IntArray,
) -> int:
    """Number the occupied cells; -1 if there are too many.

    Two cells of one key become one group, which costs time but no precision.
    """
    n, n_dims = points.shape[0], points.shape[1] - 2
    per_side = 1.0 / side
    mask = keys.shape[0] - 1
    numbers[:] = -1
    n_groups = 0
    for i in range(n):
        key = 0
        for d in range(n_dims):
            key = mix(key, math.floor(points[i, d] * per_side))
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
def _bound(points: FloatArray, box: IntArray, corners: FloatArray) -> None:
    n_dims = corners.shape[0] // 2
    for i in range(points.shape[0]):
        b = box[i]
        for d in range(n_dims):
            corners[d, b] = min(corners[d, b], points[i, d])
            corners[n_dims + d, b] = max(corners[n_dims + d, b], points[i, d])


@kernel
def _join(
    corners: FloatArray,
    n_groups: int,
    apart: float,
    within: float,
    group: IntArray,
    closed: IntArray,
) -> int:
    """Join groups where that pays; return how many remain, and list the closed ones.

    Groups that see each other and no others, all of whose points are within reach of
    each other, become one, which is closed. Others are joined as long as the common
    diagonal stays below a quarter of the bandwidth.
    """
    n_dims = corners.shape[0] // 2
    target = np.full(n_groups, -1)
    joint = np.empty((2 * n_dims, n_groups))
    seen = np.empty(n_groups, dtype=np.int64)
    kept = 0
    for g in range(n_groups):
        if target[g] >= 0:
            continue
        n_seen = _link(corners, n_groups, apart, g, target, seen)
        is_closed = True
        for m in range(n_seen):
            for k in range(m + 1):
                is_closed &= _farthest(corners, seen[m], seen[k]) < within
        first = kept
        for m in range(n_seen):
            into = -1
            for k in range(first, kept):
                is_near = _diagonal(joint, k, corners, seen[m]) < within / 16.0
                if is_closed or is_near:
                    into = k
                    break
            if into < 0:
                into = kept
                kept += 1
                joint[:, into] = corners[:, seen[m]]
            _widen(joint, into, corners, seen[m])
            target[seen[m]] = into
        if is_closed:
            closed[0] += 1
            closed[closed[0]] = first
    for i in range(group.shape[0]):
        group[i] = target[group[i]]
    corners[:, :kept] = joint[:, :kept]
    corners[:n_dims, kept:n_groups] = np.inf
    corners[n_dims:, kept:n_groups] = -np.inf
    return kept


@inlined
def _link(
    corners: FloatArray,
    n_groups: int,
    apart: float,
    g: int,
    target: IntArray,
    seen: IntArray,
) -> int:
    """Find the groups that are linked with one, by others or directly.

    They are written to `seen`, and `target`, negative for groups not linked so far,
    is made 0 for them. Returns how many there are.
    """
    seen[0] = g
    target[g] = 0
    n_seen = 1
    at = 0
    while at < n_seen:
        for k in range(n_groups):
            if target[k] < 0 and gap(corners, seen[at], k) <= apart:
                target[k] = 0
                seen[n_seen] = k
                n_seen += 1
        at += 1
    return n_seen


@inlined
def _farthest(corners: FloatArray, a: int, b: int) -> float:
    """Squared distance of those corners of two boxes that are farthest apart."""
    n_dims = corners.shape[0] // 2
    squared = 0.0
    for d in range(n_dims):
        one = corners[n_dims + d, a] - corners[d, b]
        other = corners[n_dims + d, b] - corners[d, a]
        edge = max(one, other)
        squared += edge * edge
    return squared


@inlined
def _widen(boxes: FloatArray, b: int, others: FloatArray, k: int) -> None:
    """Let a box hold another."""
    n_dims = boxes.shape[0] // 2
    for d in range(n_dims):
        boxes[d, b] = min(boxes[d, b], others[d, k])
        boxes[n_dims + d, b] = max(boxes[n_dims + d, b], others[n_dims + d, k])


@inlined
def _diagonal(boxes: FloatArray, b: int, others: FloatArray, k: int) -> float:
    """Squared diagonal of the box around two boxes."""
    n_dims = boxes.shape[0] // 2
    squared = 0.0
    for d in range(n_dims):
        high = max(boxes[n_dims + d, b], others[n_dims + d, k])
        edge = high - min(boxes[d, b], others[d, k])
        squared += edge * edge
    return squared


@kernel
def _fill(points: FloatArray, box: IntArray, boxes: Boxes, levels: int) -> None:
    """Cut large groups, give every point its place, and add everything up."""
    tally, layout = boxes.tally, boxes.layout
    n_dims = len(boxes.dims)
    for i in range(points.shape[0]):
        tally[0, box[i]] += 1
        for d in range(n_dims):
            tally[1 + d, box[i]] += np.int64(points[i, d])
    for g in range(boxes.n_groups):
        layout[g, GROUP] = g
        layout[g, PARENT] = -1
        layout[g, PART] = -1
    n_boxes = first_part(boxes.n_groups)
    begin = 0
    for _ in range(levels):
        end = n_boxes
        n_boxes = _cut_large(points, box, boxes, begin, end)
        begin = end
    _settle(points, box, boxes, n_boxes)


@kernel
def _cut_large(
    points: FloatArray, box: IntArray, boxes: Boxes, begin: int, end: int
) -> int:
    """Cut the large ones of some boxes; return how many boxes there are then."""
    tally, layout = boxes.tally, boxes.layout
    n_dims = len(boxes.dims)
    x = np.empty(n_dims)
    n_boxes = end
    for b in range(begin, end):
        # Points of a closed group are not compared with others.
        is_large = tally[0, b] >= LARGE and not layout[layout[b, GROUP], CLOSED]
        if is_large and _cut(boxes.corners, boxes.cut, boxes.axes, b):
            layout[b, PART] = n_boxes
            for part in range(n_boxes, n_boxes + PARTS):
                layout[part, GROUP] = layout[b, GROUP]
                layout[part, PARENT] = b
                layout[part, PART] = -1
            n_boxes += PARTS
    if n_boxes == end:
        return n_boxes
    for i in range(points.shape[0]):
        b = box[i]
        if layout[b, PART] >= 0:
            for d in range(n_dims):
                x[d] = points[i, d]
            box[i] = layout[b, PART] + part_of(boxes.cut, boxes.axes, b, x)
            give(boxes.dims, boxes.corners, tally, box[i], x)
    return n_boxes


@kernel
def _settle(points: FloatArray, box: IntArray, boxes: Boxes, n_boxes: int) -> None:
    """Give every point its place."""
    tally, layout, store = boxes.tally, boxes.layout, boxes.store
    n_dims = len(boxes.dims)
    tail = 0
    for b in range(n_boxes):
        layout[b, FIRST] = tail
        if layout[b, PART] < 0 and tally[0, b] > 0:
            room = (tally[0, b] + tally[0, b] // 4) // LANES + 2
            layout[b, ROOM] = room
            boxes.home[tail : tail + room] = b
            tail += room
    boxes.tail[0] = tail
    used = np.zeros(n_boxes, dtype=np.int64)
    for i in range(points.shape[0]):
        b = box[i]
        p = layout[b, FIRST] * LANES + used[b]
        used[b] += 1
        points[i, PLACE] = p
        boxes.owner[p] = i
        q = slot(p, n_dims)
        for d in range(n_dims):
            store[q + d * LANES] = points[i, d]
    for b in range(n_boxes):
        first = layout[b, FIRST] * LANES
        empty_places(store, n_dims, first + used[b], first + layout[b, ROOM] * LANES)


@inlined
def empty_places(store: FloatArray, n_dims: int, first: int, end: int) -> None:
    """Mark places as free."""
    for p in range(first, end):
        q = slot(p, n_dims)
        for d in range(n_dims):
            store[q + d * LANES] = np.nan


@inlined
def first_part(n_groups: int) -> int:
    """Where the parts begin: the groups before them are padded to whole LANES."""
    return (n_groups + LANES - 1) // LANES * LANES


@kernel
def _cut(corners: FloatArray, cut: FloatArray, axes: IntArray, b: int) -> bool:
    """Lay a grid over the two longest edges of a box; False if it is a point."""
    n_dims = corners.shape[0] // 2
    edges = corners[n_dims:, b] - corners[:n_dims, b]
    longest = int(np.argmax(edges))
    length = edges[longest]
    if length <= 0.0:
        return False
    edges[longest] = -1.0
    second = int(np.argmax(edges))
    axes[b, 0] = longest
    axes[b, 1] = second
    cut[b, 0] = corners[longest, b]
    cut[b, 1] = corners[second, b]
    cut[b, 2] = 8.0 / length
    cut[b, 3] = 8.0 / max(edges[second], 1.0)
    return True


@inlined
def part_of(cut: FloatArray, axes: IntArray, b: int, x: FloatArray) -> int:
    """Part of a box that a position belongs to, be it outside or not."""
    along = (x[axes[b, 0]] - cut[b, 0]) * cut[b, 2]
    across = (x[axes[b, 1]] - cut[b, 1]) * cut[b, 3]
    row = int(min(max(along, 0.0), 7.0))
    column = int(min(max(across, 0.0), 7.0))
    return 8 * row + column


@inlined
def gap(corners: FloatArray, a: int, b: int) -> float:
    """Squared distance of two boxes."""
    n_dims = corners.shape[0] // 2
    squared = 0.0
    for d in range(n_dims):
        below = corners[d, a] - corners[n_dims + d, b]
        above = corners[d, b] - corners[n_dims + d, a]
        apart = max(below, above, 0.0)
        squared += apart * apart
    return squared


@inlined
def give(
    dims: tuple[int, ...], corners: FloatArray, tally: IntArray, b: int, y: FloatArray
) -> None:
    """Add a point to the sums of a box, which grows if it must."""
    n_dims = len(dims)
    tally[0, b] += 1
    for d in range(n_dims):
        tally[1 + d, b] += np.int64(y[d])
        corners[d, b] = min(corners[d, b], y[d])
        corners[n_dims + d, b] = max(corners[n_dims + d, b], y[d])
