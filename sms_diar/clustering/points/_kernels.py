"""Plain loops of the mean-shift family: every point is compared with every other.

Rules of this file: every loop repeats its namesake in ``_reference.py``; arguments
arrive validated, on the lattice, and transposed to one row per coordinate, so that
the distances of one point to all others are straight runs through memory; nothing
is drawn at random here. The indexed loops (``_index``) are held to the states of
these.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import kernel, whole_sums
from sms_diar.clustering.points._scan import BLOCK, add_run, mean_move
from sms_diar.clustering.points.profiles import GAUSSIAN_RATE
from sms_diar.types import FloatArray, IntArray


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
def shift_points(
    queries: FloatArray,
    moving: IntArray,
    coords: FloatArray,
    bandwidth: float,
    code: int,
    levels: float,
    lengths: FloatArray,
) -> None:
    """Move the queries named in `moving` once, in place, against fixed `coords`."""
    n_dims, n = coords.shape
    squared = np.empty(BLOCK)
    total = np.empty(1 + n_dims, dtype=np.int64)
    move = np.empty(n_dims)
    x = np.empty(n_dims)
    limit = bandwidth * bandwidth
    for m in range(moving.shape[0]):
        q = moving[m]
        for d in range(n_dims):
            x[d] = queries[d, q]
        for c in range(1 + n_dims):
            total[c] = 0
        add_run(coords, 0, n, x, limit, code, levels, squared, total)
        lengths[q] = mean_move(total, move)
        for d in range(n_dims):
            queries[d, q] = x[d] + move[d]


@kernel
def stochastic_steps(
    coords: FloatArray,
    draws: IntArray,
    bandwidths: FloatArray,
    code: int,
    levels: float,
    tol: float,
    last_move: FloatArray,
    resting: int,
    n_at_rest: int,
) -> tuple[int, int]:
    """Move one drawn point after the other; return steps made and points at rest.

    A move is seen by every later step, so this loop is serial by definition.
    `resting` is the number of entries of `last_move` below `tol`; the loop ends
    early once there are `n_at_rest` of them.
    """
    n_dims, n = coords.shape
    squared = np.empty(BLOCK)
    total = np.empty(1 + n_dims, dtype=np.int64)
    move = np.empty(n_dims)
    x = np.empty(n_dims)
    for step in range(draws.shape[0]):
        i = draws[step]
        for d in range(n_dims):
            x[d] = coords[d, i]
        for c in range(1 + n_dims):
            total[c] = 0
        limit = bandwidths[step] * bandwidths[step]
        add_run(coords, 0, n, x, limit, code, levels, squared, total)
        length = mean_move(total, move)
        for d in range(n_dims):
            coords[d, i] = x[d] + move[d]
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        if resting >= n_at_rest:
            return step + 1, resting
    return len(draws), resting


@whole_sums
def _weighted_sum(
    coords: FloatArray,
    d: int,
    here: float,
    weights: FloatArray,
    squared: FloatArray,
    limit: float,
) -> float:
    along = 0.0
    for j in range(weights.shape[0]):
        inside = 1.0 if squared[j] < limit else 0.0
        along += weights[j] * ((coords[d, j] - here) * inside)
    return along


@whole_sums
def _total_weight(weights: FloatArray, squared: FloatArray, limit: float) -> float:
    total = 0.0
    for j in range(weights.shape[0]):
        inside = 1.0 if squared[j] < limit else 0.0
        total += weights[j] * inside
    return total


@kernel
def weighted_steps(
    coords: FloatArray,
    weights: FloatArray,
    draws: IntArray,
    bandwidth: float,
    tol: float,
    last_move: FloatArray,
    resting: int,
    n_at_rest: int,
) -> tuple[int, int]:
    """As ``stochastic_steps`` with the uniform kernel, points counting by weight.

    Weights are whole numbers whose sum is below ``2**23``, so that sums are exact.
    """
    n_dims, n = coords.shape
    squared = np.empty(n)
    limit = bandwidth * bandwidth
    for step in range(draws.shape[0]):
        i = draws[step]
        for d in range(n_dims):
            here = coords[d, i]
            for j in range(n):
                gap = coords[d, j] - here
                squared[j] = gap * gap + (squared[j] if d > 0 else 0.0)
        total = _total_weight(weights, squared, limit)
        length = 0.0
        for d in range(n_dims):
            here = coords[d, i]
            along = _weighted_sum(coords, d, here, weights, squared, limit)
            move = np.rint(along / total)
            length += move * move
            coords[d, i] = here + move
        length = math.sqrt(length)
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        if resting >= n_at_rest:
            return step + 1, resting
    return len(draws), resting


@kernel
def objective(coords: FloatArray, bandwidth: float, code: int) -> float:
    """L(X), the sum of K over all pairs i <= j."""
    n_dims, n = coords.shape
    limit = bandwidth * bandwidth
    squared = np.empty(n)
    total = 0.0
    for i in range(n):
        for j in range(i, n):
            gap = coords[0, j] - coords[0, i]
            squared[j] = gap * gap
        for d in range(1, n_dims):
            row = coords[d]
            here = row[i]
            for j in range(i, n):
                gap = row[j] - here
                squared[j] += gap * gap
        along = 0.0
        for j in range(i, n):
            if squared[j] < limit:  # beyond, the quotient may overflow
                along += _profile(code, squared[j] / limit)
        total += along
    return total
