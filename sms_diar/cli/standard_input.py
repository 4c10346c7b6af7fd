"""Standard input as a temporary file, for readers that need to seek."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer


@contextmanager
def with_standard_input(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the paths with ``-`` replaced by a copy of standard input."""
    if paths.count(Path("-")) > 1:
        raise typer.BadParameter("- (standard input) is given twice")
    if Path("-") not in paths:
        yield list(paths)
        return
    from tempfile import TemporaryDirectory

    from sms_diar.io._bytes import spool_standard_input

    with TemporaryDirectory(prefix="sms-diar-") as folder:
        spooled = Path(folder) / "stdin"
        spool_standard_input(spooled)
        yield [spooled if path == Path("-") else path for path in paths]
