"""Boxes around groups of points: how they are laid out, and how they are made.

Points are kept in groups, each with its sum and with a box around it. Large groups are
cut into parts, which have sums and boxes of their own and may be cut again. ``ball``
says what that is good for. Any grouping gives the right sums; a good one has few groups
with small boxes, so groups start as the cells of a grid (``grouping``).

A group is *closed* when its points are all within reach of each other and of no other
point. Such a point moves to the mean of its group, which is known: a step costs next to
nothing. A mean lies in the convex hull of its points, in which no two points are
farther apart than the farthest of them, so a closed group stays closed until another
group's box grows towards it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.clustering.points._index.grouping import bound, join, number_cells
from sms_diar.clustering.points._index.records import BOX, MARGIN, N_EXTRA, PLACE
from sms_diar.clustering.points._scan import BLOCK
from sms_diar.types import FloatArray, IntArray

PACK = 8  # places are given out in packs, which a vector unit takes at once
FAR = 1e151  # coordinate of a free place: beyond every bandwidth, its square finite
MOST_GROUPS = 256
_JOIN_BELOW = 64  # groups are joined or closed when there are no more than this
LARGE = 512  # points from which a box is cut into parts
EDGE = 4  # parts along each of the two longest edges of a box
PARTS = EDGE * EDGE
LEVELS = 3  # how often boxes are cut, at most

# Columns of ``Boxes.layout``; the last is not used: eight make a cache line.
FIRST, CAPACITY, GROUP, PARENT, PART, STALE, CLOSED = range(7)


class Boxes(NamedTuple):
    """The grouping: groups come first, the parts of large ones after them.

    Both are called boxes; points belong to one that has no parts. The points of a box
    are a run of places in the store, with free places at its end.
    """

    dims: tuple[int, ...]  # 0, 1, ..., d - 1: its length is known to the compiler
    n_groups: int
    corners: FloatArray  # (2 d, boxes): low corners, then high corners
    tally: IntArray  # (1 + d, boxes): points, and the sums of their coordinates
    layout: IntArray  # (boxes, 8): first place, number of places, group, box of which
    #                   it is a part or -1, first part or -1, moves since the box was
    #                   fitted, whether it is closed
    closed: IntArray  # how many groups are closed, then which
    cut: FloatArray  # (boxes, 4): corner and steps along the two edges that are cut
    axes: IntArray  # (boxes, 2): which edges
    tail: IntArray  # one number: the first place that no box owns
    store: FloatArray  # (d, places): coordinates; out of date in closed groups
    owner: IntArray  # point at each place
    listed: IntArray  # scratch: boxes that meet a sphere
    squared: FloatArray  # scratch: squared distances
    total: IntArray  # scratch: points, and the sums of their differences
    vectors: FloatArray  # scratch, (3, d): a position, a move and where it leads
    apart: float  # squared distance at which a box cannot be seen from another
    near: float  # squared distance below which a point need not change its group


def group_points(
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
    points : ndarray of shape (n, d + N_EXTRA)
        Records of lattice points; places and boxes are written into them.
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
    n, n_dims = points.shape[0], points.shape[1] - N_EXTRA
    take = buffers.take
    box = take("box", (n,))
    keys, numbers = take("keys", (2, 4 * MOST_GROUPS))
    while True:
        n_groups = number_cells(points, side, MOST_GROUPS, keys, numbers, box)
        if n_groups >= 0:
            break
        side *= 1.5
    # Boxes are looked at a pack at a time: a few empty ones end the groups.
    n_boxes = n_groups + PACK + PARTS * levels * (n // LARGE)
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
    # Every box with points has at most twice its points and three packs.
    n_places = 2 * n + 3 * PACK * min(n, n_boxes) + 256 * PACK
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
        store=take("store", (n_dims, n_places), float),
        owner=take("owner", (n_places,)),
        listed=take("listed", (n_boxes,)),
        squared=np.empty(BLOCK),
        total=np.empty(1 + n_dims, dtype=np.int64),
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
    n_boxes = whole_packs(boxes.n_groups)
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
            layout[b, CAPACITY] = whole_packs(tally[0, b] + tally[0, b] // 4) + PACK
            tail += layout[b, CAPACITY]
    boxes.tail[0] = tail
    used = np.zeros(n_boxes, dtype=np.int64)
    for i in range(points.shape[0]):
        b = box[i]
        p = layout[b, FIRST] + used[b]
        used[b] += 1
        points[i, PLACE] = p
        points[i, BOX] = b
        boxes.owner[p] = i
        for d in range(n_dims):
            store[d, p] = points[i, d]
    for b in range(n_boxes):
        first = layout[b, FIRST]
        free_places(store, first + used[b], first + layout[b, CAPACITY])


@inlined
def free_places(store: FloatArray, first: int, end: int) -> None:
    """Mark places as free."""
    for d in range(store.shape[0]):
        for p in range(first, end):
            store[d, p] = FAR


@inlined
def whole_packs(size: int) -> int:
    """Round up to whole packs."""
    return (size + PACK - 1) // PACK * PACK


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
    cut[b, 2] = EDGE / length
    cut[b, 3] = EDGE / max(edges[second], 1.0)
    return True


@inlined
def part_of(cut: FloatArray, axes: IntArray, b: int, x: FloatArray) -> int:
    """Part of a box that a position belongs to, be it outside or not."""
    along = (x[axes[b, 0]] - cut[b, 0]) * cut[b, 2]
    across = (x[axes[b, 1]] - cut[b, 1]) * cut[b, 3]
    row = int(min(max(along, 0.0), EDGE - 1.0))
    column = int(min(max(across, 0.0), EDGE - 1.0))
    return EDGE * row + column


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
