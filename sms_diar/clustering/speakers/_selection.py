"""The best of many scores: a heap of the k highest, the gate, and their mean."""

from __future__ import annotations

import numpy as np

from sms_diar._numba import part
from sms_diar.types import FloatArray, IntArray


@part
def sink(heap: FloatArray, items: IntArray, size: int) -> None:
    """Restore the order of a heap whose root is new.

    The root is the worst: the lowest key, of equal ones the highest item.
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
    """Restore the order of a heap whose last entry, at `at`, is new."""
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
    """Put an entry into the heap of the k best if it is one of them."""
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
    if least >= size:
        return size
    passed = 0
    for b in range(size):
        if scores[best[b]] >= limit:
            passed += 1
    if passed >= least:
        at = 0
        for b in range(size):
            if scores[best[b]] >= limit:
                best[at] = best[b]
                at += 1
        return passed
    ranked = np.empty(size)
    chosen = np.empty(least, dtype=np.int64)
    for b in range(size):
        ranked[b] = scores[best[b]]
    select(ranked, least, chosen, heap)
    for b in range(least):
        best[b] = best[chosen[b]]
    return least


@part
def mean_of(
    states: FloatArray,
    best: IntArray,
    size: int,
    scores: FloatArray,
    threshold: float,
    target: FloatArray,
) -> None:
    """Plain mean of the chosen states that reach the threshold, in index order."""
    count = 0
    for d in range(target.shape[0]):
        target[d] = 0.0
    for b in range(size):
        j = best[b]
        if scores[j] >= threshold:
            count += 1
            for d in range(target.shape[0]):
                target[d] += states[j, d]
    for d in range(target.shape[0]):
        target[d] /= count
