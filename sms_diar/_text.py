"""Text that came from files, where a terminal, a table or a line is to hold it."""

from __future__ import annotations

import re

# Control characters and line separators end lines or steer terminals, halves of
# surrogate pairs cannot be written at all, and marks of direction show another
# text than there is.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
UNSAFE_IN_LINES = re.compile(f"(?![\t\n]){_UNSAFE.pattern}")
"""The same characters in text that may have several lines."""


def is_name(text: str) -> bool:
    """Whether text can be an id: something, and nothing but visible characters.

    Spaces are allowed here; formats whose fields they separate refuse them.
    """
    return bool(text.strip()) and not _UNSAFE.search(text)


def check_id(text: str) -> str:
    """Return an id that has only visible characters.

    Raises
    ------
    ValueError
        With the reason; readers add the file and the line.
    """
    if not is_name(text):
        raise ValueError(
            f"{text!r} is not a valid id: it is blank or contains control characters "
            f"or marks that change the direction of text; rename it"
        )
    return text


def id_of_file(stem: str) -> str:
    r"""Make an id of the name of a file.

    White space, control characters and bytes that are not UTF-8 become ``_``.

    Examples
    --------
    >>> id_of_file("my call"), id_of_file("caf\udce9")
    ('my_call', 'caf_')
    """
    return _UNSAFE.sub("_", "_".join(stem.split())) or "recording"


def shown(text: object) -> str:
    r"""Text for one line: characters that would leave it are spelt as in Python.

    Examples
    --------
    >>> shown("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _UNSAFE.sub(_spelt, str(text))


def shown_lines(text: object) -> str:
    """The same for text that may have several lines."""
    return UNSAFE_IN_LINES.sub(_spelt, str(text))


def _spelt(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


_START = "\\s*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]"
_FORMULA = re.compile(f"'*{_START}")
_ESCAPED = re.compile(f"'+{_START}")
_NUMBER = r"[+-]?(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?: ?%)?"
# A number, perhaps with its spread or an interval; or a dash in place of a number.
_FIGURE = re.compile(
    rf"{_NUMBER}(?: ?± ?{_NUMBER})?(?: \({_NUMBER}(?:, ?{_NUMBER})*\))?|[+-]"
)


def as_cell(text: str) -> str:
    """Text for a cell of CSV, with an apostrophe before what would be a formula.

    A spreadsheet evaluates a cell that begins with ``=``, ``+``, ``-`` or ``@``,
    quoted or not. Single numbers stay as they are. `from_cell` removes the apostrophe.

    Examples
    --------
    >>> [as_cell(text) for text in ("a", "-1.5", "=1+1", "'=1+1", "-2+3")]
    ['a', '-1.5', "'=1+1", "''=1+1", "'-2+3"]
    """
    if _FORMULA.match(text) and not _FIGURE.fullmatch(text):
        return f"'{text}"
    return text


def from_cell(text: str) -> str:
    """Restore the text that was given to `as_cell`."""
    return text[1:] if _ESCAPED.match(text) else text
