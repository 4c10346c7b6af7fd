"""Principal axes of a set of vectors, and the shrinkage of their variances.

A recording often has fewer segments than its vectors have dimensions. The axes
therefore come from a singular value decomposition of the vectors themselves and
not from their covariance, whose condition number is the square. Variances are
divided by the number of vectors, not by one less: that is the convention of
Ledoit and Wolf and of Kaldi.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sms_diar._validation import is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray

Shrinkage = float | Literal["auto"]


def fix_signs(axes: FloatArray) -> FloatArray:
    """Turn each row so that its largest entry in size is positive.

    Decompositions leave the sign of an axis open; this makes it a property of
    the axis instead of the library that computed it.
    """
    largest = np.argmax(np.abs(axes), axis=1)
    negative = axes[np.arange(len(axes)), largest] < 0.0
    turned: FloatArray = np.where(negative[:, None], -axes, axes)
    return turned


def principal_axes(
    centred: FloatArray, *, complete: bool
) -> tuple[FloatArray, FloatArray, int]:
    """Variances and axes of rows that are already centred (or not to be).

    Parameters
    ----------
    centred : ndarray of shape (n, d)
        The vectors.
    complete : bool
        Whether to complete the axes to a basis of all d dimensions; otherwise
        only the axes along which the rows vary are returned.

    Returns
    -------
    variances : ndarray of shape (k,)
        Mean squares along the axes, falling; exactly zero beyond the rank.
    axes : ndarray of shape (k, d)
        Orthonormal rows with fixed signs; k is d if `complete`, else the rank.
    rank : int
        Number of axes along which the rows vary by more than rounding.
    """
    n, d = centred.shape
    # The triangular factor has the same axes and at most d rows.
    factor = np.linalg.qr(centred, mode="r") if n > d else centred
    _, singular, axes = np.linalg.svd(factor, full_matrices=complete)
    rounding = singular[0] * max(n, d) * np.finfo(np.float64).eps
    rank = int(np.count_nonzero(singular > rounding))
    variances = np.zeros(len(axes))
    variances[:rank] = singular[:rank] ** 2 / n
    if not complete:
        variances, axes = variances[:rank], axes[:rank]
    return variances, fix_signs(axes), rank


def count_for_energy(variances: FloatArray, energy: float) -> int:
    """Smallest number of leading variances that make up the share `energy`."""
    shares = np.cumsum(variances) / np.sum(variances)
    # A share that is met exactly must not need one more axis by rounding.
    return int(np.count_nonzero(shares < energy - 1e-12)) + 1


def ledoit_wolf(centred: FloatArray, variances: FloatArray) -> float:
    """Shrinkage of a covariance towards a scaled identity, from the data alone.

    The estimate of Ledoit and Wolf ("A well-conditioned estimator for
    large-dimensional covariance matrices", 2004) that minimises the expected
    squared error: the variance of the entries of the covariance over its squared
    distance from the scaled identity, at most 1.

    Parameters
    ----------
    centred : ndarray of shape (n, d)
        The vectors.
    variances : ndarray
        Their non-zero principal variances.

    Returns
    -------
    shrinkage : float
        Weight of the identity, in [0, 1].
    """
    n, d = centred.shape
    squares = np.sum(variances**2)  # squared norm of the covariance
    distance = squares - np.sum(variances) ** 2 / d
    noise = (np.sum(np.sum(centred**2, axis=1) ** 2) / n - squares) / n
    if distance <= 0.0:  # a multiple of the identity already
        return 0.0
    return float(np.clip(noise / distance, 0.0, 1.0))


def check_shrinkage(owner: str, value: object) -> Shrinkage:
    """Return `value` if it is "auto" or a number in [0, 1]."""
    if value == "auto" and isinstance(value, str):
        return "auto"
    if not is_real(value) or not 0.0 <= float(value) <= 1.0:  # type: ignore[arg-type]
        raise InvalidParameterError(
            f"{owner}: shrinkage must be a number in [0, 1] or 'auto', got {value!r}"
        )
    return float(value)  # type: ignore[arg-type]


def resolve_shrinkage(
    shrinkage: Shrinkage, centred: FloatArray, variances: FloatArray
) -> float:
    """Return the number that `shrinkage` stands for on these vectors."""
    if isinstance(shrinkage, str):
        return ledoit_wolf(centred, variances)
    return float(shrinkage)


def check_varied(owner: str, rows: FloatArray, rank: int) -> None:
    """Refuse rows that are all alike: they have no axes."""
    if rank == 0:
        raise InvalidParameterError(
            f"{owner}: X must hold vectors that differ, got {len(rows)} equal "
            f"sample(s) (n_samples={len(rows)})"
        )
