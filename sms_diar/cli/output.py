"""What commands share about their output: places, JSON, and lines for people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from sms_diar.errors import InvalidParameterError, MissingFileError

_NAMED = 10  # lines that are shown before the rest is only counted


def check_folder(output: Path | None) -> None:
    """Find out before the work whether the folder of a file to write is there."""
    if output is not None and not output.parent.is_dir():
        raise MissingFileError(f"{output.parent}: no such folder to write to")


def check_output(path: Path | None) -> None:
    """Refuse what cannot be written before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise InvalidParameterError(f"{path}: is a folder; name a file to write")
    if not path.parent.is_dir():
        raise MissingFileError(f"{path}: no such folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InvalidParameterError(
            f"{path}: the folder {path.parent} is write-protected"
        )


def echo_json(value: Any) -> None:
    """Print an object for machines."""
    from sms_diar._json import json_text

    typer.echo(json_text(value))


def note(message: str) -> None:
    """Say something on standard error, which is not for machines."""
    typer.echo(f"sms-diar: {message}", err=True)


def note_each(messages: Sequence[object], most: int | None = _NAMED) -> None:
    """Say several things, and of more than `most` only how many there are."""
    for message in messages[:most]:
        note(str(message))
    if most is not None and len(messages) > most:
        note(f"... and {len(messages) - most} more")


def note_written(paths: Sequence[Path]) -> None:
    """Say which files were written, and how large they are."""
    for path in paths:
        note(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
