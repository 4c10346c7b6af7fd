"""Inner loops of the mean-shift family. Arrays in, arrays out.

Rules of this file: every loop repeats its namesake in ``_reference.py``
operation by operation; arguments arrive validated, ``float64`` and transposed
to one row per coordinate, so that the distances of one point to all others are
straight runs through memory that the compiler vectorises without reordering a
sum; nothing is drawn at random here; helpers live in this file, because numba's
disk cache does not notice edits made in other files.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import kernel
from sms_diar.clustering.profiles import GAUSSIAN_RATE
from sms_diar.types import FloatArray, IntArray


@kernel
def _weight(code: int, t: float) -> float:
    rest = 1.0 - t
    if code == 0:
        return 1.0
    if code == 1:
        return rest
    if code == 2:
        return rest * rest
    if code == 3:
        return rest * rest * rest
    return math.exp(-GAUSSIAN_RATE * t)


@kernel
def _profile(code: int, t: float) -> float:
    rest = 1.0 - t
    if code == 0:
        return rest
    if code == 1:
        return rest * rest
    if code == 2:
        return rest * rest * rest
    if code == 3:
        return rest * rest * rest * rest
    return math.exp(-GAUSSIAN_RATE * t) - math.exp(-GAUSSIAN_RATE)


@kernel
def _squared_distances(
    x: FloatArray, coords: FloatArray, first: int, squared: FloatArray
) -> None:
    n = coords.shape[1]
    for j in range(first, n):
        gap = coords[0, j] - x[0]
        squared[j] = gap * gap
    for d in range(1, coords.shape[0]):
        row = coords[d]
        for j in range(first, n):
            gap = row[j] - x[d]
            squared[j] += gap * gap


@kernel
def _move(
    x: FloatArray,
    coords: FloatArray,
    bandwidth: float,
    code: int,
    squared: FloatArray,
    near: IntArray,
    shift: FloatArray,
) -> float:
    """Write S_h(x; X) - x into `shift` and return its length."""
    limit = bandwidth * bandwidth
    _squared_distances(x, coords, 0, squared)
    n_near = 0
    for j in range(coords.shape[1]):
        near[n_near] = j  # kept only if the counter moves on: no branch to mispredict
        if squared[j] < limit:
            n_near += 1
    if n_near == 0:
        shift[:] = 0.0
        return 0.0
    total = 0.0
    if code == 0:
        total = float(n_near)
    else:
        for c in range(n_near):
            # The weight takes the place of the distance: each is needed once.
            squared[near[c]] = _weight(code, squared[near[c]] / limit)
            total += squared[near[c]]
    length = 0.0
    for d in range(coords.shape[0]):
        row = coords[d]
        here = x[d]
        along = 0.0
        if code == 0:
            for c in range(n_near):
                along += row[near[c]] - here
        else:
            for c in range(n_near):
                along += squared[near[c]] * (row[near[c]] - here)
        shift[d] = along / total
        length += shift[d] * shift[d]
    return math.sqrt(length)


@kernel
def shift_points(
    queries: FloatArray,
    moving: IntArray,
    coords: FloatArray,
    bandwidth: float,
    code: int,
    lengths: FloatArray,
) -> None:
    """Move the queries named in `moving` once, in place, against fixed `coords`."""
    n_dims, n = coords.shape
    squared = np.empty(n)
    near = np.empty(n, dtype=np.int64)
    shift = np.empty(n_dims)
    x = np.empty(n_dims)
    for m in range(moving.shape[0]):
        q = moving[m]
        for d in range(n_dims):
            x[d] = queries[d, q]
        lengths[q] = _move(x, coords, bandwidth, code, squared, near, shift)
        for d in range(n_dims):
            queries[d, q] = x[d] + shift[d]


@kernel
def stochastic_steps(
    coords: FloatArray,
    draws: IntArray,
    bandwidths: FloatArray,
    code: int,
    tol: float,
    last_move: FloatArray,
    n_at_rest: int,
) -> int:
    """Move one drawn point after the other, in place; return the steps made.

    A move is seen by every later step, so this loop is serial by definition.
    It returns early once `n_at_rest` entries of `last_move` are below `tol`.
    """
    n_dims, n = coords.shape
    squared = np.empty(n)
    near = np.empty(n, dtype=np.int64)
    shift = np.empty(n_dims)
    x = np.empty(n_dims)
    resting = 0
    for j in range(n):
        if last_move[j] < tol:
            resting += 1
    for step in range(draws.shape[0]):
        i = draws[step]
        for d in range(n_dims):
            x[d] = coords[d, i]
        length = _move(x, coords, bandwidths[step], code, squared, near, shift)
        for d in range(n_dims):
            coords[d, i] = x[d] + shift[d]
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        if resting >= n_at_rest:
            return step + 1
    return len(draws)


@kernel
def objective(coords: FloatArray, bandwidth: float, code: int) -> float:
    """L(X), the sum of K over all pairs i <= j."""
    n_dims, n = coords.shape
    limit = bandwidth * bandwidth
    squared = np.empty(n)
    x = np.empty(n_dims)
    total = 0.0
    for i in range(n):
        for d in range(n_dims):
            x[d] = coords[d, i]
        _squared_distances(x, coords, i, squared)
        along = 0.0
        for j in range(i, n):
            if squared[j] < limit:  # beyond, the quotient may overflow
                along += _profile(code, squared[j] / limit)
        total += along
    return total
