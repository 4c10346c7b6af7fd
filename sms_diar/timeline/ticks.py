"""Exact times as integer numbers of picoseconds.

Sums of decimal fractions are not exact in binary: 0.1 + 0.2 is not 0.3, so turns that
touch in a file may overlap or be apart in memory. Integers are exact, and twelve
decimals are finer than the resolution of a float after one hour.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.limits import LONGEST_NUMBER
from sms_diar.types import BoolArray, FloatArray, IntArray

# The pattern is unambiguous, so that matching takes linear time.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def parse_seconds(name: str, text: str) -> Decimal:
    """Parse a time as a decimal, so that sums of two times are exact.

    Raises a plain ValueError; readers add the file and the line.
    """
    if len(text) > LONGEST_NUMBER:
        raise ValueError(
            f"{name} must be a number of seconds, got {len(text)} characters that "
            f"begin with {text[:20]!r}"
        )
    if not _NUMBER.fullmatch(text):  # float() would accept nan, inf and 1_0
        raise ValueError(f"{name} must be a number of seconds, got {text!r}")
    seconds = Decimal(text)
    if not math.isfinite(float(seconds)):
        raise ValueError(f"{name} must be a finite number of seconds, got {text!r}")
    return seconds


def format_seconds(value: float) -> str:
    """Format a time with the fewest decimals that parse to the same float."""
    return format(Decimal(repr(float(value))), "f")


DECIMALS = 12
TICKS_PER_SECOND: int = 10**DECIMALS
MAX_SECONDS = 10**6
"""Longest recording; int64 would overflow at about 9 times this length."""

_WHOLE_DIGITS = 7  # maximum number of digits before the point on the fast path
_POWERS = 10 ** np.arange(DECIMALS + 1, dtype=np.uint64)
_MICRO = 10 ** (DECIMALS - 6)


def ticks_of(seconds: Decimal | Fraction | float | int | str) -> int:
    """Return the nearest tick; a float means the shortest decimal that it prints as.

    >>> ticks_of(0.1) + ticks_of(0.2) == ticks_of(0.3)
    True
    """
    if isinstance(seconds, Decimal):  # common case first: testing for Fraction is slow
        exact = seconds
    elif isinstance(seconds, Fraction):
        nearest: int = round(seconds * TICKS_PER_SECOND)
        return nearest
    elif isinstance(seconds, float):
        if not math.isfinite(seconds):
            problem = f"must be finite, got {seconds!r}"
            raise InvalidParameterError(problem, owner="ticks_of", parameter="seconds")
        exact = Decimal(repr(float(seconds)))  # repr of NumPy floats includes the type
    else:
        exact = Decimal(seconds)
    scaled = exact.scaleb(DECIMALS)
    return int(scaled.to_integral_value(rounding=ROUND_HALF_EVEN))


def seconds_of(ticks: int) -> float:
    """Return the nearest float to a number of ticks, in seconds."""
    seconds: float = int(ticks) / TICKS_PER_SECOND  # integer division rounds once
    return seconds


def seconds_array(ticks: IntArray) -> FloatArray:
    """Return the nearest floats to numbers of ticks, in seconds.

    They are the same floats that parsing the decimals would give.
    """
    micro, rest = np.divmod(ticks, _MICRO)
    seconds: FloatArray = micro / 10**6  # both exact below 2**53, so rounded once
    for index in np.flatnonzero(rest):
        seconds[index] = seconds_of(int(ticks[index]))
    return seconds


def parse_ticks(letters: npt.NDArray[np.uint8]) -> tuple[IntArray, BoolArray]:
    """Parse many times at once.

    `letters` of shape (n, width) has a number of seconds as ASCII in each row, padded
    with NUL. Returns ticks, and whether each row is a plain decimal within the limits;
    the ticks of other rows are not valid, and `parse_one` must parse them.
    """
    n, width = letters.shape
    value = np.zeros(n, dtype=np.uint64)  # shape: (n,), like all columns here
    n_digits, n_part, n_dots = (np.zeros(n, dtype=np.uint8) for _ in range(3))
    plain = np.ones(n, dtype=np.bool_)
    longest = _WHOLE_DIGITS + DECIMALS + 1
    for letter in np.ascontiguousarray(letters[:, :longest].T):
        digit = letter - np.uint8(ord("0"))  # other characters give more than 9
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
    # Longer numbers do not fit into 64 bits and are not plain.
    scale = _POWERS[DECIMALS - np.minimum(n_part, DECIMALS)]
    ticks = np.where(plain, value * scale, 0)
    plain &= ticks < MAX_SECONDS * TICKS_PER_SECOND
    ticks[~plain] = 0
    return ticks.astype(np.int64), plain


def parse_one(name: str, text: str) -> tuple[int, bool]:
    """Parse one time, and return the ticks and whether they were rounded.

    Raises a plain ValueError; the caller adds the file and the line.
    """
    whole, _, part = text.partition(".")
    is_plain = text.isascii() and bool(whole) and (whole + part).isdigit()
    if is_plain and len(whole) < _WHOLE_DIGITS and len(part) <= DECIMALS:
        # Fast path for the common case: five times as fast without Decimal.
        return int(whole) * TICKS_PER_SECOND + int(part.ljust(DECIMALS, "0")), False
    seconds = parse_seconds(name, text)
    if abs(seconds) >= MAX_SECONDS:
        raise ValueError(f"{name} must be below {MAX_SECONDS} seconds, got {text}")
    ticks = ticks_of(seconds)
    return ticks, Decimal(ticks).scaleb(-DECIMALS) != seconds


def distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the sorted distinct values, and the index of each value among them.

    Like ``np.unique``, which would import masked arrays.
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = ranked[1:] != ranked[:-1]
    index = np.empty(len(values), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return ranked[is_new], index


def running_maximum(values: IntArray, is_first: BoolArray) -> IntArray:
    """Return the running maximum within each group; groups begin where `is_first`."""
    if not len(values):
        return values
    # Ranks instead of values: offsets between groups cannot overflow.
    unique, rank = distinct(values)
    group = np.cumsum(is_first)
    largest = np.maximum.accumulate(rank + group * len(unique))
    result: IntArray = unique[largest - group * len(unique)]
    return result
