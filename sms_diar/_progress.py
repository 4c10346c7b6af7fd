"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Something that shows progress: a bar on a terminal, or nothing."""

    def track(
        self, label: str, total: int, done: int = 0
    ) -> AbstractContextManager[Callable[[], None]]:
        """Show `label`; the function handed out is called once per finished item."""
        ...

    def stage(self, label: str) -> AbstractContextManager[None]:
        """Show `label` for work of unknown length; work within shows its own."""
        ...

    def say(self, message: str) -> None:
        """Show one line."""
        ...


class Silence:
    """Shows nothing."""

    @contextmanager
    def track(
        self, label: str, total: int, done: int = 0
    ) -> Iterator[Callable[[], None]]:
        """Take note of nothing."""
        yield lambda: None

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """Take note of nothing."""
        yield

    def say(self, message: str) -> None:
        """Stay silent."""


def hundredths(advance: Callable[[], None]) -> Callable[[float], None]:
    """Turn a share that grows (and may fall back) into ticks of one per cent."""
    ticked = 0

    def listen(share: float) -> None:
        nonlocal ticked
        while ticked < int(100 * min(share, 1.0)):
            ticked += 1
            advance()

    return listen
