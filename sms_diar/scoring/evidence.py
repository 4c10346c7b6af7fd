"""Evidence of a partition: how likely vectors are if these groups are speakers.

Under two-covariance PLDA the speakers can be integrated out in closed form. In the
space where the model is diagonal (identity within speakers, ``psi`` between), n
vectors of one speaker with sum s have, dimension by dimension, the log density of
n independent draws around zero plus ::

    psi s**2 / (2 (1 + n psi)) - log(1 + n psi) / 2

The first part does not depend on who speaks, so the sum of the second over all
groups compares partitions. With a weight w below one each vector counts as that
share of an observation: n becomes w n and s becomes w s, which is the same formula
for the likelihood raised to the power w.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_share
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring._arrays import as_rows
from sms_diar.types import FloatArray, IntArray


def group_sums(U: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sizes, and sums of the vectors, of groups 0, 1, ..."""
    n_groups = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=n_groups).astype(np.float64)
    sums = np.zeros((n_groups, U.shape[1]))
    np.add.at(sums, labels, U)
    return sizes, sums


def group_evidence(
    sizes: FloatArray, sums: FloatArray, psi: FloatArray, *, weight: float = 1.0
) -> FloatArray:
    """Evidence of each group.

    Parameters
    ----------
    sizes : ndarray of shape (...)
        Vectors in each group; fractions are welcome.
    sums : ndarray of shape (..., d)
        Their sums.
    psi : ndarray of shape (d,)
        Variances between speakers; those within are 1.
    weight : float, default=1.0
        Share of an observation that each vector counts as.

    Returns
    -------
    evidence : ndarray of shape (...)
        Zero for an empty group.
    """
    joint = weight * np.asarray(sizes)[..., None] * psi
    quadratic = psi * (weight * sums) ** 2 / (1.0 + joint)
    evidence: FloatArray = 0.5 * np.sum(quadratic - np.log1p(joint), axis=-1)
    return evidence


def partition_evidence(
    U: npt.ArrayLike,
    labels: npt.ArrayLike,
    psi: npt.ArrayLike,
    *,
    weight: float = 1.0,
) -> float:
    """Evidence of a partition, against vectors that belong to no speaker.

    Parameters
    ----------
    U : array-like of shape (n, d)
        Vectors in the space where the model is diagonal.
    labels : array-like of shape (n,)
        Group of each, under any names.
    psi : array-like of shape (d,)
        Variances between speakers, not negative.
    weight : float, default=1.0
        Share, in (0, 1], of an observation that each vector counts as.

    Returns
    -------
    evidence : float
        Log of the marginal likelihood, minus that of independent standard normal
        draws. Differences between partitions of the same vectors are log Bayes
        factors.

    Examples
    --------
    >>> U = np.array([[2.0], [2.0], [-2.0], [-2.0]])
    >>> together = partition_evidence(U, [0, 0, 0, 0], [1.0])
    >>> apart = partition_evidence(U, ["a", "a", "b", "b"], [1.0])
    >>> round(apart - together, 3)  # 16/3 - log(3) + log(5) / 2
    5.039
    """
    owner = "partition_evidence"
    variances: FloatArray = np.asarray(psi, dtype=np.float64)
    if variances.ndim != 1 or not (variances >= 0.0).all():
        raise InvalidParameterError(
            f"{owner}: psi must be numbers that are not negative, got {psi!r}"
        )
    rows = as_rows(owner, "U", U, len(variances))
    names = np.asarray(labels)
    if names.shape != (len(rows),) or not len(rows):
        raise InvalidParameterError(
            f"{owner}: labels must be one for each of the {len(rows)} vectors (at "
            f"least one), got shape {names.shape}"
        )
    check_share(owner, "weight", weight)
    groups = np.unique(names, return_inverse=True)[1]
    sizes, sums = group_sums(rows, groups)
    return float(np.sum(group_evidence(sizes, sums, variances, weight=weight)))
