"""kNN stochastic mean shift as one would write it in NumPy: the yardstick.

One step is a matrix-vector product, a partial sort, a mean and the back end on
one row; scoring vectors are kept and only the vector of the moved point is updated.
The draws equal ``SpeakerStochasticMeanShift`` with the same seed, so that
labels can be compared one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sms_diar._random import as_generator
from sms_diar.scoring.backend import BackEnd
from sms_diar.types import FloatArray, RandomState


class Rest(NamedTuple):
    """Final states and number of single moves."""

    states: FloatArray
    n_steps: int


def plain_numpy_loop(
    states: FloatArray,
    backend: BackEnd,
    k: int,
    tol: float,
    seed: RandomState,
    *,
    rest_share: float = 1.0,
    max_steps: int | None = None,
) -> Rest:
    """Move one drawn state at a time until all rest.

    Parameters
    ----------
    states : ndarray of shape (n, d)
        Result of ``backend.prepare``; not modified.
    backend : BackEnd
        Back end that computes scores.
    k : int
        Neighbours, the point itself among them.
    tol : float
        Rest: a last move shorter than this.
    seed : int, Generator, RandomState or None
        Source of the draws.
    rest_share : float, default=1.0
        The run ends when this share of the points rests.
    max_steps : int or None, default=None
        Maximum number of moves; None means 200 per point.
    """
    states = states.copy()
    n = len(states)
    k = min(k, n)
    terms = backend.features(states)
    U, bias = terms.U.copy(), terms.bias.copy()
    rng = as_generator(seed)
    at_rest = np.zeros(n, dtype=bool)
    n_at_rest, n_resting = math.ceil(rest_share * n), 0
    limit = max_steps or 200 * n
    step = 0
    while step < limit:
        # Numbers drawn in portions are those drawn one by one, and cheaper.
        for i in rng.integers(n, size=min(1024, limit - step)):
            scores = U @ U[i]
            scores += bias
            scores[i] = np.inf
            near = np.argpartition(scores, n - k)[n - k :]
            target = states[near].mean(axis=0)
            move = target - states[i]
            states[i] = target
            moved = backend.features(target[None])
            U[i], bias[i] = moved.U[0], moved.bias[0]
            rests = math.sqrt(move @ move) < tol
            n_resting += int(rests) - int(at_rest[i])
            at_rest[i] = rests
            step += 1
            if n_resting >= n_at_rest:
                return Rest(states, step)
    return Rest(states, step)
