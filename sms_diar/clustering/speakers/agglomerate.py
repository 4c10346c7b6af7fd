"""Agglomerate."""

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
    """Merges of n points in the order in which they happen.

    Parameters
    ----------
    children : ndarray of shape (n - 1, 2)
        Clusters merged: numbers below n are points, n + i is what merge i made.
    scores : ndarray of shape (n - 1,)
        Scores at which they merge; they never rise.
    """

    children: IntArray
    scores: FloatArray

    def count_at(self, threshold: float) -> int:
        """Clusters left when only scores above the threshold merge."""
        return len(self.scores) + 1 - int(np.count_nonzero(self.scores > threshold))

    def labels_of(self, n_clusters: int) -> IntArray:
        """Clusters when that many are left, numbered by first appearance."""
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
    """Merge points by their scores, the highest first.

    Parameters
    ----------
    scores : ndarray of shape (n, n)
        Symmetric; overwritten.
    method : {"average", "complete", "single"}, default="average"
        Score of two clusters: mean, lowest or highest of the scores of their
        pairs. None of them lets scores rise from merge to merge.
    """
    n = len(scores)
    if n == 1:
        return Dendrogram(np.empty((0, 2), dtype=np.int64), np.empty(0))
    top = float(scores.max())
    distances = squareform(np.subtract(top, scores, out=scores), checks=False)
    merges = linkage(distances, method)
    return Dendrogram(merges[:, :2].astype(np.int64), top - merges[:, 2])


def mean_features(terms: PairwiseTerms, labels: IntArray) -> PairwiseTerms:
    """Mean scoring vector and bias of each cluster, labels being 0, 1, ..."""
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
    """Merge the two clusters of highest mean score, again and again.

    Parameters
    ----------
    terms : PairwiseTerms
        Scores of the points.
    labels : ndarray of shape (n,)
        Clusters 0, 1, ..., each with at least one point.
    n_clusters : int, optional
        Stop at this number.
    threshold : float, optional
        Stop when no two clusters score above this.

    Returns
    -------
    merged : ndarray of shape (n,)
        Clusters, numbered by first appearance.
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
    """Join the two groups of highest mean score, again and again.

    Parameters
    ----------
    scores : ndarray of shape (n, n)
        Symmetric; log odds that two are one, say. The diagonal does not matter.
    apart : ndarray of shape (n, n)
        Symmetric; pairs that are never in one group.
    threshold : float, default=0.0
        Groups whose mean score is not above it are not joined.
    together : ndarray of shape (n,), optional
        Numbers from 0; those of one number are one group from the beginning. What is
        -1 is on its own.

    Returns
    -------
    groups : ndarray of shape (n,)
        Numbers from 0, in the order of first members. Of equal scores the pair that
        comes first is joined first, so results follow from the order alone.

    Notes
    -----
    Time O(n**3) in the worst case, in n compiled passes over n * n numbers: half a
    minute for 3000.

    Examples
    --------
    The first two are most alike, and must not be together:

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
            raise InvalidParameterError(
                f"constrained_groups: together must not join what is kept apart, got "
                f"{first} and {second}"
            )
        _join(owner, sums, barred, sizes, int(kept), int(gone))
    means = np.where(barred, -np.inf, sums / np.outer(sizes, sizes))
    while n:
        kept, gone = (int(x) for x in np.unravel_index(np.argmax(means), means.shape))
        if not means[kept, gone] > threshold:
            break
        kept, gone = min(kept, gone), max(kept, gone)
        _join(owner, sums, barred, sizes, kept, gone)
        means[gone] = means[:, gone] = -np.inf
        row = np.where(barred[kept], -np.inf, sums[kept] / (sizes[kept] * sizes))
        means[kept] = means[:, kept] = row
    groups: IntArray = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    return groups


def _given_pairs(together: AnyArray | None) -> list[tuple[int, int]]:
    firsts: dict[int, int] = {}
    pairs = []
    for place, number in enumerate([] if together is None else together.tolist()):
        if number < 0:
            continue
        if number in firsts:
            pairs.append((firsts[number], place))
        firsts.setdefault(number, place)
    return pairs


def _join(
    owner: IntArray,
    sums: FloatArray,
    barred: BoolArray,
    sizes: FloatArray,
    kept: int,
    gone: int,
) -> None:
    """Make one group of two, which keeps the place of the first."""
    owner[owner == gone] = kept
    sums[kept] += sums[gone]
    sums[:, kept] += sums[:, gone]
    sizes[kept] += sizes[gone]
    barred[kept] |= barred[gone]
    barred[:, kept] |= barred[:, gone]
    barred[gone] = barred[:, gone] = True
    barred[kept, kept] = True
