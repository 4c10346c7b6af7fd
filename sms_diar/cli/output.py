"""What commands share about their output: places, JSON, and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sms_diar._text import shown_lines

SOME_FAILED = 3
"""Exit code where some recordings could not be used and the others went well."""

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print an object for machines.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Memory that may be used, such as 2G or 500M (of 1024); what may need "
        "more is refused before it starts. Results do not depend on it.",
        show_default="no limit",
    ),
]

_NAMED = 10  # lines that are shown before the rest is only counted


def check_outputs(
    *paths: Path | None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse outputs that cannot or must not be written before the work.

    Parameters
    ----------
    *paths : Path or None
        Files to write, which must differ from each other and from the inputs.
    inputs : iterable of str, Path or None
        Everything that is read; see `sms_diar.io.input_files`. Until the command
        ends, no output replaces any of it.
    """
    from sms_diar._files import check_different, check_writable, protect
    from sms_diar.io.input_files import input_files

    protect(input_files(inputs))
    given = [path for path in paths if path is not None]
    for path in given:
        check_writable(path)
    check_different(given)


def exit_code(problems: Sequence[object], *, any_good: bool = True) -> int:
    """What to end with: 0, or 3 where some of several went wrong, 1 where all did."""
    return (SOME_FAILED if any_good else 1) if problems else 0


def memory_budget(size: str | None) -> int | None:
    """Bytes that ``--max-memory`` allows."""
    if size is None:
        return None
    from sms_diar.pipeline.memory import parse_size  # takes a second or two

    return parse_size(size)


def echo(text: object, *, nl: bool = True, err: bool = False) -> None:
    """Print text whose control characters are spelled out.

    File names and the contents of files cannot steer a terminal this way.
    """
    typer.echo(shown_lines(text), nl=nl, err=err)


def echo_json(value: Any) -> None:
    """Print an object for machines."""
    from sms_diar._json import json_text

    echo(json_text(value))


def note(message: str) -> None:
    """Say something on standard error, which is not for machines."""
    echo(f"sms-diar: {message}", err=True)


def note_each(messages: Sequence[object], most: int | None = _NAMED) -> None:
    """Say several things, and of more than `most` only how many there are."""
    for message in messages[:most]:
        note(str(message))
    if most is not None and len(messages) > most:
        note(f"... and {len(messages) - most} more")


def note_written(paths: Sequence[Path]) -> None:
    """Name the files that were written, with their sizes."""
    note_each([f"wrote {path} ({_size(path.stat().st_size)})" for path in paths])


def _size(n_bytes: int) -> str:
    if n_bytes >= 1e6:
        return f"{n_bytes / 1e6:.1f} MB"
    return f"{n_bytes / 1e3:.1f} kB"
