"""Agglomerative merging, done once and cut wherever one likes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.types import FloatArray, IntArray

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
