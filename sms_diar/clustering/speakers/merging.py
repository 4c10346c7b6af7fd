"""Bringing a clustering of embeddings to a wanted number of speakers.

The score of a pair is bilinear, so the mean score between all pairs of two
clusters follows from the mean scoring vectors of the two: average-linkage
merging needs no matrix of all pairs, only one of clusters.
"""

from __future__ import annotations

import numpy as np

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray


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
