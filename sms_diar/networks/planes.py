"""3x3 convolutions over frequency and time, as matrix products of tiles.

The convolutions work on tiles of four frames (Winograd, F(4, 3) over time): four frames
need six products of transformed tiles instead of twelve. Arrays have shape (position in
the tile, frequency, channel, tile), so that the inputs of one frequency are one
contiguous block. The windows of a batch are side by side.
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
_NOTHING = np.empty((0, 0, 0, 0), dtype=np.float32)
_NO_BIAS = np.empty(0, dtype=np.float32)
_TAPS_TO_TILE = np.array(
    [[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]
) / np.array([[24.0]])


@dataclass(frozen=True, eq=False)
class Plane:
    """Windows of `length` frames, as frames and as transformed tiles.

    Frame ``4 t + j`` of a window is at ``[..., t]`` of ``plain[:, j]``. Shapes:
    (frequencies, 4, channels, n_windows * n_tiles) for `plain`, and
    (6, frequencies + 2, channels, n_windows * n_tiles) for `tiles`.
    """

    plain: Single
    tiles: Single
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
    return _with_tiles(np.ascontiguousarray(tiled), length)


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
        positions, rows, channels, n = plane.tiles.shape
        n_out = (rows - 3) // step + 1
        strides = plane.tiles.strides
        blocks = as_strided(
            plane.tiles,
            (positions, n_out, 3 * channels, n),
            (strides[0], step * strides[1], *strides[2:]),
            writeable=False,
        )
        # shape: (6, n_out, channels out, n)
        product = self._transformed[name][:, None] @ blocks
        bias = self._weights[f"{name}.bias"]
        plain = np.empty((n_out, 4, len(bias), n), dtype=np.float32)
        return _with_tiles(plain, plane.length, product, bias, residual)

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
            inner = _with_tiles(*every_second(inner.plain, inner.length))
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


def _with_tiles(
    plain: Single,
    length: int,
    product: Single = _NOTHING,
    bias: Single = _NO_BIAS,
    residual: Single = _NOTHING,
) -> Plane:
    """Apply `next_tiles`; the tiles have a row of zeros on either side."""
    rows, _, channels, n = plain.shape
    tiles = np.empty((6, rows + 2, channels, n), dtype=np.float32)
    tiles[:, 0] = tiles[:, -1] = 0.0
    beside = np.empty((2, n), dtype=np.float32)
    next_tiles(product, bias, residual, length, plain, tiles, beside)
    return Plane(plain, tiles, length)


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
