r"""Arks of frame features: a matrix for each segment, written as they come.

kaldiio does the compression, column by column, since Kaldi's format is that way
round. Plain matrices are written from their own memory: going through kaldiio
would hold five hours of frames twice.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from kaldiio.compression_header import GlobalHeader, PerColHeader

from sms_diar.io._lines import check_field
from sms_diar.io.kaldi.binary import BINARY

_SPEECH_FEATURE = 2  # Kaldi's one byte per number with quartiles of each column
_TWO_BYTES = 3  # for matrices too short for quartiles
_ENOUGH_ROWS = 9


class FeatureArk:
    """Append matrices to an open ark and remember where they are.

    Parameters
    ----------
    stream : binary file
        Where the ark is written.
    compress : bool, default=False
        One byte for each number (Kaldi's default compression of features).
        Kaldi and kaldiio read it back with an error of about one percent of
        the range of a column.
    """

    def __init__(self, stream: BinaryIO, *, compress: bool = False) -> None:
        self._stream = stream
        self._compress = compress
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def write(self, name: str, frames: npt.NDArray[np.float32]) -> None:
        """Write the frames of a segment, one per row."""
        check_field("FeatureArk", "id", name, format="the ark")
        self._stream.write(f"{name} ".encode())
        self._places[name] = self._stream.tell()
        self._stream.write(BINARY)
        if self._compress:
            _write_compressed(self._stream, frames)
            return
        sizes = b"".join(struct.pack("<bi", 4, size) for size in frames.shape)
        self._stream.write(b"FM " + sizes)
        self._stream.write(np.ascontiguousarray(frames, dtype="<f4").data)

    def scp(self, ark: str | Path) -> str:
        """Text of the scp, in which the ark is called `ark`."""
        return "".join(f"{name} {ark}:{at}\n" for name, at in self._places.items())


def _write_compressed(stream: BinaryIO, frames: npt.NDArray[np.float32]) -> None:
    short = len(frames) < _ENOUGH_ROWS
    header = GlobalHeader.compute(frames, _TWO_BYTES if short else _SPEECH_FEATURE)
    header.write(stream)
    if short:
        stream.write(header.float_to_uint(frames).tobytes())
        return
    parts = []
    for column in range(frames.shape[1]):
        parts.append(PerColHeader.compute(frames[:, [column]], header))
        parts[-1].write(stream, header)
    for column, part in enumerate(parts):
        stream.write(part.float_to_char(frames[:, [column]].T).tobytes())
