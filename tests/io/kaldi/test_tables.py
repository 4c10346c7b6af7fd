"""Kaldi's text tables."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi import tables
from sms_diar.types import Segment


@pytest.fixture
def file(tmp_path):
    """Write text to a file and give its path."""

    def write(content):
        (tmp_path / "table").write_text(content)
        return tmp_path / "table"

    return write


def test_segments_keep_order_and_times(file):
    path = file("b-1 rec 0.5 1\na-1\trec  1.0  2.25 \n")
    assert list(tables.read_segments(path).items()) == [
        ("b-1", Segment("rec", 0.5, 1.0)),
        ("a-1", Segment("rec", 1.0, 2.25)),
    ]


def test_an_end_of_minus_one_is_the_end_of_the_recording(file, refused):
    text = "a rec 3.0 -1\n"
    segments = tables.read_segments(file(text), durations={"rec": 10.5})
    assert segments == {"a": Segment("rec", 3.0, 10.5)}
    refused(tables.read_segments, text, "'rec', whose length is unknown", line=1)
    read = partial(tables.read_segments, durations={"rec": 2.0})
    refused(read, text, "starts at 3.0, after the end", line=1)


def test_wav_scp_values_are_opaque_text(file):
    path = file(
        "r1 /a b/c.wav\nr2  sph2pipe -f wav x.sph | \nr3 a.ark:17\nr4 a:b.wav\n"
    )
    read = tables.read_wav_scp(path)
    assert {name: source.text for name, source in read.items()} == {
        "r1": "/a b/c.wav",
        "r2": "sph2pipe -f wav x.sph |",
        "r3": "a.ark:17",
        "r4": "a:b.wav",
    }
    assert [name for name, source in read.items() if source.is_command] == ["r2"]
    assert [name for name, source in read.items() if source.is_archive] == ["r3"]


def test_the_other_tables_are_dictionaries_by_id(file):
    assert tables.read_utt2spk(file("b s\na s\n")) == {"b": "s", "a": "s"}
    assert tables.read_spk2utt(file("s a b\nt c\n")) == {"s": ("a", "b"), "t": ("c",)}
    assert tables.read_reco2num_spk(file("r 12\n")) == {"r": 12}
    assert tables.read_spk2gender(file("s f\nt m\n")) == {"s": "f", "t": "m"}
    assert tables.read_reco2dur(file("r 3.25\n")) == {"r": 3.25}


def test_ids_may_hold_any_letters_but_white_space(file):
    path = file("žluťoučký/|kůň,1 \U0001f40e\n")
    assert tables.read_utt2spk(path) == {"žluťoučký/|kůň,1": "\U0001f40e"}


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"a s\nb\xe9 s\n", 2, "byte 0xe9 in column 2 is not UTF-8"),
        (b"a s\r\nb s\r\n", 1, "CR LF"),
        (b"\xef\xbb\xbfa s\n", 1, "byte order mark"),
        (b"a s\n\nb s\n", 2, "blank"),
        (b"a s\n \t\nb s\n", 2, "blank"),
        (b"a s\nb s\na t\n", 3, "'a' is given twice, first on line 1"),
        (b"a\n", 1, "2 fields, this one has 1"),
        (b"a s t\n", 1, "2 fields, this one has 3"),
        (b"a\xc2\xa0b s\n", 1, "white space other than spaces and tabs"),
    ],
)
def test_broken_lines_are_refused_with_their_place(refused, content, line, problem):
    refused(tables.read_utt2spk, content, problem, line=line)


@pytest.mark.parametrize(
    ("table", "text", "problem"),
    [
        ("segments", "a r 1.0", "4 fields, this one has 3"),
        ("segments", "a r 1 2 1", "a channel in the fifth is not supported"),
        ("segments", "a r 0,5 2", "start must be a number of seconds, got '0,5'"),
        ("segments", "a r 0 nan", "end must be a number of seconds, got 'nan'"),
        ("segments", "a r 0 1e999", "finite number of seconds, got '1e999'"),
        ("segments", "a r 2 1.5", "0 <= start < end, got start=2.0, end=1.5"),
        ("segments", "a r -1 1.5", "0 <= start < end, got start=-1.0, end=1.5"),
        ("spk2utt", "s", "at least one id"),
        ("spk2utt", "s a b\nt b", "'b' is listed twice, first for speaker 's'"),
        ("reco2num_spk", "r 0", "got '0'"),
        ("reco2num_spk", "r 2.0", "got '2.0'"),
        ("spk2gender", "s x", "got 'x'"),
        ("reco2dur", "r 0", "got '0'"),
        ("wav_scp", "r ", "got no path"),
    ],
)
def test_values_are_checked(refused, table, text, problem):
    read = getattr(tables, f"read_{table}")
    refused(read, text + "\n", problem, line=text.count("\n") + 1)


def test_writers_sort_in_c_locale_order(tmp_path):
    tables.write_utt2spk(tmp_path / "utt2spk", {"b": "s", "a": "t", "B": "s", "é": "s"})
    assert (tmp_path / "utt2spk").read_bytes() == "B s\na t\nb s\né s\n".encode()
    tables.write_spk2utt(tmp_path / "spk2utt", {"b": "s", "a": "t", "B": "s"})
    assert (tmp_path / "spk2utt").read_text() == "s B b\nt a\n"


def test_written_tables_read_back(tmp_path):
    path = tmp_path / "table"
    for write, read, value in [
        (tables.write_reco2num_spk, tables.read_reco2num_spk, {"r": 3}),
        (tables.write_spk2gender, tables.read_spk2gender, {"s": "m"}),
        (tables.write_reco2dur, tables.read_reco2dur, {"r": 0.1 + 0.2}),
        (tables.write_wav_scp, tables.read_wav_scp, {"r": AudioSource("x y |")}),
    ]:
        write(path, value)
        assert read(path) == value


times = st.floats(0.0, 1e6, allow_nan=False)


@given(st.lists(st.tuples(times, times).filter(lambda t: t[0] < t[1]), max_size=5))
def test_segments_round_trip_to_the_last_bit(tmp_path_factory, spans):
    path = tmp_path_factory.mktemp("segments") / "segments"
    segments = {f"s{i}": Segment("r", *span) for i, span in enumerate(spans)}
    tables.write_segments(path, segments)
    assert tables.read_segments(path) == segments
    assert "e" not in path.read_text()  # no exponents: some awk scripts compare text


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "a\nb", "a\xa0b"])
def test_writers_refuse_ids_that_would_shift_the_fields(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="write_utt2spk: id must be"):
        tables.write_utt2spk(tmp_path / "utt2spk", {name: "s"})
    with pytest.raises(InvalidParameterError, match="write_utt2spk: speaker must be"):
        tables.write_utt2spk(tmp_path / "utt2spk", {"a": name})
    with pytest.raises(InvalidParameterError, match="write_spk2utt: id must be"):
        tables.write_spk2utt(tmp_path / "spk2utt", {name: "s"})
    segments = {"a": Segment(name, 0.0, 1.0)}
    with pytest.raises(
        InvalidParameterError, match="write_segments: recording must be"
    ):
        tables.write_segments(tmp_path / "segments", segments)
    assert list(tmp_path.iterdir()) == []


def test_writers_refuse_what_does_not_fit_a_line(tmp_path):
    with pytest.raises(InvalidParameterError, match="source of 'r' must be one line"):
        tables.write_wav_scp(tmp_path / "wav.scp", {"r": AudioSource("a\nb")})
