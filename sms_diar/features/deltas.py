"""Time derivatives of features, by regression over neighbouring frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar._validation import check_count
from sms_diar.limits import LONGEST_CONTEXT, MOST_DERIVATIVES
from sms_diar.types import FloatArray


@dataclass(frozen=True, slots=True)
class DeltaConfig:
    """Derivatives that are appended to the cepstra.

    Parameters
    ----------
    order : int, default=2
        0 for none, 1 for delta, 2 for delta and delta-delta.
    window : int, default=2
        Frames on each side of the regression.
    """

    order: int = 2
    window: int = 2

    def __post_init__(self) -> None:
        check_count("DeltaConfig", "order", self.order, least=0, most=MOST_DERIVATIVES)
        check_count("DeltaConfig", "window", self.window, most=LONGEST_CONTEXT)

    @property
    def context(self) -> int:
        """Frames on each side that the derivatives of a frame depend on."""
        return self.order * self.window


def delta(features: FloatArray, window: int = 2) -> FloatArray:
    """Slope of each column around each frame.

    Same as ``python_speech_features.delta``, without its loop over frames: the
    first and last frame are repeated beyond the ends.

    Examples
    --------
    >>> delta(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])).ravel()
    array([0.5, 0.8, 1. , 0.8, 0.5])
    """
    n = len(features)
    padded = np.pad(features, ((window, window), (0, 0)), mode="edge")
    total = np.zeros_like(features)
    for step in range(1, window + 1):
        ahead = padded[window + step : window + step + n]
        behind = padded[window - step : window - step + n]
        total += step * (ahead - behind)
    return total / (2 * sum(step**2 for step in range(1, window + 1)))


def add_deltas(features: FloatArray, config: DeltaConfig) -> FloatArray:
    """Features with their derivatives beside them.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        One frame per row.
    config : DeltaConfig
        The settings.

    Returns
    -------
    ndarray of shape (n, d * (order + 1))
        The features, then the derivatives by order.
    """
    parts = [features]
    for _ in range(config.order):
        parts.append(delta(parts[-1], config.window))
    return np.hstack(parts)
