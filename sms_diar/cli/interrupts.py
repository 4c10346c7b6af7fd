"""Ctrl-C ends a command with exit code 130, wherever it arrives.

Python raises KeyboardInterrupt between two instructions, and now and then these belong
to code that turns every exception into one of its own (a compiler, a callback). So the
signal is also remembered: whatever ends the command after it is the interruption. And
the end comes at once: Python is not made to look for garbage before it leaves.
"""

from __future__ import annotations

import atexit
import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sms_diar.cli.output import echo

INTERRUPTED = 130
"""Exit code that shells expect of a program ended by Ctrl-C."""

_arrived = False
_told = False


def listen() -> None:
    """Remember Ctrl-C; where it is ignored, as under nohup, leave it so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    global _arrived  # noqa: PLW0603
    _arrived = True
    signal.default_int_handler(number, frame)


@contextmanager
def interruptible(advice: str = "") -> Iterator[None]:
    """Turn Ctrl-C, and what follows from it, into a line and an exit code.

    Parameters
    ----------
    advice : str
        What to do to go on.
    """
    global _told  # noqa: PLW0603
    try:
        yield
    except BaseException as error:
        came = _arrived or isinstance(error, KeyboardInterrupt)
        went_well = isinstance(error, SystemExit) and not error.code
        if not came or went_well or _told:
            raise
        _told = True
        echo(f"sms-diar: interrupted{'; ' if advice else ''}{advice}", err=True)
        # All that was loaded would be searched, and taken apart, for up to a second.
        atexit.register(gc.freeze)
        raise SystemExit(INTERRUPTED) from None
