"""Clusters are merged and split until their number is within the bounds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend


def line(angles):
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    backend = build_backend(FoldedChain(np.eye(2), np.zeros(2), in_length=1.0))
    return backend.features(X)


def test_the_loosest_cluster_is_split_first():
    # Cluster 0 spans 0.01, cluster 1 spans 0.5 and falls apart at its widest gap.
    terms = line(np.array([0.0, 0.01, 1.0, 1.1, 1.5]))
    labels = np.array([0, 0, 1, 1, 1])
    assert reach_bounds(terms, labels, 3, 5).tolist() == [0, 0, 1, 1, 2]
    assert reach_bounds(terms, labels, 4, 5).tolist() == [0, 0, 1, 2, 3]


@given(st.integers(1, 12), st.integers(0, 11), st.integers(0, 1000))
def test_any_clustering_can_be_brought_within_bounds(low, more, seed):
    rng = np.random.default_rng(seed)
    terms = line(rng.integers(0, 4, 12) / 4.0)  # with equal points
    labels = np.unique(rng.integers(0, 5, 12), return_inverse=True)[1]
    high = min(low + more, 12)
    reached = reach_bounds(terms, labels, low, high)
    assert low <= len(set(reached.tolist())) <= high
    if low <= labels.max() + 1 <= high:
        assert adjusted_rand_score(labels, reached) == 1.0
