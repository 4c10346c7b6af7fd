"""Linear discriminant analysis for many speakers."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags

from sms_diar._validation import check_count, check_not_negative, is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import fix_signs
from sms_diar.preprocessing.speakers import check_speakers, speaker_stats
from sms_diar.types import FloatArray


class Lda(AffineTransformer):
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


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
        raise InvalidParameterError(
            f"must be a number in [0, 1], got {value!r}",
            owner=owner,
            parameter="smoothing",
        )
    return float(value)  # type: ignore[arg-type]
