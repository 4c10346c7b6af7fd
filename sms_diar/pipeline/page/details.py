"""What is kept of the windows of a recording, to look at later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.preprocessing import scale_rows
from sms_diar.report.page_data import WindowMap
from sms_diar.types import FloatArray, Segment

MOST_WINDOWS = 2000
"""Windows whose vectors are kept: evenly spaced ones of longer recordings."""

_DIMENSIONS = 24


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """Windows of a recording, their clusters and a sketch of their vectors.

    Parameters
    ----------
    windows : tuple of Segment
        All of them, in order of time.
    labels : tuple of str
        Cluster of each; turns may carry other names.
    confidence : tuple of float, optional
        Probability that each label is right, where the method tells.
    drawn : ndarray of shape (m,)
        Places of the windows whose vectors are kept, at most `MOST_WINDOWS`.
    sketch : ndarray of shape (m, q)
        Their directions along the principal axes of all: enough for a picture, not
        for clustering.
    share : float
        Share of the variance that lies in the first two axes.
    """

    windows: tuple[Segment, ...]
    labels: tuple[str, ...]
    confidence: tuple[float, ...] | None
    drawn: npt.NDArray[np.int64]
    sketch: npt.NDArray[np.float32]
    share: float


def window_details(
    windows: Mapping[str, Segment],
    vectors: FloatArray,
    labels: Mapping[str, str],
    confidence: Mapping[str, float] | None,
) -> WindowDetails:
    """Keep what pictures need of the windows, by their ids; `vectors` in order."""
    drawn = evenly(len(windows), MOST_WINDOWS)
    rows = scale_rows(vectors)[drawn]
    rows = rows - rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    # Signs are those of no library: the largest part of an axis is positive.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    variance = sizes**2
    whole = float(variance.sum())
    return WindowDetails(
        tuple(windows.values()),
        tuple(labels[key] for key in windows),
        None if confidence is None else tuple(confidence[key] for key in windows),
        drawn,
        (rows @ axes[:_DIMENSIONS].T).astype(np.float32),
        float(variance[:2].sum()) / whole if whole else 1.0,
    )


def evenly(n: int, most: int) -> npt.NDArray[np.int64]:
    """Places of at most `most` of `n` things, evenly spaced."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).round().astype(np.int64)


def selected(values: Sequence[float], places: npt.NDArray[np.int64]) -> FloatArray:
    """Values at these places."""
    return np.asarray(values, dtype=np.float64)[places]


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
