"""Metrics that compare a clustering of segments or points with true labels.

All metrics are computed from one contingency table: ``n_qr`` is the number of points of
true label r in cluster q. Only non-zero cells are stored: 50,000 singletons against
50,000 labels need 50,000 numbers instead of 2.5 billion.

Three definitions of purity are in use, which are easily confused:

* ``Purity``: ACP, ALP (ASP if the labels are speakers) and K as defined in the
  paper, with equal weights for all clusters and all labels.
* ``WeightedPurity``: the older definition (Ajmera 2002), with clusters and labels
  weighted by size. It equals B-cubed precision and recall.
* ``MajorityPurity``: Pur(C,D), Pur(D,C) and G, which count majorities.

Purities store sums, so those of several recordings can be added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Self

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

    Returns
    -------
    table : ContingencyTable
        Non-zero counts, with the sorted names of clusters and labels.

    Examples
    --------
    >>> contingency_table(["a", "a", "b"], [7, 7, 7]).dense()
    array([[2, 1]])
    """
    truth, clusters = np.asarray(truth), np.asarray(clusters)
    if truth.ndim != 1 or clusters.ndim != 1 or len(truth) != len(clusters):
        raise InvalidParameterError(
            f"truth and clusters must be two lists of equal "
            f"length, got shapes {truth.shape} and {clusters.shape}",
            owner="contingency_table",
        )
    if not len(truth):
        problem = "must have at least one point, got none"
        raise InvalidParameterError(
            problem, owner="contingency_table", parameter="truth"
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
    codes = cluster.astype(np.int64) * len(label_names) + label  # shape: (n_points,)
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


class _Additive:
    """Result whose fields are added one by one; supports ``sum(results)``."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        pairs = zip(astuple(self), astuple(other), strict=True)  # type: ignore[call-overload]
        return type(self)(*(a + b for a, b in pairs))

    def __radd__(self, other: int) -> Self:
        if other == 0:  # the start value of sum()
            return self
        return NotImplemented


@dataclass(frozen=True, slots=True)
class Purity(_Additive):
    """ACP, ALP and K, with equal weights for all clusters and all labels.

    Parameters
    ----------
    cluster_purity : float
        Sum over clusters of ``sum_r (n_qr / n_q.)**2``.
    n_clusters : int
        Number of clusters in the sum.
    label_purity : float
        Sum over labels of ``sum_q (n_qr / n_.r)**2``.
    n_labels : int
        Number of labels in the sum.
    """

    cluster_purity: float
    n_clusters: int
    label_purity: float
    n_labels: int

    @classmethod
    def of(cls, table: ContingencyTable) -> Purity:
        """Compute the purity of one labelling."""
        sizes, totals = table.cluster_sizes, table.label_sizes
        return cls(
            float(np.sum((table.count / sizes[table.cluster]) ** 2)),
            len(sizes),
            float(np.sum((table.count / totals[table.label]) ** 2)),
            len(totals),
        )

    @property
    def acp(self) -> float:
        """Average cluster purity; 1 if no cluster mixes labels."""
        return self.cluster_purity / self.n_clusters

    @property
    def alp(self) -> float:
        """Average label purity; 1 if no label is split."""
        return self.label_purity / self.n_labels

    @property
    def asp(self) -> float:
        """Average speaker purity: ALP if the labels are speakers."""
        return self.alp

    @property
    def k(self) -> float:
        """Geometric mean of ACP and ALP."""
        return math.sqrt(self.acp * self.alp)


@dataclass(frozen=True, slots=True)
class WeightedPurity(_Additive):
    """Purities weighted by size (Ajmera 2002; B-cubed).

    Parameters
    ----------
    cluster_purity : float
        Sum over clusters of ``sum_r n_qr**2 / n_q.``.
    label_purity : float
        Sum over labels of ``sum_q n_qr**2 / n_.r``.
    n_points : int
        Number of points in the sums.
    """

    cluster_purity: float
    label_purity: float
    n_points: int

    @classmethod
    def of(cls, table: ContingencyTable) -> WeightedPurity:
        """Compute the weighted purity of one labelling."""
        squares = table.count.astype(float) ** 2
        return cls(
            float(np.sum(squares / table.cluster_sizes[table.cluster])),
            float(np.sum(squares / table.label_sizes[table.label])),
            table.n_points,
        )

    @property
    def weighted_acp(self) -> float:
        """Cluster purity averaged over points: B-cubed precision."""
        return self.cluster_purity / self.n_points

    @property
    def weighted_alp(self) -> float:
        """Label purity averaged over points: B-cubed recall."""
        return self.label_purity / self.n_points

    @property
    def weighted_k(self) -> float:
        """Geometric mean of weighted ACP and weighted ALP."""
        return math.sqrt(self.weighted_acp * self.weighted_alp)


@dataclass(frozen=True, slots=True)
class MajorityPurity(_Additive):
    """Pur(C,D), Pur(D,C) and G.

    Parameters
    ----------
    in_cluster_majority : int
        Number of points that have the most frequent label of their cluster.
    in_label_majority : int
        Number of points in the most frequent cluster of their label.
    n_points : int
        Number of points of the labelling.
    """

    in_cluster_majority: int
    in_label_majority: int
    n_points: int

    @classmethod
    def of(cls, table: ContingencyTable) -> MajorityPurity:
        """Compute the majority purity of one labelling."""
        by_cluster = np.zeros(len(table.cluster_names), dtype=np.int64)
        by_label = np.zeros(len(table.label_names), dtype=np.int64)
        np.maximum.at(by_cluster, table.cluster, table.count)
        np.maximum.at(by_label, table.label, table.count)
        return cls(int(by_cluster.sum()), int(by_label.sum()), table.n_points)

    @property
    def pur_cd(self) -> float:
        """Pur(C,D), purity of the clusters with respect to the labels."""
        return self.in_cluster_majority / self.n_points

    @property
    def pur_dc(self) -> float:
        """Pur(D,C), purity of the labels with respect to the clusters."""
        return self.in_label_majority / self.n_points

    @property
    def g(self) -> float:
        """Geometric mean of Pur(C,D) and Pur(D,C)."""
        return math.sqrt(self.pur_cd * self.pur_dc)


MAJOR_SHARE = 0.05
"""Minimum share of the points in a major cluster."""


@dataclass(frozen=True, slots=True)
class ClusterSizes:
    """Summary of the cluster sizes of one labelling.

    Parameters
    ----------
    n_clusters : int
        Number of clusters of any size.
    n_major : int
        Number of clusters with at least 5 % of the points. Report it together with
        K, in which a pure cluster of one point counts as much as a large one.
    n_singletons : int
        Number of clusters of one point.
    smallest, largest : int
        Smallest and largest size, in points.
    median : float
        Median of the sizes, in points.
    """

    n_clusters: int
    n_major: int
    n_singletons: int
    smallest: int
    median: float
    largest: int

    @classmethod
    def of(cls, table: ContingencyTable) -> ClusterSizes:
        """Compute the sizes of one labelling."""
        sizes = table.cluster_sizes
        return cls(
            n_clusters=len(sizes),
            n_major=int(np.count_nonzero(sizes >= MAJOR_SHARE * sizes.sum())),
            n_singletons=int(np.count_nonzero(sizes == 1)),
            smallest=int(sizes.min()),
            median=float(np.median(sizes)),
            largest=int(sizes.max()),
        )


@dataclass(frozen=True, slots=True)
class DetectedSpeakers:
    """Numbers of speakers detected in the repetitions of an experiment.

    Parameters
    ----------
    found, true : tuple of int
        Detected and true number of speakers in each repetition.
    """

    found: tuple[int, ...]
    true: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.found or len(self.found) != len(self.true):
            raise InvalidParameterError(
                f"found and true must be two lists of equal length, "
                f"at least 1, got {len(self.found)} and {len(self.true)} numbers",
                owner="DetectedSpeakers",
            )

    @classmethod
    def of(cls, found: Iterable[int], true: Iterable[int]) -> DetectedSpeakers:
        """Collect the counts of several repetitions."""
        return cls(tuple(found), tuple(true))

    @property
    def ands(self) -> float:
        """Average number of detected speakers."""
        return float(np.mean(self.found))

    @property
    def mean_absolute_error(self) -> float:
        """Mean absolute difference of detected and true number."""
        return float(np.mean(np.abs(np.subtract(self.found, self.true))))

    @property
    def share_exact(self) -> float:
        """Share of repetitions with the correct number."""
        return float(np.mean(np.equal(self.found, self.true)))


@dataclass(frozen=True, slots=True)
class ClusteringScores:
    """Metrics of the paper, and cluster sizes that help to interpret them.

    Parameters
    ----------
    purity : Purity
        ACP, ALP/ASP and K with uniform weights.
    weighted : WeightedPurity
        ACP, ALP/ASP and K weighted by size.
    majority : MajorityPurity
        Pur(C,D), Pur(D,C) and G, which count majorities.
    sizes : ClusterSizes
        Number and sizes of the clusters.
    """

    purity: Purity
    weighted: WeightedPurity
    majority: MajorityPurity
    sizes: ClusterSizes

    def as_dict(self) -> dict[str, float]:
        """Metrics by the names used in tables and JSON files."""
        return {
            "acp": self.purity.acp,
            "alp": self.purity.alp,
            "k": self.purity.k,
            "pur_cd": self.majority.pur_cd,
            "pur_dc": self.majority.pur_dc,
            "g": self.majority.g,
            "weighted_acp": self.weighted.weighted_acp,
            "weighted_alp": self.weighted.weighted_alp,
            "weighted_k": self.weighted.weighted_k,
            "n_clusters": self.sizes.n_clusters,
            "n_major": self.sizes.n_major,
            "n_singletons": self.sizes.n_singletons,
            "smallest": self.sizes.smallest,
            "median_size": self.sizes.median,
            "largest": self.sizes.largest,
        }


def score_clustering(truth: npt.ArrayLike, clusters: npt.ArrayLike) -> ClusteringScores:
    """Compare a clustering with the truth.

    Parameters
    ----------
    truth : array-like of shape (n_points,)
        True labels, either numbers or names.
    clusters : array-like of shape (n_points,)
        Clusters of the same points. A value such as -1 is treated as a cluster.

    Returns
    -------
    scores : ClusteringScores
        Metrics of the paper, and cluster sizes.

    Examples
    --------
    >>> scores = score_clustering(["a", "a", "b", "b"], [0, 0, 0, 0])
    >>> scores.purity.acp, scores.purity.asp, scores.majority.pur_cd
    (0.5, 1.0, 0.5)
    """
    table = contingency_table(truth, clusters)
    return ClusteringScores(
        Purity.of(table),
        WeightedPurity.of(table),
        MajorityPurity.of(table),
        ClusterSizes.of(table),
    )


def score_labels(
    truth: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, float]:
    """Compute all clustering metrics on the segments that both sides have.

    Parameters
    ----------
    truth, labels : mapping from str to str
        True speaker and assigned label of each segment id.

    Returns
    -------
    figures : dict
        Metrics of `sms_diar.metrics.ClusteringScores`, and ARI, NMI, homogeneity,
        completeness and V-measure as defined by scikit-learn.
    """
    for name, side in (("truth", truth), ("labels", labels)):
        if not isinstance(side, Mapping):
            problem = (
                f"must be a mapping from id to speaker, got {side!r}; read paths with "
                f"read_labels"
            )
            raise InvalidParameterError(problem, owner="score_labels", parameter=name)
    shared = [name for name in truth if name in labels]
    if not shared:
        raise InvalidParameterError(
            f"truth and labels must share ids, got {len(truth)} and "
            f"{len(labels)} ids and none in both",
            owner="score_labels",
        )
    # Importing scikit-learn takes longer than scoring.
    from sklearn import metrics  # noqa: PLC0415

    true = [truth[name] for name in shared]
    clusters = [labels[name] for name in shared]
    homogeneity, completeness, v = metrics.homogeneity_completeness_v_measure(
        true, clusters
    )
    return score_clustering(true, clusters).as_dict() | {
        "n_segments": len(shared),
        "n_labels": len(set(true)),
        "ari": float(metrics.adjusted_rand_score(true, clusters)),
        "nmi": float(metrics.normalized_mutual_info_score(true, clusters)),
        "homogeneity": float(homogeneity),
        "completeness": float(completeness),
        "v_measure": float(v),
    }
