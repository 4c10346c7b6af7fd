"""CAM++, a speaker embedding network: filterbank frames to one vector per window.

Wang, Zheng, Chen, Cheng, Chen, "CAM++: A fast and efficient network for speaker
verification using context-aware masking", 2023. Two-dimensional convolutions over
frequency and time are followed by a densely connected time-delay network, whose layers
are gated by the mean of their input, and by mean and standard deviation over time.

The forward pass consists of matrix products. All windows of a batch are concatenated in
time. The 3x3 convolutions work on tiles of four frames (Winograd, F(4, 3) over time):
four frames need six products of transformed tiles instead of twelve. Arrays have shape
(position in the tile, frequency, channel, tile), so that the inputs of one frequency
are one contiguous block. In the dense part arrays have shape (channel, time), and a
layer appends its rows to the previous rows. Normalisations after a product are fused
into its weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from sms_diar._numba import kernel
from sms_diar.errors import InvalidParameterError
from sms_diar.networks.conversion import BLOCKS, HEAD
from sms_diar.types import AnyArray, FloatArray

BANDS = 80
SHORTEST = 3
"""Minimum number of frames: the standard deviation needs two after halving."""

_FRAMES = 1200  # frames per batch, so that the arrays fit into the processor cache
_PART = 100  # frames of the inner network that share a gate
_NOTHING = np.empty((0, 0, 0, 0), dtype=np.float32)
_NO_BIAS = np.empty(0, dtype=np.float32)
_TAPS_TO_TILE = np.array(
    [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
) / np.array([[24.0]])

Single = npt.NDArray[np.float32]


class CampPlus:
    """CAM++ network with the weights that `conversion.convert_campplus` returns."""

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        self._weights = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }
        planes = ["conv1", "conv2"]
        planes += [f"{name}.conv{i}" for name, _, _ in HEAD for i in (1, 2)]
        self._transformed = {
            name: _transformed(self._weights[f"{name}.weight"]) for name in planes
        }

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
        if frames.ndim != 3 or frames.shape[2] != BANDS or frames.shape[1] < SHORTEST:
            problem = (
                f"must be of shape (n_windows, n_frames, {BANDS}) with at least "
                f"{SHORTEST} frames, got {frames.shape}"
            )
            raise InvalidParameterError(problem, owner="CampPlus", parameter="frames")
        size = max(1, _FRAMES // frames.shape[1])
        vectors = np.empty((len(frames), self.dim))
        for first in range(0, len(frames), size):
            vectors[first : first + size] = self._batch(frames[first : first + size])
        return vectors

    def _batch(self, frames: AnyArray) -> FloatArray:
        n_windows, n_frames, _ = frames.shape
        head = self._head(frames, n_frames)
        hidden, length = self._halved(head, n_windows, n_frames)
        for number, (n_layers, step) in enumerate(BLOCKS, 1):
            hidden = self._dense(f"block{number}", hidden, n_layers, step, length)
            hidden = self._transit(f"transit{number}", hidden)
        return self._pooled(hidden, n_windows)

    def _head(self, frames: AnyArray, length: int) -> Single:
        """Apply the two-dimensional convolutions; the result has shape (320, n)."""
        n_windows, n_tiles = len(frames), -(-length // 4)
        padded = np.zeros((n_windows, 4 * n_tiles, BANDS), dtype=np.float32)
        padded[:, :length] = frames
        tiled = padded.reshape(n_windows * n_tiles, 4, 1, BANDS).transpose(3, 1, 2, 0)
        plain = np.ascontiguousarray(tiled)  # shape: (BANDS, 4, 1, n_windows * n_tiles)
        tiles = _tiles_of(_NOTHING, _NO_BIAS, _NOTHING, length, plain)
        plain, tiles = self._convolved("conv1", tiles, 1, _NOTHING, length)
        for name, has_shortcut, step in HEAD:
            residual = plain
            if has_shortcut:
                residual = self._weights[f"{name}.shortcut.weight"] @ plain[::step]
                residual += self._weights[f"{name}.shortcut.bias"][:, None]
            plain, tiles = self._convolved(
                f"{name}.conv1", tiles, step, _NOTHING, length
            )
            plain, tiles = self._convolved(f"{name}.conv2", tiles, 1, residual, length)
        plain, _ = self._convolved("conv2", tiles, 2, _NOTHING, length)
        rows, _, channels, _ = plain.shape
        joined = plain.transpose(0, 2, 3, 1).reshape(rows * channels, n_windows, -1)
        return joined[:, :, :length].reshape(rows * channels, -1)

    def _convolved(
        self, name: str, tiles: Single, step: int, residual: Single, length: int
    ) -> tuple[Single, Single]:
        """Apply a 3x3 convolution with frequency stride `step`: frames and tiles."""
        positions, rows, channels, n = tiles.shape
        n_out = (rows - 3) // step + 1
        blocks = as_strided(
            tiles,
            (positions, n_out, 3 * channels, n),
            (tiles.strides[0], step * tiles.strides[1], *tiles.strides[2:]),
            writeable=False,
        )
        product = self._transformed[name][:, None] @ blocks  # shape: (6, n_out, c, n)
        bias = self._weights[f"{name}.bias"]
        plain = np.empty((n_out, 4, len(bias), n), dtype=np.float32)
        return plain, _tiles_of(product, bias, residual, length, plain)

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


def _tiles_of(
    product: Single, bias: Single, residual: Single, length: int, plain: Single
) -> Single:
    """Apply `next_tiles`; the result has a row of zeros on either side."""
    rows, _, channels, n = plain.shape
    tiles = np.empty((6, rows + 2, channels, n), dtype=np.float32)
    tiles[:, 0] = tiles[:, -1] = 0.0
    beside = np.empty((2, n), dtype=np.float32)
    next_tiles(product, bias, residual, length, plain, tiles, beside)
    return tiles


def _transformed(weight: Single) -> Single:
    """Transform weights of a 3x3 convolution, shape (6, out, 3 * channels)."""
    taps = weight.reshape(len(weight), 3, 3, -1).astype(np.float64)
    six = np.einsum("pt,oftc->pofc", _TAPS_TO_TILE, taps)
    return np.asarray(six.reshape(6, len(weight), -1), dtype=np.float32)


@kernel
def affine_relu(x: AnyArray, scale: AnyArray, shift: AnyArray, out: AnyArray) -> None:
    """Compute ``max(scale * x + shift, 0)``; scale and shift are per row of (c, n)."""
    zero = np.float32(0.0)
    for row in range(x.shape[0]):
        a, b = scale[row], shift[row]
        for column in range(x.shape[1]):
            out[row, column] = max(a * x[row, column] + b, zero)


@kernel
def next_tiles(  # noqa: PLR0912 in one piece it compiles fastest
    product: AnyArray,
    bias: AnyArray,
    residual: AnyArray,
    length: int,
    plain: AnyArray,
    tiles: AnyArray,
    beside: AnyArray,
) -> None:
    """Convert products of tiles to rectified frames, and these to the next tiles.

    Frame ``4 t + j`` of a window is at ``[j, ..., t]`` of its tiles. Windows of
    `length` frames, in ``ceil(length / 4)`` tiles, are side by side, and frames beyond
    a window are zero. `product` has shape (6, rows, c, n); if empty, `plain` of shape
    (rows, 4, c, n) contains the frames, otherwise they are written to it. A `residual`
    of the same shape is added if not empty. The transformed `tiles` of shape (6, rows +
    2, c, n) are written except for their first and last row. `beside` of shape (2, n)
    is working memory.
    """
    zero, two, four = np.float32(0.0), np.float32(2.0), np.float32(4.0)
    five, eight = np.float32(5.0), np.float32(8.0)
    rows, _, channels, n = plain.shape
    n_tiles = -(-length // 4)
    before, after = beside[0], beside[1]
    for row in range(rows):
        for channel in range(channels):
            y0, y1 = plain[row, 0, channel], plain[row, 1, channel]
            y2, y3 = plain[row, 2, channel], plain[row, 3, channel]
            if product.shape[0] > 0:
                b = bias[channel]
                for t in range(n):
                    plus = product[1, row, channel, t] + product[2, row, channel, t]
                    minus = product[1, row, channel, t] - product[2, row, channel, t]
                    plus2 = product[3, row, channel, t] + product[4, row, channel, t]
                    minus2 = product[3, row, channel, t] - product[4, row, channel, t]
                    y0[t] = product[0, row, channel, t] + plus + plus2 + b
                    y1[t] = minus + two * minus2 + b
                    y2[t] = plus + four * plus2 + b
                    y3[t] = minus + eight * minus2 + product[5, row, channel, t] + b
                for j in range(4):
                    y = plain[row, j, channel]
                    if residual.shape[0] > 0:
                        for t in range(n):
                            y[t] = max(y[t] + residual[row, j, channel, t], zero)
                    else:
                        for t in range(n):
                            y[t] = max(y[t], zero)
            for last in range(n_tiles - 1, n, n_tiles):
                for j in range(length - 4 * (n_tiles - 1), 4):
                    plain[row, j, channel, last] = zero
            for t in range(n - 1):
                before[t + 1] = y3[t]
                after[t] = y0[t + 1]
            for first in range(0, n, n_tiles):
                before[first] = zero
                after[first + n_tiles - 1] = zero
            for t in range(n):
                even = y3[t] - four * y1[t]
                odd = y2[t] - four * y0[t]
                even2 = y3[t] - y1[t]
                odd2 = two * (y2[t] - y0[t])
                middle = four * before[t] - five * y1[t] + y3[t]
                tiles[0, row + 1, channel, t] = middle
                tiles[1, row + 1, channel, t] = even + odd
                tiles[2, row + 1, channel, t] = even - odd
                tiles[3, row + 1, channel, t] = even2 + odd2
                tiles[4, row + 1, channel, t] = even2 - odd2
                tiles[5, row + 1, channel, t] = four * y0[t] - five * y2[t] + after[t]


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
