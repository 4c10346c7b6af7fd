"""Principal component analysis that also works on a handful of vectors."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count, is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import (
    check_varied,
    count_for_energy,
    principal_axes,
)


class Pca(AffineTransformer):
    """Project on the directions of largest variance.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimensions to keep; a float in (0, 1) keeps as few as make up this share
        of the variance; None keeps all. Directions along which the data do not
        vary are never kept, so n vectors give at most n - 1 dimensions.
    center : bool, default=True
        Whether to subtract the mean first. Without, "variance" is the mean
        square around the origin.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        What is subtracted; zeros if `center` is false.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by falling variance. The entry of largest size in each
        is positive.
    variances_ : ndarray of shape (n_components,)
        Variance along each, divided by the number of vectors.
    energy_ : float
        Share of the total variance that was kept.
    n_components_ : int
        Dimensions kept.
    n_features_in_ : int
        Columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Pca
    >>> model = Pca(n_components=1).fit([[0.0, 1.0, 0.0], [4.0, 1.0, 3.0]])
    >>> model.components_.round(12).tolist()
    [[0.8, 0.0, 0.6]]
    """

    def __init__(
        self, *, n_components: int | float | None = None, center: bool = True
    ) -> None:
        self.n_components = n_components
        self.center = center

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Find the directions of the rows of `X`; `y` is ignored."""
        rows = self._rows(X, reset=True)
        self._check_components(rows.shape[1])
        self.mean_ = rows.mean(axis=0) if self.center else np.zeros(rows.shape[1])
        variances, axes, rank = principal_axes(rows - self.mean_, complete=False)
        check_varied(self._name, rows, rank)
        kept = rank
        if isinstance(self.n_components, Integral):
            kept = min(rank, int(self.n_components))
        elif self.n_components is not None:
            kept = count_for_energy(variances, float(self.n_components))
        self.components_ = axes[:kept]
        self.variances_ = variances[:kept]
        self.energy_ = float(self.variances_.sum() / variances.sum())
        self.n_components_ = kept
        return self

    def _check_components(self, dim: int) -> None:
        value = self.n_components
        if value is None:
            return
        if isinstance(value, Integral):
            check_count(self._name, "n_components", value)
            if int(value) <= dim:
                return
        elif is_real(value) and 0.0 < value < 1.0:
            return
        raise InvalidParameterError(
            f"{self._name}: n_components must be a whole number from 1 to the {dim} "
            f"dimensions of X, a share in (0, 1) or None, got {value!r}"
        )
