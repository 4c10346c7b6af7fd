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
