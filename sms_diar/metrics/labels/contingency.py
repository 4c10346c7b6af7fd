"""Contingency table from which all clustering metrics are computed.

``n_qr`` is the number of points of true label r in cluster q. Only non-zero cells are
stored: 50,000 singletons against 50,000 labels need 50,000 numbers instead of
2.5 billion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, IntArray


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """Non-zero counts of points by cluster and true label.

    Parameters
    ----------
    cluster : ndarray of shape (m,)
        Cluster q of each cell, numbered from 0.
    label : ndarray of shape (m,)
        True label r of each cell, numbered from 0.
    count : ndarray of shape (m,)
        ``n_qr`` of each cell, at least 1.
    cluster_names, label_names : ndarray
        Sorted names of the numbered clusters and labels.
    """

    cluster: IntArray
    label: IntArray
    count: IntArray
    cluster_names: AnyArray
    label_names: AnyArray

    @property
    def n_points(self) -> int:
        """Number of points N."""
        return int(self.count.sum())

    @property
    def cluster_sizes(self) -> IntArray:
        """Number of points in each cluster, ``n_q.``."""
        return _sums(self.cluster, self.count, len(self.cluster_names))

    @property
    def label_sizes(self) -> IntArray:
        """Number of points of each true label, ``n_.r``."""
        return _sums(self.label, self.count, len(self.label_names))

    def dense(self) -> IntArray:
        """Dense table of shape (n_clusters, n_labels)."""
        table = np.zeros((len(self.cluster_names), len(self.label_names)), np.int64)
        table[self.cluster, self.label] = self.count
        return table


def contingency_table(
    truth: npt.ArrayLike, clusters: npt.ArrayLike
) -> ContingencyTable:
    """Count the points of each true label in each cluster.

    Parameters
    ----------
    truth : array-like of shape (n_points,)
        True labels, either numbers or names.
    clusters : array-like of shape (n_points,)
        Clusters of the same points, in the same order.

    Examples
    --------
    >>> contingency_table(["a", "a", "b"], [7, 7, 7]).dense()
    array([[2, 1]])
    """
    truth, clusters = np.asarray(truth), np.asarray(clusters)
    if truth.ndim != 1 or clusters.ndim != 1 or len(truth) != len(clusters):
        raise InvalidParameterError(
            f"truth and clusters must be two lists of equal length, got shapes "
            f"{truth.shape} and {clusters.shape}",
            owner="contingency_table",
        )
    if not len(truth):
        raise InvalidParameterError(
            "must have at least one point, got none",
            owner="contingency_table",
            parameter="truth",
        )
    for name, values in (("truth", truth), ("clusters", clusters)):
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise InvalidParameterError(
                f"must be labels, got NaN at position "
                f"{int(np.argmax(np.isnan(values)))}",
                owner="contingency_table",
                parameter=name,
            )
    label_names, label = np.unique(truth, return_inverse=True)
    cluster_names, cluster = np.unique(clusters, return_inverse=True)
    codes = cluster.astype(np.int64) * len(label_names) + label
    cells, count = np.unique(codes, return_counts=True)
    return ContingencyTable(
        cells // len(label_names),
        cells % len(label_names),
        count.astype(np.int64),
        cluster_names,
        label_names,
    )


def _sums(group: IntArray, count: IntArray, n_groups: int) -> IntArray:
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, count)
    return sums
