"""A PLDA model of groups that are known: what labels say about a session."""

from __future__ import annotations

import numpy as np

from sms_diar.scoring.evidence import group_sums
from sms_diar.types import FloatArray, IntArray, PldaModel


def model_of_groups(rows: FloatArray, labels: IntArray) -> PldaModel:
    """Model with one variance within groups and one between them, in all directions.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        Vectors.
    labels : ndarray of shape (n,)
        Groups 0, 1, ...

    Returns
    -------
    model : PldaModel
        Of these vectors. A single group, or groups of equal rows, leave a variance
        open; it is then taken to be that of the rest.
    """
    n, q = rows.shape
    sizes, sums = group_sums(rows, labels)
    means = sums / sizes[:, None]
    mean = rows.mean(axis=0)
    within = float(np.sum((rows - means[labels]) ** 2)) / (max(n - len(sizes), 1) * q)
    around = float(np.sum(sizes[:, None] * (means - mean) ** 2)) / (n * q)
    within = max(within, 1e-6 * around, 1e-12)
    psi = max(around / within, 1.0) if len(sizes) > 1 else 1.0
    return PldaModel(mean, np.eye(q) / np.sqrt(within), np.full(q, psi))
