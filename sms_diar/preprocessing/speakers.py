"""Statistics of labelled vectors for supervised steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SpeakerStats:
    """Sufficient statistics of Gaussian speakers with a common covariance.

    Parameters
    ----------
    names : ndarray of shape (s,)
        Sorted labels.
    counts : ndarray of shape (s,)
        Number of vectors of each speaker.
    means : ndarray of shape (s, d)
        Mean vector of each speaker.
    scatter : ndarray of shape (d, d)
        Sum over all vectors of the outer product of the deviation from the speaker
        mean.
    """

    names: AnyArray
    counts: IntArray
    means: FloatArray
    scatter: FloatArray

    @property
    def n_vectors(self) -> int:
        """Total number of vectors."""
        return int(self.counts.sum())

    @property
    def n_speakers(self) -> int:
        """Number of speakers."""
        return len(self.counts)

    @property
    def mean(self) -> FloatArray:
        """Mean of all vectors."""
        mean: FloatArray = self.counts @ self.means / self.n_vectors
        return mean

    def within(self) -> FloatArray:
        """Return the covariance around the speaker means, divided by n_vectors."""
        return self.scatter / self.n_vectors

    def between(self) -> FloatArray:
        """Return the covariance of the speaker means, weighted by their counts."""
        deviations = (self.means - self.mean) * np.sqrt(self.counts)[:, None]
        between: FloatArray = deviations.T @ deviations / self.n_vectors
        return between


def speaker_stats(rows: FloatArray, labels: AnyArray) -> SpeakerStats:
    """Collect the statistics of `rows` (n, d) with speakers `labels` (n,)."""
    names, speaker = np.unique(labels, return_inverse=True)
    counts = np.bincount(speaker).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    order = np.argsort(speaker, kind="stable")
    means = np.add.reduceat(rows[order], starts, axis=0) / counts[:, None]
    deviations = rows - means[speaker]
    return SpeakerStats(names, counts, means, deviations.T @ deviations)


def check_speakers(owner: str, stats: SpeakerStats, *, name: str = "y") -> None:
    """Raise an error if there are fewer than two speakers."""
    if stats.n_speakers < 2:
        raise InvalidParameterError(
            f"must name at least two speakers, got one class ({stats.names[0]}) for "
            f"n_samples={stats.n_vectors}",
            owner=owner,
            parameter=name,
        )
    check_repeated(owner, stats, name=name)


def check_repeated(owner: str, stats: SpeakerStats, *, name: str = "y") -> None:
    """Raise an error if no speaker has two vectors."""
    if stats.n_vectors == stats.n_speakers:
        raise InvalidParameterError(
            f"must name some speaker twice, got {stats.n_speakers} speakers for "
            f"n_samples={stats.n_vectors}; without repetition nothing is known about "
            f"the variation within speakers",
            owner=owner,
            parameter=name,
        )
