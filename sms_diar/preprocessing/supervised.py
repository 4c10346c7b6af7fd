"""Transforms that are fitted on labelled vectors, and the statistics they need.

`Wccn` scales down directions in which a speaker varies between segments, before cosine
scoring (Hatch, Kajarekar and Stolcke, "Within-class covariance normalization for
SVM-based speaker recognition", 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count, check_not_negative, is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer, LabelledTransformer
from sms_diar.preprocessing.axes import (
    Shrinkage,
    check_shrinkage,
    fix_signs,
    ledoit_wolf,
)
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
        problem = (
            f"must name at least two speakers, got one class ({stats.names[0]}) for "
            f"n_samples={stats.n_vectors}"
        )
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    check_repeated(owner, stats, name=name)


def check_repeated(owner: str, stats: SpeakerStats, *, name: str = "y") -> None:
    """Raise an error if no speaker has two vectors."""
    if stats.n_vectors == stats.n_speakers:
        problem = (
            f"must name some speaker twice, got {stats.n_speakers} speakers for "
            f"n_samples={stats.n_vectors}; without repetition nothing is known about "
            f"the variation within speakers"
        )
        raise InvalidParameterError(problem, owner=owner, parameter=name)


class Lda(LabelledTransformer, AffineTransformer):
    """Project on the directions that separate speakers best.

    The result has identity covariance within speakers (or, with smoothing, of the
    mixture) and decreasing variances between speakers.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of dimensions to keep, at most the smaller of the dimension of the data
        and the number of speakers minus one. None keeps this maximum.
    smoothing : float in [0, 1], default=0.0
        Share of the total covariance in the covariance that is whitened; the remainder
        is the within-speaker covariance. Positive values help if there are few vectors
        per speaker. Kaldi calls it ``total-covariance-factor``.
    floor : float, default=1e-6
        Minimum variance of that mixture, relative to the largest one, so that fewer
        vectors than dimensions are acceptable.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of all vectors, subtracted before projecting.
    components_ : ndarray of shape (n_components, n_features)
        Directions; the entry of largest magnitude in each is positive.
    ratios_ : ndarray of shape (n_components,)
        Between-speaker variance along each direction, decreasing.
    n_components_ : int
        Number of dimensions kept.
    n_features_in_ : int
        Number of columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Lda
    >>> X = [[0.0, 5.0], [0.2, -5.0], [1.0, 4.0], [1.2, -4.0]]
    >>> Lda(n_components=1).fit(X, ["ann", "ann", "bob", "bob"]).n_components_
    1
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        smoothing: float = 0.0,
        floor: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.smoothing = smoothing
        self.floor = floor

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Find the directions for the rows of `X` with speakers `y`."""
        smoothing = _check_smoothing(self._name, self.smoothing)
        floor = check_not_negative(self._name, "floor", self.floor)
        rows, labels = self._labelled_rows(X, y)
        stats = speaker_stats(rows, labels)
        check_speakers(self._name, stats)
        maximum = min(rows.shape[1], stats.n_speakers - 1)
        n_components = maximum
        if self.n_components is not None:
            n_components = check_count(self._name, "n_components", self.n_components)
            if n_components > maximum:
                raise InvalidParameterError(
                    f"must be at most {maximum} for {stats.n_speakers} speakers in "
                    f"{rows.shape[1]} dimensions, got {n_components}",
                    owner=self._name,
                    parameter="n_components",
                )
        between = stats.between()
        normaliser = inverse_root(stats.within() + smoothing * between, floor)
        projected = normaliser @ between @ normaliser.T
        ratios, turn = np.linalg.eigh((projected + projected.T) / 2.0)
        order = np.argsort(ratios)[::-1][:n_components]
        self.mean_ = stats.mean
        self.components_ = fix_signs(turn[:, order].T @ normaliser)
        self.ratios_ = ratios[order]
        self.n_components_ = n_components
        return self


def inverse_root(covariance: FloatArray, floor: float) -> FloatArray:
    """Return the matrix that whitens `covariance` after flooring its variances.

    Variances below `floor` times the largest one are raised to that value; directions
    that still have no variance are mapped to zero.
    """
    variances, axes = np.linalg.eigh(covariance)
    raised = np.maximum(variances, floor * variances[-1])
    rounding = variances[-1] * len(variances) * np.finfo(np.float64).eps
    scales = np.zeros_like(raised)
    varies = raised > rounding
    scales[varies] = 1.0 / np.sqrt(raised[varies])
    root: FloatArray = scales[:, None] * axes.T
    return root


def _check_smoothing(owner: str, value: object) -> float:
    if not is_real(value) or not 0.0 <= float(value) <= 1.0:  # type: ignore[arg-type]
        problem = f"must be a number in [0, 1], got {value!r}"
        raise InvalidParameterError(problem, owner=owner, parameter="smoothing")
    return float(value)  # type: ignore[arg-type]


class Wccn(LabelledTransformer, AffineTransformer):
    """Whiten the within-speaker covariance.

    The matrix is the transposed Cholesky factor of the inverse covariance, as in the
    literature; any other square root would give the same angles.

    Parameters
    ----------
    shrinkage : float in [0, 1] or "auto", default="auto"
        Weight of a scaled identity in the covariance; "auto" is the weight of Ledoit
        and Wolf for the deviations from the speaker means. It must be positive if there
        are fewer vectors than dimensions.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Zeros: WCCN does not move the origin. Put `Center` before it if needed.
    components_ : ndarray of shape (n_features, n_features)
        Upper triangular matrix.
    shrinkage_ : float
        Shrinkage that was used.
    n_features_in_ : int
        Number of columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Wccn
    >>> X = [[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]]
    >>> Wccn(shrinkage=0.0).fit(X, [0, 0, 0, 0]).components_.tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """

    def __init__(self, *, shrinkage: Shrinkage = "auto") -> None:
        self.shrinkage = shrinkage

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Estimate the within-speaker covariance of the rows of `X`, speakers `y`."""
        shrinkage = check_shrinkage(self._name, self.shrinkage)
        rows, labels = self._labelled_rows(X, y)
        stats = speaker_stats(rows, labels)
        check_repeated(self._name, stats)
        within = stats.within()
        dim = rows.shape[1]
        if isinstance(shrinkage, str):
            deviations = rows - stats.means[np.searchsorted(stats.names, labels)]
            variances = np.linalg.eigvalsh(within).astype(np.float64)
            shrinkage = ledoit_wolf(deviations, variances)
        self.shrinkage_ = float(shrinkage)
        smoothed = (1.0 - self.shrinkage_) * within
        smoothed[np.diag_indices(dim)] += self.shrinkage_ * np.trace(within) / dim
        spread = np.linalg.eigvalsh(smoothed)
        if spread[0] <= spread[-1] * dim * np.finfo(np.float64).eps:
            problem = (
                f"must vary within speakers in all {dim} dimensions, got "
                f"n_samples={len(rows)} of {stats.n_speakers} speakers that do not; "
                f"raise shrinkage (now {self.shrinkage_:g}) or reduce the dimensions "
                f"with Pca"
            )
            raise InvalidParameterError(problem, owner=self._name, parameter="X")
        self.mean_ = np.zeros(dim)
        self.components_ = np.linalg.cholesky(np.linalg.inv(smoothed)).T
        return self
