"""Progress: a bar on a terminal, and elsewhere a line now and then.

A thread of its own looks at the clock, so that work which finishes nothing for long
is seen to be under way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from sms_diar.cli.estimate import Estimate, clock
from sms_diar.cli.output import note

_PATIENCE = 2.0  # seconds of work that need no bar
_BEAT = 0.5  # seconds between two looks at the clock
_SILENCE = 30.0  # seconds of work that need no line in a log
_LONGEST_SILENCE = 600.0


class TerminalProgress:
    """Bars on standard error, or lines where it is no terminal.

    Parameters
    ----------
    console : Console, optional
        Where to draw; standard error by default.
    now : callable, optional
        The clock.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._now = now

    @contextmanager
    def track(
        self, label: str, total: int, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Show a bar once the work has taken two seconds.

        Without a terminal, a line after half a minute, after a minute, after two
        and so on, at least every ten minutes.
        """
        estimate = Estimate(total, done, self._now())
        shown: _Shown = (
            _Bar(label, estimate, self._console, self._now)
            if self._console.is_terminal
            else _Lines(label, estimate, self._log, self._now)
        )

        def advance() -> None:
            estimate.advance(self._now())
            shown.look()

        with _watched(shown):
            yield advance

    def say(self, message: str) -> None:
        """Show one line."""
        if self._console.is_terminal:
            self._console.print(message, style="dim", markup=False)

    def _log(self, message: str) -> None:
        self._console.print(f"sms-diar: {message}", markup=False, soft_wrap=True)


class NotingProgress(TerminalProgress):
    """The same, with lines that are shown wherever standard error goes."""

    def say(self, message: str) -> None:
        """Show one line."""
        note(message)


class _Shown(Protocol):
    """What looks at the clock now and then, and ends."""

    def look(self) -> None: ...

    def close(self) -> None: ...


@contextmanager
def _watched(shown: _Shown) -> Iterator[None]:
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_BEAT):
            shown.look()

    watcher = threading.Thread(target=watch, daemon=True, name="progress")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        shown.close()


class _Bar:
    def __init__(
        self,
        label: str,
        estimate: Estimate,
        console: Console,
        now: Callable[[], float],
    ) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _TimeLeft(estimate, now),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._estimate = estimate
        self._now = now
        self._lock = threading.Lock()
        self._task = self._bar.add_task(
            label, total=estimate.total, completed=estimate.done
        )

    def look(self) -> None:
        with self._lock:
            self._bar.update(self._task, completed=self._estimate.done)
            is_long = self._estimate.elapsed(self._now()) > _PATIENCE
            if is_long and not self._bar.live.is_started:
                self._bar.start()

    def close(self) -> None:
        if self._bar.live.is_started:
            self._bar.stop()


class _TimeLeft(ProgressColumn):
    max_refresh = 0.5

    def __init__(self, estimate: Estimate, now: Callable[[], float]) -> None:
        super().__init__()
        self._estimate = estimate
        self._now = now

    def render(self, task: Task) -> Text:
        """Time left, or dashes while nothing is known."""
        left = self._estimate.remaining(self._now())
        return Text("-:--:-- left" if left is None else f"{clock(left)} left")


class _Lines:
    def __init__(
        self,
        label: str,
        estimate: Estimate,
        write: Callable[[str], None],
        now: Callable[[], float],
    ) -> None:
        self._label = label
        self._estimate = estimate
        self._write = write
        self._now = now
        self._next = _SILENCE
        self._lock = threading.Lock()

    def look(self) -> None:
        with self._lock:
            now = self._now()
            elapsed = self._estimate.elapsed(now)
            if elapsed >= self._next:
                self._write(self._estimate.line(self._label, now))
                self._next = elapsed + min(elapsed, _LONGEST_SILENCE)

    def close(self) -> None:
        """Nothing is left to do: lines stay."""
