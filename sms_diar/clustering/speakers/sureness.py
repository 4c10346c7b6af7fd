"""How sure the way with a PLDA model may be, after it was seen to be too sure.

Responsibilities, and joint probabilities of numbers of speakers, trust the model, which
is not true. Of 80 development sessions (simulated, `arabic8k`, `libri-testother10-8k`,
disturbed speech; 1 to 30 speakers) they said .88 of numbers of which .51 were right,
and .98 of labels of which .86 were. Logistic regressions of their log odds say what
such a claim is worth; they are two straight lines.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit, logit

from sms_diar.types import FloatArray

LABELS = (-0.590, 0.329)
"""Constant and slope, of the log odds of a label."""

NUMBER = (-1.265, 0.273)
"""The same of the number of speakers."""

_LEAST, _MOST = 1e-3, 0.9999  # beyond which claims were not told apart


def tempered_labels(claimed: FloatArray) -> FloatArray:
    """Probability that labels are right, from their responsibilities."""
    constant, slope = LABELS
    odds = logit(np.clip(claimed, _LEAST, _MOST))
    tempered: FloatArray = expit(constant + slope * odds)
    return tempered


def tempered_count(
    claimed: Mapping[int, float], found: int, low: int, high: int
) -> dict[int, float]:
    """Probability of numbers of speakers.

    Parameters
    ----------
    claimed : mapping from int to float
        What the model says of the number found, and of lower ones.
    found : int
        The number found.
    low, high : int
        Bounds.

    Returns
    -------
    posterior : dict
        The number found first. Half of the doubt is for one speaker more, about which
        the model was not asked; the other half for lower numbers, shared as the model
        would share it if it were as little sure. Where bounds forbid one side, the
        other has all of it.
    """
    constant, slope = NUMBER
    sure = float(
        expit(constant + slope * logit(np.clip(claimed[found], _LEAST, _MOST)))
    )
    fewer = {n: p**slope for n, p in claimed.items() if low <= n < found and p > 0.0}
    more = found + 1 if found < high else None
    if more is None and not fewer:
        return {found: 1.0}
    below = 0.0 if not fewer else (1.0 - sure) * (1.0 if more is None else 0.5)
    total = sum(fewer.values())
    posterior = {found: sure}
    posterior |= {n: below * weight / total for n, weight in fewer.items()}
    if more is not None:
        posterior[more] = 1.0 - sure - below
    return posterior
