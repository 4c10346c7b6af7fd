"""Inner loops of kNN mean shift on speaker embeddings.

A step needs the k best partners of one point. Scoring all points to find them is
a matrix-vector product, which is limited by memory bandwidth. Instead, points are
grouped in *cells* (``_cell_kernels.py``), and a score with the centre of a cell bounds
the scores of its members. Cells that cannot contain one of the k best are skipped;
members of other cells are scored individually, in double precision and always by the
same sum. The scores of a batch of future draws with all centres are one matrix product
in single precision. Its rounding errors are bounded, and cells are widened by this
bound. The result therefore does not depend on cells, batches, precision or threads.

At first every point is a cell of its own. When points have gathered, a cell holds
most of a speaker, and a step looks at a few dozen points however many there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._numba import kernel, part
from sms_diar.clustering.speakers._cell_kernels import (
    ScoreCells,
    distance,
    dot,
    leave,
    score_centers,
    widen,
)
from sms_diar.types import AnyArray, FloatArray, IntArray


@part
def sink(heap: FloatArray, items: IntArray, size: int) -> None:
    """Restore the order of a heap after its root was replaced.

    The root is the worst entry: the lowest key, and of equal keys the highest item.
    """
    key, item = heap[0], items[0]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right] < heap[child]
            or (heap[right] == heap[child] and items[right] > items[child])
        ):
            child = right
        if heap[child] > key or (heap[child] == key and items[child] < item):
            break
        heap[at], items[at] = heap[child], items[child]
        at = child
    heap[at], items[at] = key, item


@part
def rise(heap: FloatArray, items: IntArray, at: int) -> None:
    """Restore the order of a heap after an entry was added at index `at`."""
    key, item = heap[at], items[at]
    while at > 0:
        parent = (at - 1) // 2
        if heap[parent] < key or (heap[parent] == key and items[parent] > item):
            break
        heap[at], items[at] = heap[parent], items[parent]
        at = parent
    heap[at], items[at] = key, item


@part
def offer(
    heap: FloatArray, items: IntArray, size: int, k: int, key: float, item: int
) -> int:
    """Insert an entry into the heap if it is one of the k best."""
    if size < k:
        heap[size], items[size] = key, item
        rise(heap, items, size)
        return size + 1
    if key > heap[0] or (key == heap[0] and item < items[0]):
        heap[0], items[0] = key, item
        sink(heap, items, size)
    return size


@part
def sort_items(items: IntArray, size: int) -> None:
    """Sort the first `size` items, which are distinct, in place.

    Shell sort. The sort of numba takes a second to compile.
    """
    gap = size // 2
    while gap > 0:
        for b in range(gap, size):
            item = items[b]
            at = b
            while at >= gap and items[at - gap] > item:
                items[at] = items[at - gap]
                at -= gap
            items[at] = item
        gap = 1 if gap == 2 else gap * 5 // 11


@part
def select(scores: FloatArray, k: int, best: IntArray, heap: FloatArray) -> int:
    """Find the k highest scores; ties go to the lower index. Sorted by index."""
    size = 0
    for j in range(scores.shape[0]):
        # Scores are usually below the current k best and cost one comparison.
        if size < k or scores[j] > heap[0]:
            size = offer(heap, best, size, k, scores[j], j)
    sort_items(best, size)
    return size


@part
def pass_gate(
    scores: FloatArray,
    best: IntArray,
    size: int,
    limit: float,
    least: int,
    heap: FloatArray,
) -> int:
    """Keep the best scores that reach the limit, and at least the `least` best.

    Both are prefixes of the ranking, so the longer of them is what remains.
    """
    keep = 0
    for b in range(size):
        if scores[best[b]] >= limit:
            keep += 1
    keep = max(keep, least)
    if keep >= size:
        return size
    ranked = np.empty(size)
    chosen = np.empty(keep, dtype=np.int64)
    for b in range(size):
        ranked[b] = scores[best[b]]
    select(ranked, keep, chosen, heap)
    for b in range(keep):
        best[b] = best[chosen[b]]
    return keep


@part
def mean_of(states: FloatArray, best: IntArray, size: int, target: FloatArray) -> None:
    """Plain mean of the chosen states, in index order."""
    for d in range(target.shape[0]):
        target[d] = 0.0
    for b in range(size):
        for d in range(target.shape[0]):
            target[d] += states[best[b], d]
    for d in range(target.shape[0]):
        target[d] /= size


class Map(NamedTuple):
    """Remaining parameters of a back end after applying its matrices."""

    offset: FloatArray
    projected_offset: FloatArray
    out_length: float
    shift: FloatArray
    norm_weights: FloatArray
    has_norm: bool
    gain: FloatArray
    square: FloatArray
    normalize_state: bool


@part
def _map_state(trail: FloatArray, dim: int, chain: Map, u: FloatArray) -> float:
    """Write the scoring vector of one state into `u`, gain included; return bias.

    ``trail`` is the state and its images: ``x, matrix @ x, projection @ matrix @ x``.
    """
    q, r = chain.offset.shape[0], u.shape[0]
    scale = 1.0
    if chain.normalize_state:
        length = math.sqrt(dot(trail[:dim], trail[:dim]))
        if length > 0.0:
            scale = 1.0 / length
    gain = 1.0
    if chain.out_length > 0.0:
        total = 0.0
        for c in range(q):
            entry = trail[dim + c] * scale + chain.offset[c]
            total += entry * entry
        if total > 0.0:
            gain = chain.out_length / math.sqrt(total)
    for c in range(r):
        entry = trail[dim + q + c] * scale + chain.projected_offset[c]
        u[c] = entry * gain + chain.shift[c]
    if chain.has_norm:
        energy = 0.0
        for c in range(r):
            energy += chain.norm_weights[c] * u[c] * u[c]
        if energy > 0.0:
            factor = math.sqrt(r / energy)
            for c in range(r):
                u[c] *= factor
    bias = 0.0
    for c in range(r):
        bias += chain.square[c] * u[c] * u[c]
        u[c] *= chain.gain[c]
    return bias


@part
def _reached(
    low: FloatArray, count: IntArray, k: int, heap: FloatArray, items: IntArray
) -> float:
    """Return a score that at least k points reach, by the lower bounds of cells.

    The heap keeps the fewest best cells that hold k points.
    """
    size = 0
    total = 0
    for c in range(low.shape[0]):
        if total >= k and low[c] < heap[0]:
            continue
        heap[size], items[size] = low[c], c
        rise(heap, items, size)
        size += 1
        total += count[c]
        while total - count[items[0]] >= k:
            total -= count[items[0]]
            size -= 1
            heap[0], items[0] = heap[size], items[size]
            sink(heap, items, size)
    return float(heap[0]) if total >= k else -np.inf


class Scratch(NamedTuple):
    """Working memory of one search."""

    low: FloatArray
    high: FloatArray
    heap: FloatArray
    items: IntArray
    scores: FloatArray
    best: IntArray


@part
def _nearest(
    i: int,
    k: int,
    row: AnyArray,
    precision: float,
    U: FloatArray,
    bias: FloatArray,
    cells: ScoreCells,
    room: Scratch,
) -> tuple[int, int]:
    """Find the k best partners of i; return their number and the number of scores.

    ``row`` holds the scores with the centres; for the precision see ``CellSearch``.
    Leaves the partners in ``room.best``, sorted, their scores in ``room.scores``.
    """
    m = cells.tally[0]
    low, high = room.low[:m], room.high[:m]
    norm = math.sqrt(dot(U[i], U[i]))
    longest, largest = cells.top
    # The term 1e-15 covers the loss of digits in vectors of almost zero length.
    error = precision * ((norm + 1e-15 * longest) * longest + largest)
    for c in range(m):
        slack = norm * cells.reach[c] + cells.spread[c] + error
        low[c] = row[c] - slack
        high[c] = row[c] + slack
    limit = _reached(low, cells.sizes, k, room.heap, room.items)
    scores, heap, best = room.scores, room.heap, room.best
    scores[i] = heap[0] = np.inf
    best[0] = i
    size = 1
    scored = m // 8 + cells.tally[1]  # a centre costs about an eighth of a point
    for s in range(cells.tally[1]):
        j = cells.outside[s]
        if j != i:
            scores[j] = dot(U[j], U[i]) + bias[j]
            size = offer(heap, best, size, k, scores[j], j)
    for c in range(m):
        if high[c] < limit:
            continue
        scored += cells.sizes[c]
        for at in range(cells.start[c], cells.start[c] + cells.sizes[c]):
            j = cells.order[at]
            if j != i:
                scores[j] = dot(U[j], U[i]) + bias[j]
                size = offer(heap, best, size, k, scores[j], j)
        if size == k:
            limit = max(limit, heap[0])
    sort_items(best, size)
    return size, scored


@kernel
def stochastic_batch(
    trails: FloatArray,
    U: FloatArray,
    bias: FloatArray,
    cells: ScoreCells,
    radius: float,
    friends: IntArray,
    snapshot: AnyArray,
    precision: float,
    constant: float,
    draws: IntArray,
    ks: IntArray,
    gate: float,
    least: int,
    chain: Map,
    tol: float,
    last_move: FloatArray,
    n_at_rest: int,
) -> tuple[int, int]:
    """Move the drawn points one after the other.

    ``trails`` are the states beside their images by the matrices of the back end.
    Images of a mean are means of images, so no step multiplies by a matrix.
    ``snapshot`` has a row for each draw: scores with the centres before the batch.
    Points that end farther than the radius from their centres leave their cells. A
    `least` of n or more disables the gate. Returns the numbers of steps and of scored
    points.
    """
    n = len(trails)
    dim = trails.shape[1] - len(chain.offset) - len(chain.gain)
    m = cells.tally[0]
    widest = 1
    for step in range(ks.shape[0]):
        widest = max(widest, ks[step])
    room = Scratch(
        np.empty(m),
        np.empty(m),
        np.empty(max(widest, m) + 1),
        np.empty(m + 1, dtype=np.int64),
        np.empty(n),
        np.empty(widest, dtype=np.int64),
    )
    target = np.empty(trails.shape[1])
    has_moved = np.empty(n, dtype=np.bool_)
    resting = 0
    for j in range(n):
        has_moved[j] = False
        if last_move[j] < tol:
            resting += 1
    scored = 0
    for step in range(draws.shape[0]):
        i = draws[step]
        row = snapshot[step]
        if has_moved[i]:
            score_centers(cells, U[i], row)
            for c in range(m):
                row[c] += cells.center_bias[c]
        own = dot(U[i], U[i]) + bias[i]
        size, looked = _nearest(i, ks[step], row, precision, U, bias, cells, room)
        scored += looked
        friends[i] = room.best[0]
        # Limits are about whole scores; the part all scores of i share comes off.
        common = bias[i] + constant
        limit = gate * (own + common) - common
        size = pass_gate(room.scores, room.best, size, limit, least, room.heap)
        mean_of(trails, room.best, size, target)
        length = distance(target[:dim], trails[i, :dim])
        for d in range(target.shape[0]):
            trails[i, d] = target[d]
        bias[i] = _map_state(target, dim, chain, U[i])
        has_moved[i] = True
        if cells.cell[i] >= 0:
            if radius > 0.0 and distance(U[i], cells.centers[cells.cell[i]]) <= radius:
                widen(cells.cell[i], i, U, bias, cells)
            else:
                leave(i, cells)
        if last_move[i] < tol:
            resting -= 1
        if length < tol:
            resting += 1
        last_move[i] = length
        if resting >= n_at_rest:
            return step + 1, scored
    return len(draws), scored


@kernel
def shift_rows(
    scores: FloatArray, own: IntArray, states: FloatArray, k: int, moved: FloatArray
) -> None:
    """Write the mean of the k best of each row of scores into `moved`.

    ``own[row]`` is the point that is always among them, or -1.
    """
    best = np.empty(k, dtype=np.int64)
    heap = np.empty(k)
    for row in range(scores.shape[0]):
        if own[row] >= 0:
            scores[row, own[row]] = np.inf
        size = select(scores[row], k, best, heap)
        mean_of(states, best, size, moved[row])
