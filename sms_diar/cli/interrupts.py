"""Ctrl-C ends a command with exit code 130 and SIGTERM with 143, wherever they arrive.

Both raise KeyboardInterrupt, so that temporary files are removed and worker processes
end; a worker pool whose parent just disappears complains about leaked semaphores.
Python raises it between two instructions, which sometimes belong to code that turns
every exception into one of its own (a compiler, a callback). So the signal is also
remembered: any end of the command after it is the interruption. And the end comes at
once, without a search for garbage.
"""

from __future__ import annotations

import atexit
import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sms_diar.cli.output import echo

SIGNALLED = 128
"""Shells expect this exit code plus its number of a program that a signal ended."""

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_arrived: signal.Signals | None = None
_told = False


def listen() -> None:
    """Remember Ctrl-C and SIGTERM; where they are ignored, keep ignoring them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    global _arrived  # noqa: PLW0603
    _arrived = signal.Signals(number)
    signal.default_int_handler(number, frame)


@contextmanager
def interruptible(advice: str = "") -> Iterator[None]:
    """Turn Ctrl-C or SIGTERM, and any error after it, into a line and an exit code.

    Parameters
    ----------
    advice : str
        Hint for the user on continuing the work.
    """
    global _told  # noqa: PLW0603
    try:
        yield
    except BaseException as error:
        came = _arrived is not None or isinstance(error, KeyboardInterrupt)
        went_well = isinstance(error, SystemExit) and not error.code
        if not came or went_well or _told:
            raise
        _told = True
        cause = _arrived or signal.SIGINT
        word = f"sms-diar: {_WORDS[cause]}"
        echo(f"{word}{'; ' if advice else ''}{advice}", err=True)
        # All that was loaded would be searched, and taken apart, for up to a second.
        atexit.register(gc.freeze)
        raise SystemExit(SIGNALLED + cause) from None
