"""Inner loops of kNN mean shift on speaker embeddings.

A step needs the scores of one point with all others. Asked for one at a time
that is a matrix-vector product, which waits for memory; so the scores of a batch
of coming draws are computed at once, from a snapshot, by one matrix product.
Between snapshot and use some points have moved: their scores are recomputed, and
all scores of a drawn point that itself has moved. Nothing is approximated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import kernel
from sms_diar.types import FloatArray, IntArray


class Map(NamedTuple):
    """The arrays of a back end that one moved state has to pass."""

    matrix: FloatArray
    offset: FloatArray
    out_length: float
    projection: FloatArray
    shift: FloatArray
    norm_weights: FloatArray
    has_norm: bool
    gain: FloatArray
    square: FloatArray
    normalize_state: bool


@kernel
def _length(vector: FloatArray) -> float:
    total = 0.0
    for d in range(vector.shape[0]):
        total += vector[d] * vector[d]
    return math.sqrt(total)


@kernel
def _map_state(state: FloatArray, chain: Map, u: FloatArray) -> float:
    """Write the scoring vector of one state into `u`, gain included; return bias."""
    scale = 1.0
    if chain.normalize_state:
        length = _length(state)
        if length > 0.0:
            scale = 1.0 / length
    phi = chain.matrix @ (state * scale) + chain.offset
    if chain.out_length > 0.0:
        length = _length(phi)
        if length > 0.0:
            phi *= chain.out_length / length
    raw = chain.projection @ phi + chain.shift
    if chain.has_norm:
        energy = 0.0
        for d in range(raw.shape[0]):
            energy += chain.norm_weights[d] * raw[d] * raw[d]
        if energy > 0.0:
            raw *= math.sqrt(raw.shape[0] / energy)
    bias = 0.0
    for d in range(raw.shape[0]):
        bias += chain.square[d] * raw[d] * raw[d]
        u[d] = raw[d] * chain.gain[d]
    return bias


@kernel
def _select(scores: FloatArray, k: int, best: IntArray, heap: FloatArray) -> int:
    """Find the k highest scores; ties go to the lower index. Sorted by index.

    A heap whose root is the worst of the best so far; most scores are below it
    and cost one comparison.
    """
    n = scores.shape[0]
    size = 0
    for j in range(n):
        score = scores[j]
        if size < k:
            at = size
            size += 1
            while at > 0:
                parent = (at - 1) // 2
                # Equal scores: the higher index is the worse one, nearer the root.
                if heap[parent] < score:
                    break
                heap[at], best[at] = heap[parent], best[parent]
                at = parent
            heap[at], best[at] = score, j
        elif score > heap[0]:
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                right = child + 1
                if right < size and (
                    heap[right] < heap[child]
                    or (heap[right] == heap[child] and best[right] > best[child])
                ):
                    child = right
                if heap[child] >= score:  # of equals, the newcomer is the worse
                    break
                heap[at], best[at] = heap[child], best[child]
                at = child
            heap[at], best[at] = score, j
    best[:size].sort()
    return size


@kernel
def _mean_of(
    states: FloatArray,
    best: IntArray,
    size: int,
    scores: FloatArray,
    threshold: float,
    target: FloatArray,
) -> None:
    """Plain mean of the chosen states that reach the threshold, in index order."""
    target[:] = 0.0
    count = 0
    for b in range(size):
        j = best[b]
        if scores[j] >= threshold:
            count += 1
            for d in range(target.shape[0]):
                target[d] += states[j, d]
    for d in range(target.shape[0]):
        target[d] /= count


@kernel
def stochastic_batch(
    states: FloatArray,
    U: FloatArray,
    bias: FloatArray,
    snapshot: FloatArray,
    constant: float,
    draws: IntArray,
    ks: IntArray,
    thresholds: FloatArray,
    chain: Map,
    tol: float,
    last_move: FloatArray,
    n_at_rest: int,
) -> int:
    """Move the drawn points one after the other; return the steps made.

    `snapshot` holds, row by row, ``U[draws] @ U.T + bias`` before the batch.
    """
    n, d = states.shape
    r = U.shape[1]
    widest = 1
    for b in range(ks.shape[0]):
        widest = max(widest, ks[b])
    best = np.empty(widest, dtype=np.int64)
    heap = np.empty(widest)
    target = np.empty(d)
    u = np.empty(r)
    moved = np.empty(draws.shape[0], dtype=np.int64)
    has_moved = np.zeros(n, dtype=np.bool_)
    n_moved = 0
    resting = 0
    for j in range(n):
        if last_move[j] < tol:
            resting += 1
    for step in range(draws.shape[0]):
        i = draws[step]
        scores = snapshot[step]
        if has_moved[i]:
            for j in range(n):
                total = 0.0
                for c in range(r):
                    total += U[j, c] * U[i, c]
                scores[j] = total + bias[j]
        else:
            for m in range(n_moved):
                j = moved[m]
                total = 0.0
                for c in range(r):
                    total += U[j, c] * U[i, c]
                scores[j] = total + bias[j]
        scores[i] = np.inf
        size = _select(scores, ks[step], best, heap)
        # The threshold is about whole scores; the parts all share come off it.
        limit = thresholds[step] - bias[i] - constant
        _mean_of(states, best, size, scores, limit, target)
        length = 0.0
        for c in range(d):
            gap = target[c] - states[i, c]
            length += gap * gap
            states[i, c] = target[c]
        length = math.sqrt(length)
        bias[i] = _map_state(target, chain, u)
        for c in range(r):
            U[i, c] = u[c]
        if not has_moved[i]:
            has_moved[i] = True
            moved[n_moved] = i
            n_moved += 1
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        if resting >= n_at_rest:
            return step + 1
    return len(draws)


@kernel
def shift_rows(
    scores: FloatArray,
    own: IntArray,
    states: FloatArray,
    k: int,
    moved: FloatArray,
) -> None:
    """Write the mean of the k best of each row of scores into `moved`.

    ``own[row]`` is the point that is always among them, or -1.
    """
    best = np.empty(k, dtype=np.int64)
    heap = np.empty(k)
    for row in range(scores.shape[0]):
        if own[row] >= 0:
            scores[row, own[row]] = np.inf
        size = _select(scores[row], k, best, heap)
        _mean_of(states, best, size, scores[row], -np.inf, moved[row])
