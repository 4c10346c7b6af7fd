"""All metrics of one clustering, in one frozen result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from sms_diar.metrics.labels.contingency import contingency_table
from sms_diar.metrics.labels.counting import ClusterSizes
from sms_diar.metrics.labels.purity import MajorityPurity, Purity, WeightedPurity


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
        Pur(C,D), Pur(D,C) and G.
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
        True labels.
    clusters : array-like of shape (n_points,)
        Clusters of the same points. A value such as -1 is treated as a cluster.

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
