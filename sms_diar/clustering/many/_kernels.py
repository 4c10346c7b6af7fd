"""Inner loops of clustering across many recordings.

Scores are those of two-covariance PLDA in the space where the model is diagonal, summed
in double precision and always in the same order. Rows are in single precision: a
million with 192 dimensions take 0.7 GiB.
"""

from __future__ import annotations

import math

import numpy as np

from sms_diar._numba import kernel
from sms_diar.clustering._modes import root_of
from sms_diar.types import AnyArray, FloatArray, IntArray


@kernel
def _weighted_dot(weights: FloatArray, row: AnyArray) -> float:
    """Inner product in four interleaved sums, which do not wait for each other."""
    d = weights.shape[0]
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    whole = d - d % 4
    for t in range(0, whole, 4):
        a += weights[t] * row[t]
        b += weights[t + 1] * row[t + 1]
        c += weights[t + 2] * row[t + 2]
        e += weights[t + 3] * row[t + 3]
    for t in range(whole, d):
        a += weights[t] * row[t]
    return (a + b) + (c + e)


@kernel
def score_neighbours(
    rows: AnyArray,
    near: AnyArray,
    cross: FloatArray,
    square: FloatArray,
    constant: float,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """Score rows first..last with their candidate neighbours.

    ``out[i - first, c]`` is the score of row i and ``near[i - first, c]``, or minus
    infinity if that index is negative or i itself.
    """
    d = rows.shape[1]
    weights = np.empty(d)
    for i in range(first, last):
        own = 0.0
        for t in range(d):
            x = np.float64(rows[i, t])
            weights[t] = cross[t] * x
            own += square[t] * x * x
        for c in range(near.shape[1]):
            j = near[i - first, c]
            if j < 0 or j == i:
                out[i - first, c] = -np.inf
                continue
            inner, other = 0.0, 0.0
            for t in range(d):
                y = np.float64(rows[j, t])
                inner += weights[t] * y
                other += square[t] * y * y
            out[i - first, c] = inner + own + other + constant


@kernel
def shift_rows(
    states: AnyArray,
    biases: FloatArray,
    near: AnyArray,
    order: IntArray,
    cross: FloatArray,
    square: FloatArray,
    expected: FloatArray,
    constant: float,
    gate: float,
    tol: float,
) -> int:
    """Move rows in the given order to the means of their neighbours above the gate.

    Scores are those of the current states. The mean includes the row itself and is
    scaled so that ``sum(expected * mean**2)`` is the number of dimensions, as expected
    of a single vector. States and biases change in place. Returns the number of rows
    that moved by more than `tol` times their length.
    """
    d = states.shape[1]
    weights, mean = np.empty(d), np.empty(d)
    moved = 0
    for step in range(order.shape[0]):
        i = order[step]
        for t in range(d):
            x = np.float64(states[i, t])
            weights[t] = cross[t] * x
            mean[t] = x
        passed = 1
        for c in range(near.shape[1]):
            j = near[i, c]
            if j < 0:
                break
            score = _weighted_dot(weights, states[j]) + biases[i] + biases[j] + constant
            if score >= gate:
                passed += 1
                for t in range(d):
                    mean[t] += states[j, t]
        if passed == 1:
            continue
        energy = 0.0
        for t in range(d):
            energy += expected[t] * mean[t] * mean[t]
        scale = math.sqrt(d / energy) if energy > 0.0 else 1.0
        change, length, bias = 0.0, 0.0, 0.0
        for t in range(d):
            x = mean[t] * scale
            gap = x - states[i, t]
            change += gap * gap
            length += x * x
            bias += square[t] * x * x
            states[i, t] = x
        biases[i] = bias
        moved += change > tol * tol * length
    return moved


@kernel
def unite_resting(
    states: AnyArray,
    near: AnyArray,
    most: float,
    first: int,
    last: int,
    parent: IntArray,
) -> None:
    """Unite rows first..last with neighbours that rest at the same position.

    The squared distance is at most `most` times the squared length of the first row.
    `parent` is a forest whose roots are the lowest members.
    """
    d = states.shape[1]
    for i in range(first, last):
        length = 0.0
        for t in range(d):
            length += np.float64(states[i, t]) * np.float64(states[i, t])
        for c in range(near.shape[1]):
            j = near[i, c]
            if j < 0:
                break
            root, other = root_of(parent, i), root_of(parent, j)
            if root == other:
                continue
            gap = 0.0
            for t in range(d):
                x = np.float64(states[i, t]) - np.float64(states[j, t])
                gap += x * x
            if gap <= most * length:
                parent[max(root, other)] = min(root, other)


@kernel
def pair_gains(
    means: FloatArray,
    counts: FloatArray,
    psi: FloatArray,
    first: IntArray,
    second: IntArray,
    out: FloatArray,
) -> None:
    """Compute log-likelihood ratios of pairs of clusters: one speaker, or two.

    Cluster g is ``counts[g]`` observations with mean ``means[g]``. With counts a and b
    and means x and y, every dimension adds half of ::

        psi (a x + b y)**2 / (1 + (a + b) psi) - psi (a x)**2 / (1 + a psi)
            - psi (b y)**2 / (1 + b psi)
            - log(1 + (a + b) psi) + log(1 + a psi) + log(1 + b psi)
    """
    d = means.shape[1]
    for p in range(first.shape[0]):
        g, h = first[p], second[p]
        a, b = counts[g], counts[h]
        total = 0.0
        product = 1.0  # of ratios: one logarithm for many dimensions
        for t in range(d):
            x, y, v = a * means[g, t], b * means[h, t], psi[t]
            joint, left, right = 1.0 + (a + b) * v, 1.0 + a * v, 1.0 + b * v
            total += v * ((x + y) * (x + y) / joint - x * x / left - y * y / right)
            product *= left * right / joint
            if t % 16 == 15:
                total += math.log(product)
                product = 1.0
        out[p] = 0.5 * (total + math.log(product))
