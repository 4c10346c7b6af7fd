"""Text of files in cells of tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar._text import as_cell, from_cell


@pytest.mark.parametrize(
    "text",
    """
    +1|-5|-0.5|-.5|-1e-3|-1,234.5|-3 %|-3.5 ± 0.2|-0.3 (-0.5, 0.1)|-|12.3|a-b
    """.strip().split("|"),
)
def test_single_numbers_are_not_escaped(text):
    assert as_cell(text) == text


@pytest.mark.parametrize("first", "=+-@\t\r\uff1d\uff0b\uff0d\uff20")
@pytest.mark.parametrize("rest", ["A1", "2*3", "1+2", "(1)", " 2", "1(2)", "-1", "1e"])
def test_cells_that_could_be_evaluated_are_escaped(first, rest):
    for blank in ("", " "):
        text = blank + first + rest
        assert as_cell(text) == f"'{text}"


@given(st.text(st.sampled_from("'=+-@12.,e%() a\t\r±\uff1d"), max_size=8))
def test_every_text_comes_back_from_a_cell(text):
    assert from_cell(as_cell(text)) == text
