"""A plane in which the windows of a recording can be looked at, on their way to rest.

The axes are the first two principal ones of the windows' directions. The ways are those
of a short stochastic mean shift, one drawn window at a time moving to the mean of its
nearest ones where they now are, run for the picture alone: what clustered the recording
is the method of the recording, which moves points many more times than can be drawn.
"""

from __future__ import annotations

import numpy as np

from sms_diar.pipeline.window_details import WindowDetails, selected
from sms_diar.report.page_data import WindowMap
from sms_diar.types import FloatArray

_ROUNDS = 6  # moves of each window, about
_NEAREST = 17  # the paper's number of neighbours
_LEAST = 3  # windows that make a picture


def window_map(details: WindowDetails, seed: int = 0) -> WindowMap | None:
    """Make the picture; None of fewer than three windows.

    Parameters
    ----------
    details : WindowDetails
        What was kept of a recording.
    seed : int, default=0
        Of the draws.
    """
    rows = details.sketch.astype(np.float64)
    if len(rows) < _LEAST or rows.shape[1] < 2:
        return None
    sure = details.confidence
    return WindowMap(
        tuple(details.windows[place] for place in details.drawn),
        paths_to_rest(rows, seed)[:, :, :2],
        None if sure is None else selected(sure, details.drawn),
        len(details.windows),
        details.share,
    )


def paths_to_rest(rows: FloatArray, seed: int = 0) -> FloatArray:
    """Where each row was at first and after each round of a stochastic mean shift.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Points.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    paths : ndarray of shape (n, rounds + 1, d)
        In a round every row is drawn once, in an order of its own.
    """
    rng = np.random.default_rng(seed)
    n = len(rows)
    k = min(_NEAREST, max(2, n // 6))
    state = rows.copy()
    squares = np.einsum("ij,ij->i", state, state)
    moments = [state.copy()]
    for _ in range(_ROUNDS):
        for one in rng.permutation(n):
            far = squares - 2.0 * (state @ state[one])
            nearest = np.argpartition(far, k - 1)[:k]
            state[one] = state[nearest].mean(axis=0)
            squares[one] = state[one] @ state[one]
        moments.append(state.copy())
    return np.stack(moments, axis=1)
