"""Estimate of the bandwidth.

Mean shift works if the ball around a point contains a large share of the cluster of
that point and few other points. The clusters are unknown, so the estimate is based on
the share of *all* points: the typical distance within which a ball contains this share.
For the Gaussian sets of the paper a fifth of the points gives bandwidths close to the
values that reproduce its tables.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from sms_diar._random import as_generator
from sms_diar._validation import check_count, check_share
from sms_diar.types import FloatArray, RandomState

_QUERIES = 500  # balls that are measured; more do not change the median much


def estimate_bandwidth(
    X: npt.ArrayLike,
    *,
    share: float = 0.2,
    max_points: int = 5000,
    random_state: RandomState = 0,
) -> float:
    """Return the median radius of balls that contain a given share of the points.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    share : float, default=0.2
        Share of the points in a typical ball. A good value is slightly more than half
        of the share of a typical cluster.
    max_points : int, default=5000
        Size of the random sample that is used instead of larger sets, so that the
        cost does not grow with the square of the number of points.
    random_state : int, Generator or None, default=0
        Random generator of the sample, or its seed.

    Returns
    -------
    bandwidth : float
        Positive; 1.0 if all points coincide.

    Examples
    --------
    >>> estimate_bandwidth([[0.0], [1.0], [10.0], [11.0]], share=0.5)
    1.0
    """
    share = check_share("estimate_bandwidth", "share", share)
    check_count("estimate_bandwidth", "max_points", max_points, least=2)
    data: FloatArray = check_array(X, dtype=np.float64)
    rng = as_generator(random_state)
    if len(data) > max_points:
        data = data[rng.choice(len(data), max_points, replace=False)]
    n = len(data)
    queries = data
    if n > _QUERIES:
        queries = data[rng.choice(n, _QUERIES, replace=False)]
    rank = min(n - 1, max(1, round(share * n) - 1))  # the point itself has rank 0
    # Dividing by the extent first: squares of huge or tiny data leave float range.
    extent = float(np.max(np.abs(data - data[0]))) if n > 1 else 0.0
    if extent == 0.0 or not np.isfinite(extent):
        return 1.0
    distances = np.empty(len(queries))
    for q, query in enumerate(queries):
        squared = np.sum(((data - query) / extent) ** 2, axis=1)
        distances[q] = np.sqrt(np.partition(squared, rank)[rank])
    positive = distances[distances > 0.0]
    # With many duplicates the median may be zero: then the distinct points decide.
    typical = float(np.median(distances)) or (
        float(np.median(positive)) if len(positive) else 1.0
    )
    return typical * extent
