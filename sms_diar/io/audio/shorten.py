"""Streams of *shorten*, the lossless compression inside SPHERE files.

T. Robinson, "SHORTEN: simple lossless and near-lossless waveform compression", report
CUED/F-INFENG/TR.156, Cambridge University, 1994. Versions 1 to 3 are read. Samples are
predicted from previous ones and residuals are stored in codes of variable length, so
decoding starts at the beginning. The state of the decoder is kept every few seconds for
later reads; the samples are never in memory as a whole.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sms_diar.errors import DataFormatError
from sms_diar.io.audio._shorten_kernels import (
    FULL,
    decode_blocks,
    read_code,
    read_number,
)
from sms_diar.limits import MOST_CHANNELS
from sms_diar.types import IntArray

MAGIC = b"ajkg"

REASONS = (
    "",
    "the stream says so",
    "the file ends",
    "unknown function",
    "value out of range",
    "invalid block size",
    "prediction from too many samples",
    "invalid bit shift",
)
"""Why decoding ends, by status of the decoder."""

_STEP = 1 << 16
"""Number of samples per call of the decoder, and between kept states."""

_MINIMUM_DEPTH = 3  # samples of the past that fixed predictors need
_LARGEST_BLOCK = (1 << 16) - 1
_LARGEST_BLOCKS = 1 << 20  # of all channels together
_LARGEST_HEADER = 1 << 13
_MOST_WEIGHTS = 64  # as in the original program
_MOST_MEANS = 256


class StreamType(NamedTuple):
    """Type of samples: stored samples by value, from `low` on, and a typical mean.

    `table` has shape (1 or n_shifts, n_values), and `width` is in bytes.
    """

    width: int
    low: int
    mean: int
    table: npt.NDArray[np.int16]


@functools.cache
def stream_type(number: int) -> StreamType:
    """Return a type by its number in the stream, 0 to 10.

    Types 0, 8 and 9 renumber the bytes of mu-law and A-law. Types 7 and 10 are lossy
    and store 13-bit samples.
    """
    byte = np.arange(256, dtype=np.int16)
    word = np.arange(1 << 16).astype(np.uint16).view(np.int16)
    if number in (0, 8):
        return StreamType(1, -128 - number // 8, 0, _renumbered_ulaw(number))
    tables: dict[int, tuple[int, int, int, npt.NDArray[np.int16]]] = {
        1: (1, -128, 0, np.roll(byte, 128)),
        2: (1, 0, 128, byte),
        3: (2, -32768, 0, np.roll(word, 32768)),
        4: (2, 0, 32768, word),
        7: (1, -4096, 0, ulaw_codes()),
        9: (1, -128, 0, np.where(byte < 128, 127 - byte, byte) ^ 0x55),
        10: (1, -4096, 0, alaw_codes()),
    }
    tables |= {5: tables[3], 6: tables[4]}  # the other byte order
    width, low, mean, table = tables[number]
    return StreamType(width, low, mean, table[np.newaxis])


def ulaw_codes() -> npt.NDArray[np.int16]:
    """Return the mu-law bytes of samples -4096 to 4095, shape (8192,)."""
    sample, step = np.arange(-4096, 4096), np.arange(128)
    edges = ((16 + (step & 15)) << (step >> 4)) - 16
    size = np.searchsorted(edges, np.abs(sample), "right") - 1
    return (np.where(sample < 0, 127, 255) - size).astype(np.int16)


def alaw_codes() -> npt.NDArray[np.int16]:
    """Return the A-law bytes of samples -4096 to 4095, shape (8192,)."""
    sample, step = np.arange(-4096, 4096), np.arange(128)
    edges = np.where(step < 16, 2 * step, (16 + (step & 15)) << (step >> 4))
    size = np.searchsorted(edges, np.where(sample < 0, ~sample, sample), "right") - 1
    return (np.where(sample < 0, size, size + 128) ^ 0x55).astype(np.int16)


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


class _State(NamedTuple):
    """State of the decoder before sample `n_samples`; see `decode_blocks`."""

    n_samples: int
    entries: IntArray  # (3,)
    past: IntArray  # (n_channels, depth)
    means: IntArray  # (n_channels, max(n_means, 1))

    def copy(self) -> _State:
        return self._replace(entries=self.entries.copy(), means=self.means.copy())


class ShortenStream:
    """Samples of a stream, decoded on demand.

    Parameters
    ----------
    path : Path
        File.
    start : int
        Byte of the file at which the stream begins.
    n_channels, width : int
        Number of channels, and bytes per sample, that the stream must have.
    """

    def __init__(self, path: Path, start: int, *, n_channels: int, width: int) -> None:
        self._path = path
        self._data = np.empty(0, dtype=np.uint8)
        if path.stat().st_size > start:
            self._data = np.memmap(path, np.uint8, "r", start)
        self._states = [self._read_header(n_channels, width)]
        self._resume(self._states[0])

    def read(self, first: int, last: int) -> npt.NDArray[np.int16]:
        """Read samples `first` to `last` (exclusive), shape (n, n_channels).

        Raises `DataFormatError` if the stream ends before them or is damaged.
        """
        pieces = [self._decoded[:0]]
        while first < last:
            index = bisect_right(self._states, first, key=lambda s: s.n_samples)
            nearest = self._states[index - 1]
            offset = first - (self._state.n_samples - len(self._decoded))
            if offset < 0 or nearest.n_samples > self._state.n_samples:
                self._resume(nearest)
            elif offset < len(self._decoded):
                pieces.append(self._decoded[offset : offset + last - first])
                first += len(pieces[-1])
            else:
                self._decode_next(last)
        return np.concatenate(pieces)

    def _resume(self, state: _State) -> None:
        """Continue from a state, which is not changed."""
        self._state = state.copy()
        self._samples[:, : state.past.shape[1]] = state.past
        self._decoded = np.empty((0, len(self._samples)), dtype=np.int16)
        self._status = FULL

    def _decode_next(self, last: int) -> None:
        """Decode the next samples; keep the state after them if it is a new one."""
        state, depth = self._state, len(self._weights)
        if self._status != FULL:
            raise self._fault(
                f"end after {state.n_samples} of at least {last} samples "
                f"({REASONS[self._status]})"
            )
        n_channels, width = self._samples.shape
        out = np.empty((max(_STEP, width - depth), n_channels), dtype=np.int16)
        self._status, n_decoded = decode_blocks(
            *(self._data, self._version, state.entries, self._samples, state.means),
            *(self._n_means, self._weights, self._type.table, self._type.low, out),
        )
        self._decoded = out[:n_decoded]
        past = self._samples[:, :depth].copy()
        n_samples = state.n_samples + n_decoded
        self._state = state._replace(n_samples=n_samples, past=past)
        if self._status == FULL and n_samples > self._states[-1].n_samples:
            self._states.append(self._state.copy())

    def _read_header(self, n_channels: int, width: int) -> _State:
        """Read the header; return the state before the first block."""
        head = np.array(self._data[:_LARGEST_HEADER])
        magic, version = bytes(head[:4]), bytes(head[4:5])
        if magic != MAGIC or version not in (b"\1", b"\2", b"\3"):
            raise self._fault(
                f"begin with {magic + version!r}, expected {MAGIC.decode()!r} and a "
                f"version from 1 to 3"
            )
        position = 8 * (len(MAGIC) + 1)
        numbers: list[int] = []
        for _ in range(6):
            number, position = read_number(head, position)
            numbers.append(int(number))
        number, channels, block_size, n_weights, n_means, n_skipped = numbers
        while n_skipped > 0 and position >= 0:
            _, position = read_code(head, position, 7)
            n_skipped -= 1
        if position < 0:
            raise self._fault("have a header without an end")
        largest_block = min(_LARGEST_BLOCK, _LARGEST_BLOCKS // n_channels)
        self._check("type", number, 0, 10)
        self._check("channels:", channels, n_channels, min(n_channels, MOST_CHANNELS))
        self._check("block size", block_size, 1, largest_block)
        self._check("LPC order", n_weights, 0, _MOST_WEIGHTS)
        self._check("means:", n_means, 0, _MOST_MEANS)
        self._version, self._n_means = version[0], n_means
        self._type = stream_type(number)
        self._check("bytes per sample:", self._type.width, width, width)
        depth = max(_MINIMUM_DEPTH, n_weights)
        self._weights = np.zeros(depth, dtype=np.int64)
        self._samples = np.zeros((n_channels, depth + block_size), dtype=np.int64)
        means = np.full((n_channels, max(1, n_means)), self._type.mean, dtype=np.int64)
        entries = np.array([position, block_size, 0], dtype=np.int64)
        return _State(0, entries, self._samples[:, :depth].copy(), means)

    def _check(self, name: str, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            expected = f"{least} to {most}" if least < most else f"{most}"
            raise self._fault(f"have {name} {value}, expected {expected}")

    def _fault(self, problem: str) -> DataFormatError:
        return DataFormatError(
            f"the compressed samples {problem}; the file is truncated or damaged, copy "
            f"it again",
            path=self._path,
        )
