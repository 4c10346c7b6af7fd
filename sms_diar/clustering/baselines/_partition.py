"""k-means for rows that may be fewer, or less different, than clusters."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from sms_diar.types import FloatArray, IntArray


def partition(rows: FloatArray, n_clusters: int, *, n_init: int, seed: int) -> IntArray:
    """Cluster rows by k-means; equal rows share a cluster.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Points.
    n_clusters : int
        Clusters wanted; there can be no more than different rows.
    n_init : int
        Starts of k-means++, of which the best is kept.
    seed : int
        Seed of the starts.
    """
    n_different = len(np.unique(rows, axis=0))
    model = KMeans(min(n_clusters, n_different), n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        # Rows that differ by rounding alone may end in one cluster; callers count.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: IntArray = model.fit(rows).labels_.astype(np.int64)
    return labels
