"""NIST RTTM in and out."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.turns.files import read_annotation
from sms_diar.io.turns.rttm import Words, read_rttm, runs_of, write_rttm
from sms_diar.types import Segment, Turn


def written(turns):
    stream = io.StringIO()
    write_rttm(stream, turns)
    return stream.getvalue()


def turn(start, end, speaker="s", recording="r"):
    return Turn(Segment(recording, start, end), speaker)


def test_turns_that_touch_in_the_file_touch_in_memory(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(
        "SPEAKER r 1 0.1 0.2 <NA> <NA> s <NA> <NA>\n"
        "SPEAKER r 1 0.3 0.2 <NA> <NA> t <NA> <NA>\n"
    )
    first, second = read_rttm(path)
    assert 0.1 + 0.2 != 0.3  # in binary arithmetic
    assert first.segment.end == second.segment.start


def test_turns_without_length_are_left_out_and_counted(tmp_path, caplog):
    path = tmp_path / "x.rttm"
    times = [(0.5, "0.000"), (1.0, "1.000"), (1.0, "1e-30"), (1.0, "-0.5")]
    line = "SPEAKER r 1 {} {} <NA> <NA> s <NA> <NA>\n"
    path.write_text("".join(line.format(*time) for time in times))
    turns = read_rttm(path)
    assert list(turns) == [turn(1.0, 2.0)]
    assert [message.partition("skipped ")[2] for message in caplog.messages] == [
        "2 turns of zero length",
        "1 turn of negative length",
    ]
    assert turns == read_annotation(path)  # which keeps the line for the scorer
    assert len(turns.start) == 4


@pytest.mark.parametrize(
    "body", ["", "; one comment keeps the file from being uniform\n"]
)
def test_every_reader_of_rttm_finds_the_same(tmp_path, body):
    path = tmp_path / "x.rttm"
    lines = [
        "SPEAKER r 1 0.5 1.25 <NA> <NA> s <NA> <NA>",
        "speaker r 1 1 1 <NA> <NA> s <NA> <NA>",
        "Speaker r 2 2 0 <NA> <NA> t <NA> <NA>",
        "noscore r 1 0 1 <NA> <NA> <NA> <NA>",
        "spkr-info r 1 <NA> <NA> <NA> unknown s <NA> <NA>",
    ]
    path.write_text(body + "\n".join(lines))
    turns = read_rttm(path)
    assert turns == read_annotation(path)
    assert turns.problems == read_annotation(path).problems
    assert list(turns) == [turn(0.5, 1.75), turn(1.0, 2.0)]
    assert turns.channels == ("1", "2")


def test_byte_order_mark_and_crlf_hide_no_turn(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_bytes(b"\xef\xbb\xbfSPEAKER r 1 0 1 <NA> <NA> s <NA> <NA>\r\n")
    assert list(read_rttm(path)) == [turn(0.0, 1.0)]


def test_writes_ten_fields_sorted_by_recording_and_start():
    turns = [turn(2.0, 3.5), turn(0.25, 1.0, "t"), turn(5.0, 6.0, "s", "q")]
    assert written(turns) == (
        "SPEAKER q 1 5.000 1.000 <NA> <NA> s <NA> <NA>\n"
        "SPEAKER r 1 0.250 0.750 <NA> <NA> t <NA> <NA>\n"
        "SPEAKER r 1 2.000 1.500 <NA> <NA> s <NA> <NA>\n"
    )


def test_more_decimals_where_three_would_make_two_times_one():
    # 1.0002 and 1.0004 are both 1.000 with three decimals, not with four
    assert written([turn(0.0, 1.0002), turn(1.0004, 2.0)]) == (
        "SPEAKER r 1 0.0000 1.0002 <NA> <NA> s <NA> <NA>\n"
        "SPEAKER r 1 1.0004 0.9996 <NA> <NA> s <NA> <NA>\n"
    )


def test_times_of_other_recordings_may_round_to_the_same():
    assert "1.000 " in written([turn(0.0, 1.0002), turn(0.0, 1.0004, recording="q")])


def test_rounding_noise_does_not_ask_for_decimals():
    text = written([turn(0.0, 0.1 + 0.2), turn(0.3, 1.0)])
    assert text.startswith("SPEAKER r 1 0.000 0.300 ")


def test_rounding_leaves_touching_turns_touching(tmp_path):
    # Rounding onset and duration apart: 0.0004 + 1.0004 gives 0.000 + 1.000, but the
    # next onset, 1.0008, is 1.001.
    write_rttm(tmp_path / "x", [turn(0.0004, 1.0008), turn(1.0008, 2.0, "t")])
    first, second = read_rttm(tmp_path / "x")
    assert first.segment.end == second.segment.start == 1.001


@pytest.mark.parametrize(
    ("bad", "parameter"),
    [
        (turn(0, 1, "s", "my call"), "recording"),
        (turn(0, 1, "Ann Lee"), "speaker"),
        (turn(0, 1, "a\u3000b"), "speaker"),
        (turn(0, 1, ""), "speaker"),
    ],
)
def test_names_with_white_space_are_refused(tmp_path, bad, parameter):
    with pytest.raises(InvalidParameterError, match=f"{parameter} must be a name"):
        write_rttm(tmp_path / "x.rttm", [turn(0, 1), bad])
    assert list(tmp_path.iterdir()) == []


def test_a_turn_too_short_to_be_written_is_refused():
    with pytest.raises(
        InvalidParameterError, match="must be longer than 1e-09 seconds"
    ):
        written([turn(1.0, 1.0 + 1e-12)])


@pytest.mark.corpus
def test_every_scoring_case_can_be_read(corpus_data):
    paths = sorted((corpus_data / "scoring").glob("*/*.rttm"))
    assert len(paths) > 50
    for path in paths:
        rows = [line.split() for line in path.read_text().splitlines()]
        n_turns = sum(row[:1] == ["SPEAKER"] and float(row[4]) > 0 for row in rows)
        assert len(list(read_rttm(path))) == n_turns


word = st.text(alphabet="aB7.<", min_size=1, max_size=9).map(str.encode)
gap = st.sampled_from([b" ", b"\t", b"  ", b" \t "])


def texts(words, index):
    """Words of one column, as a list."""
    column = words.column(index)
    return column.view(f"S{column.shape[1]}")[:, 0].tolist()


@given(st.data(), st.integers(1, 4), st.sampled_from([b"\n", b"\r\n", b" \n"]))
def test_words_equal_those_of_str_split(data, width, end):
    row = st.lists(word, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    text = end.join(data.draw(gap).join(line) for line in rows)
    text += data.draw(st.sampled_from([end, b""]))
    words = Words.of(text)
    assert words.width == width
    columns = [texts(words, index) for index in range(width)]
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
def test_text_with_unusual_lines_is_not_split_by_columns(text):
    assert Words.of(text) is None


def test_runs_of_equal_words():
    words = Words.of(b"x\nx\nxy\nx\n")
    names, run = runs_of(words.column(0))
    assert names == [b"x", b"xy", b"x"]
    np.testing.assert_array_equal(run, [0, 0, 1, 2])
