"""Words found in a buffer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.io._words import Words, runs_of

word = st.text(alphabet="aB7.<", min_size=1, max_size=9).map(str.encode)
gap = st.sampled_from([b" ", b"\t", b"  ", b" \t "])


def texts(words, place):
    """Words at one place, as a list."""
    column = words.column(place)
    return column.view(f"S{column.shape[1]}")[:, 0].tolist()


@given(st.data(), st.integers(1, 4), st.sampled_from([b"\n", b"\r\n", b" \n"]))
def test_words_are_those_of_split(data, width, end):
    row = st.lists(word, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    text = end.join(data.draw(gap).join(line) for line in rows)
    text += data.draw(st.sampled_from([end, b""]))
    words = Words.of(text)
    assert words.width == width
    columns = [texts(words, place) for place in range(width)]
    assert [list(line) for line in zip(*columns, strict=True)] == rows


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" a b\n",
        b"a b\nc\n",
        b"a b\nc d e f\n",
        b"a b c\nd\n",
        b"a b\n\nc d\n",
        b"a b\n c d\n",
        b"a b\rc d\n",
        b"a\x0bb\n",
        b"a\x1cb\n",
        b"a\0b\n",
        "ä b\n".encode(),
        b"a" * 256 + b"\n",
    ],
)
def test_anything_unusual_is_refused(text):
    assert Words.of(text) is None


def test_runs_of_equal_words():
    words = Words.of(b"x\nx\nxy\nx\n")
    names, run = runs_of(words.column(0))
    assert names == [b"x", b"xy", b"x"]
    np.testing.assert_array_equal(run, [0, 0, 1, 2])
