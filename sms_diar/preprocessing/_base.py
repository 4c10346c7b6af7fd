"""Base classes of the transformers: validated rows and affine maps.

Every fitted step except length normalisation is an affine map, stored as a mean to
subtract and the rows to project on. A chain of steps can therefore be folded into one
matrix.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sms_diar._validation import check_rows_finite
from sms_diar.types import AnyArray, FloatArray


class RowTransformer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Transformer of rows that computes in float64."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _rows(self, X: npt.ArrayLike, *, reset: bool) -> FloatArray:
        rows: FloatArray = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        check_rows_finite(self._name, rows)
        return rows


class LabelledTransformer(RowTransformer):
    """Transformer whose ``fit`` needs the speaker of each row."""

    def _labelled_rows(self, X: npt.ArrayLike, y: Any) -> tuple[FloatArray, AnyArray]:
        rows, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite=False
        )
        check_rows_finite(self._name, rows)
        return rows, labels

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class AffineTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    RowTransformer,
):
    """Fitted map ``x -> components_ @ (x - mean_)``; subclasses implement ``fit``."""

    mean_: FloatArray
    components_: FloatArray

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Transform each row of `X` to ``components_ @ (x - mean_)``."""
        check_is_fitted(self)
        mapped: FloatArray = (
            self._rows(X, reset=False) - self.mean_
        ) @ self.components_.T
        return mapped

    def affine(self) -> tuple[FloatArray, FloatArray]:
        """Return matrix and offset of the map, ``x -> matrix @ x + offset``."""
        check_is_fitted(self)
        return self.components_, -(self.components_ @ self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
