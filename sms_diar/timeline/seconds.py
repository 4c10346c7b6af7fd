"""Seconds as text: read exactly, written so that the same number comes back."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from sms_diar.limits import LONGEST_NUMBER

# Only one way to match any text: two would be tried in all combinations.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def parse_seconds(name: str, text: str) -> Decimal:
    """Read a time in decimal, so that sums of two times are exact.

    Raises a plain ValueError; readers add file and line.
    """
    if len(text) > LONGEST_NUMBER:
        raise ValueError(
            f"{name} must be a number of seconds, got {len(text)} characters that "
            f"begin with {text[:20]!r}"
        )
    if not _NUMBER.fullmatch(text):  # float() would take nan, inf and 1_0
        raise ValueError(f"{name} must be a number of seconds, got {text!r}")
    seconds = Decimal(text)
    if not math.isfinite(float(seconds)):
        raise ValueError(f"{name} must be a finite number of seconds, got {text!r}")
    return seconds


def format_seconds(value: float) -> str:
    """Write a time with as many decimals as bring the same float back."""
    return format(Decimal(repr(float(value))), "f")
