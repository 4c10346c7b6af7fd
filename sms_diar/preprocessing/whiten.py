"""Whitening, regularised so that a short session cannot blow up its noise.

With fewer vectors than dimensions plain whitening puts all vectors at right
angles and equal distances, and every cluster is gone. Shrinking the covariance
towards a multiple of the identity keeps directions that were hardly observed
from being stretched.
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
    """Make the covariance the identity.

    Parameters
    ----------
    shrinkage : float in [0, 1] or "auto", default="auto"
        Weight ``a`` of the identity in the covariance that is whitened,
        ``(1 - a) * C + a * trace(C) / d * I``. "auto" takes the weight of Ledoit
        and Wolf, which vanishes as vectors become many. With 0, directions along
        which the data do not vary are mapped to zero instead of to infinity.
    method : {"pca", "zca"}, default="pca"
        Coordinates along the principal axes, or turned back so that vectors move
        as little as possible. Lengths and angles are the same in both.
    center : bool, default=True
        Whether to subtract the mean first.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        What is subtracted; zeros if `center` is false.
    components_ : ndarray of shape (n_features, n_features)
        The whitening matrix.
    variances_ : ndarray of shape (n_features,)
        Variances along the principal axes after shrinkage, falling.
    shrinkage_ : float
        The shrinkage used.
    n_features_in_ : int
        Columns of the data.

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
        seen = self.variances_ > 0.0
        scales = np.zeros_like(variances)
        scales[seen] = 1.0 / np.sqrt(self.variances_[seen])
        self.components_ = scales[:, None] * axes
        if self.method == "zca":
            self.components_ = axes.T @ self.components_
        return self
