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

from sms_diar.errors import InvalidParameterError
from sms_diar.networks._campplus_kernels import (
    affine_relu,
    bias_relu_means,
    gated_taps,
    next_tiles,
    transform_tiles,
)
from sms_diar.networks.campplus_weights import BLOCKS, HEAD
from sms_diar.types import AnyArray, FloatArray

BANDS = 80
SHORTEST = 3
"""Minimum number of frames: the standard deviation needs two after halving."""

_FRAMES = 1200  # frames per batch, so that the arrays fit into the processor cache
_PART = 100  # frames of the inner network that share a gate
_NOTHING = np.empty((0, 0, 0, 0), dtype=np.float32)
_TAPS_TO_TILE = np.array(
    [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
) / np.array([[24.0]])

Single = npt.NDArray[np.float32]


class CampPlus:
    """CAM++ network.

    Parameters
    ----------
    weights : mapping from str to ndarray
        Result of `sms_diar.networks.campplus_weights.convert`.
    """

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
        """Embed windows of equal length.

        Parameters
        ----------
        frames : ndarray of shape (n_windows, n_frames, 80)
            Log filterbank energies minus their mean over the window.

        Returns
        -------
        vectors : ndarray of shape (n_windows, 192)
            Embeddings without length normalisation. The last bits (in single
            precision) depend on the number of windows in the batch.
        """
        if frames.ndim != 3 or frames.shape[2] != BANDS or frames.shape[1] < SHORTEST:
            raise InvalidParameterError(
                f"must be of shape (n_windows, n_frames, {BANDS}) with at least "
                f"{SHORTEST} frames, got {frames.shape}",
                owner="CampPlus",
                parameter="frames",
            )
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
        plain = np.ascontiguousarray(tiled)
        tiles = _between_zeros(plain)
        transform_tiles(plain, length, tiles)
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
        product = self._transformed[name][:, None] @ blocks
        bias = self._weights[f"{name}.bias"]
        plain = np.empty((n_out, 4, len(bias), n), dtype=np.float32)
        following = _between_zeros(plain)
        next_tiles(product, bias, residual, length, plain, following)
        return plain, following

    def _halved(self, x: Single, n_windows: int, n_frames: int) -> tuple[Single, int]:
        """Halve the frame rate; each output frame depends on five input frames."""
        padded = np.pad(
            x.reshape(len(x), n_windows, n_frames), ((0, 0), (0, 0), (2, 2))
        )
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
            narrow = weights[f"{name}.narrow.weight"] @ inputs
            context = np.empty((len(narrow), n_parts), dtype=np.float32)
            bias = weights[f"{name}.narrow.bias"]
            bias_relu_means(narrow, bias, length, _PART, context)
            taps = weights[f"{name}.taps.weight"] @ narrow
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
        windows = x.reshape(len(x), n_windows, -1).astype(np.float64)
        means = windows.mean(axis=2)
        deviations = windows.std(axis=2, ddof=1)
        both = np.concatenate((means, deviations))
        vectors = both.T @ self._weights["out.weight"].T.astype(np.float64)
        return np.asarray(vectors + self._weights["out.bias"], dtype=np.float64)


def _between_zeros(plain: Single) -> Single:
    """Allocate transformed tiles for frames, with a row of zeros on either side."""
    rows, _, channels, n = plain.shape
    tiles = np.empty((6, rows + 2, channels, n), dtype=np.float32)
    tiles[:, 0] = tiles[:, -1] = 0.0
    return tiles


def _transformed(weight: Single) -> Single:
    """Transform weights of a 3x3 convolution, shape (6, out, 3 * channels)."""
    taps = weight.reshape(len(weight), 3, 3, -1).astype(np.float64)
    six = np.einsum("pt,oftc->pofc", _TAPS_TO_TILE, taps)
    return np.asarray(six.reshape(6, len(weight), -1), dtype=np.float32)
