"""Byte sources: files, standard input, open streams and gzip files.

Formats are detected from the first bytes, and standard input cannot be rewound.
`ByteSource` therefore has a small look-ahead buffer and tracks its position. It never
allocates memory because of a header: a file that declares a billion numbers and ends
early is detected at its end.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TypeAlias

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError

Readable: TypeAlias = str | Path | BinaryIO
NamedStream: TypeAlias = tuple[BinaryIO, str | Path]

CHUNK = 1 << 16
_SPECIAL = "is a pipe or device, not a file; store it as a file first"


class ByteSource:
    """A binary stream with look-ahead and a position; `name` is for messages."""

    def __init__(self, stream: BinaryIO, name: str | Path) -> None:
        self.name = name
        self.line = 1  # updated by `skip` and `until`, which consume text
        self._stream = stream
        self._buffer = b""
        self._at = 0
        self._base = 0

    def fault(self, problem: str, line: int | None = None) -> DataFormatError:
        """Return an error about this source, to be raised."""
        return DataFormatError(problem, path=self.name, line=line)

    @property
    def position(self) -> int:
        """Number of bytes consumed so far, or the current offset after `seek`."""
        return self._base + self._at

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes (fewer at the end) without consuming them."""
        while len(self._buffer) - self._at < size:
            chunk = self._next_chunk()
            if not chunk:
                break
            self._base += self._at
            self._buffer = self._buffer[self._at :] + chunk
            self._at = 0
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """Consume `size` bytes, fewer only at the end."""
        pieces = []
        while size > 0 and (self._at < len(self._buffer) or self._refill()):
            piece = self._buffer[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def until(self, stop: re.Pattern[bytes], *, limit: int | None = None) -> bytes:
        """Consume all bytes before the first match of `stop`.

        Without a match, all bytes to the end are consumed, or slightly more than
        `limit` bytes.
        """
        pieces = []
        size = 0
        while self._at < len(self._buffer) or self._refill():
            match = stop.search(self._buffer, self._at)
            end = match.start() if match else len(self._buffer)
            pieces.append(self._buffer[self._at : end])
            size += end - self._at
            self._at = end
            if match or (limit is not None and size > limit):
                break
        text = b"".join(pieces)
        self.line += text.count(b"\n")
        return text

    def skip(self, characters: bytes) -> None:
        """Consume the next bytes as long as they are in `characters`."""
        while self._at < len(self._buffer) or self._refill():
            if self._buffer[self._at] not in characters:
                return
            self.line += self._buffer[self._at] == 0x0A
            self._at += 1

    def rest(self) -> bytes:
        """Consume all remaining bytes."""
        pieces = [self._buffer[self._at :]]
        self._at = len(self._buffer)
        while self._refill():
            pieces.append(self._buffer)
            self._at = len(self._buffer)
        return b"".join(pieces)

    def seek(self, offset: int) -> None:
        """Move to a byte offset of a seekable stream; cheap within the buffer."""
        if self._base <= offset <= self._base + len(self._buffer):
            self._at = offset - self._base
        else:
            try:
                self._stream.seek(offset)
            except (OSError, OverflowError, ValueError) as error:
                problem = f"has no byte {offset} ({error})"
                raise DataFormatError(problem, path=self.name) from None
            self._buffer, self._at, self._base = b"", 0, offset

    def _refill(self) -> bool:
        chunk = self._next_chunk()
        self._base += len(self._buffer)
        self._buffer, self._at = chunk, 0
        return bool(chunk)

    def _next_chunk(self) -> bytes:
        chunk = self._stream.read(CHUNK)
        if not isinstance(chunk, bytes):
            problem = (
                f"must be a binary stream, got one of {type(chunk).__name__}; open it "
                f"with mode 'rb'"
            )
            raise InvalidParameterError(problem, owner=self.name, parameter="source")
        return chunk


def open_file(path: Path) -> BinaryIO:
    """Open a file or a pipe; system errors become errors of this package.

    A device without an end, such as ``/dev/zero``, is refused.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataFormatError("is a folder; name a file inside it", path=path) from None
    except OSError as error:
        reason = error.strerror or error
        raise DataFormatError(f"cannot be read ({reason})", path=path) from error
    except ValueError:  # NUL
        raise DataFormatError("is not a valid file name", path=path) from None
    about = os.fstat(stream.fileno())
    is_empty = about.st_rdev == Path(os.devnull).stat().st_rdev
    if stat.S_ISCHR(about.st_mode) and not (is_empty or stream.isatty()):
        stream.close()
        raise DataFormatError(_SPECIAL, path=path)
    return stream


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, for paths read from other files and for random access.

    A pipe would block until its other end is opened, and a device might never end.
    """
    try:
        is_special = path.exists() and not path.is_file() and not path.is_dir()
    except OSError as error:  # such as a name that is too long
        raise DataFormatError(f"cannot be read ({error})", path=path) from error
    except ValueError:  # NUL
        raise DataFormatError("is not a valid file name", path=path) from None
    if is_special:
        raise DataFormatError(_SPECIAL, path=path)
    return open_file(path)


def check_readable(owner: str, source: object) -> None:
    """Refuse values that are neither a path nor an open stream, such as bytes."""
    if not isinstance(source, str | Path) and not hasattr(source, "read"):
        problem = (
            f"must be a path or a binary stream, got a value of type "
            f"{type(source).__name__}"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="source")


@contextmanager
def open_source(source: Readable) -> Iterator[ByteSource]:
    """Open a path, ``-`` for standard input, or wrap an open binary stream.

    Streams opened by the caller are not closed.
    """
    if not isinstance(source, str | Path):
        yield ByteSource(source, str(getattr(source, "name", "<stream>")))
    elif str(source) == "-":
        yield ByteSource(sys.stdin.buffer, "<stdin>")
    else:
        path = Path(source)
        with open_file(path) as stream:
            yield ByteSource(stream, path)


@contextmanager
def open_seekable(source: Readable, name: str | None = None) -> Iterator[NamedStream]:
    """Open a source for random access; a stream is read into memory.

    `name` is the name of a stream in messages.
    """
    if isinstance(source, str | Path) and str(source) != "-":
        path = Path(source)
        with open_regular(path) as stream:
            yield stream, path
    else:
        with open_source(source) as opened:
            yield BytesIO(opened.rest()), name or str(opened.name)


STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"
"""Name of standard input in messages."""

_CHUNK = 1 << 20
_LARGEST = 1 << 30
"""Maximum size of an unpacked file: more than the turns of a thousand days."""


@contextmanager
def unpacked(path: str | Path) -> Iterator[Path]:
    """Provide a plain file for a path: the file itself, or a temporary copy.

    ``-`` is standard input. A file that ends in ``.gz`` is unpacked to a copy with
    the same name without ``.gz``.
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
    """Write standard input to a file, and unpack it if it is compressed with gzip."""
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
                        f"unpacks to more than {_LARGEST >> 30} GiB; if it is valid, "
                        f"unpack it with gunzip",
                        path=name,
                    )
                out.write(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problem = f"not a whole gzip file ({error}); it is truncated or damaged"
        raise DataFormatError(problem, path=name) from None
