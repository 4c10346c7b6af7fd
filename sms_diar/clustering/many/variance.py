"""How much a speaker varies, from nearest neighbours, without being fooled by them.

Nearest neighbours are nearest because chance made them so: their differences are
smaller than those of other segments of the speaker. But where the model is diagonal,
noise in one half of the dimensions says nothing about noise in the other. So neighbours
are looked for in one half and their differences measured in the other, and the other
way round. Some of the neighbours are strangers; the median over rows does not mind.
"""

from __future__ import annotations

import numpy as np

from sms_diar.clustering.many.nearest import Rows, exact_neighbours

_ASKED = 1000  # rows whose nearest neighbours are looked for


def variance_within(rows: Rows) -> float:
    """Variance within speakers along a dimension, where the model has 1.

    Parameters
    ----------
    rows : Rows
        The rows, in the space where the model is diagonal; of two dimensions at least.

    Returns
    -------
    variance : float
        1 where the model is right.
    """
    n, d = rows.vectors.shape
    asked = np.unique(np.linspace(0, n - 1, min(n, _ASKED)).astype(np.int64))
    found = []
    for first in (0, 1):
        here, there = slice(first, d, 2), slice(1 - first, d, 2)
        half = Rows(np.ascontiguousarray(rows.vectors[:, here]), rows.psi[here])
        near = exact_neighbours(half, asked, 1)[:, 0]
        gaps = rows.vectors[asked, there].astype(np.float64)
        gaps -= rows.vectors[near, there]
        found.append(float(np.median(np.mean(gaps**2, axis=1))) / 2.0)
    return sum(found) / 2.0
