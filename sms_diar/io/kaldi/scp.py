"""Kaldi scp files: lists of ``id path`` or ``id path:offset``, optionally with ranges.

A line may also be ``id command |``, whose output is the vector. Commands are run only
if the caller allows them, and never through a shell.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from sms_diar._files import FILE_NAMES
from sms_diar._text import check_id, shown
from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io._bytes import ByteSource, Readable, open_regular, open_source
from sms_diar.io._lines import BOM
from sms_diar.io.audio.recording import run_command
from sms_diar.io.kaldi.ark import VectorChecks, read_object
from sms_diar.types import AnyArray

_RANGE = re.compile(r"(.*\S)\[([^\[\]]*)\]")
_OFFSET = re.compile(r"(.+):([0-9]{1,18})")
_SPAN = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class ScpEntry:
    """One line of an scp: a byte offset in a file, or a command.

    `span` is the first and last dimension to keep, both inclusive.
    """

    id: str
    path: str = ""
    offset: int = 0
    span: tuple[int, int] | None = None
    command: str | None = None


class _Arks:
    """Arks that entries refer to; the last one stays open for the next line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._path: str | None = None
        self._source: ByteSource | None = None

    def __enter__(self) -> _Arks:
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    def at(self, path: str, offset: int) -> ByteSource:
        if self._source is None or path != self._path:
            self._stack.close()
            file = self._find(path)
            stream = self._stack.enter_context(open_regular(file))
            self._path, self._source = path, ByteSource(stream, file)
        self._source.seek(offset)
        self._source.line = 1
        return self._source

    def _find(self, path: str) -> Path:
        # Kaldi resolves paths against the current folder. The folder of the scp is
        # also tried, so that data folders can be moved.
        candidates = [Path(path), self._folder / path]
        for candidate in candidates:
            try:
                if candidate.exists():
                    return candidate
            except (OSError, ValueError) as error:  # too long, or with NUL
                raise ValueError(f"is not a valid file name ({error})") from None
        names = dict.fromkeys(str(candidate) for candidate in candidates)
        raise MissingFileError(f"no such file: {shown(' nor '.join(names))}")


def parse_scp(source: ByteSource) -> Iterator[tuple[int, str, ScpEntry]]:
    """Yield the line number, the text and the entry of each line that is not blank."""
    for number, raw in enumerate(source.rest().split(b"\n"), start=1):
        if number == 1 and raw.startswith(BOM_UTF8):
            raise source.fault(BOM, 1)
        text = raw.decode("utf-8", FILE_NAMES).strip()
        try:
            b"".join(raw.split(maxsplit=1)[:1]).decode("utf-8")  # the id
        except UnicodeDecodeError as error:
            raise source.fault(f"not UTF-8 ({error.reason})", number) from None
        if text:
            try:
                yield number, text, parse_entry(text)
            except ValueError as error:
                raise DataFormatError(
                    str(error), path=source.name, line=number, text=text
                ) from None


def parse_entry(text: str) -> ScpEntry:
    """Parse one line; `parse_scp` adds file and line to the ValueError of a bad line.

    >>> parse_entry("a exp/x.ark:12[0:3]")
    ScpEntry(id='a', path='exp/x.ark', offset=12, span=(0, 3), command=None)
    """
    words = text.split(maxsplit=1)
    if len(words) < 2:
        raise ValueError("a line is 'id path', 'id path:offset' or 'id command |'")
    name, target = check_id(words[0]), words[1]
    if target.endswith("|"):
        return ScpEntry(name, command=target[:-1].strip())
    span = None
    ranged = _RANGE.fullmatch(target)
    if ranged:
        target, inside = ranged.groups()
        limits = _SPAN.fullmatch(inside)
        if inside != ":":  # [:] is the whole vector
            if not limits or int(limits[1]) > int(limits[2]):
                raise ValueError(
                    f"a range of a vector is [first:last], both inclusive and from 0, "
                    f"got [{inside}]"
                )
            span = int(limits[1]), int(limits[2])
    offset = _OFFSET.fullmatch(target)
    if offset:
        return ScpEntry(name, offset[1], int(offset[2]), span)
    return ScpEntry(name, target, span=span)


def read_scp(
    source: Readable, *, allow_commands: bool = False
) -> Iterator[tuple[str, AnyArray]]:
    """Yield the ids and vectors that an scp lists, in its order.

    Parameters
    ----------
    source : str, Path or binary stream
        scp file, or ``-`` for standard input. Relative paths are resolved against
        the current folder, as in Kaldi, then against the folder of the scp.
    allow_commands : bool, default=False
        Run lines of the form ``id command |`` without a shell; pipelines,
        redirections and variables are refused.

    Yields
    ------
    id : str
        First word of the line.
    vector : ndarray of shape (d,)
        Vector as stored, restricted to the range, if any.
    """
    with open_source(source) as opened:
        yield from iterate_scp(opened, allow_commands=allow_commands)


def iterate_scp(
    source: ByteSource, *, allow_commands: bool = False
) -> Iterator[tuple[str, AnyArray]]:
    """Read an scp from an open source; see `read_scp`."""
    checks = VectorChecks(source.name)
    folder = source.name.parent if isinstance(source.name, Path) else Path()
    with _Arks(folder) as arks:
        for number, text, entry in parse_scp(source):
            try:
                vector = _load(entry, arks, allow_commands=allow_commands)
            except MissingFileError as error:
                raise MissingFileError(f"{source.name}:{number}: {error}") from None
            except ValueError as error:  # including DataFormatError of the ark
                raise DataFormatError(
                    str(error),
                    path=source.name,
                    line=number,
                    text=text,
                    mentions=("allow_commands=True",),
                ) from error
            checks.check(entry.id, vector, line=number)
            yield entry.id, vector


def _load(entry: ScpEntry, arks: _Arks, *, allow_commands: bool) -> AnyArray:
    owner = f"vector of {entry.id!r}"
    if entry.command is not None:
        if not allow_commands:
            raise ValueError(
                "this line is a command; an scp from elsewhere can run any program, so "
                "commands need allow_commands=True"
            )
        output = BytesIO(run_command(entry.command))
        return read_object(ByteSource(output, entry.command), owner, ndim=1)
    vector = read_object(arks.at(entry.path, entry.offset), owner, ndim=1)
    if entry.span is None:
        return vector
    first, last = entry.span
    # Kaldi lets a range exceed the matrix by 3, for rounded frame times. For vectors,
    # this would hide a wrong dimension.
    if last >= len(vector):
        raise ValueError(
            f"range [{first}:{last}] exceeds the {len(vector)} dimensions of the "
            f"{owner}"
        )
    return vector[first : last + 1]
