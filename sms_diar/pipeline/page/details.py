"""Windows of a recording for the page: a sketch of their vectors and a map.

The map shows the first two principal axes of the vectors. Its paths come from a short
stochastic mean shift that is run only for this figure: in each round every window moves
once, to the mean of its nearest neighbours. Clustering itself uses another method, with
many more moves than a figure can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.report.page_data import WindowMap
from sms_diar.types import FloatArray, IntArray, Segment

MOST_WINDOWS = 2000
"""Maximum number of windows with vectors; they are evenly spaced."""

_DIMENSIONS = 24


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """Windows of a recording, their clusters and a projection of their vectors.

    Clusters are numbers; turns may have more or fewer speakers. `confidence` is the
    probability that each cluster is right, if the method estimates it. `drawn` has the
    indices of the windows with vectors, shape (m,), at most `MOST_WINDOWS`; `sketch`
    their projections on the principal axes, shape (m, q), for figures only; and `share`
    the share of the variance in the first two axes.
    """

    windows: tuple[Segment, ...]
    labels: tuple[int, ...]
    confidence: tuple[float, ...] | None
    drawn: npt.NDArray[np.int64]
    sketch: npt.NDArray[np.float32]
    share: float


def window_details(
    windows: Sequence[Segment],
    vectors: FloatArray,
    labels: IntArray,
    confidence: FloatArray | None,
) -> WindowDetails:
    """Compute the details; `vectors` have unit length and shape (n_windows, d)."""
    drawn = evenly(len(windows), MOST_WINDOWS)
    rows = vectors[drawn] - vectors[drawn].mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows, full_matrices=False)
    # Fix the signs: the largest component of each axis is positive.
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    variance = sizes**2
    whole = float(variance.sum())
    return WindowDetails(
        tuple(windows),
        tuple(labels.tolist()),
        None if confidence is None else tuple(confidence.tolist()),
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
    """Make the map of windows, or None if there are fewer than three."""
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

    The result has shape (n, rounds + 1, d): initial positions, and positions after each
    round, in which every row moves once, in random order.
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
