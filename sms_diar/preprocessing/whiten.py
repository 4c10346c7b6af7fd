"""Whitening with shrinkage, so that noise of short sessions is not amplified.

With fewer vectors than dimensions, plain whitening makes all vectors orthogonal and
equidistant, which destroys all clusters. Shrinking the covariance towards a multiple of
the identity limits the scaling of directions with little evidence.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_choice
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import (
    Shrinkage,
    check_shrinkage,
    check_varied,
    principal_axes,
    resolve_shrinkage,
)


class Whiten(AffineTransformer):
    """Whiten the covariance.

    Parameters
    ----------
    shrinkage : float in [0, 1] or "auto", default="auto"
        Weight ``a`` of the identity in the covariance that is whitened,
        ``(1 - a) * C + a * trace(C) / d * I``. "auto" uses the weight of Ledoit and
        Wolf, which vanishes for many vectors. With 0, directions without variance are
        mapped to zero instead of infinity.
    method : {"pca", "zca"}, default="pca"
        Coordinates along the principal axes, or rotated back so that vectors change as
        little as possible. Lengths and angles are the same.
    center : bool, default=True
        If True, subtract the mean first.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Vector that is subtracted; zeros if `center` is False.
    components_ : ndarray of shape (n_features, n_features)
        Whitening matrix.
    variances_ : ndarray of shape (n_features,)
        Variances along the principal axes after shrinkage, decreasing.
    shrinkage_ : float
        Shrinkage that was used.
    n_features_in_ : int
        Number of columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Whiten
    >>> X = [[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]]
    >>> Whiten(shrinkage=0.0).fit_transform(X).tolist()
    [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    """

    def __init__(
        self,
        *,
        shrinkage: Shrinkage = "auto",
        method: Literal["pca", "zca"] = "pca",
        center: bool = True,
    ) -> None:
        self.shrinkage = shrinkage
        self.method = method
        self.center = center

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Estimate the covariance of the rows of `X`; `y` is ignored."""
        shrinkage = check_shrinkage(self._name, self.shrinkage)
        check_choice(self._name, "method", self.method, ("pca", "zca"))
        rows = self._rows(X, reset=True)
        self.mean_ = rows.mean(axis=0) if self.center else np.zeros(rows.shape[1])
        centred = rows - self.mean_
        variances, axes, rank = principal_axes(centred, complete=True)
        check_varied(self._name, rows, rank)
        share = resolve_shrinkage(shrinkage, centred, variances)
        self.shrinkage_ = share
        self.variances_ = (1.0 - share) * variances + share * variances.mean()
        varies = self.variances_ > 0.0
        scales = np.zeros_like(variances)
        scales[varies] = 1.0 / np.sqrt(self.variances_[varies])
        self.components_ = scales[:, None] * axes
        if self.method == "zca":
            self.components_ = axes.T @ self.components_
        return self
