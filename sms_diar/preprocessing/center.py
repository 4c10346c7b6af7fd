"""Centring, with the mean of a short session shrunk towards a prior mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sms_diar._validation import check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.types import FloatArray


class Center(AffineTransformer):
    """Subtract the mean.

    The mean of a session with few segments and speakers reflects the speakers more than
    the channel. The subtracted mean is therefore
    ``w * mean of X + (1 - w) * prior_mean`` with ``w = n / (n + shrink)``.

    Parameters
    ----------
    shrink : float, default=0.0
        Strength of the prior mean as a number of vectors; 0 ignores it.
    prior_mean : array-like of shape (n_features,) or None, default=None
        Prior mean; None means the origin, which is right for vectors that have been
        centred on a training set.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean that is subtracted.
    n_features_in_ : int
        Number of columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Center
    >>> Center(shrink=2.0).fit([[1.0, 4.0], [3.0, 0.0]]).mean_  # half of (2, 2)
    array([1., 1.])
    """

    def __init__(
        self, *, shrink: float = 0.0, prior_mean: npt.ArrayLike | None = None
    ) -> None:
        self.shrink = shrink
        self.prior_mean = prior_mean

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Estimate the mean of the rows of `X`; `y` is ignored."""
        shrink = check_not_negative(self._name, "shrink", self.shrink)
        rows = self._rows(X, reset=True)
        prior = np.zeros(rows.shape[1])
        if self.prior_mean is not None:
            prior = np.asarray(self.prior_mean, dtype=np.float64)
            if prior.shape != (rows.shape[1],) or not np.isfinite(prior).all():
                raise InvalidParameterError(
                    f"must be {rows.shape[1]} finite numbers, got an array of shape "
                    f"{prior.shape}",
                    owner=self._name,
                    parameter="prior_mean",
                )
        weight = len(rows) / (len(rows) + shrink)
        self.mean_ = weight * rows.mean(axis=0) + (1.0 - weight) * prior
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Subtract ``mean_`` from each row of `X`."""
        check_is_fitted(self)
        centred: FloatArray = self._rows(X, reset=False) - self.mean_
        return centred

    def affine(self) -> tuple[FloatArray, FloatArray]:
        """Return matrix and offset of the map, ``x -> matrix @ x + offset``."""
        check_is_fitted(self)
        return np.eye(len(self.mean_)), -self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_)
