"""Inner loops of the search for the partition of highest evidence.

Clusters are stored as sizes and sums. The part of the evidence that depends on sizes
alone comes from a table, ``log_dets[n] = sum(log(1 + weight n psi)) / 2``; the rest
is one pass over the dimensions.
"""

from __future__ import annotations

import numpy as np

from sms_diar._numba import kernel
from sms_diar.types import FloatArray, IntArray


@kernel
def _quadratic(
    one: FloatArray, other: FloatArray, size: float, psi: FloatArray, weight: float
) -> float:
    """Return the part of the evidence of a cluster that depends on its two sums."""
    total = 0.0
    for d in range(psi.shape[0]):
        s = weight * (one[d] + other[d])
        total += psi[d] * s * s / (1.0 + weight * size * psi[d])
    return 0.5 * total


@kernel
def _weigh_squares(
    size: int, psi: FloatArray, weight: float, factors: FloatArray
) -> None:
    for c in range(psi.shape[0]):
        factors[c] = 0.5 * weight**2 * psi[c] / (1.0 + weight * size * psi[c])


@kernel
def _merge_gain(
    i: int,
    j: int,
    sizes: IntArray,
    sums: FloatArray,
    values: FloatArray,
    psi: FloatArray,
    log_dets: FloatArray,
    weight: float,
) -> float:
    size = sizes[i] + sizes[j]
    joint = _quadratic(sums[i], sums[j], size, psi, weight)
    gain: float = joint - log_dets[size] - values[i] - values[j]
    return gain


@kernel
def _best_partner(
    i: int,
    sizes: IntArray,
    sums: FloatArray,
    values: FloatArray,
    psi: FloatArray,
    log_dets: FloatArray,
    weight: float,
) -> tuple[int, float]:
    """Return the cluster after i whose merge with it gains most, and the gain."""
    best, most = -1, -np.inf
    for j in range(i + 1, sizes.shape[0]):
        if sizes[j] == 0:
            continue
        gain = _merge_gain(i, j, sizes, sums, values, psi, log_dets, weight)
        if gain > most:
            best, most = j, gain
    return best, most


@kernel
def merge_groups(
    sizes: IntArray,
    sums: FloatArray,
    psi: FloatArray,
    log_dets: FloatArray,
    weight: float,
    fewest: int,
    most: int,
) -> IntArray:
    """Merge the pair with the highest gain while it is positive or there are too many.

    `sizes` and `sums` are changed in place. Returns the final cluster of each cluster.
    """
    n_groups = sizes.shape[0]
    nothing = np.zeros(psi.shape[0])
    parent = np.arange(n_groups)
    values = np.empty(n_groups)
    partner = np.empty(n_groups, dtype=np.int64)
    gains = np.empty(n_groups)
    for i in range(n_groups):
        values[i] = (
            _quadratic(sums[i], nothing, sizes[i], psi, weight) - log_dets[sizes[i]]
        )
    for i in range(n_groups):
        partner[i], gains[i] = _best_partner(
            i, sizes, sums, values, psi, log_dets, weight
        )
    left = n_groups
    while left > fewest:
        i = int(np.argmax(gains))
        if gains[i] == -np.inf or (gains[i] <= 0.0 and left <= most):
            break
        j = partner[i]
        sizes[i] += sizes[j]
        sizes[j] = 0
        sums[i] += sums[j]
        values[i] = (
            _quadratic(sums[i], nothing, sizes[i], psi, weight) - log_dets[sizes[i]]
        )
        gains[j] = -np.inf
        left -= 1
        parent[parent == j] = i
        for g in range(j):
            if sizes[g] == 0:
                continue
            if g == i or partner[g] == i or partner[g] == j:
                partner[g], gains[g] = _best_partner(
                    g, sizes, sums, values, psi, log_dets, weight
                )
            elif g < i:
                gain = _merge_gain(g, i, sizes, sums, values, psi, log_dets, weight)
                if gain > gains[g]:
                    partner[g], gains[g] = i, gain
    return parent


@kernel
def move_segments(
    U: FloatArray,
    labels: IntArray,
    sizes: IntArray,
    sums: FloatArray,
    psi: FloatArray,
    log_dets: FloatArray,
    weight: float,
    fewest: int,
    n_sweeps: int,
) -> int:
    """Move each segment in turn to the cluster where it adds most evidence.

    Changes labels, sizes and sums in place; clusters may become empty. Returns the
    number of sweeps, at most `n_sweeps`; a sweep without changes is the last.
    """
    n, d = U.shape
    n_groups = sizes.shape[0]
    # For each cluster: its evidence without the current segment, and the weights of
    # squared sums with one more segment.
    nothing = np.zeros(d)
    values = np.empty(n_groups)
    factors = np.empty((n_groups, d))
    left = 0
    for g in range(n_groups):
        values[g] = _quadratic(sums[g], nothing, sizes[g], psi, weight)
        left += sizes[g] > 0
        _weigh_squares(sizes[g] + 1, psi, weight, factors[g])
    for sweep in range(n_sweeps):
        changes = 0
        for i in range(n):
            own = labels[i]
            if sizes[own] == 1 and left <= fewest:
                continue
            sizes[own] -= 1
            for c in range(d):
                sums[own, c] -= U[i, c]
            _weigh_squares(sizes[own] + 1, psi, weight, factors[own])
            values[own] = _quadratic(sums[own], nothing, sizes[own], psi, weight)
            best, most = own, -np.inf
            for g in range(n_groups):
                if sizes[g] == 0 and g != own:
                    continue
                total = 0.0
                for c in range(d):
                    s = sums[g, c] + U[i, c]
                    total += factors[g, c] * s * s
                gain = total - values[g] - log_dets[sizes[g] + 1] + log_dets[sizes[g]]
                if gain > most or (gain == most and g == own):
                    best, most = g, gain
            if best != own:
                changes += 1
                if sizes[own] == 0:
                    left -= 1
            labels[i] = best
            sizes[best] += 1
            for c in range(d):
                sums[best, c] += U[i, c]
            _weigh_squares(sizes[best] + 1, psi, weight, factors[best])
            values[best] = _quadratic(sums[best], nothing, sizes[best], psi, weight)
        if changes == 0:
            return sweep + 1
    return n_sweeps
