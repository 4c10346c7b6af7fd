"""Reference of the mean-shift family: the paper's equations in plain NumPy.

This slow and short code is the definition: if a compiled loop disagrees with it, the
loop is wrong. Points are rows of whole numbers (see ``_lattice``), weights are whole
numbers, and so are all sums over neighbours, which are exact in any order. Three
quantities are rounded, each once and in the same way everywhere: squared distances,
which are summed over the coordinates in order, weights, and means. Tests compare
compiled loops with this module to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sms_diar.clustering.points._lattice import weight_levels
from sms_diar.clustering.points.profiles import GAUSSIAN_RATE, GAUSSIAN_TERMS
from sms_diar.types import FloatArray, IntArray


def profile(kernel: str, t: FloatArray) -> FloatArray:
    """Return ``k(t)`` for squared distances `t` in units of the bandwidth."""
    inside = np.minimum(t, 1.0)
    if kernel == "gaussian":
        lowered: FloatArray = np.exp(-GAUSSIAN_RATE * inside) - np.exp(-GAUSSIAN_RATE)
        return lowered
    power = {"uniform": 1, "biweight": 2, "triweight": 3, "quadweight": 4}[kernel]
    rest: FloatArray = (1.0 - inside) ** power
    return rest


def weight(kernel: str, t: FloatArray) -> FloatArray:
    """Return ``-k'(t)`` up to a constant, for `t` in [0, 1)."""
    rest = 1.0 - t
    if kernel == "uniform":
        return np.ones_like(t)
    if kernel == "biweight":
        return rest
    if kernel == "triweight":
        return rest * rest
    if kernel == "quadweight":
        return rest * rest * rest
    return _gaussian(t)


def _gaussian(t: FloatArray) -> FloatArray:
    """Return ``exp(-a t)`` by additions and products, which are equal on all machines.

    This is the sixteenth root by its power series, squared four times.
    """
    u = t * (-GAUSSIAN_RATE / 16.0)
    root = np.ones_like(t)
    for term in range(GAUSSIAN_TERMS, 0, -1):
        root = 1.0 + root * (u / term)
    for _ in range(4):
        root = root * root
    return root


def _running_sum(rows: FloatArray) -> Any:
    return np.cumsum(rows, axis=0)[-1]  # np.sum would add pairwise


def squared_distances(x: FloatArray, points: FloatArray) -> FloatArray:
    """Return ``|x - x_j|**2`` for each row of `points`."""
    squared: FloatArray = _running_sum(((points - x) ** 2).T)
    return squared


def move(
    x: FloatArray, points: FloatArray, bandwidth: float, kernel: str
) -> FloatArray:
    """Return ``S_h(x; X) - x``, the mean of the neighbours of `x` minus `x`.

    A neighbour is strictly closer than the bandwidth. Averaging differences instead of
    positions keeps full precision for data far from zero, and makes the move of
    coinciding points exactly zero.
    """
    squared = squared_distances(x, points)
    limit = bandwidth * bandwidth
    near = squared < limit
    weights = weight(kernel, squared[near] / limit)
    if kernel != "uniform":
        weights = np.rint(weights * weight_levels(len(points)))
    whole = weights.astype(np.int64)
    if not whole.any():
        return np.zeros_like(x)
    sums = whole @ (points[near] - x).astype(np.int64)
    shift: FloatArray = np.rint(sums / whole.sum())
    return shift


def length(vector: FloatArray) -> float:
    """Return the Euclidean length."""
    return float(np.sqrt(_running_sum(vector**2)))


def objective(points: FloatArray, bandwidth: float, kernel: str) -> float:
    """Return ``L(X)``, the sum of K over all pairs i <= j."""
    total = 0.0
    for i, x in enumerate(points):
        t = squared_distances(x, points[i:]) / (bandwidth * bandwidth)
        total += float(_running_sum(profile(kernel, t)))
    return total


def density(x: FloatArray, points: FloatArray, bandwidth: float, kernel: str) -> float:
    """Return ``D(x)``, the kernel density estimate (K not normalised)."""
    t = squared_distances(x, points) / (bandwidth * bandwidth)
    n, d = points.shape
    return float(np.sum(profile(kernel, t)) / (n * bandwidth**d))


def mean_shift(
    points: FloatArray, bandwidth: float, kernel: str, tol: float, max_iter: int
) -> FloatArray:
    """Run MS: every point climbs on its own, and the data do not move."""
    resting = points.copy()
    for i in range(len(points)):
        for _ in range(max_iter):
            step = move(resting[i], points, bandwidth, kernel)
            resting[i] += step
            if length(step) < tol:
                break
    return resting


def blurring_mean_shift(
    points: FloatArray, bandwidth: float, kernel: str, tol: float, max_iter: int
) -> FloatArray:
    """Run BMS: all points move at the same time."""
    state = points.copy()
    for _ in range(max_iter):
        steps = np.array([move(x, state, bandwidth, kernel) for x in state])
        state = state + steps
        if max(length(step) for step in steps) < tol:
            break
    return state


def stochastic_mean_shift(
    points: FloatArray,
    draws: IntArray,
    bandwidths: FloatArray,
    kernel: str,
    tol: float,
    n_at_rest: int,
) -> tuple[FloatArray, int]:
    """Run SMS: at each step one drawn point moves to the mean in the current state.

    The run ends when the last moves of `n_at_rest` points are shorter than `tol`. With
    bandwidths that vary from step to step this is DSMS.
    """
    state = points.copy()
    last_move = np.full(len(points), np.inf)
    for step, (i, bandwidth) in enumerate(zip(draws, bandwidths, strict=True), start=1):
        shift = move(state[i], state, float(bandwidth), kernel)
        state[i] += shift
        last_move[i] = length(shift)
        if np.count_nonzero(last_move < tol) >= n_at_rest:
            return state, step
    return state, len(draws)


def merge(points: FloatArray, threshold: float) -> IntArray:
    """Number the connected components of "closer than the threshold"."""
    labels = np.full(len(points), -1)
    for first in range(len(points)):
        if labels[first] >= 0:
            continue
        label = labels.max() + 1
        frontier = [first]
        while frontier:
            x = points[frontier.pop()]
            near = squared_distances(x, points) < threshold * threshold
            new = np.flatnonzero(near & (labels < 0))
            labels[new] = label
            frontier.extend(new.tolist())
    return labels
