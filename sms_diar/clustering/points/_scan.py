"""The innermost loop of the mean-shift family: weigh a run of points.

A run is a stretch of a point store of shape (d, m). Its points are compared with
one position; weights and weighted differences of those within the bandwidth are
added to ``total``, of shape (1 + d,): all of them whole numbers (``_lattice``).

Loops index the store itself, not views of its rows: a view is counted, by an atomic
operation, which takes longer than a short run does.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import inlined, kernel, whole_sums
from sms_diar.clustering.points.profiles import GAUSSIAN_RATE, GAUSSIAN_TERMS
from sms_diar.types import FloatArray, IntArray

BLOCK = 1024  # points compared at a time: their distances stay in the first cache


@kernel
def weight(code: int, t: float) -> float:
    """``-k'(t)`` up to a constant, for `t` in [0, 1)."""
    rest = 1.0 - t
    if code == 0:
        return 1.0
    if code == 1:
        return rest
    if code == 2:
        return rest * rest
    if code == 3:
        return rest * rest * rest
    u = t * (-GAUSSIAN_RATE / 16.0)
    root = 1.0
    for term in range(GAUSSIAN_TERMS, 0, -1):
        root = 1.0 + root * (u / term)
    for _ in range(4):
        root = root * root
    return root


@whole_sums
def planar_sums(
    store: FloatArray,
    first: int,
    end: int,
    x: float,
    y: float,
    limit: float,
) -> tuple[float, float, float]:
    """Count points of the plane within reach and add up their differences."""
    count = 0.0
    along_x = 0.0
    along_y = 0.0
    # Unsigned, so that no index can be negative; multiplied rather than chosen,
    # so that there is no branch: the compiler vectorises neither otherwise.
    for p in range(np.uintp(first), np.uintp(end)):
        gap_x = store[0, p] - x
        gap_y = store[1, p] - y
        inside = 1.0 if gap_x * gap_x + gap_y * gap_y < limit else 0.0
        count += inside
        along_x += gap_x * inside
        along_y += gap_y * inside
    return count, along_x, along_y


@inlined
def _compare(
    store: FloatArray, first: int, size: int, x: FloatArray, squared: FloatArray
) -> None:
    """Write the squared distances of a block of points into `squared`."""
    begin = np.uintp(first)
    here = x[0]
    for p in range(np.uintp(size)):
        gap = store[0, begin + p] - here
        squared[p] = gap * gap
    for d in range(1, store.shape[0]):
        here = x[d]
        for p in range(np.uintp(size)):
            gap = store[d, begin + p] - here
            squared[p] += gap * gap


@whole_sums
def _count(squared: FloatArray, size: int, limit: float) -> float:
    count = 0.0
    for p in range(np.uintp(size)):
        count += 1.0 if squared[p] < limit else 0.0
    return count


@whole_sums
def _add_differences(
    store: FloatArray,
    d: int,
    first: int,
    size: int,
    here: float,
    squared: FloatArray,
    limit: float,
) -> float:
    begin = np.uintp(first)
    along = 0.0
    for p in range(np.uintp(size)):
        inside = 1.0 if squared[p] < limit else 0.0
        along += (store[d, begin + p] - here) * inside
    return along


@inlined
def add_equal(
    store: FloatArray,
    first: int,
    end: int,
    x: FloatArray,
    limit: float,
    squared: FloatArray,
    total: IntArray,
) -> None:
    """Add the points of a run that lie within reach of `x`, all with weight one.

    `squared` is room for BLOCK numbers.
    """
    if store.shape[0] == 2:
        count, along_x, along_y = planar_sums(store, first, end, x[0], x[1], limit)
        total[0] += np.int64(count)
        total[1] += np.int64(along_x)
        total[2] += np.int64(along_y)
    else:
        for begin in range(first, end, BLOCK):
            size = min(BLOCK, end - begin)
            _compare(store, begin, size, x, squared)
            total[0] += np.int64(_count(squared, size, limit))
            for d in range(store.shape[0]):
                total[1 + d] += np.int64(
                    _add_differences(store, d, begin, size, x[d], squared, limit)
                )


@kernel
def _add_weighted(
    store: FloatArray,
    first: int,
    size: int,
    x: FloatArray,
    limit: float,
    code: int,
    levels: float,
    squared: FloatArray,
    total: IntArray,
) -> None:
    for p in range(size):
        if squared[p] < limit:
            # The weight takes the place of the distance: each is needed once.
            squared[p] = np.rint(weight(code, squared[p] / limit) * levels)
            total[0] += np.int64(squared[p])
        else:
            squared[p] = 0.0
    for d in range(store.shape[0]):
        here = x[d]
        along = np.int64(0)
        for p in range(size):
            along += np.int64(squared[p] * (store[d, first + p] - here))
        total[1 + d] += along


@kernel
def add_run(
    store: FloatArray,
    first: int,
    end: int,
    x: FloatArray,
    limit: float,
    code: int,
    levels: float,
    squared: FloatArray,
    total: IntArray,
) -> None:
    """Add the points of a run that lie within reach of `x`, each with its weight.

    `squared` is room for BLOCK numbers.
    """
    if code == 0:
        add_equal(store, first, end, x, limit, squared, total)
        return
    for begin in range(first, end, BLOCK):
        size = min(BLOCK, end - begin)
        _compare(store, begin, size, x, squared)
        _add_weighted(store, begin, size, x, limit, code, levels, squared, total)


@inlined
def mean_move(total: IntArray, move: FloatArray) -> float:
    """Turn sums into the move they stand for, and return its length."""
    length = 0.0
    for d in range(move.shape[0]):
        move[d] = 0.0
        if total[0] > 0:
            move[d] = np.rint(float(total[1 + d]) / float(total[0]))
        length += move[d] * move[d]
    return math.sqrt(length)
