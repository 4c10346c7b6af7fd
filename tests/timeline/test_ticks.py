"""Times as whole numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.ticks import (
    MAX_SECONDS,
    parse_one,
    parse_ticks,
    seconds_array,
    seconds_of,
    ticks_of,
)

decimals = st.decimals(
    min_value=0, max_value=MAX_SECONDS - 1, allow_nan=False, places=12
) | st.decimals(min_value=0, max_value=9999, allow_nan=False, places=3)


def letters_of(texts):
    """Texts as rows of letters, NUL behind those that are shorter."""
    table = np.array(texts, dtype=np.bytes_)
    return table.view(np.uint8).reshape(len(texts), table.itemsize)


def test_a_float_is_the_decimal_it_prints():
    assert ticks_of(0.1) == ticks_of("0.1") == ticks_of(Decimal("0.1")) == 10**11
    assert ticks_of(Fraction(1, 8)) == 125 * 10**9
    with pytest.raises(InvalidParameterError, match="seconds must be finite, got inf"):
        ticks_of(float("inf"))


@given(decimals)
def test_many_at_once_are_read_as_one_by_one(seconds):
    text = format(seconds, "f")
    ticks, is_plain = parse_ticks(letters_of([text.encode(), b"0"]))
    assert is_plain.all()
    assert (int(ticks[0]), False) == parse_one("time", text)
    assert int(ticks[0]) == ticks_of(seconds)


@given(decimals)
def test_plain_decimals_take_a_short_way_to_the_same_ticks(seconds):
    text = format(seconds, "f")
    assert parse_one("time", text) == parse_one("time", f"{text}e0")
    for odd in (f"{text}0", f"+{text}", f"{seconds.to_integral_value():f}."):
        assert parse_one("time", odd) == (ticks_of(Decimal(odd)), False)


@given(decimals)
def test_ticks_give_back_the_float_of_the_decimal(seconds):
    ticks = ticks_of(seconds)
    assert seconds_of(ticks) == float(seconds)
    assert seconds_array(np.array([ticks]))[0] == float(seconds)


def test_what_is_not_plain_is_left_to_the_careful_reader():
    texts = [b"1e3", b"-1", b".", b"1.2.3", b"", b"1234567.5", b"0.1234567890123", b"x"]
    texts += [b"9999999.999999999999", b"1" * 40, b"0" * 20, b"0.5" + b"0" * 18]
    assert parse_ticks(letters_of(texts))[1].tolist() == [False] * len(texts)
    assert parse_ticks(letters_of([]))[0].tolist() == []
    assert parse_one("time", "1e3") == (10**15, False)
    assert parse_one("time", "0.1234567890123") == (123456789012, True)
