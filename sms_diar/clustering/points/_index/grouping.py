"""Which points go together: the cells of a grid, joined where that pays.

Any grouping gives the right sums (``boxes``); a good one has few groups with small
boxes, and finds those that are closed.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.clustering._hash import mix
from sms_diar.clustering.points._index.records import N_EXTRA
from sms_diar.types import FloatArray, IntArray


@kernel
def number_cells(
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
    n, n_dims = points.shape[0], points.shape[1] - N_EXTRA
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
def bound(points: FloatArray, box: IntArray, corners: FloatArray) -> None:
    n_dims = corners.shape[0] // 2
    for i in range(points.shape[0]):
        b = box[i]
        for d in range(n_dims):
            corners[d, b] = min(corners[d, b], points[i, d])
            corners[n_dims + d, b] = max(corners[n_dims + d, b], points[i, d])


@kernel
def join(
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
