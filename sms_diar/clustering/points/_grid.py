"""Moves with the uniform kernel in up to three dimensions, by groups of points.

A point moves to the mean of its neighbours, the points closer than the bandwidth.
Comparing it with all points is exact but slow (``_kernels.py``). With the uniform
kernel all neighbours have the same weight, so whole groups can be added at once:

1. Points are sorted into the cells of a grid. The points of one cell are a *group*
   with a *tally* (total weight and sum of coordinates) and a *box*, the smallest one
   with edges along the axes that contains them.
2. The ball around a point is compared with all boxes. A box inside the ball adds its
   tally, a box outside adds nothing, and only the points of a box that meets the
   sphere are compared one by one.
3. A point that moves is taken from the tally of its group and added to the group of
   its new cell, whose box grows. Every group has free places at the end of its run of
   the store. If there are none, or if the new cell has no group, the point becomes
   *loose*: loose points are compared at every step.
4. Boxes grow and groups empty. When the comparisons since the last sorting have cost
   several times as much as sorting, or when the places for loose points are used up,
   all points are sorted again.

Results do not depend on the groups. Coordinates are whole numbers (``_lattice.py``), so
sums are exact in any order (of 64-bit integers, where an overflow cancels when the
position is subtracted), and boxes are compared with a margin far above the rounding
of squared distances. States are therefore equal to the plain loop's to the last bit.

Cells are found by a hash table, so memory is proportional to the number of points
and does not depend on the extent of the data. Cells start at an eighth of the
bandwidth and grow until there are at most three times as many groups as the root of
the number of points: then comparing boxes and comparing points cost about the same.
Two cells with equal hashes share a group, which costs time but changes no result.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from sms_diar._numba import inlined, kernel, whole_sums
from sms_diar.types import FloatArray, IntArray

MAX_DIMS: Final = 3
"""Dimensions of the grid. Points of fewer dimensions get zeros as coordinates."""

_FINENESS = 8.0  # smallest cells per bandwidth
_GROUPS = 3.0  # most groups, as a multiple of the root of the number of points
_LOOSE = 5.0  # most loose points, as a multiple of the same root
_BUDGET = 300  # comparisons per point between two sortings
_PACK = 16  # runs are compared in whole packs, which suits vector units
_MARGIN = 1e-12  # relative; squared distances are rounded to 2**-52


@inlined
def _mix(key: int, value: int) -> int:
    """Hash a value into a key of 31 bits; no product exceeds 63 bits."""
    low = 0x7FFFFFFF
    value ^= value >> 31
    key = ((key ^ (value & low)) * 0x9E3779B1) & 0x7FFFFFFFFFFFFFFF
    return (key ^ (key >> 29)) & low


class _Groups(NamedTuple):
    """Arrays of the grid. The last group is for loose points and has no box."""

    group: IntArray  # shape: (n,), group of each point
    place: IntArray  # shape: (n,), column of each point in `store`
    store: FloatArray  # shape: (4, n_places), coordinates and weight; free: weight 0
    first: IntArray  # shape: (n_groups + 1,), first place of each group
    end: IntArray  # shape: (n_groups + 1,), first place after its points
    box: FloatArray  # shape: (6, n_groups + 1), least and greatest coordinates
    tally: IntArray  # shape: (n_groups + 1, 4), weight and sum of coordinates
    reach: IntArray  # shape: (n_groups + 1,), working memory of ``_move``
    keys: IntArray  # shape: (table size,), hash of the cell in each slot
    numbers: IntArray  # shape: (table size,), its group, or -1 for a free slot


class Grid:
    """Points in groups.

    `data` are whole-numbered coordinates of shape (d, n), d <= 3. `weights` of shape
    (n,) are whole numbers whose sum is below ``2**23``, or all 1. `bandwidth` is the
    shortest bandwidth of the moves to come.
    """

    def __init__(self, data: FloatArray, weights: FloatArray, bandwidth: float) -> None:
        n = data.shape[1]
        self._data = data
        self._weights = weights
        self._finest = max(bandwidth / _FINENESS, 1.0)
        self._most = math.ceil(_GROUPS * math.sqrt(n))
        n_loose = math.ceil(_LOOSE * math.sqrt(n))
        n_places = 2 * n + 2 * _PACK * self._most + n_loose + _PACK
        n_slots = 1 << (4 * self._most).bit_length()
        self._groups = _Groups(
            group=np.empty(n, dtype=np.int64),
            place=np.empty(n, dtype=np.int64),
            store=np.zeros((4, n_places)),
            first=np.empty(self._most + 1, dtype=np.int64),
            end=np.empty(self._most + 1, dtype=np.int64),
            box=np.empty((6, self._most + 1)),
            tally=np.empty((self._most + 1, 4), dtype=np.int64),
            reach=np.empty(self._most + 1, dtype=np.int64),
            keys=np.empty(n_slots, dtype=np.int64),
            numbers=np.empty(n_slots, dtype=np.int64),
        )
        self._sort()

    def _sort(self) -> None:
        """Sort the points; use the finest cells that make few enough groups."""
        self._budget = _BUDGET * self._data.shape[1]
        self._side = self._finest
        self._n_groups = self._try_to_sort()
        while self._n_groups < 0:
            self._side *= 1.5
            self._n_groups = self._try_to_sort()

    def _try_to_sort(self) -> int:
        return _sort(self._data, self._weights, self._side, self._most, self._groups)

    def move(
        self,
        coords: FloatArray,
        moving: IntArray,
        bandwidths: FloatArray,
        tol: float,
        lengths: FloatArray,
        resting: int,
        n_at_rest: int,
    ) -> tuple[int, int]:
        """Do what ``_kernels.move_plainly`` does, for these data and weights."""
        follows = coords is self._data
        step = 0
        while True:
            done, resting, spent = _move(
                coords,
                moving[step:],
                bandwidths[step:],
                tol,
                lengths,
                resting,
                n_at_rest,
                follows,
                self._n_groups,
                self._side,
                self._budget,
                self._groups,
            )
            step += done
            if step == len(moving) or resting >= n_at_rest:
                self._budget -= spent
                return step, resting
            self._sort()


@inlined
def _slot(
    x: tuple[float, float, float], per_side: float, keys: IntArray, numbers: IntArray
) -> int:
    """Return the slot of a position's cell; its number is -1 if it has no group."""
    key = 0
    for a in range(3):
        key = _mix(key, math.floor(x[a] * per_side))
    mask = keys.shape[0] - 1
    slot: int = key & mask
    while numbers[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    keys[slot] = key
    return slot


@kernel
def _sort(
    data: FloatArray, weights: FloatArray, side: float, most: int, groups: _Groups
) -> int:
    """Sort points into groups; return their number, or -1 if it exceeds `most`."""
    group, place, store, first, end, box, tally, _, keys, numbers = groups
    n_dims, n = data.shape
    per_side = 1.0 / side
    numbers[:] = -1
    n_groups = 0
    for i in range(n):
        y = data[1, i] if n_dims > 1 else 0.0
        z = data[2, i] if n_dims > 2 else 0.0
        slot = _slot((data[0, i], y, z), per_side, keys, numbers)
        if numbers[slot] < 0:
            if n_groups == most:
                return -1
            numbers[slot] = n_groups
            end[n_groups] = 0
            n_groups += 1
        group[i] = numbers[slot]
        end[group[i]] += 1
    begin = 0
    for g in range(n_groups + 1):
        first[g] = begin
        if g < n_groups:
            begin += (2 * end[g] + 2 * _PACK - 1) // _PACK * _PACK
        end[g] = first[g]
        for a in range(4):
            tally[g, a] = 0
        for a in range(3):
            box[a, g] = np.inf
            box[3 + a, g] = -np.inf
    store[3] = 0.0
    for i in range(n):
        g = group[i]
        p = end[g]
        end[g] += 1
        place[i] = p
        store[3, p] = weights[i]
        tally[g, 0] += np.int64(weights[i])
        for a in range(3):
            x = data[a, i] if a < n_dims else 0.0
            store[a, p] = x
            box[a, g] = min(box[a, g], x)
            box[3 + a, g] = max(box[3 + a, g], x)
            tally[g, 1 + a] += np.int64(weights[i]) * np.int64(x)
    return n_groups


@inlined
def _compare(
    box: FloatArray,
    n_groups: int,
    x: float,
    y: float,
    z: float,
    limit: float,
    reach: IntArray,
) -> None:
    """Mark boxes outside the ball with 0, across the sphere with 1, inside with 2."""
    beyond = limit * (1.0 + _MARGIN)
    within = limit * (1.0 - _MARGIN)
    for g in range(np.uintp(n_groups)):  # unsigned, or it is not vectorised
        left, right = box[0, g] - x, x - box[3, g]
        below, above = box[1, g] - y, y - box[4, g]
        front, behind = box[2, g] - z, z - box[5, g]
        near_x, far_x = max(left, right, 0.0), min(left, right)
        near_y, far_y = max(below, above, 0.0), min(below, above)
        near_z, far_z = max(front, behind, 0.0), min(front, behind)
        near = near_x * near_x + near_y * near_y + near_z * near_z
        far = far_x * far_x + far_y * far_y + far_z * far_z
        reach[g] = (1 if near <= beyond else 0) + (1 if far < within else 0)


@whole_sums
def _sum_near(
    store: FloatArray, begin: int, end: int, x: float, y: float, z: float, limit: float
) -> tuple[float, float, float, float]:
    """Sum weights, and weights times differences, of the neighbours among a run."""
    weight = 0.0
    along_x = 0.0
    along_y = 0.0
    along_z = 0.0
    # Distant places get weight zero instead of a branch, or it is not vectorised.
    for p in range(np.uintp(begin), np.uintp(end)):
        gap_x = store[0, p] - x
        gap_y = store[1, p] - y
        gap_z = store[2, p] - z
        squared = gap_x * gap_x + gap_y * gap_y + gap_z * gap_z
        near = store[3, p] if squared < limit else 0.0
        weight += near
        along_x += gap_x * near
        along_y += gap_y * near
        along_z += gap_z * near
    return weight, along_x, along_y, along_z


@kernel
def _move(
    coords: FloatArray,
    moving: IntArray,
    bandwidths: FloatArray,
    tol: float,
    lengths: FloatArray,
    resting: int,
    n_at_rest: int,
    follows: bool,
    n_groups: int,
    side: float,
    budget: int,
    groups: _Groups,
) -> tuple[int, int, int]:
    """Move points one after the other until the points have to be sorted again.

    Parameters up to `n_at_rest` are as in ``move_plainly``. If `follows`, `coords` are
    the points of the grid, and the groups are updated after each move. Returns the
    number of moves, of points at rest, and of boxes and places that were compared.
    """
    group, place, store, first, end, box, tally, reach, keys, numbers = groups
    n_dims = coords.shape[0]
    per_side = 1.0 / side
    reach[n_groups] = 1
    spent = 0
    step = 0
    while step < moving.shape[0] and resting < n_at_rest:
        if follows and spent > budget:
            break
        i = moving[step]
        x = coords[0, i]
        y = coords[1, i] if n_dims > 1 else 0.0
        z = coords[2, i] if n_dims > 2 else 0.0
        limit = bandwidths[step] * bandwidths[step]
        _compare(box, n_groups, x, y, z, limit, reach)
        spent += n_groups
        inside = np.int64(0)
        along_x = np.int64(0)
        along_y = np.int64(0)
        along_z = np.int64(0)
        weight = np.int64(0)
        for g in range(n_groups + 1):
            if reach[g] == 2:
                inside += tally[g, 0]
                along_x += tally[g, 1]
                along_y += tally[g, 2]
                along_z += tally[g, 3]
            elif reach[g] == 1:
                size = (end[g] - first[g] + _PACK - 1) // _PACK * _PACK
                spent += size
                sums = _sum_near(store, first[g], first[g] + size, x, y, z, limit)
                weight += np.int64(sums[0])
                along_x += np.int64(sums[1])
                along_y += np.int64(sums[2])
                along_z += np.int64(sums[3])
        weight += inside
        move_x = 0.0
        move_y = 0.0
        move_z = 0.0
        if weight > 0:
            total = float(weight)
            move_x = np.rint(float(along_x - inside * np.int64(x)) / total)
            move_y = np.rint(float(along_y - inside * np.int64(y)) / total)
            move_z = np.rint(float(along_z - inside * np.int64(z)) / total)
        length = math.sqrt(move_x * move_x + move_y * move_y + move_z * move_z)
        if follows and length > 0.0:
            before = (x, y, z)
            after = (x + move_x, y + move_y, z + move_z)
            old = group[i]
            new = numbers[_slot(after, per_side, keys, numbers)]
            if new < 0 or (new != old and end[new] == first[new + 1]):
                new = n_groups
            if new != old and end[new] + _PACK > store.shape[1]:
                break
            p = place[i]
            own = store[3, p]
            if new != old:
                store[3, p] = 0.0
                p = end[new]
                end[new] += 1
                store[3, p] = own
                group[i] = new
                place[i] = p
            tally[old, 0] -= np.int64(own)
            tally[new, 0] += np.int64(own)
            for a in range(3):
                store[a, p] = after[a]
                tally[old, 1 + a] -= np.int64(own) * np.int64(before[a])
                tally[new, 1 + a] += np.int64(own) * np.int64(after[a])
                box[a, new] = min(box[a, new], after[a])
                box[3 + a, new] = max(box[3 + a, new], after[a])
        coords[0, i] = x + move_x
        if n_dims > 1:
            coords[1, i] = y + move_y
        if n_dims > 2:
            coords[2, i] = z + move_z
        resting += (1 if length < tol else 0) - (1 if lengths[i] < tol else 0)
        lengths[i] = length
        step += 1
    return step, resting, spent
