"""Agglomerative merging of points and clusters by their mean scores.

The score of a pair is bilinear, so the mean score of all pairs of two clusters follows
from their mean scoring vectors: `merge_clusters` needs a matrix of clusters, but no
matrix of all pairs. `link` merges all points once, to be cut at any number of clusters.
`constrained_groups` takes pairs that must, or must not, be in one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray

Linkage = Literal["average", "complete", "single"]


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """Merges of n points, in descending order of score.

    In `children`, of shape (n - 1, 2), numbers below n are points, and n + i is the
    result of merge i.
    """

    children: IntArray
    scores: FloatArray

    def count_at(self, threshold: float) -> int:
        """Count the clusters that remain if only scores above the threshold merge."""
        return len(self.scores) + 1 - int(np.count_nonzero(self.scores > threshold))

    def labels_of(self, n_clusters: int) -> IntArray:
        """Cut into `n_clusters` clusters, numbered by first appearance."""
        n = len(self.scores) + 1
        done = n - n_clusters
        parents = np.repeat(np.arange(n, n + done), 2)
        edges = np.ones(2 * done, dtype=np.int8)
        graph = coo_array(
            (edges, (self.children[:done].ravel(), parents)), (n + done, n + done)
        )
        components = connected_components(graph, directed=False)[1]
        return by_first_appearance(components[:n])


def link(scores: FloatArray, method: Linkage = "average") -> Dendrogram:
    """Merge points in descending order of score; `scores` are overwritten.

    The score of two clusters is the mean ("average"), lowest ("complete") or highest
    ("single") of the scores of their pairs.
    """
    n = len(scores)
    if n == 1:
        return Dendrogram(np.empty((0, 2), dtype=np.int64), np.empty(0))
    top = float(scores.max())
    distances = squareform(np.subtract(top, scores, out=scores), checks=False)
    merges = linkage(distances, method)
    return Dendrogram(merges[:, :2].astype(np.int64), top - merges[:, 2])


def mean_features(terms: PairwiseTerms, labels: IntArray) -> PairwiseTerms:
    """Compute the mean scoring vector and bias of each cluster 0, 1, ..."""
    n_clusters = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.zeros((n_clusters, terms.U.shape[1]))
    np.add.at(sums, labels, terms.U)
    bias = np.bincount(labels, terms.bias, n_clusters)
    return PairwiseTerms(sums / sizes[:, None], bias / sizes, terms.constant)


def merge_clusters(
    terms: PairwiseTerms,
    labels: IntArray,
    *,
    n_clusters: int | None = None,
    threshold: float | None = None,
) -> IntArray:
    """Merge the two clusters of highest mean score repeatedly; none may be empty.

    Stops at `n_clusters` clusters, or when no two score above the threshold. The result
    is numbered by first appearance.
    """
    means = mean_features(terms, labels)
    sizes = np.bincount(labels).astype(float)
    scores: FloatArray = means.matrix()
    np.fill_diagonal(scores, -np.inf)
    parent = np.arange(len(sizes))
    remaining = len(sizes)
    while remaining > (n_clusters or 1):
        a, b = divmod(int(np.argmax(scores)), len(sizes))
        if threshold is not None and not scores[a, b] > threshold:
            break
        a, b = min(a, b), max(a, b)
        # Lance-Williams: the mean over pairs is a mean weighted by sizes.
        joint = (sizes[a] * scores[a] + sizes[b] * scores[b]) / (sizes[a] + sizes[b])
        scores[a], scores[:, a] = joint, joint
        scores[a, a] = -np.inf
        scores[b], scores[:, b] = -np.inf, -np.inf
        sizes[a] += sizes[b]
        parent[parent == b] = a
        remaining -= 1
    return by_first_appearance(parent[labels])


def constrained_groups(
    scores: FloatArray,
    apart: BoolArray,
    *,
    threshold: float = 0.0,
    together: AnyArray | None = None,
) -> IntArray:
    """Merge the two clusters of highest mean score repeatedly, under constraints.

    `scores` of shape (n, n) are symmetric, for example log odds; the diagonal is
    ignored. The symmetric mask `apart` marks pairs that must not be in one cluster.
    `together` of shape (n,) are initial clusters, -1 for none. Clusters merge while
    their mean score is above the threshold, and are numbered in the order of first
    members. Ties are broken by order. The worst-case time is O(n**3): half a minute for
    3000 items.

    The first two items are most similar, but must not be in one cluster:

    >>> scores = np.array([[0, 9, 2, -1], [9, 0, 1, -1], [2, 1, 0, -1], [-1] * 3 + [0]])
    >>> apart = np.zeros((4, 4), dtype=bool)
    >>> apart[0, 1] = apart[1, 0] = True
    >>> constrained_groups(scores, apart).tolist()
    [0, 1, 0, 2]
    """
    n = len(scores)
    owner = np.arange(n)
    sums = np.array(scores, dtype=np.float64)
    barred = np.array(apart, dtype=np.bool_)
    sizes = np.ones(n)
    np.fill_diagonal(barred, val=True)
    for first, second in _given_pairs(together):
        kept, gone = sorted((owner[first], owner[second]))
        if barred[kept, gone]:
            problem = f"must not join what is kept apart, got {first} and {second}"
            raise InvalidParameterError(
                problem, owner="constrained_groups", parameter="together"
            )
        _merge(owner, sums, barred, sizes, int(kept), int(gone))
    means = np.where(barred, -np.inf, sums / np.outer(sizes, sizes))
    while n:
        kept, gone = (int(x) for x in np.unravel_index(np.argmax(means), means.shape))
        if not means[kept, gone] > threshold:
            break
        kept, gone = min(kept, gone), max(kept, gone)
        _merge(owner, sums, barred, sizes, kept, gone)
        means[gone] = means[:, gone] = -np.inf
        row = np.where(barred[kept], -np.inf, sums[kept] / (sizes[kept] * sizes))
        means[kept] = means[:, kept] = row
    labels: IntArray = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    return labels


def _given_pairs(together: AnyArray | None) -> list[tuple[int, int]]:
    firsts: dict[int, int] = {}
    pairs = []
    for index, number in enumerate([] if together is None else together.tolist()):
        if number < 0:
            continue
        if number in firsts:
            pairs.append((firsts[number], index))
        firsts.setdefault(number, index)
    return pairs


def _merge(
    owner: IntArray,
    sums: FloatArray,
    barred: BoolArray,
    sizes: FloatArray,
    kept: int,
    gone: int,
) -> None:
    """Merge cluster `gone` into cluster `kept`, in place."""
    owner[owner == gone] = kept
    sums[kept] += sums[gone]
    sums[:, kept] += sums[:, gone]
    sizes[kept] += sizes[gone]
    barred[kept] |= barred[gone]
    barred[:, kept] |= barred[:, gone]
    barred[gone] = barred[:, gone] = True
    barred[kept, kept] = True
