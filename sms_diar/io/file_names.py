"""Names of recordings and speakers as names of files.

Names come from tables and people, and may hold anything: a slash, or two dots.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_UNSAFE = re.compile(r'[/\\:*?"<>|]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_LONGEST = 120
"""Letters; file systems allow 255 bytes, and a suffix follows."""


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Name of a file, without suffix, for each of some names; all differ.

    What a file system may refuse or take for a folder becomes ``_``. Names that would
    then be the same, be it but for capitals, get a number.

    Examples
    --------
    >>> file_names(["ann", "Ann", "../x"])
    {'ann': 'ann', 'Ann': 'Ann-2', '../x': '.._x'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        base = _safe(name)
        unique, number = base, 1
        while unique.casefold() in taken:
            number += 1
            unique = f"{base}-{number}"
        taken.add(unique.casefold())
        found[name] = unique
    return found


def _safe(name: str) -> str:
    letters = (
        "_" if unicodedata.category(letter)[0] == "C" else letter for letter in name
    )
    text = _UNSAFE.sub("_", "".join(letters))[:_LONGEST].rstrip(". ")
    if not text.strip() or _RESERVED.fullmatch(text):
        return f"_{text.strip()}"
    return text
