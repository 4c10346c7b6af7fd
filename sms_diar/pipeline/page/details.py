"""Windows of a recording for the page: a sketch of their vectors and a map.

The map shows the first two principal axes of the vectors. Its paths come from a short
stochastic mean shift that is run only for this figure: in each round every window moves
once, to the mean of its nearest neighbours. Clustering itself uses another method, with
many more moves than a figure can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.preprocessing import scale_rows
from sms_diar.report.html_page import WindowMap
from sms_diar.types import FloatArray, Segment

MOST_WINDOWS = 2000
"""Maximum number of windows with vectors; they are evenly spaced."""

_DIMENSIONS = 24


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """Windows of a recording, their clusters and a projection of their vectors.

    Parameters
    ----------
    windows : tuple of Segment
        All windows in order of time.
    labels : tuple of str
        Cluster of each window; turns may have other names.
    confidence : tuple of float, optional
        Probability that each label is right, if the method estimates it.
    drawn : ndarray of shape (m,)
        Indices of the windows with vectors, at most `MOST_WINDOWS`.
    sketch : ndarray of shape (m, q)
        Projections of the vectors on the principal axes, for figures only.
    share : float
        Share of the variance in the first two axes.
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
    """Compute the details of windows by id; `vectors` has shape (n_windows, d)."""
    drawn = evenly(len(windows), MOST_WINDOWS)
    rows = scale_rows(vectors)[drawn]
    rows = rows - rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    # Fix the signs: the largest component of each axis is positive.
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
    """Return at most `most` evenly spaced indices below `n`."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).round().astype(np.int64)


def selected(values: Sequence[float], indices: npt.NDArray[np.int64]) -> FloatArray:
    """Return the values at these indices."""
    return np.asarray(values, dtype=np.float64)[indices]


_ROUNDS = 6  # approximate number of moves of each window
_NEAREST = 17  # number of neighbours in the paper
_LEAST = 3  # minimum number of windows


def window_map(details: WindowDetails, seed: int = 0) -> WindowMap | None:
    """Make the map of windows, or None if there are fewer than three.

    Parameters
    ----------
    details : WindowDetails
        Windows of a recording.
    seed : int, default=0
        Random seed.
    """
    rows = details.sketch.astype(np.float64)
    if len(rows) < _LEAST or rows.shape[1] < 2:
        return None
    confidence = details.confidence
    return WindowMap(
        tuple(details.windows[index] for index in details.drawn),
        paths_to_rest(rows, seed)[:, :, :2],
        None if confidence is None else selected(confidence, details.drawn),
        len(details.windows),
        details.share,
    )


def paths_to_rest(rows: FloatArray, seed: int = 0) -> FloatArray:
    """Return the positions of each row during a stochastic mean shift.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Initial positions.
    seed : int, default=0
        Random seed.

    Returns
    -------
    paths : ndarray of shape (n, rounds + 1, d)
        Initial positions, and positions after each round. In each round every row
        moves once, in random order.
    """
    rng = np.random.default_rng(seed)
    n = len(rows)
    k = min(_NEAREST, max(2, n // 6))
    state = rows.copy()
    squares = np.einsum("ij,ij->i", state, state)
    moments = [state.copy()]
    for _ in range(_ROUNDS):
        for i in rng.permutation(n):
            distances = squares - 2.0 * (state @ state[i])  # up to a constant
            nearest = np.argpartition(distances, k - 1)[:k]
            state[i] = state[nearest].mean(axis=0)
            squares[i] = state[i] @ state[i]
        moments.append(state.copy())
    return np.stack(moments, axis=1)
