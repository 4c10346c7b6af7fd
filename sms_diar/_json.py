"""Reading and writing of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from sms_diar._files import write_text
from sms_diar._text import UNSAFE_IN_LINES

_HOLDERS = (dict, list, tuple)
"""Types of JSON values that contain other values."""


def write_json(path: str | Path, value: Any) -> None:
    """Write a value as JSON atomically."""
    write_text(path, json_text(value) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file that was written by this package."""
    return parse_json(Path(path).read_text(encoding="utf-8"))


def parse_json(
    text: str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Parse JSON text; raise ValueError for any problem.

    Python's own parser also raises RecursionError, for deeply nested text.
    """
    try:
        return json.loads(text, object_pairs_hook=object_pairs_hook)
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None


def json_line(value: Any) -> str:
    """Return JSON on one line, in ASCII."""
    return json.dumps(value)


def json_text(value: Any) -> str:
    r"""Return the same text as ``json.dumps(value, indent=2, ensure_ascii=False)``.

    Characters that control terminals are escaped as ``\u202e``. Bytes of file names
    that are not UTF-8, which JSON cannot represent, become ``\ufffd``.

    With an indent, ``json.dumps`` is implemented in Python, which takes as long as
    scoring a small corpus. Here only containers are traversed in Python; runs of plain
    values are encoded at once.
    """
    return UNSAFE_IN_LINES.sub(_escaped, _text(value, "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{0xFFFD if 0xD800 <= code <= 0xDFFF else code:04x}"


def _text(value: Any, line: str) -> str:
    """Return the text of a value whose lines begin with `line`."""
    inner = line + "  "
    encoder = json.JSONEncoder(ensure_ascii=False, separators=("," + inner, ": "))
    if not isinstance(value, _HOLDERS) or not value:
        return encoder.encode(value)
    if isinstance(value, list | tuple):
        items = [_text(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{line}]"
    pieces = []
    for holds_others, run in groupby(
        value.items(), key=lambda item: isinstance(item[1], _HOLDERS)
    ):
        if holds_others:
            pieces += [
                f"{encoder.encode(name)}: {_text(item, inner)}" for name, item in run
            ]
        else:
            pieces.append(encoder.encode(dict(run))[1:-1])
    return f"{{{inner}{f',{inner}'.join(pieces)}{line}}}"
