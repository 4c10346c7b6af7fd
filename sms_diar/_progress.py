"""Protocol for progress reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receiver of progress reports, such as a bar on a terminal."""

    def track(
        self, label: str, total: int, done: int = 0
    ) -> AbstractContextManager[Callable[[], None]]:
        """Show `label`; call the returned function once per finished item."""
        ...

    def stage(self, label: str) -> AbstractContextManager[None]:
        """Show `label` for work of unknown length; nested work shows its own label."""
        ...

    def say(self, message: str) -> None:
        """Show one line."""
        ...


class Silence:
    """Receiver that ignores all reports."""

    @contextmanager
    def track(
        self, label: str, total: int, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Ignore the report."""
        yield lambda: None

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """Ignore the report."""
        yield

    def say(self, message: str) -> None:
        """Ignore the message."""


def hundredths(advance: Callable[[], None]) -> Callable[[float], None]:
    """Convert a growing fraction (which may decrease) into ticks of one per cent."""
    ticked = 0

    def listen(share: float) -> None:
        nonlocal ticked
        while ticked < int(100 * min(share, 1.0)):
            ticked += 1
            advance()

    return listen
