"""Turns as text."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from sms_diar.io.rttm import write_rttm
from sms_diar.types import Turn


def rttm_text(turns: Iterable[Turn], target: str | Path | TextIO | None = None) -> str:
    """Turns as RTTM, written to a file or stream too if there is one.

    Parameters
    ----------
    turns : iterable of Turn
        Who speaks when.
    target : str, Path or text stream, optional
        Where to write the text.
    """
    listed, text = list(turns), io.StringIO()
    write_rttm(text, listed)
    if target is not None:
        write_rttm(target, listed)
    return text.getvalue()
