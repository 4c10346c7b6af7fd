"""PyanNet, a speaker segmentation network: a waveform to log-probabilities of classes.

Bredin, "pyannote.audio 2.1 speaker diarization pipeline: principle, benchmark, and
recipe", 2023, and Plaquet, Bredin, "Powerset multi-class cross entropy loss for neural
speaker diarization", 2023. Learned band-pass filters and two convolutions, each pooled
and normalised over the window, then four bidirectional LSTM layers and three linear
ones. Classes: nobody, each of three speakers, each pair of them.

The filters and convolutions are matrix products without copies: of frames that overlap,
every p-th do not, and those are the rows of a matrix that is already in memory. The
recurrence takes all windows of a batch, and both directions, at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from sms_diar.errors import InvalidParameterError
from sms_diar.networks._pyannet_kernels import normalise_leaky, pool_three, step_cells
from sms_diar.networks.pyannet_weights import CONVOLUTIONS, LAYERS
from sms_diar.types import AnyArray, FloatArray

STEP, FIELD = 270, 991
"""Samples between frames, and that a frame is made from (before the recurrence)."""

CLASSES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
"""Who of the three local speakers speaks, in the order of the output."""

_BATCH = 8  # windows; more take longer each, for what they hold leaves the cache
_SLOPE = 0.01
_EPS = 1e-5

Single = npt.NDArray[np.float32]


class PyanNet:
    """The network.

    Parameters
    ----------
    weights : mapping from str to ndarray
        What `sms_diar.networks.pyannet_weights.convert` made.
    """

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        self._weights = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }

    def log_probabilities(self, windows: AnyArray) -> FloatArray:
        """Log-probabilities of the classes.

        Parameters
        ----------
        windows : ndarray of shape (n_windows, n_samples)
            At 16 kHz, usually 10 s; at least 991 samples.

        Returns
        -------
        values : ndarray of shape (n_windows, n_frames, 7)
            589 frames of 10 s.
        """
        if windows.ndim != 2 or windows.shape[1] < FIELD:
            raise InvalidParameterError(
                f"PyanNet: windows must be of shape (n_windows, n_samples) with at "
                f"least {FIELD} samples, got {windows.shape}"
            )
        n_frames = (windows.shape[1] - FIELD) // STEP + 1
        found = np.empty((len(windows), n_frames, len(CLASSES)))
        for first in range(0, len(windows), _BATCH):
            batch = windows[first : first + _BATCH]
            frames = np.stack([self._frames(samples) for samples in batch], axis=1)
            found[first : first + _BATCH] = self._classes(frames).transpose(1, 0, 2)
        return found

    def _frames(self, samples: AnyArray) -> Single:
        """Frames of one window, shape (n_frames, 60)."""
        weights = self._weights
        wave = samples.astype(np.float64)
        wave -= wave.mean()
        wave *= weights["wave.scale"] / np.sqrt(np.mean(wave * wave) + _EPS)
        wave += weights["wave.shift"]
        x: Single = wave.astype(np.float32)[:, None]
        for number in range(len(CONVOLUTIONS)):
            x = self._pooled(number, x)
        return x

    def _pooled(self, number: int, x: Single) -> Single:
        """Convolve, take the greatest of three, normalise, rectify."""
        kernel = self._weights[f"convolution{number}.weight"]
        n, channels = x.shape
        taps, stride = CONVOLUTIONS[number]
        n_out = (n - taps) // stride + 1
        phases = len(kernel) // (stride * channels)
        rows = -(-n_out // phases)
        # One row of zeros more, for phases that begin late.
        padded = np.zeros(((rows + 1) * phases * stride, channels), dtype=np.float32)
        padded[:n] = x[: len(padded)]
        width = padded.itemsize * stride * channels
        views = as_strided(
            padded,
            (phases, rows, len(kernel)),
            (width, width * phases, padded.itemsize),
            writeable=False,
        )
        pooled = np.empty((n_out // 3, kernel.shape[1]), dtype=np.float32)
        pool_three(views @ kernel, int(number == 0), pooled)
        scale = self._weights[f"norm{number}.scale"]
        shift = self._weights[f"norm{number}.shift"]
        normalise_leaky(pooled, scale, shift, _SLOPE, pooled)
        return pooled

    def _classes(self, x: Single) -> Single:
        """Recurrent and linear layers, (n_frames, n_windows, 60) to (..., 7)."""
        weights = self._weights
        for layer in range(LAYERS):
            x = self._recurred(layer, x)
        for layer in range(2):
            x = x @ weights[f"linear{layer}.weight"]
            x += weights[f"linear{layer}.bias"]
            np.maximum(x, np.float32(_SLOPE) * x, out=x)
        x = x @ weights["classes.weight"]
        x += weights["classes.bias"]
        x -= x.max(axis=2, keepdims=True)
        x -= np.log(np.exp(x).sum(axis=2, keepdims=True))
        return x

    def _recurred(self, layer: int, x: Single) -> Single:
        """One bidirectional layer."""
        weights = self._weights
        n_frames, n_windows, n_in = x.shape
        inputs = x.reshape(-1, n_in) @ weights[f"recurrent{layer}.inputs"]
        inputs += weights[f"recurrent{layer}.bias"]
        inputs = inputs.reshape(2, n_frames, n_windows, -1)
        recurrent = weights[f"recurrent{layer}.weight"]
        hidden = np.zeros((2, n_windows, recurrent.shape[1]), dtype=np.float32)
        cells = np.zeros_like(hidden)
        sums = np.empty(inputs[:, 0].shape, dtype=np.float32)
        out = np.empty((n_frames, n_windows, 2 * hidden.shape[2]), dtype=np.float32)
        for step in range(n_frames):
            np.matmul(hidden, recurrent, out=sums)
            step_cells(inputs, step, sums, cells, hidden, out)
        return out
