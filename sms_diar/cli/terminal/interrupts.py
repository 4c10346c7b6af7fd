"""Handle Ctrl-C (exit code 130) and SIGTERM (143).

Both raise KeyboardInterrupt, so that temporary files are removed and worker processes
end; a worker pool without its parent would warn about leaked semaphores. The exception
may be raised inside code that converts every exception (a compiler, a callback). The
signal is therefore also recorded, and any later error is treated as an interruption.
The process exits at once, without garbage collection.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sms_diar.cli.terminal.output import echo

SIGNALLED = 128
"""Conventional exit code after a signal is this plus the number of the signal."""

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_CLEAN_LINE = "\r\x1b[K\x1b[?25h"
"""Control characters that erase the line of a terminal and show its cursor. A progress
bar that is interrupted while it is drawn cannot do so itself."""

_arrived: signal.Signals | None = None
_told = False


def listen() -> None:
    """Record Ctrl-C and SIGTERM unless the process ignores them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _record)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _record)


def _record(number: int, frame: FrameType | None) -> None:
    global _arrived  # noqa: PLW0603
    _arrived = signal.Signals(number)
    signal.default_int_handler(number, frame)


@contextmanager
def interruptible(advice: str = "") -> Iterator[None]:
    """Convert Ctrl-C or SIGTERM, and later errors, to a message and an exit code.

    `advice` says how to continue.
    """
    global _told  # noqa: PLW0603
    try:
        yield
    except BaseException as error:
        interrupted = _arrived is not None or isinstance(error, KeyboardInterrupt)
        succeeded = isinstance(error, SystemExit) and not error.code
        if not interrupted or succeeded or _told:
            raise
        _told = True
        cause = _arrived or signal.SIGINT
        word = f"sms-diar: {_WORDS[cause]}"
        if sys.stderr.isatty():
            sys.stderr.write(_CLEAN_LINE)
        echo(f"{word}{'; ' if advice else ''}{advice}", err=True)
        # Garbage collection of all loaded modules would take up to a second.
        atexit.register(gc.freeze)
        raise SystemExit(SIGNALLED + cause) from None
