"""Text from files, made safe for terminals, tables and single lines."""

from __future__ import annotations

import re

# Control characters and line separators end lines or control terminals, lone surrogates
# cannot be encoded, and direction marks make text look different from what it is.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
UNSAFE_IN_LINES = re.compile(f"(?![\t\n]){_UNSAFE.pattern}")
"""The same characters, for text that may have several lines."""


def is_name(text: str) -> bool:
    """Check whether text can be an id: not blank, with visible characters only.

    Spaces are allowed; formats that use spaces as separators refuse them.
    """
    return bool(text.strip()) and not _UNSAFE.search(text)


def check_id(text: str) -> str:
    """Return an id that has only visible characters; raise a ValueError for others."""
    if not is_name(text):
        raise ValueError(
            f"{text!r} is not a valid id: it is blank or contains control characters "
            f"or marks that change the direction of text; rename it"
        )
    return text


def id_of_file(stem: str) -> str:
    r"""Make an id from the name of a file.

    White space, control characters and bytes that are not UTF-8 become ``_``.

    >>> id_of_file("my call"), id_of_file("caf\udce9")
    ('my_call', 'caf_')
    """
    return _UNSAFE.sub("_", "_".join(stem.split())) or "recording"


def clean_line(text: str) -> str:
    """Remove characters that names must not have, and surplus white space.

    Tabs and line breaks become spaces; marks of direction and control characters go.
    """
    return " ".join(_UNSAFE.sub("", " ".join(text.split())).split())


def shown(text: object) -> str:
    r"""Escape characters that would leave the line, as in Python literals.

    Examples
    --------
    >>> shown("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _UNSAFE.sub(_spelt, str(text))


def shown_lines(text: object) -> str:
    """Escape control characters in text that may have several lines."""
    return UNSAFE_IN_LINES.sub(_spelt, str(text))


def _spelt(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


_START = "\\s*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]"
_FORMULA = re.compile(f"'*{_START}")
_ESCAPED = re.compile(f"'+{_START}")
_NUMBER = r"[+-]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?: ?%)?"
# A number, optionally with its spread or an interval, or a dash instead of a number.
_FIGURE = re.compile(
    rf"{_NUMBER}(?: ?± ?{_NUMBER})?(?: \({_NUMBER}(?:, ?{_NUMBER})*\))?|[+-]"
)


def as_cell(text: str) -> str:
    """Return text for a CSV cell, with an apostrophe before a potential formula.

    Spreadsheets evaluate cells that begin with ``=``, ``+``, ``-`` or ``@``, quoted or
    not. Single numbers are unchanged. `from_cell` removes the apostrophe.

    >>> [as_cell(text) for text in ("a", "-1.5", "=1+1", "'=1+1", "-2+3")]
    ['a', '-1.5', "'=1+1", "''=1+1", "'-2+3"]
    """
    if _FORMULA.match(text) and not _FIGURE.fullmatch(text):
        return f"'{text}"
    return text


def from_cell(text: str) -> str:
    """Restore the text that was passed to `as_cell`."""
    return text[1:] if _ESCAPED.match(text) else text
