"""Progress on a terminal: a bar for what takes longer, nothing elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sms_diar.cli.output import note

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 0.5  # seconds of work that need no bar; within 2 something is to be seen


class TerminalProgress:
    """Bars and lines on standard error, only where somebody looks at it.

    The bar of the innermost work is shown. It appears after a while whether or not
    the work has come far, so that a slow start is seen, too.

    Parameters
    ----------
    console : Console, optional
        Where to draw; standard error by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._bar: Progress | None = None

    @contextmanager
    def track(
        self, label: str, total: int | None, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Show a bar once the work has taken a moment."""
        if not self._console.is_terminal:
            yield lambda: None
            return
        with self._shown() as bar:
            outer = [task.id for task in bar.tasks if task.visible]
            task = bar.add_task(label, total=total, completed=done)
            _set_visible(bar, outer, visible=False)
            try:
                yield lambda: bar.advance(task)
            finally:
                if bar.live.is_started:
                    bar.refresh()  # what was reached is seen, too
                bar.remove_task(task)
                _set_visible(bar, outer, visible=True)

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """Name a stage whose length is not known."""
        with self.track(label, None):
            yield

    def during(self, label: str, work: Callable[P, T]) -> Callable[P, T]:
        """Work that is a stage, within which others may show theirs."""

        def staged(*args: P.args, **options: P.kwargs) -> T:
            with self.stage(label):
                return work(*args, **options)

        return staged

    @contextmanager
    def _shown(self) -> Iterator[Progress]:
        """The one display, which the outermost work starts and stops."""
        if self._bar is not None:
            yield self._bar
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        bar = self._bar = Progress(*columns, console=self._console, transient=True)
        timer = threading.Timer(_PATIENCE, bar.start)
        timer.daemon = True
        if _PATIENCE > 0:
            timer.start()
        else:
            bar.start()
        try:
            yield bar
        finally:
            self._bar = None
            timer.cancel()
            if timer.ident is not None:
                timer.join()
            bar.stop()

    def say(self, message: str) -> None:
        """Show one line."""
        if self._console.is_terminal:
            self._console.print(message, style="dim")


def _set_visible(bar: Progress, tasks: list[TaskID], *, visible: bool) -> None:
    for task in tasks:
        bar.update(task, visible=visible)


class NotingProgress(TerminalProgress):
    """The same, with lines that are shown wherever standard error goes."""

    def say(self, message: str) -> None:
        """Show one line."""
        note(message)
