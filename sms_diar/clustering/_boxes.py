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
from sms_diar.clustering._strips import MARGIN
from sms_diar.types import FloatArray, IntArray

MOST_GROUPS = 512
_JOIN_BELOW = 64  # groups are joined only when there are no more than this
_LARGE = 768  # points from which a group is cut into parts
PARTS = 64  # 8 along the two longest edges of its box


# Rows of ``Boxes.layout``.
FIRST, ROOM, GROUP, PART, STALE, CLOSED = range(6)


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
    n_boxes = n_groups + PARTS * min(n_groups, n // _LARGE)
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
        layout[GROUP, g] = g
        layout[PART, g] = -1
        if tally[0, g] >= _LARGE and _cut(boxes.corners, boxes.cut, boxes.axes, g):
            layout[PART, g] = n_boxes
            for b in range(n_boxes, n_boxes + PARTS):
                layout[GROUP, b] = g
                layout[PART, b] = -1
            n_boxes += PARTS
    for i in range(n):
        g = box[i]
        if layout[PART, g] >= 0:
            for d in range(n_dims):
                x[d] = coords[d, i]
            box[i] = layout[PART, g] + part_of(boxes.cut, boxes.axes, g, x)
            give(boxes.dims, boxes.corners, tally, box[i], x)
    tail = 0
    for b in range(n_boxes):
        layout[FIRST, b] = tail
        if layout[PART, b] < 0 and tally[0, b] > 0:
            layout[ROOM, b] = tally[0, b] + tally[0, b] // 4 + 8
            tail += layout[ROOM, b]
    boxes.tail[0] = tail
    used = np.zeros(n_boxes, dtype=np.int64)
    for i in range(n):
        b = box[i]
        p = layout[FIRST, b] + used[b]
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
def part_of(cut: FloatArray, axes: IntArray, g: int, x: FloatArray) -> int:
    """Part of a group that a position belongs to, be it outside or not."""
    along = (x[axes[g, 0]] - cut[g, 0]) * cut[g, 2]
    across = (x[axes[g, 1]] - cut[g, 1]) * cut[g, 3]
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
            is_closed = k == g or gap(corners, g, k) > boxes.apart
        boxes.layout[CLOSED, g] = is_closed


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
