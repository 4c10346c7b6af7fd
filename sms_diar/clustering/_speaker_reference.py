"""kNN mean shift of speaker embeddings as the paper writes it, in plain NumPy.

The state of a point is its length-normalised embedding x; phi, and with it the
scores, are recomputed from the state. A point moves to the plain mean of the
states of the k points whose scores with it are highest, itself among them. Ties
go to the lower index. Slow, short, and the definition.
"""

from __future__ import annotations

import numpy as np

from sms_diar.scoring.backend import BackEnd
from sms_diar.types import FloatArray, IntArray


def nearest(
    i: int, states: FloatArray, backend: BackEnd, k: int, threshold: float = -np.inf
) -> IntArray:
    """The k best partners of point i, itself included, in the order of the rows.

    Partners that score below the threshold are left out, but never i itself.
    """
    scores = backend.features(states).row(i)
    scores[i] = np.inf
    best = np.argsort(-scores, kind="stable")[:k]
    return np.sort(best[scores[best] >= threshold])


def stochastic(
    states: FloatArray,
    backend: BackEnd,
    draws: IntArray,
    ks: IntArray,
    thresholds: FloatArray,
    tol: float,
    n_at_rest: int,
) -> tuple[FloatArray, int]:
    """SMS: the drawn point moves within the current state."""
    states = states.copy()
    last_move = np.full(len(states), np.inf)
    for step, i in enumerate(draws):
        near = nearest(i, states, backend, int(ks[step]), float(thresholds[step]))
        target = states[near].mean(axis=0)
        last_move[i] = np.linalg.norm(target - states[i])
        states[i] = target
        if np.count_nonzero(last_move < tol) >= n_at_rest:
            return states, step + 1
    return states, len(draws)


def blurring(
    states: FloatArray, backend: BackEnd, k: int, tol: float, max_iter: int
) -> FloatArray:
    """BMS: all points move together."""
    for _ in range(max_iter):
        moved = np.array(
            [
                states[nearest(i, states, backend, k)].mean(axis=0)
                for i in range(len(states))
            ]
        )
        longest = np.max(np.linalg.norm(moved - states, axis=1))
        states = moved
        if longest < tol:
            break
    return states


def mean_shift(
    states: FloatArray, backend: BackEnd, k: int, tol: float, max_iter: int
) -> FloatArray:
    """MS: every point climbs on its own; the points it sees stay in place.

    The climbing point is no longer one of them, so nothing is included by force.
    """
    fixed = backend.features(states)
    climbing = states.copy()
    for i in range(len(states)):
        for _ in range(max_iter):
            here = backend.features(climbing[i : i + 1])
            scores = fixed.matrix(here)[:, 0]
            near = np.sort(np.argsort(-scores, kind="stable")[:k])
            target = states[near].mean(axis=0)
            length = np.linalg.norm(target - climbing[i])
            climbing[i] = target
            if length < tol:
                break
    return climbing
