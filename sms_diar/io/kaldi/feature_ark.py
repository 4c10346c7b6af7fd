r"""Kaldi archives of frame features: one matrix per segment, written one at a time.

kaldiio compresses the matrices, column by column as in Kaldi's format. Uncompressed
matrices are written directly from memory; kaldiio would copy them first.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from kaldiio.compression_header import GlobalHeader, PerColHeader

from sms_diar.io._lines import check_field
from sms_diar.io.kaldi.ark import BINARY

_SPEECH_FEATURE = 2  # Kaldi's one byte per number with quartiles of each column
_TWO_BYTES = 3  # for matrices too short for quartiles
_ENOUGH_ROWS = 9


class FeatureArk:
    """Writer of matrices to an open ark that records their offsets.

    `compress` stores one byte per number (Kaldi's default compression of features),
    with an error of about one percent of the range of a column.
    """

    def __init__(self, stream: BinaryIO, *, compress: bool = False) -> None:
        self._stream = stream
        self._compress = compress
        self._offsets: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def write(self, name: str, frames: npt.NDArray[np.float32]) -> None:
        """Write the frames of a segment, shape (n_frames, n_features)."""
        check_field("FeatureArk", "id", name, format="the ark")
        self._stream.write(f"{name} ".encode())
        self._offsets[name] = self._stream.tell()
        self._stream.write(BINARY)
        if self._compress:
            _write_compressed(self._stream, frames)
            return
        sizes = b"".join(struct.pack("<bi", 4, size) for size in frames.shape)
        self._stream.write(b"FM " + sizes)
        self._stream.write(np.ascontiguousarray(frames, dtype="<f4").data)

    def scp(self, ark: str | Path) -> str:
        """Return the text of the scp, which refers to the ark as `ark`."""
        return "".join(f"{name} {ark}:{at}\n" for name, at in self._offsets.items())


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
