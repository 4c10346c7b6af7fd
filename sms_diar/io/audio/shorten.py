"""Streams of *shorten*, the lossless compression inside SPHERE files.

T. Robinson, "SHORTEN: simple lossless and near-lossless waveform compression", report
CUED/F-INFENG/TR.156, Cambridge University, 1994. Versions 1 to 3 are read. Samples are
predicted from previous ones and residuals are stored in codes of variable length, so
all samples are decoded at once, into memory.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_regular
from sms_diar.io.audio._shorten_kernels import decode_blocks, read_code, read_number
from sms_diar.limits import FREE_EXPANSION, MOST_CHANNELS, MOST_EXPANSION

REASONS = ("", "the stream says so", "the file ends", "a code is invalid")
"""Why decoding ends, by status of the decoder."""

_MINIMUM_DEPTH = 3  # samples of the past that fixed predictors need
_LARGEST_BLOCK = (1 << 16) - 1
_LARGEST_HEADER = 1 << 13
_MOST_WEIGHTS = 64  # as in the original program
_MOST_MEANS = 256


class StreamType(NamedTuple):
    """Type of samples: `table` has the stored samples by value, from `low` on.

    It has shape (1 or n_shifts, n_values), and `width` is in bytes.
    """

    width: int
    low: int
    table: npt.NDArray[np.int16]


@functools.cache
def stream_type(number: int) -> StreamType | None:
    """Return a type by its number in the stream; None if no SPHERE file can have it.

    Types 0, 8 and 9 renumber the bytes of mu-law and A-law. Type 7 is lossy mu-law and
    stores 13-bit samples. Types 3 and 5 are 16-bit samples of both byte orders.
    """
    byte = np.arange(256, dtype=np.int16)
    if number in (0, 8):
        return StreamType(1, -128 - number // 8, _renumbered_ulaw(number))
    if number in (3, 5):
        return StreamType(2, -32768, np.arange(-32768, 32768, dtype=np.int16)[None])
    if number == 7:
        return StreamType(1, -4096, ulaw_codes()[None])
    if number == 9:
        return StreamType(1, -128, (np.where(byte < 128, 127 - byte, byte) ^ 85)[None])
    return None


def ulaw_codes() -> npt.NDArray[np.int16]:
    """Return the mu-law bytes of samples -4096 to 4095, shape (8192,)."""
    sample, step = np.arange(-4096, 4096), np.arange(128)
    edges = ((16 + (step & 15)) << (step >> 4)) - 16
    size = np.searchsorted(edges, np.abs(sample), "right") - 1
    return (np.where(sample < 0, 127, 255) - size).astype(np.int16)


def _renumbered_ulaw(number: int) -> npt.NDArray[np.int16]:
    """Return bytes of mu-law by bit shift and value, shape (13, n_values).

    If the samples of a block are multiples of a power of two, few bytes occur in it;
    they get the numbers next to zero. Negative zero comes after them in type 0, and is
    -1 in type 8.
    """
    codes, n_shifts = ulaw_codes(), 13
    shift_of = np.zeros(256, dtype=np.int64)  # the largest one whose multiples have it
    for shift in range(n_shifts):
        shift_of[codes[:: 1 << shift]] = shift
    rows = []
    for shift in range(n_shifts):
        order = 2 * (shift_of < shift)
        order[127] = 1
        upward = sorted(range(255, 127, -1), key=order.__getitem__)
        downward = sorted(range(127, -1, -1), key=order.__getitem__)
        if number == 8:
            downward.insert(0, 127)
        rows.append([*reversed(downward), *upward])
    return np.array(rows, dtype=np.int16)


def read_shortened(
    path: Path, start: int, *, n_samples: int, n_channels: int, width: int
) -> npt.NDArray[np.int16]:
    """Decode the stream that begins at byte `start`, shape (n_samples, n_channels).

    Raises `DataFormatError` if it is damaged or has fewer samples, or if its samples
    do not have `width` bytes.
    """

    def fault(problem: str) -> DataFormatError:
        return DataFormatError(
            f"the compressed samples {problem}; the file is truncated or damaged, copy "
            f"it again",
            path=path,
        )

    with open_regular(path) as stream:
        stream.seek(start)
        data = np.frombuffer(stream.read(), np.uint8)
    unpacked = n_samples * n_channels * width
    if unpacked > max(FREE_EXPANSION, MOST_EXPANSION * len(data)):
        raise fault(f"have {len(data)} bytes, far too few for {n_samples} samples")
    position = 40  # after the magic and the version, which `SphereFile` checks
    numbers: list[int] = []
    for _ in range(6):
        number, position = read_number(data, position)
        numbers.append(int(number))
    for _ in range(min(numbers[5], _LARGEST_HEADER)):
        _, position = read_code(data, position, 7)
    if position < 0:
        raise fault("have a header without an end")
    kind, block_size = stream_type(numbers[0]), numbers[2]
    if kind is None or kind.width != width:
        raise fault(f"have type {numbers[0]}, not samples of {width} bytes")
    rules = {
        "type": (0, 9),
        "channels:": (n_channels, min(n_channels, MOST_CHANNELS)),
        "block size": (1, _LARGEST_BLOCK),
        "LPC order": (0, _MOST_WEIGHTS),
        "means:": (0, _MOST_MEANS),
        "skipped bytes:": (0, _LARGEST_HEADER),
    }
    for (name, (least, most)), number in zip(rules.items(), numbers, strict=True):
        if not least <= number <= most:
            raise fault(f"have {name} {number}, expected {least} to {most}")
    depth = max(_MINIMUM_DEPTH, numbers[3])
    samples = np.zeros((n_channels, depth + block_size), dtype=np.int64)
    means = np.zeros((n_channels, numbers[4]), dtype=np.int64)
    out = np.empty((n_samples + block_size, n_channels), dtype=np.int16)
    status, n_decoded = decode_blocks(
        *(data, int(data[4]), position, block_size, samples, means),
        *(np.zeros(depth, dtype=np.int64), kind.table, kind.low, out, n_samples),
    )
    if n_decoded < n_samples:
        raise fault(f"end after {n_decoded} of {n_samples} samples ({REASONS[status]})")
    return out[:n_samples]
