"""Reference implementation of kNN mean shift of speaker embeddings in plain NumPy.

The state of a point is its length-normalised embedding x; phi and the scores are
recomputed from the state. A point moves to the mean of the states of the k points
with the highest scores, including itself. Ties go to the lower index.

A gate, which is not in the paper, removes neighbours whose score is below a share of
the score of the point with itself, but never the `least` best. Only SMS has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sms_diar.scoring.backend import BackEnd
from sms_diar.types import BoolArray, FloatArray, IntArray


class Gate(NamedTuple):
    """Keep partners that score `share` of the self-score, and the `least` best."""

    share: float
    least: int

    def choose(self, ranked: FloatArray, own: float) -> BoolArray:
        """Mask of the scores that pass; scores are in descending order."""
        passed = ranked >= self.share * own
        passed[: self.least] = True
        return passed


def nearest(
    i: int, states: FloatArray, backend: BackEnd, k: int, gate: Gate | None = None
) -> IntArray:
    """Find the k best partners of point i, including itself, in the order of rows."""
    scores = backend.features(states).row(i)
    own = float(scores[i])
    scores[i] = np.inf
    best = np.argsort(-scores, kind="stable")[:k]
    if gate is not None:
        best = best[gate.choose(scores[best], own)]
    return np.sort(best)


def stochastic(
    states: FloatArray,
    backend: BackEnd,
    draws: IntArray,
    ks: IntArray,
    tol: float,
    n_at_rest: int,
    gate: Gate | None = None,
) -> tuple[FloatArray, int]:
    """SMS: the drawn point moves within the current state."""
    states = states.copy()
    last_move = np.full(len(states), np.inf)
    for step, i in enumerate(draws):
        near = nearest(i, states, backend, int(ks[step]), gate)
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
        near = [nearest(i, states, backend, k) for i in range(len(states))]
        moved = np.array([states[rows].mean(axis=0) for rows in near])
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
            scores = fixed.matrix(backend.features(climbing[i : i + 1]))[:, 0]
            near = np.argsort(-scores, kind="stable")[:k]
            target = states[np.sort(near)].mean(axis=0)
            length = np.linalg.norm(target - climbing[i])
            climbing[i] = target
            if length < tol:
                break
    return climbing
