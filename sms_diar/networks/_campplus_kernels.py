"""Elementwise parts of CAM++, each one pass over its array."""

from __future__ import annotations

import numpy as np

from sms_diar._numba import kernel
from sms_diar.types import AnyArray


@kernel
def affine_relu(x: AnyArray, scale: AnyArray, shift: AnyArray, out: AnyArray) -> None:
    """``max(scale * x + shift, 0)``, scale and shift for each row of (c, n)."""
    zero = np.float32(0.0)
    for row in range(x.shape[0]):
        a, b = scale[row], shift[row]
        for column in range(x.shape[1]):
            out[row, column] = max(a * x[row, column] + b, zero)


@kernel
def next_tiles(
    product: AnyArray,
    bias: AnyArray,
    rest: AnyArray,
    length: int,
    plain: AnyArray,
    tiles: AnyArray,
) -> None:
    """Products of tiles back to frames, rectified, and those to tiles for what follows.

    Frame ``4 t + j`` of a window is at ``[j, ..., t]`` of its tiles; windows lie side
    by side, and beyond a window there are zeros.

    Parameters
    ----------
    product : ndarray of shape (6, rows, c, n)
        Products of transformed tiles.
    bias : ndarray of shape (c,)
        Added to each channel.
    rest : ndarray of shape (rows, 4, c, n) or (0, 0, 0, 0)
        Added too, if there is one.
    length : int
        Frames of a window, in ``ceil(length / 4)`` tiles.
    plain : ndarray of shape (rows, 4, c, n)
        Receives the frames.
    tiles : ndarray of shape (6, rows + 2, c, n)
        Receives the transformed tiles, between rows that are left alone.
    """
    zero = np.float32(0.0)
    two, four, eight = np.float32(2.0), np.float32(4.0), np.float32(8.0)
    _, rows, channels, n = product.shape
    has_rest = rest.shape[0] > 0
    for row in range(rows):
        for channel in range(channels):
            b = bias[channel]
            y0, y1 = plain[row, 0, channel], plain[row, 1, channel]
            y2, y3 = plain[row, 2, channel], plain[row, 3, channel]
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
                if has_rest:
                    for t in range(n):
                        y[t] = max(y[t] + rest[row, j, channel, t], zero)
                else:
                    for t in range(n):
                        y[t] = max(y[t], zero)
    transform_tiles(plain, length, tiles)


@kernel
def transform_tiles(plain: AnyArray, length: int, tiles: AnyArray) -> None:
    """Frames to transformed tiles of six, as in `next_tiles`.

    Frames of the last tile of a window that are beyond its end become zero.
    """
    zero = np.float32(0.0)
    two, four, five = np.float32(2.0), np.float32(4.0), np.float32(5.0)
    rows, _, channels, n = plain.shape
    n_tiles = -(-length // 4)
    before, after = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    for row in range(rows):
        for channel in range(channels):
            y0, y1 = plain[row, 0, channel], plain[row, 1, channel]
            y2, y3 = plain[row, 2, channel], plain[row, 3, channel]
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
    """``max(x + bias, 0)`` in place, and context: mean of window plus mean of part.

    Parameters
    ----------
    x : ndarray of shape (c, n)
        Windows of `length` columns side by side.
    bias : ndarray of shape (c,)
        Added to each channel.
    length, part : int
        Columns of a window, and of a part of it (the last one may be shorter).
    means : ndarray of shape (c, n_windows * n_parts)
        Receives the context of each part.
    """
    zero = np.float32(0.0)
    n_parts = -(-length // part)
    for row in range(x.shape[0]):
        b = bias[row]
        for column in range(x.shape[1]):
            x[row, column] = max(x[row, column] + b, zero)
        for window in range(x.shape[1] // length):
            first = window * length
            whole = 0.0
            for number in range(n_parts):
                low = number * part
                high = min(low + part, length)
                total = 0.0
                for column in range(first + low, first + high):
                    total += x[row, column]
                means[row, window * n_parts + number] = total / (high - low)
                whole += total
            for number in range(n_parts):
                means[row, window * n_parts + number] += whole / length


@kernel
def gated_taps(
    taps: AnyArray, gate: AnyArray, length: int, part: int, step: int, out: AnyArray
) -> None:
    """Sum of three taps `step` columns apart, times the gate of its part.

    Parameters
    ----------
    taps : ndarray of shape (3, c, n)
        Products with the weights of each tap, windows of `length` side by side.
    gate : ndarray of shape (c, n_windows * n_parts)
        Factor of each part.
    length, part, step : int
        Columns of a window and of a part, and between taps.
    out : ndarray of shape (c, n)
        Receives the result; beyond a window there are zeros.
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
