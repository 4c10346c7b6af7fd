"""Length normalisation.

The length of i-vectors and x-vectors mostly reflects the duration of the segment.
Scaling to a fixed length makes them sufficiently Gaussian for PLDA (Garcia-Romero and
Espy-Wilson, "Analysis of i-vector length normalization in speaker recognition systems",
2011). A zero vector has no direction and is not changed.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import Tags

from sms_diar._validation import check_choice
from sms_diar.preprocessing._base import RowTransformer
from sms_diar.types import FloatArray


def scale_rows(rows: FloatArray, length: float = 1.0) -> FloatArray:
    """Scale each row to the given Euclidean length; zero rows stay zero."""
    largest = np.max(np.abs(rows), axis=1, keepdims=True, initial=0.0)
    largest[largest == 0.0] = 1.0
    safe = rows / largest  # avoids overflow and underflow of squares
    norms = np.sqrt(np.sum(safe**2, axis=1, keepdims=True))
    norms[norms == 0.0] = 1.0
    scaled: FloatArray = safe * (length / norms)
    return scaled


class LengthNorm(OneToOneFeatureMixin, RowTransformer):  # type: ignore[misc]
    """Scale each vector to a fixed Euclidean length.

    Parameters
    ----------
    scale : {"unit", "sqrt_dim"}, default="unit"
        Length 1, or the square root of the dimension, as in Kaldi, which is the
        expected length of a vector with identity covariance.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of the data, after ``fit``.

    Notes
    -----
    There are no parameters to fit, so ``transform`` works without ``fit``. Zero vectors
    are not changed, as in Kaldi.

    Examples
    --------
    >>> from sms_diar.preprocessing import LengthNorm
    >>> LengthNorm().transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def __init__(self, *, scale: Literal["unit", "sqrt_dim"] = "unit") -> None:
        self.scale = scale

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Check the rows of `X`; `y` is ignored."""
        self.length(self._rows(X, reset=True).shape[1])
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Scale each row of `X`."""
        rows = self._rows(X, reset=False)
        return scale_rows(rows, self.length(rows.shape[1]))

    def length(self, dim: int) -> float:
        """Return the length to which vectors with `dim` dimensions are scaled."""
        check_choice(self._name, "scale", self.scale, ("unit", "sqrt_dim"))
        return 1.0 if self.scale == "unit" else math.sqrt(dim)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
