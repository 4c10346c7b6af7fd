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

from typing import NamedTuple

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.clustering.points._index.groups import bound, join, number_cells
from sms_diar.clustering.points._index.lane_code import AHEAD, LANES
from sms_diar.clustering.points._index.lanes import slot
from sms_diar.clustering.points._index.records import MARGIN, PLACE
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
        n_groups = number_cells(points, side, MOST_GROUPS, keys, numbers, box)
        if n_groups >= 0:
            break
        side *= 1.5
    # Boxes are looked at LANES at a time: an empty few end the groups.
    n_boxes = n_groups + LANES + PARTS * levels * (n // LARGE)
    corners = take("corners", (2 * n_dims, n_boxes), float)
    corners[:n_dims] = np.inf
    corners[n_dims:] = -np.inf
    bound(points, box, corners)
    apart = longest * longest * (1.0 + MARGIN)
    within = shortest * shortest * (1.0 - MARGIN)
    closed = take("closed", (1 + n_groups,))
    closed[0] = 0
    if n_groups <= _JOIN_BELOW:
        n_groups = join(corners, n_groups, apart, within, box, closed)
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
