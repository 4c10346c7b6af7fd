"""PyanNet, a speaker segmentation network: waveform to class log-probabilities.

Bredin, "pyannote.audio 2.1 speaker diarization pipeline: principle, benchmark, and
recipe", 2023, and Plaquet, Bredin, "Powerset multi-class cross entropy loss for neural
speaker diarization", 2023. Learned band-pass filters and two convolutions, each with
pooling and normalisation over the window, are followed by four bidirectional LSTM
layers and three linear layers. The classes are silence, each of three speakers, and
each pair.

Filters and convolutions are matrix products without copies: every p-th of the
overlapping frames do not overlap, so they are the rows of a matrix that is already in
memory. The recurrence processes all windows of a batch, and both directions, at once.
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
"""Number of samples between frames, and in the receptive field of a frame."""

CLASSES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
"""Active local speakers of each class, in the order of the output."""

_BATCH = 8  # windows per batch; larger batches do not fit into the processor cache
_SLOPE = 0.01
_EPS = 1e-5

Single = npt.NDArray[np.float32]


class PyanNet:
    """PyanNet network.

    Parameters
    ----------
    weights : mapping from str to ndarray
        Result of `sms_diar.networks.pyannet_weights.convert`.
    """

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        self._weights = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }

    def log_probabilities(self, windows: AnyArray) -> FloatArray:
        """Compute log-probabilities of the classes.

        Parameters
        ----------
        windows : ndarray of shape (n_windows, n_samples)
            Samples at 16 kHz, usually 10 s; at least 991 samples.

        Returns
        -------
        values : ndarray of shape (n_windows, n_frames, 7)
            Log-probabilities; 10 s give 589 frames.
        """
        if windows.ndim != 2 or windows.shape[1] < FIELD:
            raise InvalidParameterError(
                f"must be of shape (n_windows, n_samples) with at least {FIELD} "
                f"samples, got {windows.shape}",
                owner="PyanNet",
                parameter="windows",
            )
        n_frames = (windows.shape[1] - FIELD) // STEP + 1
        values = np.empty((len(windows), n_frames, len(CLASSES)))
        for first in range(0, len(windows), _BATCH):
            batch = windows[first : first + _BATCH]
            frames = np.stack([self._frames(samples) for samples in batch], axis=1)
            values[first : first + _BATCH] = self._classes(frames).transpose(1, 0, 2)
        return values

    def _frames(self, samples: AnyArray) -> Single:
        """Return the frames of one window, shape (n_frames, 60)."""
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
        """Convolve, pool the maximum of three, normalise and rectify."""
        kernel = self._weights[f"convolution{number}.weight"]
        n, channels = x.shape
        taps, stride = CONVOLUTIONS[number]
        n_out = (n - taps) // stride + 1
        phases = len(kernel) // (stride * channels)
        rows = -(-n_out // phases)
        # One additional row of zeros for phases that begin late.
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
        """Map (n_frames, n_windows, 60) to (..., 7): recurrent and linear layers."""
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
        """Apply one bidirectional layer."""
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
