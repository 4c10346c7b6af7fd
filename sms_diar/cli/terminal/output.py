"""Path checks, JSON and messages, and standard input as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import BadParameter

from sms_diar._text import shown_lines

if TYPE_CHECKING:
    from sms_diar.types import Problem

SOME_FAILED = 3
"""Exit code if some recordings were skipped and the others succeeded."""

_NAMED = 10  # maximum number of messages shown; the rest is only counted


def check_outputs(
    *paths: Path | None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse outputs that cannot be written or would overwrite an input.

    The paths must also differ from each other. The inputs (see
    `sms_diar.io.input_files`) are protected until the command ends.
    """
    from sms_diar._files import check_different, check_writable, protect
    from sms_diar.io.input_files import input_files

    protect(input_files(inputs))
    outputs = [path for path in paths if path is not None]
    for path in outputs:
        check_writable(path)
    check_different(outputs)


def severity_counts(problems: Sequence[Problem]) -> str:
    """Count errors, warnings and notes for people: ``1 error, 0 warnings, 2 notes``."""
    count = Counter(problem.severity for problem in problems)
    return ", ".join(
        f"{count[severity]} {severity}{'' if count[severity] == 1 else 's'}"
        for severity in ("error", "warning", "note")
    )


def problem_report(problems: Sequence[Problem], *more: str) -> dict[str, Any]:
    """Convert problems to a JSON record; `more` are further fields of each."""
    count = Counter(problem.severity for problem in problems)
    fields = ("path", "line", "severity", *more, "text")
    return {
        "errors": count["error"],
        "warnings": count["warning"],
        "notes": count["note"],
        "problems": [{n: getattr(p, n) for n in fields} for p in problems],
    }


def exit_code(problems: Sequence[object], *, any_good: bool = True) -> int:
    """Return exit code 0 without problems, 3 after some failures, 1 if all failed."""
    return (SOME_FAILED if any_good else 1) if problems else 0


def echo(text: object, *, nl: bool = True, err: bool = False) -> None:
    """Print text with escaped control characters.

    Escaping prevents file names and file contents from controlling the terminal.
    """
    typer.echo(shown_lines(text), nl=nl, err=err)


def echo_json(value: Any) -> None:
    """Print a value as JSON."""
    from sms_diar._json import json_text

    echo(json_text(value))


def echo_rows(rows: Sequence[tuple[str, object]], indent: str = "") -> None:
    """Print names and values in two columns."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        echo(f"{indent}{name.ljust(width)}  {value}")


def note(message: str) -> None:
    """Print a message to standard error."""
    echo(f"sms-diar: {message}", err=True)


def note_each(messages: Sequence[object], most: int | None = _NAMED) -> None:
    """Print up to `most` messages to standard error, then the number of others."""
    for message in messages[:most]:
        note(str(message))
    if most is not None and len(messages) > most:
        note(f"... and {len(messages) - most} more")


def note_written(paths: Sequence[Path]) -> None:
    """Print names and sizes of written files to standard error."""
    note_each([f"wrote {path} ({_size(path.stat().st_size)})" for path in paths])


def _size(n_bytes: int) -> str:
    if n_bytes >= 1e6:
        return f"{n_bytes / 1e6:.1f} MB"
    return f"{n_bytes / 1e3:.1f} kB"


@contextmanager
def with_standard_input(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the paths with ``-`` replaced by a copy of standard input."""
    if paths.count(Path("-")) > 1:
        raise BadParameter("- (standard input) is given twice")
    if Path("-") not in paths:
        yield list(paths)
        return
    from tempfile import TemporaryDirectory

    from sms_diar.io._bytes import spool_standard_input

    with TemporaryDirectory(prefix="sms-diar-") as folder:
        spooled = Path(folder) / "stdin"
        spool_standard_input(spooled)
        yield [spooled if path == Path("-") else path for path in paths]
