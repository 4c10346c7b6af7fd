"""A second opinion on a partition, to raise a doubt about collapsed answers.

Average linkage by cosine is cheap and has no settings, and the silhouette of a
partition needs no true labels: the mean over rows of ``(b - a) / max(a, b)``, where
``a`` is the mean distance to the other rows of the same cluster and ``b`` to the rows
of the nearest other cluster (Rousseeuw, 1987). Silhouettes are a poor way to count
speakers, so a rival is reported only if it is better by far: if most speakers were
lumped together, some cut of the tree has a much higher silhouette than the answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from threadpoolctl import threadpool_limits

from sms_diar.preprocessing import scale_rows
from sms_diar.types import FloatArray, IntArray

_ROWS = 600  # Maximum number of rows compared; more are thinned evenly.
_MARGIN = 0.1  # Right answers were at most 0.07 below the best cut in development.
_SINGLE = 0.2  # Silhouette credited to one cluster, for which none is defined.
_LARGEST = 0.5  # Maximum share of one cluster: outliers do not make a rival.


class Rival(NamedTuple):
    """Partition that separates the rows much better than the answer does.

    Silhouettes are means over the rows that were compared.
    """

    n_clusters: int
    silhouette: float
    answer_silhouette: float


def find_rival(X: FloatArray, labels: IntArray) -> Rival | None:
    """Look for a cut of an average-linkage tree that is far better than the answer.

    The lengths of the embeddings `X` do not matter. Usually no cut is far better, and
    the result is None.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat(np.arange(8), 10)
    >>> X = rng.standard_normal((8, 16))[speakers] + 0.3 * rng.standard_normal((80, 16))
    >>> find_rival(X, np.minimum(speakers, 2)).n_clusters
    8
    >>> find_rival(X, speakers) is None
    True
    """
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), _ROWS)).astype(np.int64))
    if len(rows) < 4:
        return None
    directions = scale_rows(X[rows])
    answer = np.unique(labels[rows], return_inverse=True)[1]
    # One thread: the split of a product among threads can change its last bit.
    with threadpool_limits(limits=1):
        return _best_cut(directions, answer)


def _best_cut(directions: FloatArray, answer: IntArray) -> Rival | None:
    distances = np.maximum(1.0 - directions @ directions.T, 0.0)  # shape: (n, n)
    np.fill_diagonal(distances, 0.0)
    own = silhouette(distances, answer) if answer.any() else _SINGLE
    tree = linkage(squareform(distances, checks=False), "average")
    sizes = np.unique(np.geomspace(2, len(answer) // 2, 24).astype(np.int64))
    best: Rival | None = None
    for cut in cut_tree(tree, sizes).T:
        if np.bincount(cut).max() > _LARGEST * len(answer):
            continue
        value = silhouette(distances, cut)
        if value > own + _MARGIN and (best is None or value > best.silhouette):
            best = Rival(int(cut.max()) + 1, value, own)
    return best


def silhouette(distances: FloatArray, labels: IntArray) -> float:
    """Mean silhouette of at least two clusters; rows that are alone count as zero.

    `distances` are those of all pairs, shape (n, n), with a zero diagonal.
    """
    n = len(labels)
    members = np.zeros((n, int(labels.max()) + 1))
    members[np.arange(n), labels] = 1.0
    sizes = members.sum(axis=0)
    sums = distances @ members  # shape: (n, n_clusters)
    inside = sums[np.arange(n), labels] / np.maximum(sizes[labels] - 1.0, 1.0)
    means = sums / sizes
    means[np.arange(n), labels] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(np.maximum(inside, outside), 1e-12)
    values = np.where(sizes[labels] > 1.0, (outside - inside) / larger, 0.0)
    return float(values.mean())
