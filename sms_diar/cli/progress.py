"""Progress on a terminal: a bar for what takes longer, nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sms_diar.cli.output import note

_PATIENCE = 2.0  # seconds of work that need no bar


class TerminalProgress:
    """Bars and lines on standard error, only where somebody looks at it.

    Parameters
    ----------
    console : Console, optional
        Where to draw; standard error by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)

    @contextmanager
    def track(
        self, label: str, total: int, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Show a bar once the work has taken two seconds and is not nearly done."""
        if not self._console.is_terminal:
            yield lambda: None
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        bar = Progress(*columns, console=self._console, transient=True)
        task = bar.add_task(label, total=total, completed=done)
        start = time.monotonic()

        def advance() -> None:
            bar.advance(task)
            if not bar.live.is_started and time.monotonic() - start > _PATIENCE:
                bar.start()

        try:
            yield advance
        finally:
            if bar.live.is_started:
                bar.stop()

    def say(self, message: str) -> None:
        """Show one line."""
        if self._console.is_terminal:
            self._console.print(message, style="dim")


class NotingProgress(TerminalProgress):
    """The same, with lines that are shown wherever standard error goes."""

    def say(self, message: str) -> None:
        """Show one line."""
        note(message)
