"""Parameter checks with uniform error messages.

``<owner>: <parameter> must be <rule>, got <value>``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray


def _fail(owner: str, name: str, rule: str, value: object) -> InvalidParameterError:
    return InvalidParameterError(
        f"must be {rule}, got {value!r}", owner=owner, parameter=name
    )


_LARGEST = sys.float_info.max


def is_real(value: object) -> bool:
    """Check whether `value` is a finite real number; booleans are not."""
    return (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and bool(-_LARGEST <= value <= _LARGEST)  # type: ignore[operator]
    )


def check_positive(owner: str, name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number above zero."""
    if not is_real(value) or float(value) <= 0.0:  # type: ignore[arg-type]
        raise _fail(owner, name, "a finite number > 0", value)
    return float(value)  # type: ignore[arg-type]


def check_not_negative(owner: str, name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number, zero or above."""
    if not is_real(value) or float(value) < 0.0:  # type: ignore[arg-type]
        raise _fail(owner, name, "a finite number >= 0", value)
    return float(value)  # type: ignore[arg-type]


def check_share(owner: str, name: str, value: object) -> float:
    """Return `value` as a float if it is in (0, 1]."""
    if not is_real(value) or not 0.0 < float(value) <= 1.0:  # type: ignore[arg-type]
        raise _fail(owner, name, "a number in (0, 1]", value)
    return float(value)  # type: ignore[arg-type]


def check_count(
    owner: str, name: str, value: object, *, least: int = 1, most: int | None = None
) -> int:
    """Return `value` as an int if it is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _fail(owner, name, f"a whole number >= {least}", value)
    if int(value) < least:
        raise _fail(owner, name, f"a whole number >= {least}", value)
    if most is not None and int(value) > most:
        raise _fail(owner, name, f"a whole number <= {most}", value)
    return int(value)


def check_real(owner: str, name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number."""
    if not is_real(value):
        raise _fail(owner, name, "a finite number", value)
    return float(value)  # type: ignore[arg-type]


def check_flag(owner: str, name: str, value: object) -> bool:
    """Return `value` as a bool if it is True or False, also of NumPy."""
    if not isinstance(value, (bool, np.bool_)):
        raise _fail(owner, name, "True or False", value)
    return bool(value)


def check_choice(owner: str, name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise _fail(owner, name, f"one of {listed}", value)
    return value


def refuse_path(owner: str, name: str, value: object, rule: str, remedy: str) -> None:
    """Raise an error for a path where the content of the file is expected."""
    if isinstance(value, str | os.PathLike):
        problem = f"must be {rule}, got the path {os.fspath(value)!r}; {remedy}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)


def check_path(owner: str, name: str, value: object) -> None:
    """Raise an error for anything but a path."""
    if not isinstance(value, str | os.PathLike):
        problem = (
            f"must be the path of a file, got a value of type {type(value).__name__}"
        )
        raise InvalidParameterError(problem, owner=owner, parameter=name)


def check_finite(owner: str, name: str, array: AnyArray) -> None:
    """Raise an error for an array with NaN or infinity."""
    if not np.isfinite(array).all():
        raise InvalidParameterError(
            "must be finite, got NaN or infinity", owner=owner, parameter=name
        )


def check_rows_finite(owner: str, rows: AnyArray) -> None:
    """Raise an error for NaN and infinity that names the first affected row."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        problem = "NaN" if np.isnan(rows[row]).any() else "infinity (inf)"
        message = (
            f"must be finite, got {problem} in row {row} ({np.count_nonzero(~finite)} "
            f"of {len(rows)} rows are affected); remove or repair these rows"
        )
        raise InvalidParameterError(message, owner=owner, parameter="X")
