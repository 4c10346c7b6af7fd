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
def _best_partner(
    g: int,
    first: int,
    end: int,
    sizes: IntArray,
    sums: FloatArray,
    values: FloatArray,
    psi: FloatArray,
    log_dets: FloatArray,
    weight: float,
) -> tuple[int, float]:
    """Return the cluster in a range whose merge with g gains most, and the gain."""
    best, most = -1, -np.inf
    for j in range(first, end):
        if sizes[j] == 0:
            continue
        size = sizes[g] + sizes[j]
        joint = _quadratic(sums[g], sums[j], size, psi, weight)
        gain = joint - log_dets[size] - values[g] - values[j]
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
            i, i + 1, n_groups, sizes, sums, values, psi, log_dets, weight
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
                    g, g + 1, n_groups, sizes, sums, values, psi, log_dets, weight
                )
            elif g < i:
                _, gain = _best_partner(
                    g, i, i + 1, sizes, sums, values, psi, log_dets, weight
                )
                if gain > gains[g]:
                    partner[g], gains[g] = i, gain
    return parent


@kernel
def _prepare_moves(
    g: int,
    sizes: IntArray,
    sums: FloatArray,
    psi: FloatArray,
    weight: float,
    values: FloatArray,
    factors: FloatArray,
) -> None:
    """Set the value of a cluster, and the weights of squares with one more segment."""
    size = sizes[g] + 1
    values[g] = _quadratic(sums[g], np.zeros(psi.shape[0]), sizes[g], psi, weight)
    for c in range(psi.shape[0]):
        factors[g, c] = 0.5 * weight**2 * psi[c] / (1.0 + weight * size * psi[c])


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
    values = np.empty(n_groups)
    factors = np.empty((n_groups, d))
    left = 0
    for g in range(n_groups):
        _prepare_moves(g, sizes, sums, psi, weight, values, factors)
        left += sizes[g] > 0
    for sweep in range(n_sweeps):
        changes = 0
        for i in range(n):
            own = labels[i]
            if sizes[own] == 1 and left <= fewest:
                continue
            sizes[own] -= 1
            for c in range(d):
                sums[own, c] -= U[i, c]
            _prepare_moves(own, sizes, sums, psi, weight, values, factors)
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
            _prepare_moves(best, sizes, sums, psi, weight, values, factors)
        if changes == 0:
            return sweep + 1
    return n_sweeps
