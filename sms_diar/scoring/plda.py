"""Algebra of the two-covariance PLDA model.

A vector is ``x = mean + speaker + residual``, where speakers are Gaussian with
covariance ``between`` and residuals are Gaussian with covariance ``within`` (Ioffe,
"Probabilistic linear discriminant analysis", 2006). A linear transform maps ``within``
to the identity and ``between`` to a diagonal matrix. A `PldaModel` stores that
transform; all other computations are done separately for each dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, eigh

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.preprocessing.axes import fix_signs
from sms_diar.scoring._arrays import as_counts, as_covariance, as_rows, as_vector
from sms_diar.types import FloatArray, PldaModel


class Covariances(NamedTuple):
    """Covariances of a PLDA model in the space of its vectors."""

    within: FloatArray
    between: FloatArray


class PairCoefficients(NamedTuple):
    """Weights of the log-likelihood ratio of a pair, one per dimension."""

    cross: FloatArray  # weight of u * v
    enrol: FloatArray  # weight of u ** 2
    test: FloatArray  # weight of v ** 2
    constant: float


def diagonalise(
    owner: str, within: FloatArray, between: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Find the transform that makes `within` the identity and `between` diagonal.

    Returns the transform of shape (d, d), in whose rows the entry of largest magnitude
    is positive, and the diagonal psi of the transformed `between`, in decreasing order.
    """
    try:
        psi, columns = eigh(between, within)
    except LinAlgError as error:
        problem = (
            "must be positive definite, got a matrix that is not; reduce the "
            "dimensions or use more vectors"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="within") from error
    if psi[0] < -1e-8 * max(1.0, float(psi[-1])):
        problem = (
            f"must not have negative variances, got {psi[0]:.3g} times the "
            f"within-speaker variance in some direction"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="between")
    order = np.argsort(psi)[::-1]
    return fix_signs(columns[:, order].T), np.maximum(psi[order], 0.0)


def plda_from_covariances(
    mean: npt.ArrayLike, within: npt.ArrayLike, between: npt.ArrayLike
) -> PldaModel:
    """Build a model from its mean and its two covariances.

    Parameters
    ----------
    mean : array-like of shape (d,)
        Mean of all speakers.
    within : array-like of shape (d, d)
        Within-speaker covariance, positive definite.
    between : array-like of shape (d, d)
        Between-speaker covariance, positive semi-definite.

    Returns
    -------
    model : PldaModel
        Model with decreasing ``psi``.

    Examples
    --------
    >>> model = plda_from_covariances([0.0, 0.0], [[1, 0], [0, 4]], [[3, 0], [0, 8]])
    >>> model.psi.tolist()
    [3.0, 2.0]
    """
    owner = "plda_from_covariances"
    centre = as_vector(owner, "mean", mean)
    W = as_covariance(owner, "within", within, len(centre))
    B = as_covariance(owner, "between", between, len(centre))
    transform, psi = diagonalise(owner, W, B)
    return PldaModel(centre, transform, psi)


def covariances(model: PldaModel) -> Covariances:
    """Return the within-speaker and between-speaker covariances of a model."""
    inverse = np.linalg.inv(model.transform)
    return Covariances(inverse @ inverse.T, (inverse * model.psi) @ inverse.T)


def transform_plda(model: PldaModel, matrix: npt.ArrayLike) -> PldaModel:
    """Return the model of the vectors ``matrix @ x`` (Kaldi's ``ApplyTransform``).

    Parameters
    ----------
    model : PldaModel
        Model of x with d dimensions.
    matrix : array-like of shape (k, d)
        Projection with k <= d linearly independent rows.

    Returns
    -------
    projected : PldaModel
        Model with k dimensions.
    """
    rows = as_rows("transform_plda", "matrix", matrix, model.dim)
    if np.linalg.matrix_rank(rows) < len(rows):
        problem = (
            f"must have independent rows, got {len(rows)} rows of rank "
            f"{np.linalg.matrix_rank(rows)}"
        )
        raise InvalidParameterError(problem, owner="transform_plda", parameter="matrix")
    factor = rows @ np.linalg.inv(model.transform)
    transform, psi = diagonalise(
        "transform_plda", factor @ factor.T, (factor * model.psi) @ factor.T
    )
    return PldaModel(rows @ model.mean, transform, psi)


def project(
    model: PldaModel,
    X: npt.ArrayLike,
    *,
    normalize_length: bool = False,
    simple_length_norm: bool = False,
    n_examples: npt.ArrayLike = 1,
) -> FloatArray:
    """Map vectors to the space where the model is diagonal.

    Parameters
    ----------
    model : PldaModel
        PLDA model.
    X : array-like of shape (n, d)
        Vectors, or means of several vectors of one speaker.
    normalize_length : bool, default=False
        If True, scale each result u so that ``sum(u**2 / (psi + 1 / n_examples))`` is
        d, its expected value. This is the default of Kaldi's tools. It is not part of
        the model, whose likelihood ratios are exact without it.
    simple_length_norm : bool, default=False
        If True and `normalize_length` is set, scale to length sqrt(d) instead.
    n_examples : int or array-like of shape (n,), default=1
        Number of vectors averaged in each row.

    Returns
    -------
    U : ndarray of shape (n, d)
        ``transform @ (x - mean)``, optionally scaled. A vector equal to the mean is
        mapped to zero.
    """
    rows = as_rows("project", "X", X, model.dim)
    counts = as_counts("project", "n_examples", n_examples, len(rows))
    projected: FloatArray = (rows - model.mean) @ model.transform.T
    if not normalize_length:
        return projected
    if simple_length_norm:
        return scale_rows(projected, np.sqrt(model.dim))
    expected = model.psi + 1.0 / counts[:, None]
    energy = np.sum(projected**2 / expected, axis=1, keepdims=True)
    energy[energy == 0.0] = 1.0
    scaled: FloatArray = projected * np.sqrt(model.dim / energy)
    return scaled


def pair_coefficients(psi: FloatArray, n_enroll: int = 1) -> PairCoefficients:
    """Return the weights of the log-likelihood ratio of u, a mean of n vectors, and v.

    In the diagonal space, v given the speaker of u is Gaussian with mean
    ``n psi / (1 + n psi) u`` and variance ``1 + psi / (1 + n psi)``; unconditionally it
    has mean 0 and variance ``1 + psi``. Expanding the squares in the two log densities
    gives for each dimension ::

        u v     n psi / (1 + (n + 1) psi)
        u ** 2  -n**2 psi**2 / (2 (1 + n psi) (1 + (n + 1) psi))
        v ** 2  -n psi**2 / (2 (1 + psi) (1 + (n + 1) psi))
        1       (log(1 + psi) + log(1 + n psi) - log(1 + (n + 1) psi)) / 2

    For n = 1 this is symmetric in u and v.
    """
    n = n_enroll
    alone, joint = 1.0 + n * psi, 1.0 + (n + 1) * psi
    return PairCoefficients(
        cross=n * psi / joint,
        enrol=-0.5 * (n * psi) ** 2 / (alone * joint),
        test=-0.5 * n * psi**2 / ((1.0 + psi) * joint),
        constant=float(
            0.5 * np.sum(np.log1p(psi) + np.log1p(n * psi) - np.log1p((n + 1) * psi))
        ),
    )
