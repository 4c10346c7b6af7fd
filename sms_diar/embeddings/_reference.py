"""I-vectors as the definition has them: explicit Gaussians, one segment at a time.

Slow and short; for tests and readers. A segment here is its frames together with
the component of each, so that everything is one Gaussian: stacked frames
``x = m + G w + e`` with the rows of G from T, which has the covariance
``G G' + S``, S block-diagonal.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from sms_diar.types import FloatArray, IntArray


def as_matrices(covariances: FloatArray) -> FloatArray:
    """Covariances as whole matrices, shape (c, d, d)."""
    if covariances.ndim == 3:
        return covariances
    return np.stack([np.diag(row) for row in covariances])


def log_densities(
    X: FloatArray, weights: FloatArray, means: FloatArray, covariances: FloatArray
) -> FloatArray:
    """``log(w_c N(x; m_c, S_c))`` for each frame and component."""
    columns = [
        np.log(weight) + np.atleast_1d(multivariate_normal(mean, spread).logpdf(X))
        for weight, mean, spread in zip(
            weights, means, as_matrices(covariances), strict=True
        )
    ]
    return np.stack(columns, axis=1)


def _stacked(
    components: IntArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, loading and residual covariance of all frames in one column."""
    d = means.shape[1]
    residual = np.zeros((len(components) * d,) * 2)
    for t, c in enumerate(components):
        place = slice(t * d, (t + 1) * d)
        residual[place, place] = as_matrices(covariances)[c]
    return means[components].ravel(), np.concatenate(matrix[components]), residual


def posterior(
    X: FloatArray,
    components: IntArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of w given all frames, by conditioning a joint Gaussian."""
    centre, loading, residual = _stacked(components, means, covariances, matrix)
    gain = loading.T @ np.linalg.inv(loading @ loading.T + residual)
    return gain @ (X.ravel() - centre), np.eye(loading.shape[1]) - gain @ loading


def log_likelihood(
    X: FloatArray,
    components: IntArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> float:
    """Log density of all frames less that under zero means and no T."""
    centre, loading, residual = _stacked(components, means, covariances, matrix)
    whole = multivariate_normal(centre, loading @ loading.T + residual)
    rest = multivariate_normal(np.zeros_like(centre), residual)
    return float(whole.logpdf(X.ravel()) - rest.logpdf(X.ravel()))


def em_step(
    zeroth: FloatArray,
    first: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """New T and means after one iteration with the minimum-divergence step."""
    n, c, r = len(zeroth), len(matrix), matrix.shape[2]
    inverses = np.linalg.inv(as_matrices(covariances))
    vectors, squares = np.empty((n, r)), np.empty((n, r, r))
    for s in range(n):
        precision, linear = np.eye(r), np.zeros(r)
        for k in range(c):
            precision += zeroth[s, k] * matrix[k].T @ inverses[k] @ matrix[k]
            offset = first[s, k] - zeroth[s, k] * means[k]
            linear += matrix[k].T @ inverses[k] @ offset
        covariance = np.linalg.inv(precision)
        vectors[s] = covariance @ linear
        squares[s] = covariance + np.outer(vectors[s], vectors[s])
    new = np.empty_like(matrix)
    for k in range(c):
        offsets = first[:, k] - zeroth[:, k, None] * means[k]
        square = np.einsum("s,sij->ij", zeroth[:, k], squares)
        new[k] = offsets.T @ vectors @ np.linalg.inv(square)
    centre = vectors.mean(axis=0)
    spread = squares.mean(axis=0) - np.outer(centre, centre)
    return new @ np.linalg.cholesky(spread), means + new @ centre
