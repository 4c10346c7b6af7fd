"""Transforms that are fitted without labels.

`LengthNorm`: the length of i-vectors and x-vectors mostly reflects the duration of the
segment. Scaling to a fixed length makes them sufficiently Gaussian for PLDA
(Garcia-Romero and Espy-Wilson, "Analysis of i-vector length normalization in speaker
recognition systems", 2011).

`RecordingPca`: the few speakers of a conversation differ along few directions. Kaldi's
diarization projects the vectors of each recording, and the PLDA model with them, on the
directions that contain a given share of the recording's variance
(``ivector-plda-scoring-dense --target-energy``). The model is projected by
:func:`sms_diar.scoring.recording_scorer`.

`Whiten`: with fewer vectors than dimensions, plain whitening makes all vectors
orthogonal and equidistant, which destroys all clusters. Shrinking the covariance
towards a multiple of the identity limits the scaling of directions with little
evidence.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_share,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer, RowTransformer
from sms_diar.preprocessing.axes import (
    Shrinkage,
    check_shrinkage,
    check_varied,
    count_for_energy,
    principal_axes,
    resolve_shrinkage,
)
from sms_diar.types import FloatArray

_ROUNDING = 1e-12


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
        problem = (
            f"must be a whole number from 1 to the {dim} dimensions of X, a share in "
            f"(0, 1) or None, got {value!r}"
        )
        raise InvalidParameterError(problem, owner=self._name, parameter="n_components")


class RecordingPca(AffineTransformer):
    """Project on the directions that contain a share of a recording's variance.

    Parameters
    ----------
    target_energy : float in (0, 1], default=0.5
        Share of the variance that must be exceeded. With 0.999 or more nothing is
        projected, as in Kaldi.
    extra : int, default=1
        Number of directions kept in addition. Kaldi's loop counts one too many; 1
        reproduces its dimensions, 0 keeps what the target requires.
    shrinkage : float in [0, 1] or "auto", default=0.0
        Weight of a scaled identity in the covariance whose energy is counted. In a
        short recording the variance concentrates on few directions by chance; shrinkage
        compensates for this, so that more directions are kept. It does not change the
        directions themselves.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows by decreasing variance. The entry of largest magnitude in each
        is positive.
    mean_ : ndarray of shape (n_features,)
        Zeros: the projection is linear, because the PLDA model has its own mean.
    energy_ : float
        Share of the variance that was kept, without shrinkage.
    shrinkage_ : float
        Shrinkage that was used.
    n_components_ : int
        Number of dimensions kept.
    n_features_in_ : int
        Number of columns of the data.

    Notes
    -----
    Directions without variance are never kept, so n vectors give at most n - 1
    dimensions. A recording with a single distinct vector has no directions and is not
    projected.

    Examples
    --------
    >>> from sms_diar.preprocessing import RecordingPca
    >>> X = [[3.0, 1.0, 0.0], [-3.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
    >>> RecordingPca(target_energy=0.5, extra=0).fit(X).components_.tolist()
    [[1.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        *,
        target_energy: float = 0.5,
        extra: int = 1,
        shrinkage: Shrinkage = 0.0,
    ) -> None:
        self.target_energy = target_energy
        self.extra = extra
        self.shrinkage = shrinkage

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Find the directions of the recording `X`; `y` is ignored."""
        target = check_share(self._name, "target_energy", self.target_energy)
        extra = check_count(self._name, "extra", self.extra, least=0)
        shrinkage = check_shrinkage(self._name, self.shrinkage)
        rows = self._rows(X, reset=True)
        dim = rows.shape[1]
        self.mean_ = np.zeros(dim)
        centred = rows - rows.mean(axis=0)
        variances, axes, rank = principal_axes(centred, complete=False)
        self.shrinkage_ = resolve_shrinkage(shrinkage, centred, variances)
        if rank == 0 or target >= 0.999:
            self.components_ = np.eye(dim)
            self.energy_ = 1.0
        else:
            even = np.sum(variances) / dim
            shrunk = (1.0 - self.shrinkage_) * variances + self.shrinkage_ * even
            # Directions without variance share the shrunk energy but are not kept.
            shares = np.cumsum(shrunk) / np.sum(variances)
            # Rounded, so that equal directions share exactly despite rounding errors.
            needed = int(np.count_nonzero(shares <= target + _ROUNDING)) + 1
            self.components_ = axes[: min(rank, needed + extra)]
            selected = variances[: len(self.components_)]
            self.energy_ = float(selected.sum() / variances.sum())
        self.n_components_ = len(self.components_)
        return self


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
