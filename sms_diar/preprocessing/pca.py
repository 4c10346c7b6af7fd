"""Principal component analysis that also works with few vectors."""

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
        Number of dimensions to keep. A float in (0, 1) keeps as few as make up this
        share of the variance; None keeps all. Directions without variance are never
        kept, so n vectors give at most n - 1 dimensions.
    center : bool, default=True
        If True, subtract the mean first. If False, "variance" means the mean square
        around the origin.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Vector that is subtracted; zeros if `center` is False.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows by decreasing variance. The entry of largest magnitude in each
        is positive.
    variances_ : ndarray of shape (n_components,)
        Variance along each row, divided by the number of vectors.
    energy_ : float
        Share of the total variance that was kept.
    n_components_ : int
        Number of dimensions kept.
    n_features_in_ : int
        Number of columns of the data.

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
        n_kept = rank
        if isinstance(self.n_components, Integral):
            n_kept = min(rank, int(self.n_components))
        elif self.n_components is not None:
            n_kept = count_for_energy(variances, float(self.n_components))
        self.components_ = axes[:n_kept]
        self.variances_ = variances[:n_kept]
        self.energy_ = float(self.variances_.sum() / variances.sum())
        self.n_components_ = n_kept
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
            f"must be a whole number from 1 to the {dim} dimensions of X, a share in "
            f"(0, 1) or None, got {value!r}",
            owner=self._name,
            parameter="n_components",
        )
