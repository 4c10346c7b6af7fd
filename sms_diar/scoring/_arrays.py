"""Validation of array arguments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_finite
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray


def as_rows(owner: str, name: str, values: npt.ArrayLike, dim: int) -> FloatArray:
    """Return `values` as finite float64 rows, shape (n, dim)."""
    rows: FloatArray = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != dim:
        problem = f"must be of shape (n, {dim}), got {rows.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    check_finite(owner, name, rows)
    return rows


def as_vector(owner: str, name: str, values: npt.ArrayLike) -> FloatArray:
    """Return `values` as a finite float64 vector, shape (d,)."""
    vector: FloatArray = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not len(vector):
        problem = f"must be of shape (d,), got {vector.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    check_finite(owner, name, vector)
    return vector


def as_covariance(owner: str, name: str, values: npt.ArrayLike, dim: int) -> FloatArray:
    """Return `values` as a symmetric float64 matrix, shape (dim, dim)."""
    matrix: FloatArray = np.asarray(values, dtype=np.float64)
    if matrix.shape != (dim, dim):
        problem = f"must be of shape ({dim}, {dim}), got {matrix.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    check_finite(owner, name, matrix)
    skew = float(np.max(np.abs(matrix - matrix.T)))
    if skew > 1e-8 * float(np.max(np.abs(matrix))):
        problem = f"must be symmetric, got entries that differ by {skew:.3g}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    symmetric: FloatArray = (matrix + matrix.T) / 2.0
    return symmetric


def as_counts(owner: str, name: str, values: npt.ArrayLike, n: int) -> IntArray:
    """Return `values` as `n` positive integers; a single number is repeated."""
    counts = np.asarray(values)
    is_integer = np.issubdtype(counts.dtype, np.integer)
    if not is_integer or counts.shape not in ((), (n,)) or (counts < 1).any():
        problem = f"must be a whole number >= 1, or {n} of them, got {values!r}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    filled: IntArray = np.broadcast_to(counts.astype(np.int64), (n,))
    return filled
