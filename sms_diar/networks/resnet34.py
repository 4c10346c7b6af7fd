"""ResNet34, a speaker embedding network: filterbank frames to one vector per window.

Wang et al., "WeSpeaker: A research and production oriented speaker embedding learning
toolkit", 2023; He, Zhang, Ren, Sun, "Deep residual learning for image recognition",
2016. Sixteen residual blocks of 3x3 convolutions over frequency and time, which halve
both three times, are followed by mean and standard deviation over time and a linear
layer. `planes` computes the convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.networks.conversion import RESIDUAL
from sms_diar.networks.planes import Planes, plane_of, window_batches
from sms_diar.types import AnyArray, FloatArray

SHORTEST = 9
"""Minimum number of frames: the deviation needs two after halving three times."""

_FLOOR = 1e-8  # added to variances


class ResNet34:
    """ResNet34 network with the weights that `conversion.convert_resnet34` returns."""

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        singles = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }
        self._planes = Planes(singles)
        self._weight = singles["out.weight"].T.astype(np.float64)
        self._bias = singles["out.bias"]

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return len(self._bias)

    def embed(self, frames: AnyArray) -> FloatArray:
        """Embed windows of equal length, shape (n_windows, 256).

        `frames` of shape (n_windows, n_frames, 80) are log filterbank energies minus
        their mean over the window. The embeddings have no length normalisation.
        """
        vectors = np.empty((len(frames), self.dim))
        for rows in window_batches("ResNet34", frames, SHORTEST):
            vectors[rows] = self._batch(frames[rows])
        return vectors

    def _batch(self, frames: AnyArray) -> FloatArray:
        plane = self._planes.convolved("conv1", plane_of(frames))
        for name, has_shortcut in RESIDUAL:
            plane = self._planes.residual_block(
                name, plane, 1 + has_shortcut, halve_time=has_shortcut
            )
        # shape: (frequencies * channels, n_windows, n_frames)
        windows = plane.rows().reshape(-1, len(frames), plane.length).astype(np.float64)
        deviations = np.sqrt(windows.var(axis=2, ddof=1) + _FLOOR)
        pooled = np.concatenate((windows.mean(axis=2), deviations))
        vectors: FloatArray = pooled.T @ self._weight + self._bias
        return vectors
