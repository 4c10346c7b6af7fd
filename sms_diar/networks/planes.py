"""3x3 convolutions over frequency and time, as matrix products of tiles.

The convolutions work on tiles of four frames (Winograd, F(4, 3) over time): four frames
need six products of transformed tiles instead of twelve. Arrays have shape (position in
the tile, frequency, channel, tile), so that the inputs of one frequency are one
contiguous block. The windows of a batch are side by side. Transformed tiles and
products exist for a few frequencies at a time; in full they would be three times as
large as the frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from sms_diar._numba import kernel
from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray

Single = npt.NDArray[np.float32]

BANDS = 80
_FRAMES = 1200  # frames per batch, so that the arrays fit into the processor cache
_ROWS = 4  # frequencies per product, so that it fits into the processor cache
_NOTHING = np.empty((0, 0, 0, 0), dtype=np.float32)
_TAPS_TO_TILE = np.array(
    [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
) / np.array([[24.0]])


@dataclass(frozen=True, eq=False)
class Plane:
    """Windows of `length` frames.

    Frame ``4 t + j`` of a window is at ``[..., t]`` of ``plain[:, j]``, of shape
    (frequencies, 4, channels, n_windows * n_tiles).
    """

    plain: Single
    length: int

    def rows(self) -> Single:
        """Return the frames with a row per (frequency, channel), shape (rows, n)."""
        n_rows, _, channels, n = self.plain.shape
        n_tiles = -(-self.length // 4)
        joined = self.plain.transpose(0, 2, 3, 1)
        windows = joined.reshape(n_rows * channels, n // n_tiles, 4 * n_tiles)
        return windows[:, :, : self.length].reshape(n_rows * channels, -1)


def window_batches(owner: str, frames: AnyArray, shortest: int) -> Iterator[slice]:
    """Check the input of a network, and cut its windows into batches.

    `frames` must have shape (n_windows, n_frames, 80) with at least `shortest` frames.
    """
    if frames.ndim != 3 or frames.shape[2] != BANDS or frames.shape[1] < shortest:
        problem = (
            f"must be of shape (n_windows, n_frames, {BANDS}) with at least {shortest} "
            f"frames, got {frames.shape}"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="frames")
    size = max(1, _FRAMES // frames.shape[1])
    for first in range(0, len(frames), size):
        yield slice(first, first + size)


def plane_of(frames: AnyArray) -> Plane:
    """Convert the frames of windows, (n_windows, n_frames, n_bands), to a plane."""
    n_windows, length, n_bands = frames.shape
    n_tiles = -(-length // 4)
    padded = np.zeros((n_windows, 4 * n_tiles, n_bands), dtype=np.float32)
    padded[:, :length] = frames
    tiled = padded.reshape(n_windows * n_tiles, 4, 1, n_bands).transpose(3, 1, 2, 0)
    return Plane(np.ascontiguousarray(tiled), length)


class Planes:
    """Convolutions by name, with the weights that `conversion` returns.

    Weights of the layers ``conv1`` and ``conv2`` have shape (out, 9 * channels), in the
    order frequency, time, channel. A ``shortcut`` has weights of shape (out, channels).
    """

    def __init__(self, weights: Mapping[str, Single]) -> None:
        self._weights: dict[str, Single] = {}
        self._transformed: dict[str, Single] = {}
        for name, array in weights.items():
            if name.endswith(("conv1.weight", "conv2.weight")):
                self._transformed[name.removesuffix(".weight")] = _tile_weights(array)
            else:
                self._weights[name] = array

    def convolved(
        self, name: str, plane: Plane, *, step: int = 1, residual: Single = _NOTHING
    ) -> Plane:
        """Apply a 3x3 convolution with frequency stride `step`, and a rectifier.

        A `residual` of the shape of the new frames is added before the rectifier.
        """
        weights = self._transformed[name]  # shape: (6, channels out, 3 * channels)
        bias = self._weights[f"{name}.bias"]
        rows, _, channels, n = plane.plain.shape
        n_out = (rows - 1) // step + 1
        plain = np.empty((n_out, 4, len(bias), n), dtype=np.float32)
        beside = np.empty((2, n), dtype=np.float32)
        for first in range(0, n_out, _ROWS):
            count = min(_ROWS, n_out - first)
            tiles = np.empty((6, (count - 1) * step + 3, channels, n), dtype=np.float32)
            tiles_of_frames(plane.plain, first * step - 1, plane.length, tiles, beside)
            blocks = as_strided(
                tiles,
                (6, count, 3 * channels, n),
                (tiles.strides[0], step * tiles.strides[1], *tiles.strides[2:]),
                writeable=False,
            )
            product = weights[:, None] @ blocks
            frames_of_tiles(product, bias, residual, first, plane.length, plain)
        return Plane(plain, plane.length)

    def residual_block(
        self, name: str, plane: Plane, step: int, *, halve_time: bool = False
    ) -> Plane:
        """Apply two convolutions around which the input, or its shortcut, is added.

        `step` is the frequency stride; with `halve_time` the stride over time is two.
        """
        residual = plane.plain[::step]
        if halve_time:
            residual, _ = every_second(residual, plane.length)
        if f"{name}.shortcut.weight" in self._weights:
            residual = self._weights[f"{name}.shortcut.weight"] @ residual
            residual += self._weights[f"{name}.shortcut.bias"][:, None]
        inner = self.convolved(f"{name}.conv1", plane, step=step)
        if halve_time:
            inner = Plane(*every_second(inner.plain, inner.length))
        return self.convolved(f"{name}.conv2", inner, residual=residual)


def every_second(plain: Single, length: int) -> tuple[Single, int]:
    """Drop every second frame of windows of `length` frames; return the new length.

    Frames have the layout of `Plane.plain`.
    """
    rows, _, channels, n = plain.shape
    n_tiles, halved = -(-length // 4), -(-length // 2)
    n_windows = n // n_tiles
    frames = np.zeros(
        (rows, channels, n_windows, 4 * -(-halved // 4)), dtype=np.float32
    )
    for j in (0, 2):
        windows = plain[:, j].reshape(rows, channels, n_windows, n_tiles)
        target = frames[..., j // 2 : 2 * n_tiles : 2]
        target[...] = windows[..., : target.shape[3]]
    tiled = frames.reshape(rows, channels, -1, 4).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(tiled), halved


def _tile_weights(weight: Single) -> Single:
    """Transform weights of a 3x3 convolution, shape (6, out, 3 * channels)."""
    taps = weight.reshape(len(weight), 3, 3, -1).astype(np.float64)
    six = np.einsum("pt,oftc->pofc", _TAPS_TO_TILE, taps)
    return np.asarray(six.reshape(6, len(weight), -1), dtype=np.float32)


@kernel
def tiles_of_frames(
    plain: AnyArray, first: int, length: int, tiles: AnyArray, beside: AnyArray
) -> None:
    """Transform frames of the frequencies from `first` to tiles.

    `plain` of shape (rows, 4, c, n) contains windows of `length` frames, in
    ``ceil(length / 4)`` tiles, side by side; frames beyond a window must be zero.
    `tiles` of shape (6, some rows, c, n) are written. They are zero for frequencies
    outside `plain`. `beside` of shape (2, n) is working memory.
    """
    zero, two = np.float32(0.0), np.float32(2.0)
    four, five = np.float32(4.0), np.float32(5.0)
    channels, n = plain.shape[2:]
    n_tiles = -(-length // 4)
    before, after = beside[0], beside[1]
    for row in range(tiles.shape[1]):
        for channel in range(channels):
            if not 0 <= first + row < plain.shape[0]:
                for position in range(6):
                    for t in range(n):
                        tiles[position, row, channel, t] = zero
                continue
            frames = plain[first + row]
            y0, y1 = frames[0, channel], frames[1, channel]
            y2, y3 = frames[2, channel], frames[3, channel]
            for t in range(n - 1):
                before[t + 1] = y3[t]
                after[t] = y0[t + 1]
            for start in range(0, n, n_tiles):
                before[start] = zero
                after[start + n_tiles - 1] = zero
            for t in range(n):
                even = y3[t] - four * y1[t]
                odd = y2[t] - four * y0[t]
                even2 = y3[t] - y1[t]
                odd2 = two * (y2[t] - y0[t])
                middle = four * before[t] - five * y1[t] + y3[t]
                tiles[0, row, channel, t] = middle
                tiles[1, row, channel, t] = even + odd
                tiles[2, row, channel, t] = even - odd
                tiles[3, row, channel, t] = even2 + odd2
                tiles[4, row, channel, t] = even2 - odd2
                tiles[5, row, channel, t] = four * y0[t] - five * y2[t] + after[t]


@kernel
def frames_of_tiles(
    product: AnyArray,
    bias: AnyArray,
    residual: AnyArray,
    first: int,
    length: int,
    plain: AnyArray,
) -> None:
    """Convert products of tiles to rectified frames of the frequencies from `first`.

    `product` has shape (6, some rows, c, n), and `plain`, which is written, (rows, 4,
    c, n), as in `tiles_of_frames`; frames beyond a window become zero. A `residual` of
    the shape of `plain` is added before the rectifier if not empty.
    """
    zero, two = np.float32(0.0), np.float32(2.0)
    four, eight = np.float32(4.0), np.float32(8.0)
    channels, n = plain.shape[2:]
    n_tiles = -(-length // 4)
    for row in range(product.shape[1]):
        for channel in range(channels):
            frames = plain[first + row]
            y0, y1 = frames[0, channel], frames[1, channel]
            y2, y3 = frames[2, channel], frames[3, channel]
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
                y = frames[j, channel]
                if residual.shape[0] > 0:
                    for t in range(n):
                        y[t] = max(y[t] + residual[first + row, j, channel, t], zero)
                else:
                    for t in range(n):
                        y[t] = max(y[t], zero)
            for last in range(n_tiles - 1, n, n_tiles):
                for j in range(length - 4 * (n_tiles - 1), 4):
                    frames[j, channel, last] = zero
