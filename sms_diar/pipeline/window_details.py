"""What is kept of the windows of a recording, to look at later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.preprocessing import scale_rows
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
