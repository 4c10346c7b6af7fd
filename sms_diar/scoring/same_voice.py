"""Are two voice prints of different recordings one person? A likelihood ratio.

A print is the mean of the vectors of one speaker's windows. Two prints are compared by
their cosine, either of the vectors themselves, or in the space in which the PLDA model
of the back end scores: centred, and each direction weighed by how well it tells
speakers apart. The likelihood ratio of the model itself ranks pairs about as well, but
its scale differs from corpus to corpus (LINKING.md has the figures).

What a score is worth follows from pairs of development speakers: a logistic regression
of the score and of the seconds that the shorter and the longer print rest upon, with as
much weight on pairs of one person as on pairs of two. Its outcome is a log-likelihood
ratio; a prior has to be added to make a probability of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.types import BoolArray, FloatArray

DISCRIMINANT, COSINE = "discriminant", "cosine"

SHORTEST, LONGEST = 1.0, 30.0
"""Seconds that were seen in development; others count as the nearest of these."""


class Calibration(NamedTuple):
    """Weights of the logistic regression.

    Parameters
    ----------
    form : {"discriminant", "cosine"}
        Whether cosines are those of the space of the PLDA model, or of the vectors.
    score, shorter, longer, constant : float
        Weights of the score and of the logarithms of the seconds, and what is added.
    """

    form: str
    score: float
    shorter: float
    longer: float
    constant: float


CAMPPLUS = Calibration(DISCRIMINANT, 18.738, -1.956, -0.816, -3.512)
"""The network `campplus` with the back end that ships."""

NETWORK = Calibration(COSINE, 17.322, -1.782, -0.702, -4.025)
"""The same network without a back end: stands in for other networks."""

IVECTORS = Calibration(COSINE, 9.393, -0.704, -0.319, -0.433)
"""The embedded i-vector model: stands in for other models of i-vectors."""


@dataclass(frozen=True, eq=False)
class VoiceComparison:
    """Compares voice prints of one model.

    Parameters
    ----------
    calibration : Calibration
        What scores are worth.
    backend : BackEnd, optional
        Has the space, where the calibration wants one.
    note : str
        What a user should know: that the calibration is borrowed, say.
    """

    calibration: Calibration
    backend: BackEnd | None = None
    note: str = ""

    def scores(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Scores of prints.

        Parameters
        ----------
        A, B : ndarray of shape (n, d) and (m, d)
            Means of states, see `BackEnd.prepare`.

        Returns
        -------
        scores : ndarray of shape (n, m)
        """
        a, b = A, B
        if self.calibration.form == DISCRIMINANT and self.backend is not None:
            a, b = (self.backend.features(rows).U for rows in (A, B))
        cosines: FloatArray = scale_rows(a) @ scale_rows(b).T
        return cosines

    def log_ratios(
        self, scores: FloatArray, a_seconds: FloatArray, b_seconds: FloatArray
    ) -> FloatArray:
        """Log-likelihood ratios: above 0 speaks for one person.

        Parameters
        ----------
        scores : ndarray of shape (n, m)
            What `scores` gave.
        a_seconds, b_seconds : ndarray of shape (n,) and (m,)
            What the prints rest upon.
        """
        a, b = (
            np.log(np.clip(seconds, SHORTEST, LONGEST))
            for seconds in (a_seconds[:, None], b_seconds)
        )
        weights = self.calibration
        ratios: FloatArray = (
            weights.score * scores
            + weights.shorter * np.minimum(a, b)
            + weights.longer * np.maximum(a, b)
            + weights.constant
        )
        return ratios


def open_set_posteriors(
    ratios: FloatArray, free: BoolArray | None = None, *, prior: float = 0.5
) -> FloatArray:
    """Probability that a voice is each of several known ones, or none of them.

    Parameters
    ----------
    ratios : ndarray of shape (n_names,)
        Log-likelihood ratios of the voice and each known one.
    free : ndarray of shape (n_names,), optional
        Which of them may be it; all by default. Others have probability 0.
    prior : float, default=0.5
        Probability, before the voice was heard, that it is a known one at all; any
        of them alike.

    Returns
    -------
    posteriors : ndarray of shape (n_names,)
        Their sum is below 1; the rest is for somebody unknown.

    Examples
    --------
    Two known voices have a prior of 1/4 each: (9/4) / (9/4 + 1/4 + 1/2) = 3/4.

    >>> open_set_posteriors(np.log([9.0, 1.0])).round(4).tolist()
    [0.75, 0.0833]
    """
    n = len(ratios)
    if not n:
        return np.zeros(0)
    allowed = np.ones(n, dtype=np.bool_) if free is None else free
    odds = np.where(allowed, ratios + np.log(prior / n / (1.0 - prior)), -np.inf)
    top = max(0.0, float(odds.max()))
    known = np.exp(odds - top)
    posteriors: FloatArray = known / (np.exp(-top) + known.sum())
    return posteriors
