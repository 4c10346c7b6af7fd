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
from sms_diar.scoring.evidence import group_sums
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
    sizes, sums = group_sums(terms.U, labels)
    bias = np.bincount(labels, terms.bias)
    return PairwiseTerms(sums / sizes[:, None], bias / sizes, terms.constant)


def merge_clusters(terms: PairwiseTerms, labels: IntArray, n_clusters: int) -> IntArray:
    """Merge the two clusters of highest mean score until `n_clusters` remain.

    No cluster may be empty. The result is numbered by first appearance.
    """
    scores: FloatArray = mean_features(terms, labels).matrix()
    np.fill_diagonal(scores, -np.inf)
    clusters = _Clusters(scores, np.bincount(labels).astype(float))
    clusters.merge_best(n_clusters, -np.inf)
    return by_first_appearance(clusters.owner[labels])


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
    means = np.where(apart, -np.inf, scores)
    np.fill_diagonal(means, -np.inf)
    clusters = _Clusters(means, np.ones(len(scores)))
    firsts: dict[int, int] = {}
    for index, number in enumerate([] if together is None else together.tolist()):
        first = firsts.setdefault(number, index)
        if number < 0 or first == index:
            continue
        one, other = clusters.owner[first], clusters.owner[index]
        if means[one, other] == -np.inf:
            problem = f"must not join what is kept apart, got {first} and {index}"
            raise InvalidParameterError(
                problem, owner="constrained_groups", parameter="together"
            )
        clusters.merge(one, other)
    clusters.merge_best(1, threshold)
    return np.unique(clusters.owner, return_inverse=True)[1].astype(np.int64)


class _Clusters:
    """Clusters of items, the first item of each, and mean scores of their pairs.

    A mean of negative infinity, the value for two clusters that must not merge or do
    not exist, remains so when either merges.
    """

    def __init__(self, scores: FloatArray, sizes: FloatArray) -> None:
        self.scores = scores
        self.sizes = sizes
        self.owner = np.arange(len(scores))

    def merge(self, one: int, other: int) -> None:
        """Merge two clusters; the mean over pairs is weighted by sizes."""
        kept, gone = min(one, other), max(one, other)
        a, b = self.sizes[kept], self.sizes[gone]
        joint = (a * self.scores[kept] + b * self.scores[gone]) / (a + b)
        self.scores[kept] = self.scores[:, kept] = joint
        self.scores[gone] = self.scores[:, gone] = -np.inf
        self.sizes[kept] += b
        self.owner[self.owner == gone] = kept

    def merge_best(self, fewest: int, threshold: float) -> None:
        """Merge pairs of the highest mean above the threshold, to `fewest` clusters."""
        n = len(self.owner)
        for _ in range(len(np.unique(self.owner)) - fewest):
            one, other = divmod(int(np.argmax(self.scores)), n)
            if not self.scores[one, other] > threshold:
                break
            self.merge(one, other)
