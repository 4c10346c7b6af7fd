"""NIST SPHERE, the audio format of LDC telephone corpora.

A text header of fields, ``name -type value``, whose size is a multiple of 1024
bytes, then samples with the channels interleaved. Supported are 16-bit PCM of both
byte orders, mu-law and A-law (ITU-T G.711). Most LDC discs contain samples compressed
with `shorten`, which are decoded at the first read (`io.audio.shorten`). Other
compressions need the external tools named in the error message.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_regular
from sms_diar.types import FloatArray

MAGIC = b"NIST_1A\n"

_SIZE_LINE = 8
_LARGEST_HEADER = 1 << 20
_FIELD = re.compile(r"(\S+)\s+-(i|r|s\d+)\s+(.*)")
_WHOLE = re.compile("[0-9]{1,18}")  # isdigit() accepts superscripts
_SHORTENED = (b"ajkg\1", b"ajkg\2", b"ajkg\3")
_PCM = {"01": "<i2", "10": ">i2"}


def _ulaw() -> npt.NDArray[np.int16]:
    code = ~np.arange(256, dtype=np.uint8) & 0xFF
    exponent, mantissa = (code >> 4) & 7, code & 15
    size = (((mantissa.astype(np.int32) << 3) + 132) << exponent) - 132
    return np.where(code & 0x80, -size, size).astype(np.int16)


def _alaw() -> npt.NDArray[np.int16]:
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent, mantissa = ((code >> 4) & 7).astype(np.int32), code & 15
    step = (mantissa.astype(np.int32) << 4) + 8
    size = np.where(exponent > 0, (step + 256) << np.maximum(exponent - 1, 0), step)
    return np.where(code & 0x80, size, -size).astype(np.int16)


ULAW = _ulaw()
"""16-bit sample of each mu-law byte, shape (256,)."""

ALAW = _alaw()
"""16-bit sample of each A-law byte, shape (256,)."""

_TABLES = {"ulaw": ULAW, "alaw": ALAW}


@dataclass(frozen=True, slots=True)
class SphereHeader:
    """Header of a SPHERE file; `size` is its size in bytes.

    `n_samples` per channel is None if missing; `dtype` is that of a stored sample, and
    `is_shortened` tells whether samples are compressed with *shorten*.
    """

    rate: int
    n_channels: int
    n_samples: int | None
    coding: str
    dtype: str
    size: int
    is_shortened: bool = False


class SphereFile:
    """Samples of a SPHERE file, read on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream = open_regular(path)
        try:
            self.header = read_sphere_header(self._stream, path)
            self.n_samples = self._count()
        except BaseException:
            self._stream.close()
            raise
        self.rate = self.header.rate
        self.n_channels = self.header.n_channels

    def read(self, first: int, last: int) -> FloatArray:
        """Read samples `first` to `last` (exclusive), shape (n, n_channels)."""
        header = self.header
        width = np.dtype(header.dtype).itemsize * header.n_channels
        if header.is_shortened:
            stored = self._unpacked[first:last]
        else:
            self._stream.seek(header.size + first * width)
            data = self._stream.read((last - first) * width)
            stored = np.frombuffer(data, header.dtype)
        if header.coding != "pcm":
            stored = _TABLES[header.coding][stored]
        return stored.reshape(-1, header.n_channels) / 32768.0

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    @functools.cached_property
    def _unpacked(self) -> npt.NDArray[np.int16]:
        """All samples of a file that is compressed with *shorten*."""
        from sms_diar.io.audio.shorten import read_shortened  # noqa: PLC0415 compiled

        return read_shortened(
            self.path,
            self.header.size,
            n_samples=self.n_samples,
            n_channels=self.header.n_channels,
            width=np.dtype(self.header.dtype).itemsize,
        )

    def _count(self) -> int:
        header = self.header
        if header.is_shortened:
            self._stream.seek(header.size)
            start = self._stream.read(5)
            if start not in _SHORTENED:
                raise DataFormatError(
                    f"the compressed samples begin with {start!r}, expected 'ajkg' and "
                    f"a version from 1 to 3; the file is damaged, copy it again",
                    path=self.path,
                )
            return header.n_samples or 0  # the decoder detects missing ones
        width = np.dtype(header.dtype).itemsize * header.n_channels
        held = (self._stream.seek(0, 2) - header.size) // width
        if header.n_samples is None:
            return held
        if held < header.n_samples:
            raise DataFormatError(
                f"the header promises {header.n_samples} samples, but the file ends "
                f"after {max(held, 0)} of them; it is truncated, copy it again",
                path=self.path,
            )
        return header.n_samples


def read_sphere_header(stream: BinaryIO, path: Path) -> SphereHeader:
    """Read the header at the start of `stream`."""
    start = stream.read(len(MAGIC) + _SIZE_LINE)
    size_text = start[len(MAGIC) :].strip()
    size = int(size_text) if size_text.isdigit() else 0
    if not start.startswith(MAGIC) or not len(start) <= size <= _LARGEST_HEADER:
        raise DataFormatError(
            "the SPHERE header has no valid size in its second line; the file is "
            "truncated or damaged",
            path=path,
        )
    body, end, _ = stream.read(size - len(start)).partition(b"end_head")
    if not end:
        raise DataFormatError(
            f"the SPHERE header does not end with 'end_head' within its {size} bytes; "
            f"the file is truncated or damaged",
            path=path,
        )
    fields = {}
    for line in body.decode("latin-1").split("\n"):
        match = _FIELD.fullmatch(line.strip())
        if match:  # other lines are comments, which begin with a semicolon
            fields[match[1]] = match[3].strip()
    return _interpret(fields, size, path)


def _interpret(fields: dict[str, str], size: int, path: Path) -> SphereHeader:
    coding = fields.get("sample_coding", "pcm").lower()
    order = fields.get("sample_byte_format", "")
    coding, _, packed = coding.partition(",")
    is_shortened = packed.startswith("embedded-shorten")
    if (packed and not is_shortened) or "shortpack" in order:
        packed = packed or order
        raise DataFormatError(
            f"the samples are compressed ({packed}); unpack them first with "
            f"'sph2pipe -p -f wav {path.name} {path.stem}.wav' or 'sox {path.name} "
            f"{path.stem}.wav'",
            path=path,
        )
    width = _whole(fields, "sample_n_bytes", path, default=2 if coding == "pcm" else 1)
    coding = {"mu-law": "ulaw", "mulaw": "ulaw", "a-law": "alaw"}.get(coding, coding)
    dtype = None
    if coding == "pcm" and width == 2:
        dtype = "<i2" if is_shortened else _PCM.get(order)  # the stream has its own
    elif coding in _TABLES and width == 1:
        dtype = "u1"
    if dtype is None:
        raise DataFormatError(
            f"samples of {width} bytes, coding {coding!r} and byte order {order!r} "
            f"cannot be read; 16-bit PCM (order '01' or '10'), mu-law and A-law can. "
            f"Convert the file with 'sox {path.name} {path.stem}.wav'",
            path=path,
        )
    count = None
    if "sample_count" in fields or is_shortened:
        count = _whole(fields, "sample_count", path, least=0)
    return SphereHeader(
        rate=_whole(fields, "sample_rate", path),
        n_channels=_whole(fields, "channel_count", path, default=1),
        n_samples=count,
        coding=coding,
        dtype=dtype,
        size=size,
        is_shortened=is_shortened,
    )


def _whole(
    fields: dict[str, str],
    name: str,
    path: Path,
    *,
    default: int | None = None,
    least: int = 1,
) -> int:
    text = fields.get(name)
    if text is None and default is not None:
        return default
    if text is None or not _WHOLE.fullmatch(text) or int(text) < least:
        raise DataFormatError(
            f"the SPHERE header must give {name} as a whole number >= {least}, got "
            f"{text if text is None else text[:40]!r}",
            path=path,
        )
    return int(text)
