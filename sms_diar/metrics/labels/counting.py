"""How many clusters, how large, and how far from the true number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.labels.contingency import ContingencyTable

MAJOR_SHARE = 0.05
"""A cluster is major when it holds at least this share of the points."""


@dataclass(frozen=True, slots=True)
class ClusterSizes:
    """Summary of the sizes of the clusters of one labelling.

    Parameters
    ----------
    n_clusters : int
        Clusters found.
    n_major : int
        Clusters holding at least 5 % of the points. Read it beside K: a crumb
        of one point is perfectly pure and counts as much as a large cluster.
    n_singletons : int
        Clusters of one point.
    smallest, largest : int
        Extreme sizes, in points.
    median : float
        Middle size, in points.
    """

    n_clusters: int
    n_major: int
    n_singletons: int
    smallest: int
    median: float
    largest: int

    @classmethod
    def of(cls, table: ContingencyTable) -> ClusterSizes:
        """Sizes in one labelling."""
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
    """Numbers of speakers found in the repetitions of an experiment.

    Parameters
    ----------
    found, true : tuple of int
        Speakers found and present, repetition by repetition.
    """

    found: tuple[int, ...]
    true: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.found or len(self.found) != len(self.true):
            raise InvalidParameterError(
                f"DetectedSpeakers: found and true must be two lists of equal length, "
                f"at least 1, got {len(self.found)} and {len(self.true)} numbers"
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
        """Mean distance between the numbers found and true."""
        return float(np.mean(np.abs(np.subtract(self.found, self.true))))

    @property
    def share_exact(self) -> float:
        """Share of the repetitions in which the number was right."""
        return float(np.mean(np.equal(self.found, self.true)))
