"""Purity of clusters with respect to labels, and of labels with respect to clusters.

Three definitions are in use, which are easily confused:

* ``Purity``: ACP, ALP (ASP if the labels are speakers) and K as defined in the
  paper, with equal weights for all clusters and all labels.
* ``WeightedPurity``: the older definition (Ajmera 2002), with clusters and labels
  weighted by size. It equals B-cubed precision and recall.
* ``MajorityPurity``: Pur(C,D), Pur(D,C) and G, which count majorities.

Results store sums, so results of several recordings can be added.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from sms_diar.metrics.labels.contingency import ContingencyTable


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
        Number of clusters.
    label_purity : float
        Sum over labels of ``sum_q (n_qr / n_.r)**2``.
    n_labels : int
        Number of labels.
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
        Number of points.
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
    def weighted_asp(self) -> float:
        """Speaker purity averaged over points."""
        return self.weighted_alp

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
        Number of points.
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
