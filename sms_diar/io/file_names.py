"""Safe file names for recordings and speakers, whose names may contain anything."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_UNSAFE = re.compile(r'[/\\:*?"<>|]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_LONGEST = 120
"""Maximum number of bytes in UTF-8. File systems allow 255 (143 if they encrypt names),
and a number and a suffix follow."""


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a unique file name, without suffix, for each name.

    Characters that a file system may refuse or treat as a separator become ``_``, and
    names are cut to 120 bytes. Names that are then equal, ignoring case, get a number.

    >>> file_names(["ann", "Ann", "../x"])
    {'ann': 'ann', 'Ann': 'Ann-2', '../x': '.._x'}
    """
    file_of: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        base = _safe(name)
        unique, number = base, 1
        while unique.casefold() in taken:
            number += 1
            unique = f"{base}-{number}"
        taken.add(unique.casefold())
        file_of[name] = unique
    return file_of


def _safe(name: str) -> str:
    letters = (
        "_" if unicodedata.category(letter)[0] == "C" else letter for letter in name
    )
    whole = _UNSAFE.sub("_", "".join(letters)).encode()
    # A letter of several bytes that does not fit is dropped whole.
    text = whole[:_LONGEST].decode(errors="ignore").rstrip(". ")
    if not text.strip() or _RESERVED.fullmatch(text):
        return f"_{text.strip()}"
    return text
