"""Likelihood ratio that two voice prints of different recordings are one speaker.

A print is the mean of the vectors of the windows of a speaker. The score of two prints
is their cosine, either of the vectors themselves or in the score space of the PLDA
model of the back end, which is centred and weights directions by how well they separate
speakers. The likelihood ratio of the model ranks pairs about as well, but its scale
differs between corpora (LINKING.md has the figures).

Scores are calibrated by a logistic regression on pairs of development speakers. It uses
the score and the log durations of the shorter and the longer print, and equal total
weights for pairs of one and of two speakers. Its output is a log-likelihood ratio,
which needs a prior to become a probability.
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
"""Range of durations in development, in seconds; others are clipped to it."""


class Calibration(NamedTuple):
    """Weights of the score, of the log durations, and the constant of the regression.

    With the form "discriminant", cosines are computed in the space of the PLDA model.
    """

    form: str
    score: float
    shorter: float
    longer: float
    constant: float


CAMPPLUS = Calibration(DISCRIMINANT, 18.738, -1.956, -0.816, -3.512)
"""The network `campplus` with the back end of this package."""

NETWORK = Calibration(COSINE, 17.322, -1.782, -0.702, -4.025)
"""The same network without a back end; also used for other networks."""

IVECTORS = Calibration(COSINE, 9.393, -0.704, -0.319, -0.433)
"""The embedded i-vector model; also used for other i-vector models."""


@dataclass(frozen=True, eq=False)
class VoiceComparison:
    """Comparison of voice prints of one model.

    `backend` provides the space if the calibration needs one. `note` is a message to
    users, for example that the calibration belongs to another model.
    """

    calibration: Calibration
    backend: BackEnd | None = None
    note: str = ""

    def scores(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Score all pairs of prints (n, d) and (m, d), means of `BackEnd.prepare`."""
        a, b = A, B
        if self.calibration.form == DISCRIMINANT and self.backend is not None:
            a, b = (self.backend.features(rows).U for rows in (A, B))
        cosines: FloatArray = scale_rows(a) @ scale_rows(b).T
        return cosines

    def log_ratios(
        self, scores: FloatArray, a_seconds: FloatArray, b_seconds: FloatArray
    ) -> FloatArray:
        """Convert scores (n, m) to log-likelihood ratios of the same speaker.

        `a_seconds` and `b_seconds` are the durations of speech of the prints.
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
    """Return the probabilities that a voice is each of several known ones.

    `ratios` are its log-likelihood ratios with the known voices. Those that are not
    `free` have probability 0. `prior` is the probability that the voice is known at
    all, shared equally. The sum is below 1; the rest is the probability of an unknown
    voice.

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
