"""Enforce bounds on the number of speakers."""

from __future__ import annotations

import numpy as np

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.agglomerate import link, mean_features, merge_clusters
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import IntArray


def reach_bounds(
    terms: PairwiseTerms, labels: IntArray, low: int, high: int
) -> IntArray:
    """Merge or split clusters until there are `low` to `high` of them.

    If there are too many, clusters of highest mean score are merged. If there are too
    few, the cluster of lowest mean score within is split in two by average linkage;
    equal points are split last. Labels are numbered by first appearance.
    """
    if int(labels.max()) + 1 > high:
        return merge_clusters(terms, labels, high)
    while int(labels.max()) + 1 < low:
        members = np.flatnonzero(labels == _loosest(terms, labels))
        halves = link(terms.select(members).matrix()).labels_of(2)
        labels = labels.copy()
        labels[members[halves == 1]] = labels.max() + 1
    return by_first_appearance(labels)


def _loosest(terms: PairwiseTerms, labels: IntArray) -> int:
    """Find the cluster with the lowest mean score of its pairs."""
    sizes = np.bincount(labels).astype(np.float64)
    own = np.sum(terms.U**2, axis=1) + 2.0 * terms.bias + terms.constant
    means = mean_features(terms, labels)
    every = np.sum(means.U**2, axis=1) + 2.0 * means.bias + terms.constant
    # Remove the scores of members with themselves from the mean over all pairs.
    total = every * sizes**2 - np.bincount(labels, own)
    within = np.full(len(sizes), np.inf)
    many = sizes > 1.0
    within[many] = total[many] / (sizes[many] * (sizes[many] - 1.0))
    return int(np.argmin(within))
