"""Clustering across many recordings in plain NumPy, as the definition."""

from __future__ import annotations

import numpy as np

from sms_diar.scoring.evidence import group_evidence
from sms_diar.scoring.plda import pair_coefficients
from sms_diar.types import AnyArray, FloatArray, IntArray


def scores_of_all(rows: AnyArray, psi: FloatArray) -> FloatArray:
    """Log-likelihood ratios of all pairs of rows."""
    weights = pair_coefficients(psi)
    vectors = rows.astype(np.float64)
    bias = vectors**2 @ weights.test
    scores: FloatArray = (vectors * weights.cross) @ vectors.T
    scores += bias[:, None] + bias + weights.constant
    return scores


def shift(
    states: AnyArray, near: AnyArray, order: IntArray, psi: FloatArray, gate: float
) -> AnyArray:
    """Move rows by stochastic mean shift over fixed neighbours, in the given order."""
    moved = states.copy()
    d = moved.shape[1]
    for i in order:
        known = near[i][near[i] >= 0]
        scores = scores_of_all(np.vstack((moved[i : i + 1], moved[known])), psi)[0, 1:]
        passed = known[scores >= gate]
        if len(passed):
            mean = moved[i].astype(np.float64) + moved[passed].sum(
                axis=0, dtype=np.float64
            )
            moved[i] = mean * np.sqrt(d / np.sum(mean**2 / (1.0 + psi)))
    return moved


def pair_gain(
    x: FloatArray, y: FloatArray, a: float, b: float, psi: FloatArray
) -> float:
    """Gain in evidence if clusters of a and b rows, given by their means, merge."""
    together = group_evidence(np.array(a + b), a * x + b * y, psi)
    alone = group_evidence(np.array(a), a * x, psi)
    return float(together - alone - group_evidence(np.array(b), b * y, psi))
