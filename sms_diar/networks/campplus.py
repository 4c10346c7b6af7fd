"""CAM++, a speaker embedding network: filterbank frames to one vector per window.

Wang, Zheng, Chen, Cheng, Chen, "CAM++: A fast and efficient network for speaker
verification using context-aware masking", 2023. Two-dimensional convolutions over
frequency and time are followed by a densely connected time-delay network, whose layers
are gated by the mean of their input, and by mean and standard deviation over time.

The forward pass consists of matrix products. All windows of a batch are concatenated in
time. `planes` computes the 3x3 convolutions. In the dense part arrays have shape
(channel, time), and a layer appends its rows to the previous rows. Normalisations after
a product are fused into its weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sms_diar._numba import kernel
from sms_diar.networks.conversion import BLOCKS, HEAD
from sms_diar.networks.planes import Planes, Single, plane_of, window_batches
from sms_diar.types import AnyArray, FloatArray

SHORTEST = 3
"""Minimum number of frames: the standard deviation needs two after halving."""

_PART = 100  # frames of the inner network that share a gate


class CampPlus:
    """CAM++ network with the weights that `conversion.convert_campplus` returns."""

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        self._weights = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }
        self._planes = Planes(self._weights)

    @cached_property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return len(self._weights["out.bias"])

    def embed(self, frames: AnyArray) -> FloatArray:
        """Embed windows of equal length, shape (n_windows, 192).

        `frames` of shape (n_windows, n_frames, 80) are log filterbank energies minus
        their mean over the window. The embeddings have no length normalisation. Their
        last bits (in single precision) depend on the number of windows in the batch.
        """
        vectors = np.empty((len(frames), self.dim))
        for rows in window_batches("CampPlus", frames, SHORTEST):
            vectors[rows] = self._batch(frames[rows])
        return vectors

    def _batch(self, frames: AnyArray) -> FloatArray:
        n_windows, n_frames, _ = frames.shape
        hidden, length = self._halved(self._head(frames), n_windows, n_frames)
        for number, (n_layers, step) in enumerate(BLOCKS, 1):
            hidden = self._dense(f"block{number}", hidden, n_layers, step, length)
            hidden = self._transit(f"transit{number}", hidden)
        return self._pooled(hidden, n_windows)

    def _head(self, frames: AnyArray) -> Single:
        """Apply the two-dimensional convolutions; the result has shape (320, n)."""
        plane = self._planes.convolved("conv1", plane_of(frames))
        for name, _, step in HEAD:
            plane = self._planes.residual_block(name, plane, step)
        return self._planes.convolved("conv2", plane, step=2).rows()

    def _halved(self, x: Single, n_windows: int, n_frames: int) -> tuple[Single, int]:
        """Halve the frame rate; each output frame depends on five input frames."""
        padded = np.pad(
            x.reshape(len(x), n_windows, n_frames), ((0, 0), (0, 0), (2, 2))
        )
        # shape: (channels, n_windows, length, 5)
        five = sliding_window_view(padded, 5, axis=2)[:, :, ::2]
        length = five.shape[2]
        rows = np.ascontiguousarray(five.transpose(3, 0, 1, 2))
        product = self._weights["tdnn.weight"] @ rows.reshape(5 * len(x), -1)
        product += self._weights["tdnn.bias"][:, None]
        return np.maximum(product, 0.0, out=product), length

    def _dense(
        self, block: str, x: Single, n_layers: int, step: int, length: int
    ) -> Single:
        weights = self._weights
        growth = weights[f"{block}.1.gate2.weight"].shape[0]
        filled, n = x.shape
        n_parts = n // length * -(-length // _PART)
        rows = np.empty((filled + n_layers * growth, n), dtype=np.float32)
        rows[:filled] = x
        shown = np.empty_like(rows)
        for layer in range(1, n_layers + 1):
            name = f"{block}.{layer}"
            inputs = shown[:filled]
            affine_relu(
                rows[:filled],
                weights[f"{name}.scale"],
                weights[f"{name}.shift"],
                inputs,
            )
            narrow = weights[f"{name}.narrow.weight"] @ inputs  # shape: (128, n)
            context = np.empty((len(narrow), n_parts), dtype=np.float32)
            bias = weights[f"{name}.narrow.bias"]
            bias_relu_means(narrow, bias, length, _PART, context)
            taps = weights[f"{name}.taps.weight"] @ narrow  # shape: (3 * growth, n)
            gate_taps = taps.reshape(3, growth, n)
            out = rows[filled : filled + growth]
            gated_taps(gate_taps, self._gate(name, context), length, _PART, step, out)
            filled += growth
        return rows

    def _gate(self, name: str, context: Single) -> Single:
        weights = self._weights
        inner = weights[f"{name}.gate1.weight"] @ context
        inner += weights[f"{name}.gate1.bias"][:, None]
        np.maximum(inner, 0.0, out=inner)
        outer = weights[f"{name}.gate2.weight"] @ inner
        outer += weights[f"{name}.gate2.bias"][:, None]
        # A sigmoid that does not overflow.
        half = np.float32(0.5)
        gate: Single = half * np.tanh(half * outer) + half
        return gate

    def _transit(self, name: str, x: Single) -> Single:
        scale, shift = self._weights[f"{name}.scale"], self._weights[f"{name}.shift"]
        affine_relu(x, scale, shift, x)
        product: Single = self._weights[f"{name}.weight"] @ x
        return product

    def _pooled(self, x: Single, n_windows: int) -> FloatArray:
        affine_relu(x, self._weights["last.scale"], self._weights["last.shift"], x)
        # shape: (channels, n_windows, length)
        windows = x.reshape(len(x), n_windows, -1).astype(np.float64)
        means = windows.mean(axis=2)
        deviations = windows.std(axis=2, ddof=1)
        both = np.concatenate((means, deviations))
        vectors = both.T @ self._weights["out.weight"].T.astype(np.float64)
        return np.asarray(vectors + self._weights["out.bias"], dtype=np.float64)


@kernel
def affine_relu(x: AnyArray, scale: AnyArray, shift: AnyArray, out: AnyArray) -> None:
    """Compute ``max(scale * x + shift, 0)``; scale and shift are per row of (c, n)."""
    zero = np.float32(0.0)
    for row in range(x.shape[0]):
        a, b = scale[row], shift[row]
        for column in range(x.shape[1]):
            out[row, column] = max(a * x[row, column] + b, zero)


@kernel
def bias_relu_means(
    x: AnyArray, bias: AnyArray, length: int, part: int, means: AnyArray
) -> None:
    """Compute ``max(x + bias, 0)`` in place, and the mean of window plus part.

    `x` of shape (c, n) contains windows of `length` columns, side by side, in parts of
    `part` columns, of which the last may be shorter. `means` of shape
    (c, n_windows * n_parts) receives the context of each part.
    """
    zero = np.float32(0.0)
    n_parts = -(-length // part)
    for row in range(x.shape[0]):
        b = bias[row]
        for column in range(x.shape[1]):
            x[row, column] = max(x[row, column] + b, zero)
        for window in range(x.shape[1] // length):
            first = window * length
            window_sum = 0.0
            for number in range(n_parts):
                low = number * part
                high = min(low + part, length)
                total = 0.0
                for column in range(first + low, first + high):
                    total += x[row, column]
                means[row, window * n_parts + number] = total / (high - low)
                window_sum += total
            for number in range(n_parts):
                means[row, window * n_parts + number] += window_sum / length


@kernel
def gated_taps(
    taps: AnyArray, gate: AnyArray, length: int, part: int, step: int, out: AnyArray
) -> None:
    """Sum three taps that are `step` columns apart, times the gate of the part.

    `taps` of shape (3, c, n) are products with the weights of each tap, for windows of
    `length` columns side by side, in parts of `part` columns. `gate` of shape
    (c, n_windows * n_parts) has a factor for each part. Columns beyond a window count
    as zero in `out`, of shape (c, n).
    """
    n_parts = -(-length // part)
    for row in range(out.shape[0]):
        for window in range(out.shape[1] // length):
            first = window * length
            last = first + length
            for t in range(first, last):
                out[row, t] = taps[1, row, t]
            for t in range(first + step, last):
                out[row, t] += taps[0, row, t - step]
            for t in range(first, last - step):
                out[row, t] += taps[2, row, t + step]
            for number in range(n_parts):
                factor = gate[row, window * n_parts + number]
                low = first + number * part
                for t in range(low, min(low + part, last)):
                    out[row, t] *= factor
