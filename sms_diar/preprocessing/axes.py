"""Principal axes of a set of vectors, and shrinkage of their variances.

A recording often has fewer segments than its vectors have dimensions. The axes are
therefore computed by a singular value decomposition of the vectors, and not from their
covariance, whose condition number is the square. Variances are divided by n, not by
n - 1, as in Ledoit and Wolf and in Kaldi.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sms_diar._validation import is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray

Shrinkage = float | Literal["auto"]


def fix_signs(axes: FloatArray) -> FloatArray:
    """Flip each row so that its entry of largest magnitude is positive.

    Decompositions do not determine the sign of an axis; this makes it independent of
    the library.
    """
    largest = np.argmax(np.abs(axes), axis=1)
    negative = axes[np.arange(len(axes)), largest] < 0.0
    turned: FloatArray = np.where(negative[:, None], -axes, axes)
    return turned


def principal_axes(
    centred: FloatArray, *, complete: bool
) -> tuple[FloatArray, FloatArray, int]:
    """Compute variances, axes and rank of rows (n, d), which are not centred here.

    The variances are mean squares along the axes, decreasing and exactly zero beyond
    the rank. The axes are orthonormal rows with fixed signs; if `complete`, they are a
    basis of all d dimensions, otherwise only those along which the rows vary. The rank
    is the number of axes along which they vary by more than rounding errors.
    """
    n, d = centred.shape
    # The triangular factor has the same axes and at most d rows.
    factor = np.linalg.qr(centred, mode="r") if n > d else centred
    # shapes: (min(n, d),), (d, d) or (min(n, d), d)
    _, singular, axes = np.linalg.svd(factor, full_matrices=complete)
    rounding = singular[0] * max(n, d) * np.finfo(np.float64).eps
    rank = int(np.count_nonzero(singular > rounding))
    variances = np.zeros(len(axes))
    variances[:rank] = singular[:rank] ** 2 / n
    if not complete:
        variances, axes = variances[:rank], axes[:rank]
    return variances, fix_signs(axes), rank


def count_for_energy(variances: FloatArray, energy: float) -> int:
    """Return the number of leading variances that make up the share `energy`."""
    shares = np.cumsum(variances) / np.sum(variances)
    # If the share is met exactly, rounding must not add another axis.
    return int(np.count_nonzero(shares < energy - 1e-12)) + 1


def ledoit_wolf(centred: FloatArray, variances: FloatArray) -> float:
    """Estimate the shrinkage of a covariance towards a scaled identity, in [0, 1].

    The estimate of Ledoit and Wolf ("A well-conditioned estimator for
    large-dimensional covariance matrices", 2004) minimises the expected squared error:
    the variance of the entries of the covariance, divided by its squared distance from
    the scaled identity, at most 1. `variances` are the non-zero principal variances of
    the `centred` vectors.
    """
    n, d = centred.shape
    squares = np.sum(variances**2)  # squared norm of the covariance
    distance = squares - np.sum(variances) ** 2 / d
    noise = (np.sum(np.sum(centred**2, axis=1) ** 2) / n - squares) / n
    if distance <= 0.0:  # already a multiple of the identity
        return 0.0
    return float(np.clip(noise / distance, 0.0, 1.0))


def check_shrinkage(owner: str, value: object) -> Shrinkage:
    """Return `value` if it is "auto" or a number in [0, 1]."""
    if value == "auto" and isinstance(value, str):
        return "auto"
    if not is_real(value) or not 0.0 <= float(value) <= 1.0:  # type: ignore[arg-type]
        problem = f"must be a number in [0, 1] or 'auto', got {value!r}"
        raise InvalidParameterError(problem, owner=owner, parameter="shrinkage")
    return float(value)  # type: ignore[arg-type]


def resolve_shrinkage(
    shrinkage: Shrinkage, centred: FloatArray, variances: FloatArray
) -> float:
    """Return the value of `shrinkage` for these vectors."""
    if isinstance(shrinkage, str):
        return ledoit_wolf(centred, variances)
    return float(shrinkage)


def check_varied(owner: str, rows: FloatArray, rank: int) -> None:
    """Raise an error if all rows are equal, because they have no axes."""
    if rank == 0:
        problem = (
            f"must contain vectors that differ, got {len(rows)} equal sample(s) "
            f"(n_samples={len(rows)})"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="X")
