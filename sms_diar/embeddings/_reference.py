"""Reference implementation of i-vectors with explicit Gaussians, by segment.

Slow and short, for tests. A segment consists of its frames and the component of each
frame, so that everything is one Gaussian: the stacked frames are ``x = m + G w + e``,
where the rows of G come from T, with covariance ``G G' + S`` and S block-diagonal.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from sms_diar.types import FloatArray, IntArray


def as_matrices(covariances: FloatArray) -> FloatArray:
    """Return covariances as full matrices, shape (c, d, d)."""
    if covariances.ndim == 3:
        return covariances
    return np.stack([np.diag(row) for row in covariances])


def log_densities(
    X: FloatArray, weights: FloatArray, means: FloatArray, covariances: FloatArray
) -> FloatArray:
    """Return ``log(w_c N(x; m_c, S_c))`` for each frame and component, shape (n, c)."""
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
    """Return mean, loading and residual covariance of the stacked frames."""
    d = means.shape[1]
    residual = np.zeros((len(components) * d,) * 2)
    for t, c in enumerate(components):
        block = slice(t * d, (t + 1) * d)
        residual[block, block] = as_matrices(covariances)[c]
    return means[components].ravel(), np.concatenate(matrix[components]), residual


def posterior(
    X: FloatArray,
    components: IntArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of w given all frames, from a joint Gaussian."""
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
    """Return the log density relative to the density under zero means and T = 0."""
    centre, loading, residual = _stacked(components, means, covariances, matrix)
    joint = multivariate_normal(centre, loading @ loading.T + residual)
    base = multivariate_normal(np.zeros_like(centre), residual)
    return float(joint.logpdf(X.ravel()) - base.logpdf(X.ravel()))


def em_step(
    zeroth: FloatArray,
    first: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    matrix: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return T and the means after one iteration with minimum divergence."""
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
