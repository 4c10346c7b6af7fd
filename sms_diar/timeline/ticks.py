"""Time as whole numbers of picoseconds.

Sums of decimal fractions are not exact in binary: 0.1 + 0.2 is not 0.3, so turns
that touch in a file may overlap or be apart in memory. Whole numbers of a fine tick
are exact, and twelve decimals are finer than what a float can tell apart in a
recording longer than an hour.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.seconds import parse_seconds
from sms_diar.types import BoolArray, FloatArray, IntArray

DECIMALS = 12
TICKS_PER_SECOND: int = 10**DECIMALS
MAX_SECONDS = 10**6
"""Longest recording: with 9 times that, int64 would overflow."""

_WHOLE_DIGITS = 7  # of the seconds of a time that is read the quick way
_POWERS = 10 ** np.arange(DECIMALS + 1, dtype=np.uint64)
_MICRO = 10 ** (DECIMALS - 6)


def ticks_of(seconds: Decimal | Fraction | float | int | str) -> int:
    """Nearest tick of a time; a float stands for the shortest decimal it prints as.

    Examples
    --------
    >>> ticks_of(0.1) + ticks_of(0.2) == ticks_of(0.3)
    True
    """
    if isinstance(seconds, Decimal):  # the usual case; Fraction's test is slow
        exact = seconds
    elif isinstance(seconds, Fraction):
        nearest: int = round(seconds * TICKS_PER_SECOND)
        return nearest
    elif isinstance(seconds, float):
        if not math.isfinite(seconds):
            raise InvalidParameterError(
                f"ticks_of: seconds must be finite, got {seconds!r}"
            )
        exact = Decimal(repr(float(seconds)))  # NumPy's floats print their type
    else:
        exact = Decimal(seconds)
    scaled = exact.scaleb(DECIMALS)
    return int(scaled.to_integral_value(rounding=ROUND_HALF_EVEN))


def seconds_of(ticks: int) -> float:
    """Float nearest to a number of ticks, in seconds."""
    seconds: float = int(ticks) / TICKS_PER_SECOND  # of ints: rounded once
    return seconds


def seconds_array(ticks: IntArray) -> FloatArray:
    """Floats nearest to numbers of ticks, in seconds.

    They are the floats that reading the decimals would give.
    """
    whole, rest = np.divmod(ticks, _MICRO)
    seconds: FloatArray = whole / 10**6  # both exact below 2**53: rounded once
    for place in np.flatnonzero(rest):
        seconds[place] = seconds_of(int(ticks[place]))
    return seconds


def parse_ticks(letters: npt.NDArray[np.uint8]) -> tuple[IntArray, BoolArray]:
    """Read many times at once.

    Parameters
    ----------
    letters : ndarray of shape (n, width)
        A number of seconds in each row, with NUL behind it where it is shorter.

    Returns
    -------
    ticks : ndarray of int64
        Times, where they could be read.
    is_plain : ndarray of bool
        Which were plain decimals within the limits; the others must be read one
        by one, with `parse_one`.
    """
    n, width = letters.shape
    value = np.zeros(n, dtype=np.uint64)
    n_digits, n_part, n_dots = (np.zeros(n, dtype=np.uint8) for _ in range(3))
    plain = np.ones(n, dtype=np.bool_)
    longest = _WHOLE_DIGITS + DECIMALS + 1
    for letter in np.ascontiguousarray(letters[:, :longest].T):
        digit = letter - np.uint8(ord("0"))  # other letters are beyond 9
        is_digit, is_dot = digit <= 9, letter == ord(".")
        plain &= is_digit | is_dot | (letter == 0)
        value = np.where(is_digit, value * np.uint64(10) + digit, value)
        n_digits += is_digit
        n_part += is_digit & (n_dots > 0)
        n_dots += is_dot
    if width > longest:
        plain &= letters[:, longest] == 0
    plain &= (n_dots <= 1) & (n_digits > 0)
    plain &= (n_digits - n_part <= _WHOLE_DIGITS) & (n_part <= DECIMALS)
    # Numbers of that many digits fit into 64 bits; those that do not are not plain.
    scale = _POWERS[DECIMALS - np.minimum(n_part, DECIMALS)]
    ticks = np.where(plain, value * scale, 0)
    plain &= ticks < MAX_SECONDS * TICKS_PER_SECOND
    ticks[~plain] = 0
    return ticks.astype(np.int64), plain


def parse_one(name: str, text: str) -> tuple[int, bool]:
    """Read one time, and tell whether it had to be rounded.

    Raises a plain ValueError, to which the caller adds file and line.
    """
    whole, _, part = text.partition(".")
    is_plain = text.isascii() and bool(whole) and (whole + part).isdigit()
    if is_plain and len(whole) < _WHOLE_DIGITS and len(part) <= DECIMALS:
        # The usual case, five times as fast without Decimal.
        return int(whole) * TICKS_PER_SECOND + int(part.ljust(DECIMALS, "0")), False
    seconds = parse_seconds(name, text)
    if abs(seconds) >= MAX_SECONDS:
        raise ValueError(f"{name} must be below {MAX_SECONDS} seconds, got {text}")
    ticks = ticks_of(seconds)
    return ticks, Decimal(ticks).scaleb(-DECIMALS) != seconds


def distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct values, rising, and the place of each value among them.

    ``np.unique`` does the same and loads masked arrays to do it.
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = ranked[1:] != ranked[:-1]
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    return ranked[is_new], place


def running_maximum(values: IntArray, is_first: BoolArray) -> IntArray:
    """Largest value so far within each group; groups begin where `is_first`."""
    if not len(values):
        return values
    # Ranks instead of values: groups can then be set apart without overflow.
    found, rank = distinct(values)
    group = np.cumsum(is_first)
    largest = np.maximum.accumulate(rank + group * len(found))
    result: IntArray = found[largest - group * len(found)]
    return result
