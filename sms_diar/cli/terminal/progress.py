"""Progress bars on a terminal, or occasional log lines elsewhere.

A separate thread starts the display and writes the lines, so that progress is also
shown while a long item is being processed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from sms_diar._text import shown
from sms_diar.cli.terminal.output import note


class Estimate:
    """Estimate of the remaining time from the number of finished items.

    Items are assumed to take as long as the previous ones. The remaining time is never
    less than the time since the last item was finished. `now` is the time of a
    monotonic clock, in seconds.
    """

    def __init__(self, total: int, done: int, now: float) -> None:
        self.total = total
        self.done = done
        self._before = done
        self._start = self._last = now

    def advance(self, now: float) -> None:
        """Count a finished item."""
        self.done += 1
        self._last = now

    def elapsed(self, now: float) -> float:
        """Return the seconds since the start."""
        return now - self._start

    def remaining(self, now: float) -> float | None:
        """Return the remaining seconds, or None before the first item."""
        counted = self.done - self._before
        if counted == 0:
            return None
        rate = (self._last - self._start) / counted
        return max(rate * max(self.total - self.done, 0), now - self._last)

    def line(self, label: str, now: float) -> str:
        """Format the state as a log line."""
        left = self.remaining(now)
        remaining = (
            "time left not known yet" if left is None else f"about {clock(left)} left"
        )
        return (
            f"{label}: {self.done} of {self.total} after {clock(self.elapsed(now))}, "
            f"{remaining}"
        )


def clock(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds.

    Examples
    --------
    >>> clock(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 0.5  # seconds before a bar appears; feedback is due within 2
_BEAT = 0.5  # seconds between checks of the clock
_SILENCE = 30.0  # seconds before the first log line
_LONGEST_SILENCE = 600.0


class TerminalProgress:
    """Progress bars on standard error, or log lines if it is not a terminal.

    Only the bar of the innermost task is shown. It appears after a short delay even
    if no item is finished.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._now = now
        self._bar: Progress | None = None

    @contextmanager
    def track(
        self, label: str, total: int, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Show a bar after a short delay.

        Without a terminal, log a line after 30 s, 1 min, 2 min and so on, at least
        every 10 min.
        """
        estimate = Estimate(total, done, self._now())
        if self._console.is_terminal:
            with self._task(label, estimate) as (bar, task):

                def advance() -> None:
                    estimate.advance(self._now())
                    bar.advance(task)

                yield advance
            return
        lines = _Lines(label, estimate, self._log, self._now)

        def count() -> None:
            estimate.advance(self._now())
            lines.look()

        with _watched(lines):
            yield count

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """Show the name of a stage of unknown length."""
        if not self._console.is_terminal:
            yield
            return
        with self._task(label, None):
            yield

    def during(self, label: str, work: Callable[P, T]) -> Callable[P, T]:
        """Wrap a function in a stage; nested stages are shown instead of it."""

        def staged(*args: P.args, **options: P.kwargs) -> T:
            with self.stage(label):
                return work(*args, **options)

        return staged

    def say(self, message: str) -> None:
        """Show a message on a terminal."""
        if self._console.is_terminal:
            self._console.print(shown(message), style="dim", markup=False)

    def _log(self, message: str) -> None:
        line = f"sms-diar: {shown(message)}"
        self._console.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def _task(
        self, label: str, estimate: Estimate | None
    ) -> Iterator[tuple[Progress, TaskID]]:
        """Show a bar and hide the bars of enclosing tasks."""
        with self._shown() as bar:
            outer = [task.id for task in bar.tasks if task.visible]
            task = bar.add_task(
                shown(label),
                total=None if estimate is None else estimate.total,
                completed=0 if estimate is None else estimate.done,
                estimate=estimate,
            )
            _set_visible(bar, outer, visible=False)
            try:
                yield bar, task
            finally:
                if bar.live.is_started:
                    bar.refresh()  # show the final state
                bar.remove_task(task)
                _set_visible(bar, outer, visible=True)

    @contextmanager
    def _shown(self) -> Iterator[Progress]:
        """Yield the display, which the outermost task starts and stops."""
        if self._bar is not None:
            yield self._bar
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _TimeLeft(self._now),
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


def _set_visible(bar: Progress, tasks: list[TaskID], *, visible: bool) -> None:
    for task in tasks:
        bar.update(task, visible=visible)


class NotingProgress(TerminalProgress):
    """Progress whose messages are also shown without a terminal."""

    def say(self, message: str) -> None:
        """Print a message to standard error."""
        note(message)


class _TimeLeft(ProgressColumn):
    max_refresh = 0.5

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now

    def render(self, task: Task) -> Text:
        """Return the remaining time, or dashes while it is unknown."""
        estimate: Estimate | None = task.fields["estimate"]
        left = None if estimate is None else estimate.remaining(self._now())
        return Text("-:--:-- left" if left is None else f"{clock(left)} left")


@contextmanager
def _watched(lines: _Lines) -> Iterator[None]:
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_BEAT):
            lines.look()

    watcher = threading.Thread(target=watch, daemon=True, name="progress")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


class _Lines:
    """Log lines at increasing intervals."""

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
        """Write a line if one is due."""
        with self._lock:
            now = self._now()
            elapsed = self._estimate.elapsed(now)
            if elapsed >= self._next:
                self._write(self._estimate.line(self._label, now))
                self._next = elapsed + min(elapsed, _LONGEST_SILENCE)
