"""Pure fragments of very many rows, by stochastic mean shift over a neighbour graph.

One drawn row at a time moves to the mean of those of its neighbours that are probably
the same speaker, all of them as they are by now. Who is a neighbour was found out once;
whether it counts is asked anew at every move. The gate is a log-likelihood ratio: if
the model is true, a stranger reaches t with probability exp(-t) at most, so that fewer
than one of n strangers reaches log n.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sms_diar.clustering.many._kernels import gathered, shift_rows
from sms_diar.clustering.many.nearest import NearArray, Rows, SingleArray
from sms_diar.scoring.plda import pair_coefficients
from sms_diar.types import FloatArray, IntArray

TOL = 0.05
"""Share of its length below which a move is rest."""

SWEEPS = 8
"""Most draws of each row."""

_SETTLED = 0.01  # share of rows that may still move when a run ends
_TOGETHER = 0.2  # distance of resting rows of a fragment, as a share of their length
_DRAWS = 20_000  # moves between two looks at the clock


def find_fragments(
    rows: Rows,
    near: NearArray,
    *,
    rng: np.random.Generator,
    tell: Callable[[float], None] = lambda _: None,
) -> tuple[IntArray, int]:
    """Group rows that come to rest together.

    Parameters
    ----------
    rows : Rows
        The rows.
    near : ndarray of shape (n, k), int32
        Neighbours of each row.
    rng : Generator
        Source of the draws.
    tell : callable, optional
        Called with the share that is done.

    Returns
    -------
    labels : ndarray of shape (n,)
        Fragments 0, 1, ... in the order of first members.
    n_steps : int
        Draws made.
    """
    n = len(rows)
    weights = pair_coefficients(rows.psi)
    expected = 1.0 / (1.0 + rows.psi)
    states = _normalised(rows, expected)
    biases = np.concatenate(
        [
            states[first : first + _DRAWS].astype(np.float64) ** 2 @ weights.test
            for first in range(0, n, _DRAWS)
        ]
    )
    n_steps = 0
    for sweep in range(SWEEPS):
        order = rng.permutation(n)
        moved = 0
        for first in range(0, n, _DRAWS):
            moved += shift_rows(
                states,
                biases,
                near,
                order[first : first + _DRAWS],
                weights.cross,
                weights.test,
                expected,
                weights.constant,
                math.log(n),
                TOL,
            )
            tell((sweep + first / n) / SWEEPS)
        n_steps += n
        if moved <= _SETTLED * n:
            break
    parent = np.arange(n)
    for first in range(0, n, _DRAWS):
        gathered(states, near, _TOGETHER**2, first, min(first + _DRAWS, n), parent)
    labels: IntArray = np.unique(_roots(parent), return_inverse=True)[1].astype(
        np.int64
    )
    return labels, n_steps


def _normalised(rows: Rows, expected: FloatArray) -> SingleArray:
    states = rows.vectors.copy()
    d = states.shape[1]
    for first in range(0, len(states), _DRAWS):
        part = states[first : first + _DRAWS]
        energy = part.astype(np.float64) ** 2 @ expected
        energy[energy == 0.0] = d
        part *= np.sqrt(d / energy)[:, None]
    return states


def _roots(parent: IntArray) -> IntArray:
    """Roots of all trees: pointers are doubled until they no longer change."""
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return above
        parent = above
