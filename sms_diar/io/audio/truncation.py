"""Detection of truncated audio files.

libsndfile and ffmpeg read the existing samples and do not report missing ones. Most
containers state the number of bytes of their samples before them, the last page of an
Ogg stream has a flag, and an FLV file is a sequence of tags with sizes; these reveal
truncated files. Programs that write to a pipe cannot go back to fill in the size; they
write zero or a very large value, which is ignored.
"""

from __future__ import annotations

import logging
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sms_diar.errors import DataFormatError
from sms_diar.limits import MOST_CHUNKS

log = logging.getLogger(__name__)

HEAD = 12
"""Number of bytes at the start of a file that identify its container."""

_UNKNOWN = {4: 0x7F000000, 8: 1 << 62}
"""Smallest 4-byte and 8-byte values that are not sizes but placeholders, as of sox."""

_W64_SAMPLES = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
_LARGEST_PAGE = 27 + 255 + 255 * 255
_LAST_PAGE = 4  # flag of an Ogg page
_FLV_TAGS = (8, 9, 18)  # sound, picture, description


@dataclass(frozen=True, slots=True)
class _Layout:
    """A container of chunks, each of which begins with its tag and its size."""

    name: str
    first: int  # byte at which the first chunk begins
    head: str  # tag and size of a chunk, as `struct` writes them
    samples: bytes = b"data"
    align: int = 2
    counts_head: bool = False  # if true, a size includes the tag and the size


_LAYOUTS = {
    (b"RIFF", b"WAVE"): _Layout("WAV", 12, "<4sI"),
    (b"RIFX", b"WAVE"): _Layout("WAV", 12, ">4sI"),
    (b"RF64", b"WAVE"): _Layout("RF64", 12, "<4sI"),
    (b"BW64", b"WAVE"): _Layout("BW64", 12, "<4sI"),
    (b"RIFF", b"AVI "): _Layout("AVI", 0, "<4sI", b"RIFF"),
    (b"FORM", b"AIFF"): _Layout("AIFF", 12, ">4sI", b"SSND"),
    (b"FORM", b"AIFC"): _Layout("AIFF", 12, ">4sI", b"SSND"),
    (b"caff", b""): _Layout("CAF", 8, ">4sq", align=1),
    (b"riff", b""): _Layout("W64", 40, "<16sQ", _W64_SAMPLES, 8, counts_head=True),
}


def check_whole(stream: BinaryIO, path: Path) -> None:
    """Refuse a truncated audio file, if its container reveals the truncation.

    Parameters
    ----------
    stream : binary file object
        Seekable audio file.
    path : Path
        File name for messages.

    Raises
    ------
    DataFormatError
        If the file ends before its samples do; the message gives the number of bytes.
    """
    stream.seek(0)
    start = stream.read(HEAD)
    end = stream.seek(0, 2)
    kind, form = start[:4], start[8:12]
    layout = _LAYOUTS.get((kind, form)) or _LAYOUTS.get((kind, b""))
    if len(start) < HEAD and kind == b"RIFF":
        layout = _LAYOUTS[kind, b"WAVE"]
    if layout is not None:
        _check_chunks(stream, end, layout, path)
    elif kind in (b".snd", b"dns.") and len(start) == HEAD:
        offset, size = struct.unpack(">II" if kind == b".snd" else "<II", start[4:])
        _compare("AU", size, 4, end - offset, path)
    elif kind == b"OggS":
        _check_ogg(stream, end, path)
    elif kind[:3] == b"FLV" and len(start) == HEAD:
        _check_flv(stream, int.from_bytes(start[5:9], "big") + 4, end, path)


def _compare(name: str, size: int, width: int, held: int, path: Path) -> None:
    """Compare the size of the samples in the header with the bytes that follow."""
    if held < size < _UNKNOWN[width]:
        raise DataFormatError(
            f"the {name} header promises {size} bytes of samples, but the file ends "
            f"after {max(held, 0)} of them; it is truncated, copy it again",
            path=path,
        )


def _check_chunks(stream: BinaryIO, end: int, layout: _Layout, path: Path) -> None:
    head = struct.Struct(layout.head)
    position, long_size = layout.first, None
    for _ in range(MOST_CHUNKS):
        if position + head.size > end:
            raise DataFormatError(
                f"the {layout.name} header ends before the samples begin; the file is "
                f"truncated",
                path=path,
            )
        stream.seek(position)
        tag, size = head.unpack(stream.read(head.size))
        position += head.size
        size -= head.size if layout.counts_head else 0
        if tag == layout.samples:
            width = head.size - len(tag)
            if long_size is not None:
                size, width = long_size, 8
            _compare(layout.name, size, width, end - position, path)
            return
        if tag == b"ds64":  # of RF64: sizes of the file and of its samples
            long_size = int.from_bytes(stream.read(16)[8:], "little")
        if size < 0:
            return  # other damage, which the decoder reports
        position += size + -size % layout.align
    raise DataFormatError(
        f"the {layout.name} header has over {MOST_CHUNKS} parts and no samples yet; "
        f"the file is damaged",
        path=path,
    )


def _check_ogg(stream: BinaryIO, end: int, path: Path) -> None:
    stream.seek(max(0, end - 2 * _LARGEST_PAGE))
    tail = stream.read()
    page = tail[max(0, tail.rfind(b"OggS\0")) :]
    sizes = page[27 : 27 + page[26]] if len(page) > 26 else b""
    if len(page) < 27 or len(page) < 27 + page[26] + sum(sizes):
        raise DataFormatError(
            f"ends after {len(page)} bytes of an Ogg page that is longer, at byte "
            f"{end}; it is truncated, copy it again",
            path=path,
        )
    if not page[5] & _LAST_PAGE:
        log.warning(
            "%s: no page is marked as the last one of the Ogg stream; if more was "
            "recorded, the file is truncated",
            path,
        )


def _check_flv(stream: BinaryIO, position: int, end: int, path: Path) -> None:
    while position < end:
        stream.seek(position)
        tag = stream.read(11)
        if tag[0] not in _FLV_TAGS:
            return
        size = len(tag) + int.from_bytes(tag[1:4], "big")
        if len(tag) < 11 or position + size > end:
            raise DataFormatError(
                f"ends after {end - position} of {size} bytes of an FLV tag, at byte "
                f"{end}; it is truncated, copy it again",
                path=path,
            )
        position += size + 4
