"""Plain loops: every point is compared with every other, for any kernel and dimension.

Coordinates are whole numbers (``_lattice``) with one row per axis, so that a run of
points is contiguous in memory. Every loop repeats an operation of ``_reference.py``,
and its result is equal to the last bit, except for the objective, whose exponential
function may differ in the last digit. ``_grid.py`` is the fast path for the uniform
kernel and gives the same states.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import inlined, kernel, whole_sums
from sms_diar.clustering.points.profiles import GAUSSIAN_RATE, GAUSSIAN_TERMS
from sms_diar.types import FloatArray, IntArray

_BLOCK = 1024  # points compared at a time: their distances fit in the first cache


@inlined
def _weight(code: int, t: float) -> float:
    """Return ``-k'(t)`` up to a constant, for `t` in [0, 1)."""
    rest = 1.0 - t
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


@inlined
def _weigh(
    data: FloatArray,
    weights: FloatArray,
    begin: int,
    size: int,
    x: FloatArray,
    limit: float,
    code: int,
    levels: float,
    near: FloatArray,
) -> None:
    """Write the weights of a block of points into `near`; distant points get zero."""
    # Unsigned indices, because the compiler vectorises no others.
    first = np.uintp(begin)
    for p in range(np.uintp(size)):
        gap = data[0, first + p] - x[0]
        near[p] = gap * gap
    for a in range(1, data.shape[0]):
        for p in range(np.uintp(size)):
            gap = data[a, first + p] - x[a]
            near[p] += gap * gap
    if code == 0:
        for p in range(np.uintp(size)):
            weight = weights[first + p]
            near[p] = weight if near[p] < limit else 0.0
    else:
        for p in range(size):
            weight = 0.0
            if near[p] < limit:
                weight = np.rint(_weight(code, near[p] / limit) * levels)
                weight *= weights[begin + p]
            near[p] = weight


@whole_sums
def _sum(near: FloatArray, size: int) -> float:
    total = 0.0
    for p in range(np.uintp(size)):
        total += near[p]
    return total


@whole_sums
def _dot(
    data: FloatArray, a: int, begin: int, here: float, near: FloatArray, size: int
) -> float:
    along = 0.0
    for p in range(np.uintp(size)):
        along += near[p] * (data[a, np.uintp(begin) + p] - here)
    return along


@inlined
def _long_dot(
    data: FloatArray, a: int, begin: int, here: float, near: FloatArray, size: int
) -> np.int64:
    """Return the same sum for weights that are so large that it exceeds ``2**53``."""
    along = np.int64(0)
    for p in range(size):
        along += np.int64(near[p]) * np.int64(data[a, begin + p] - here)
    return along


@kernel
def move_plainly(
    coords: FloatArray,
    data: FloatArray,
    weights: FloatArray,
    moving: IntArray,
    bandwidths: FloatArray,
    code: int,
    levels: float,
    tol: float,
    lengths: FloatArray,
    resting: int,
    n_at_rest: int,
) -> tuple[int, int]:
    """Move points one after the other to the weighted means of their neighbours.

    `coords` of shape (d, m) change in place. They are attracted by `data` of shape (d,
    n) with whole-numbered `weights`, whose sum is below ``2**23``; if both are the same
    array, every later move is computed from the changed state. Step i moves column
    ``moving[i]`` with ``bandwidths[i]``. `code` is the position of the kernel in
    ``KERNELS``, whose weights are rounded to multiples of one over `levels`.

    A point is at rest while its last move, in `lengths` of shape (m,), was shorter than
    `tol`. `resting` points are; the loop ends early at `n_at_rest`. Returns the numbers
    of moves and of points at rest.
    """
    n_dims, n = data.shape
    near = np.empty(_BLOCK)
    x = np.empty(n_dims)
    total = np.empty(1 + n_dims, dtype=np.int64)
    for step in range(moving.shape[0]):
        i = moving[step]
        limit = bandwidths[step] * bandwidths[step]
        total[:] = 0
        for a in range(n_dims):
            x[a] = coords[a, i]
        for begin in range(0, n, _BLOCK):
            size = min(_BLOCK, n - begin)
            _weigh(data, weights, begin, size, x, limit, code, levels, near)
            total[0] += np.int64(_sum(near, size))
            for a in range(n_dims):
                if code == 0:
                    total[1 + a] += np.int64(_dot(data, a, begin, x[a], near, size))
                else:
                    total[1 + a] += _long_dot(data, a, begin, x[a], near, size)
        squared = 0.0
        if total[0] > 0:
            for a in range(n_dims):
                move = np.rint(float(total[1 + a]) / float(total[0]))
                squared += move * move
                coords[a, i] = x[a] + move
        length = math.sqrt(squared)
        resting += (1 if length < tol else 0) - (1 if lengths[i] < tol else 0)
        lengths[i] = length
        if resting >= n_at_rest:
            return step + 1, resting
    return len(moving), resting


@inlined
def _profile(code: int, t: float) -> float:
    """Return ``k(t)`` for `t` in [0, 1)."""
    if code == 4:
        return math.exp(-GAUSSIAN_RATE * t) - math.exp(-GAUSSIAN_RATE)
    rest = 1.0 - t
    value = rest
    for _ in range(code):
        value *= rest
    return value


@kernel
def objective(coords: FloatArray, bandwidth: float, code: int) -> float:
    """Return L(X), the sum of K over all pairs i <= j, for `coords` of shape (d, n)."""
    n_dims, n = coords.shape
    limit = bandwidth * bandwidth
    squared = np.empty(n)
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            gap = coords[0, j] - coords[0, i]
            squared[j] = gap * gap
        for a in range(1, n_dims):
            for j in range(i, n):
                gap = coords[a, j] - coords[a, i]
                squared[j] += gap * gap
        along = 0.0
        for j in range(i, n):
            if squared[j] < limit:  # otherwise the quotient may overflow
                along += _profile(code, squared[j] / limit)
        total += along
    return total
