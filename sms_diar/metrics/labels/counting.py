"""Numbers and sizes of clusters, and errors of the number of speakers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.labels.contingency import ContingencyTable

MAJOR_SHARE = 0.05
"""Minimum share of the points in a major cluster."""


@dataclass(frozen=True, slots=True)
class ClusterSizes:
    """Summary of the cluster sizes of one labelling.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_major : int
        Number of clusters with at least 5 % of the points. Report it together with
        K, in which a pure cluster of one point counts as much as a large one.
    n_singletons : int
        Number of clusters of one point.
    smallest, largest : int
        Smallest and largest size, in points.
    median : float
        Median size, in points.
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
                f"found and true must be two lists of equal length, at least 1, got "
                f"{len(self.found)} and {len(self.true)} numbers",
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
