"""Windows of a recording for the page: a map of their vectors in a plane.

The axes are the first two principal axes of the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.report.html_page import WindowMap
from sms_diar.types import FloatArray, IntArray, Segment

MOST_WINDOWS = 2000
"""Maximum number of windows with vectors; they are evenly spaced."""

_LEAST = 3
"""Minimum number of windows of a map."""


@dataclass(frozen=True, eq=False)
class WindowDetails:
    """Windows of a recording, their clusters and a projection of their vectors.

    Clusters are numbers; turns may have more or fewer speakers. `confidence` is the
    probability that each cluster is right, if the method estimates it. `drawn` has the
    indices of the windows with vectors, shape (m,), at most `MOST_WINDOWS`; `points`
    their projections on the first two principal axes, shape (m, 2), for figures only;
    and `share` the share of the variance in these axes.
    """

    windows: tuple[Segment, ...]
    labels: tuple[int, ...]
    confidence: tuple[float, ...] | None
    drawn: npt.NDArray[np.int64]
    points: npt.NDArray[np.float32]
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
        (rows @ axes[:2].T).astype(np.float32),
        float(variance[:2].sum()) / whole if whole else 1.0,
    )


def evenly(n: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most `most` evenly spaced indices below `n`."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).round().astype(np.int64)


def window_map(details: WindowDetails) -> WindowMap | None:
    """Make the map of windows, or None if there are fewer than three."""
    points = details.points.astype(np.float64)
    if len(points) < _LEAST or points.shape[1] < 2:
        return None
    confidence = details.confidence
    return WindowMap(
        tuple(details.windows[index] for index in details.drawn),
        points,
        None if confidence is None else np.asarray(confidence)[details.drawn],
        len(details.windows),
        details.share,
    )
