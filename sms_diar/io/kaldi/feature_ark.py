r"""Kaldi archives of frame features: one matrix per segment, written one at a time.

kaldiio compresses the matrices, column by column as in Kaldi's format. Uncompressed
matrices are written directly from memory; kaldiio would copy them first. Matrices are
read here, because files are not trusted.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from kaldiio.compression_header import GlobalHeader, PerColHeader

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import ByteSource, open_source
from sms_diar.io._lines import check_field
from sms_diar.io.kaldi.ark import BINARY, read_object
from sms_diar.io.kaldi.scp import Arks, ScpEntry, parse_scp
from sms_diar.types import AnyArray

_SPEECH_FEATURE = 2  # Kaldi's one byte per number with quartiles of each column
_TWO_BYTES = 3  # for matrices too short for quartiles
_ENOUGH_ROWS = 9
_EXCESS_ROWS = 3  # by which a range may exceed its matrix, because times are rounded


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


class FrameTable:
    """Table ``feats.scp`` or ``vad.scp``, whose entries are read one at a time.

    Matrices may be compressed, and entries may be ranges of rows, ``ark:12[0:149]``.
    Commands are not run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._entries: dict[str, tuple[int, ScpEntry]] = {}
        with open_source(self.path) as source:
            for line, _, entry in parse_scp(source):
                if entry.id in self._entries:
                    raise source.fault(f"id {entry.id!r} occurs a second time", line)
                self._entries[entry.id] = line, entry

    @property
    def ids(self) -> list[str]:
        """Ids in the order of the table."""
        return list(self._entries)

    def read(self, name: str, *, ndim: int) -> AnyArray:
        """Read a matrix, shape (n_frames, dim), or a vector, shape (n_frames,)."""
        if name not in self._entries:
            raise DataFormatError(f"has no entry for {name!r}", path=self.path)
        line, entry = self._entries[name]
        try:
            if entry.command is not None:
                raise ValueError("commands are not supported here; name an ark")
            with Arks(self.path.parent) as arks:
                source = arks.at(entry.path, entry.offset)
                frames = read_frames(source, f"frames of {name!r}", ndim=ndim)
            first, last = entry.span or (0, len(frames) - 1)
            if first >= max(len(frames), 1) or last >= len(frames) + _EXCESS_ROWS:
                raise ValueError(f"[{first}:{last}] exceeds {len(frames)} frames")
            if not np.isfinite(frames).all():
                raise ValueError("contains NaN or infinity")
        except (OSError, ValueError) as error:
            raise DataFormatError(str(error), path=self.path, line=line) from None
        return frames[first : last + 1]


def read_frames(source: ByteSource, owner: str, *, ndim: int = 2) -> AnyArray:
    """Read a vector, or a matrix that may be compressed, from its first byte."""
    head = source.peek(6)
    if ndim == 1 or not head.startswith(BINARY + b"CM"):
        return read_object(source, owner, ndim=ndim)
    kind = head[4:].split(b" ")[0]  # of CM, CM2 or CM3
    source.read(3 + len(BINARY) + len(kind))
    header = source.read(16)
    low, extent, n_rows, n_columns = 0.0, 0.0, -1, -1
    if len(header) == 16 and kind in (b"", b"2", b"3"):
        low, extent, n_rows, n_columns = struct.unpack("<ffii", header)
    sizes = {b"": n_columns * (8 + n_rows), b"2": 2 * n_rows * n_columns}
    size = sizes.get(kind, n_rows * n_columns)
    raw = source.read(size) if min(n_rows, n_columns) >= 0 else b""
    if min(n_rows, n_columns) < 0 or len(raw) < size:
        raise source.fault(f"{owner}: the compressed matrix is truncated or damaged")
    with np.errstate(all="ignore"):  # numbers that are not finite are found later
        return _expanded(raw, kind, low, extent, n_columns)


def _expanded(
    raw: bytes, kind: bytes, low: float, extent: float, n_columns: int
) -> AnyArray:
    """Expand a compressed matrix, shape (n_rows, n_columns)."""
    if not n_columns:
        return np.empty((0, 0), np.float32)
    if kind:  # one scale for the whole matrix
        width, dtype = (65535, "<u2") if kind == b"2" else (255, "u1")
        levels = np.frombuffer(raw, dtype).reshape(-1, n_columns).astype(np.float32)
        return np.asarray(np.float32(low) + np.float32(extent / width) * levels)
    # A scale for each column, with bends at its quartiles.
    bounds = np.frombuffer(raw[: 8 * n_columns], "<u2").reshape(n_columns, 4)
    p0, p25, p75, p100 = (low + extent / 65535 * bounds).astype(np.float32).T
    levels = np.frombuffer(raw[8 * n_columns :], "u1").reshape(n_columns, -1).T
    level = levels.astype(np.float32)
    lower, middle = p0 + (p25 - p0) * level / 64, p25 + (p75 - p25) * (level - 64) / 128
    upper = p75 + (p100 - p75) * (level - 192) / 63
    above = np.where(level <= 192, middle, upper)
    return np.asarray(np.where(level <= 64, lower, above))
