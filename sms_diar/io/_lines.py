"""Lines and fields of text files, with checks of their encoding.

Files are read as bytes and split only at LF: Python's text mode would also split at a
lone CR, and ``str.splitlines`` at characters that can be part of a name. Fields are
separated only by spaces and tabs, as in Kaldi; other white space, such as a pasted
no-break space, is refused, because some tools split at it and others do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sms_diar._text import check_id, is_name
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError

BOM = "the file begins with a byte order mark; save it as UTF-8 without one"
CRLF = (
    "the line ends in CR LF, and Kaldi would read the CR as part of the last field; "
    "convert the file with dos2unix"
)
BLANK = "the line is blank; remove it"

_FIELD = re.compile(r"[^ \t]+")


@dataclass(frozen=True, slots=True)
class Line:
    r"""One line of a file, without line end and byte order mark.

    Invalid bytes become ``\ufffd``. A line that is blank or not UTF-8 is not
    readable.
    """

    number: int
    text: str
    problems: tuple[str, ...]
    is_readable: bool


def check_is_file(path: Path) -> None:
    """Raise MissingFileError unless `path` is an existing file."""
    try:
        if path.is_file():
            return
        problem = "is not a file" if path.exists() else "no such file"
    except (OSError, ValueError):  # too long, or with NUL
        problem = "is not a valid file name"
    raise MissingFileError(f"{path}: {problem}")


def scan_lines(path: str | Path) -> Iterator[Line]:
    """Yield all lines of a file with their problems."""
    path = Path(path)
    check_is_file(path)
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            problems = []
            content = raw.removesuffix(b"\n")
            if number == 1 and content.startswith(b"\xef\xbb\xbf"):
                content = content[3:]
                problems.append(BOM)
            if content.endswith(b"\r"):
                content = content[:-1]
                problems.append(CRLF)
            is_utf8 = True
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError as error:
                is_utf8 = False
                text = content.decode("utf-8", errors="replace")
                problems.append(
                    f"byte 0x{content[error.start]:02x} in column {error.start + 1} is "
                    f"not UTF-8; convert the file with iconv"
                )
            is_blank = not text.strip(" \t")
            if is_blank:
                problems.append(BLANK)
            yield Line(number, text, tuple(problems), is_utf8 and not is_blank)


def strict_lines(path: str | Path) -> Iterator[Line]:
    """Yield the lines of a file; raise at the first problem."""
    for line in scan_lines(path):
        if line.problems:
            raise DataFormatError(
                line.problems[0], path=path, line=line.number, text=line.text or None
            )
        yield line


def read_text(path: str | Path) -> str:
    """Read a whole text without the byte order mark and CRs of spreadsheets."""
    lines = []
    for line in scan_lines(path):
        if not line.is_readable and BLANK not in line.problems:
            problem = line.problems[-1]
            raise DataFormatError(problem, path=path, line=line.number, text=line.text)
        lines.append(line.text + "\n")
    return "".join(lines)


def split_fields(text: str) -> list[str]:
    """Split a line at spaces and tabs."""
    return _FIELD.findall(text)


def check_fields(fields: list[str]) -> list[str]:
    """Return the fields if all their characters are visible.

    Raises a plain ValueError; the caller adds the file and line.
    """
    text = " ".join(fields)
    if text.split() == fields and is_name(text):
        return fields
    for field in fields:
        if len(field.split()) != 1 or field != field.strip():
            raise ValueError(
                f"{field!r} contains white space other than spaces and tabs; remove it"
            )
        check_id(field)
    return fields


def check_names(owner: str, names: Iterable[str], *, format: str) -> None:
    """Check that all ids can be fields of a line of text."""
    for name in names:
        check_field(owner, "id", name, format=format)


def check_field(owner: str, name: str, value: str, *, format: str) -> str:
    """Return `value` if it can be a field of a line of text."""
    if not isinstance(value, str):
        problem = f"must be text, got {value!r}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    # Other readers split at any white space.
    if not value or any(letter.isspace() for letter in value):
        problem = (
            f"must be a name without white space, which separates the fields of "
            f"{format}, got {value!r}; rename it"
        )
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    if not is_name(value):
        problem = f"must be a name of visible characters, got {value!r}; rename it"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    return value
