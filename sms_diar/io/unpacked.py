"""Files that are compressed, or standard input, as plain files for a while."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_file

STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"
"""What messages call it."""

_CHUNK = 1 << 20
_LARGEST = 1 << 30
"""Bytes that are unpacked: turns of thousands of days. More is a trap."""


@contextmanager
def unpacked(path: str | Path) -> Iterator[Path]:
    """Give the plain file behind a path: itself, or a copy that is gone afterwards.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard input; a file that ends in ``.gz`` is unpacked. The name of
        a copy is that of the original without ``.gz``.
    """
    if str(path) == STANDARD_INPUT:
        with _copy("stdin") as copy:
            spool_standard_input(copy)
            yield copy
        return
    path = Path(path)
    if path.suffix.lower() != ".gz" or not path.is_file():
        yield path
        return
    with _copy(path.stem) as copy:
        with open_file(path) as packed:
            _unpack(packed, copy, path)
        yield copy


def spool_standard_input(copy: Path) -> None:
    """Write standard input, unpacked if it is compressed by gzip, to a file."""
    with copy.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out, _CHUNK)
    with copy.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    if is_packed:
        packed = copy.replace(copy.with_name("packed"))
        with packed.open("rb") as stream:
            _unpack(stream, copy, STANDARD_INPUT_NAME)


@contextmanager
def _copy(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sms-diar-") as folder:
        yield Path(folder) / name


def _unpack(packed: BinaryIO, copy: Path, name: str | Path) -> None:
    size = 0
    try:
        with gzip.open(packed, "rb") as stream, copy.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > _LARGEST:
                    raise DataFormatError(
                        f"unpacks to more than {_LARGEST >> 30} GiB; unpack it with "
                        f"gunzip if it is meant",
                        path=name,
                    )
                out.write(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataFormatError(
            f"not a whole gzip file ({error}); it is truncated or damaged", path=name
        ) from None
