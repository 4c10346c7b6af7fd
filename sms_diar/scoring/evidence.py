"""Evidence of a partition: marginal likelihood of vectors, given clusters.

Under two-covariance PLDA the speaker variables can be integrated out in closed form. In
the space where the model is diagonal (identity within speakers, ``psi`` between), the
log density of n vectors of one speaker with sum s is, for each dimension, the log
density of n independent standard normal draws plus ::

    psi s**2 / (2 (1 + n psi)) - log(1 + n psi) / 2

The first part does not depend on the partition, so the sum of the second part over all
clusters compares partitions. With a weight w < 1, each vector counts as a fraction of
an observation: n becomes w n and s becomes w s, which corresponds to the likelihood
raised to the power w.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_share
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring._arrays import as_rows
from sms_diar.types import FloatArray, IntArray


def group_sums(U: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the sizes (k,) and the vector sums (k, d) of clusters 0, 1, ..., k - 1."""
    n_groups = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=n_groups).astype(np.float64)
    sums = np.zeros((n_groups, U.shape[1]))
    np.add.at(sums, labels, U)
    return sizes, sums


def group_evidence(
    sizes: FloatArray, sums: FloatArray, psi: FloatArray, *, weight: float = 1.0
) -> FloatArray:
    """Return the evidence of clusters, given sizes (...) and vector sums (..., d).

    Sizes may be fractional, and empty clusters have an evidence of zero. Each vector
    counts as `weight` observations.
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
    """Return the evidence of a partition relative to standard normal draws.

    `U` of shape (n, d) are vectors in the space where the model is diagonal, and
    `labels` are any names. Each vector counts as `weight` observations, in (0, 1].
    Differences between partitions of the same vectors are log Bayes factors.

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
            f"must be non-negative numbers, got {psi!r}", owner=owner, parameter="psi"
        )
    rows = as_rows(owner, "U", U, len(variances))
    names = np.asarray(labels)
    if names.shape != (len(rows),) or not len(rows):
        raise InvalidParameterError(
            f"must be one for each of the {len(rows)} vectors (at least one), got "
            f"shape {names.shape}",
            owner=owner,
            parameter="labels",
        )
    check_share(owner, "weight", weight)
    groups = np.unique(names, return_inverse=True)[1]
    sizes, sums = group_sums(rows, groups)
    return float(np.sum(group_evidence(sizes, sums, variances, weight=weight)))
