"""Formats that hold turns: round trips, hostile names, foreign readers, faults."""

import gzip
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.registry import TURN_FORMATS, WRITTEN_FORMATS
from sms_diar.io.turns.files import (
    read_annotation,
    turns_text,
    unnamed_recording,
    write_turns,
)
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.types import Segment, Turn

HOSTILE = [
    "say \"hi\" 'there'",
    "a --> b",
    "<b>bold</b><script>alert(1)</script>",
    "R&D &amp; &lt;",
    "Zoë 李雷 🎤",
    "=1+2",
    "'=x",
    "-dash",
    "a,b;c",
    "back\\slash",
    "]]>",
    "Ann [host]",
    "name: words",
    "NOTE",
    "%s {x}",
]
MILLISECONDS = {"eaf", "srt", "vtt"}
TURNS = [
    Turn(Segment("call", 0.0, 1.25), "ann"),
    Turn(Segment("call", 1.0, 2.5), "bob"),
    Turn(Segment("call", 1.25, 3.125), "ann"),
    Turn(Segment("call", 3605.5, 3607.001), "bob"),
]


def names_of(format):
    """Hostile names that a format can hold."""
    if format in ("rttm", "stm"):
        return [name for name in HOSTILE if " " not in name]
    if format == "srt":
        return [name for name in HOSTILE if "-->" not in name]
    return HOSTILE


def there_and_back(folder, turns, format):
    path = folder / f"call{TURN_FORMATS[format].suffix}"
    write_turns(path, turns, format)
    return list(read_annotation(path))


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_hostile_names_come_back(tmp_path, format):
    turns = [
        Turn(Segment("call", float(place), place + 0.5), name)
        for place, name in enumerate(names_of(format))
    ]
    assert there_and_back(tmp_path, turns, format) == turns


@pytest.mark.parametrize("format", sorted(set(WRITTEN_FORMATS) - {"rttm"}))
@pytest.mark.parametrize(
    "name", ["a\nb", "a\tb", "a\u2028b", "a\u202eb", "a\0b", "", " a", "\ud800"]
)
def test_names_that_would_break_a_line_are_refused(format, name):
    turns = [Turn(Segment("call", 0.0, 1.0), name)]
    with pytest.raises(InvalidParameterError, match="speaker must be a name"):
        turns_text(turns, format)


def test_subtitles_refuse_an_arrow():
    turns = [Turn(Segment("call", 0.0, 1.0), "a --> b")]
    with pytest.raises(InvalidParameterError, match="or write WebVTT"):
        turns_text(turns, "srt")


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
@given(data=st.data())
def test_any_times_come_back(tmp_path_factory, format, data):
    """Times to the unit of the format, in the order of time, touching or not."""
    edges = data.draw(
        st.lists(st.integers(0, 10**7), min_size=2, max_size=12, unique=True)
    )
    times = sorted(edges)
    speakers = data.draw(
        st.lists(st.sampled_from("abc"), min_size=len(times), max_size=len(times))
    )
    turns = [
        Turn(Segment("call", start / 1000, end / 1000), who)
        for start, end, who in zip(times[:-1], times[1:], speakers, strict=False)
    ]
    folder = tmp_path_factory.mktemp("turns")
    assert sorted(there_and_back(folder, turns, format)) == turns


@pytest.mark.parametrize("format", sorted({*WRITTEN_FORMATS} - {*MILLISECONDS, "rttm"}))
def test_finer_times_than_milliseconds_come_back(tmp_path, format):
    turns = [Turn(Segment("call", 0.000125, 1.7000625), "ann")]
    assert there_and_back(tmp_path, turns, format) == turns


@pytest.mark.parametrize("format", ["csv", "audacity", "textgrid", "lhotse", "nemo"])
def test_noise_of_floats_is_not_written(format):
    turns = [Turn(Segment("call", 0.1 + 0.2, 3.7074999999999996), "ann")]
    text = turns_text(turns, format)
    assert ("3.4075" if format in ("lhotse", "nemo") else "3.7075") in text
    assert "0.30000000000000004" not in text


@pytest.mark.parametrize("format", sorted(MILLISECONDS))
def test_turns_below_a_millisecond_are_refused(format):
    turns = [Turn(Segment("call", 1.0, 1.0001), "ann")]
    with pytest.raises(InvalidParameterError, match="longer than a millisecond"):
        turns_text(turns, format)


@pytest.mark.parametrize("format", ["textgrid", "eaf"])
def test_a_tier_does_not_overlap_itself(format):
    turns = [Turn(Segment("call", 0.0, 2.0), "a"), Turn(Segment("call", 1.0, 3.0), "a")]
    with pytest.raises(InvalidParameterError, match="must not overlap"):
        turns_text(turns, format)


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_no_turns_are_a_file_without_turns(tmp_path, format):
    assert there_and_back(tmp_path, [], format) == []


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_several_recordings_go_to_a_folder(tmp_path, format):
    turns = [
        Turn(Segment("a", 0.0, 1.0), "x"),
        Turn(Segment("b", 0.5, 2.0), "y"),
        Turn(Segment("../c", 0.5, 2.0), "y"),
    ]
    files = write_turns(tmp_path, turns, format)
    suffix = TURN_FORMATS[format].suffix
    assert [file.name for file in files] == [f"{n}{suffix}" for n in ("a", "b", ".._c")]
    assert all(file.parent == tmp_path for file in files)
    back = list(read_annotation(files[:2]))
    assert back == turns[:2]
    if not TURN_FORMATS[format].names_recordings:
        with pytest.raises(
            InvalidParameterError, match="must be from a single recording"
        ):
            write_turns(tmp_path / f"all{suffix}", turns, format)


def test_a_suffix_must_be_known(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"one of \.rttm, \.json, \.csv"):
        write_turns(tmp_path / "x.docx", TURNS)
    with pytest.raises(InvalidParameterError, match="format must be one of"):
        write_turns(tmp_path / "x.rttm", TURNS, "docx")


@pytest.mark.corpus
@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_the_reference_of_real_conversations_comes_back(corpus_data, tmp_path, format):
    turns = sorted(read_annotation(corpus_data / "conversations" / "ref.rttm"))
    assert len(turns) == 121
    files = write_turns(tmp_path, turns, format)
    assert sorted(read_annotation(files)) == turns
    suffix = TURN_FORMATS[format].suffix
    if suffix not in (".json", ".jsonl", ".txt"):  # which may be anything in a folder
        assert sorted(read_annotation(tmp_path)) == turns


# --- told by content ------------------------------------------------------------


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_content_tells_the_format(tmp_path, format):
    path = tmp_path / "call.unknown"
    path.write_text(turns_text(TURNS, format), encoding="utf-8")
    if format == "csv":
        path = path.rename(tmp_path / "call.csv")
    assert sorted(read_annotation(path)) == TURNS


@pytest.mark.parametrize("format", WRITTEN_FORMATS)
def test_compressed_files_are_read(tmp_path, format):
    path = tmp_path / f"call{TURN_FORMATS[format].suffix}.gz"
    path.write_bytes(gzip.compress(turns_text(TURNS, format).encode()))
    turns = read_annotation(path)
    assert sorted(turns) == TURNS
    assert turns.files == (str(path),)


def test_faults_of_a_gzip_file_are_named(refused):
    data = gzip.compress(turns_text(TURNS, "rttm").encode())[:-9]
    refused(read_annotation, data, "not a whole gzip file", name="x.rttm.gz")
    data = gzip.compress(b"SPEAKER oops\n")
    refused(read_annotation, data, line=1, name="x.rttm.gz")


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read(monkeypatch, packed):
    data = turns_text(TURNS, "rttm").encode()
    stream = io.BytesIO(gzip.compress(data) if packed else data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    turns = read_annotation("-")
    assert sorted(turns) == TURNS
    assert turns.files == ("<stdin>",)


def test_a_folder_of_several_formats_must_be_chosen_from(tmp_path):
    write_turns(tmp_path / "call.srt", TURNS)
    write_turns(tmp_path / "call.vtt", TURNS)
    with pytest.raises(InvalidParameterError, match="files of several formats"):
        read_annotation(tmp_path)
    write_rttm(tmp_path / "call.rttm", TURNS)
    assert sorted(read_annotation(tmp_path)) == TURNS


def test_it_is_known_whether_a_file_names_its_recording(tmp_path):
    write_turns(tmp_path / "call.srt", TURNS)
    write_turns(tmp_path / "call.rttm", TURNS)
    assert unnamed_recording(tmp_path / "call.srt")
    assert not unnamed_recording(tmp_path / "call.rttm")
    assert not unnamed_recording("-")


# --- foreign readers and writers ------------------------------------------------


def written(folder, format, turns=None):
    path = folder / f"call{TURN_FORMATS[format].suffix}"
    if turns is None:
        turns = [
            Turn(Segment("call", float(place), place + 0.5), name)
            for place, name in enumerate(names_of(format))
        ]
    write_turns(path, turns)
    return path, [(t.segment.start, t.segment.end, t.speaker) for t in turns]


def read_back(path):
    return [(t.segment.start, t.segment.end, t.speaker) for t in read_annotation(path)]


def test_praatio_reads_and_writes_what_we_do(tmp_path):
    praatio = pytest.importorskip("praatio.textgrid")
    path, want = written(tmp_path, "textgrid")
    grid = praatio.openTextgrid(str(path), includeEmptyIntervals=False)
    got = [(entry.start, entry.end, tier.name) for tier in grid.tiers for entry in tier]
    assert got == want
    for kind in ("long_textgrid", "short_textgrid"):
        again = tmp_path / kind / "call.TextGrid"
        again.parent.mkdir()
        grid.save(str(again), format=kind, includeBlankSpaces=True)
        assert read_back(again) == want


def test_textgrid_reads_and_writes_what_we_do(tmp_path):
    textgrid = pytest.importorskip("textgrid")
    path, want = written(tmp_path, "textgrid", TURNS)
    grid = textgrid.TextGrid.fromFile(str(path))
    assert {tier.name for tier in grid.tiers} == {"ann", "bob"}
    got = [
        (i.minTime, i.maxTime, i.mark) for tier in grid.tiers for i in tier if i.mark
    ]
    assert sorted(got) == sorted(want)
    again = tmp_path / "call2.TextGrid"
    grid.write(str(again))
    assert sorted(read_back(again)) == sorted(want)


def test_pympi_reads_and_writes_what_we_do(tmp_path):
    elan = pytest.importorskip("pympi.Elan")
    path, want = written(tmp_path, "eaf")
    document = elan.Eaf(str(path))
    got = [
        (start / 1000, end / 1000, tier)
        for tier in document.get_tier_names()
        for start, end, _ in document.get_annotation_data_for_tier(tier)
    ]
    assert sorted(got) == sorted(want)
    own = elan.Eaf(author="x")
    own.remove_tier("default")
    for start, end, name in want:
        if name not in own.get_tier_names():
            own.add_tier(name)
        own.add_annotation(name, round(1000 * start), round(1000 * end), "words")
    own.to_file(str(tmp_path / "own.eaf"))
    assert sorted(read_back(tmp_path / "own.eaf")) == sorted(want)


def test_webvtt_reads_and_writes_what_we_do(tmp_path):
    webvtt = pytest.importorskip("webvtt")
    path, want = written(tmp_path, "vtt", TURNS)
    captions = webvtt.read(str(path))
    got = [(c.start_in_seconds, c.end_in_seconds, c.voice) for c in captions]
    assert [name for *_, name in got] == [name for *_, name in want]
    assert [c.start for c in captions] == [
        "00:00:00.000", "00:00:01.000", "00:00:01.250", "01:00:05.500",
    ]  # fmt: skip
    captions.save(str(tmp_path / "again.vtt"))
    assert read_back(tmp_path / "again.vtt") == want
    path, want = written(tmp_path, "vtt")  # hostile names
    assert len(webvtt.read(str(path))) == len(want)


def test_pysrt_and_srt_read_and_write_what_we_do(tmp_path):
    pysrt, srt = pytest.importorskip("pysrt"), pytest.importorskip("srt")
    path, want = written(tmp_path, "srt")
    cues = pysrt.open(str(path), encoding="utf-8")
    assert [cue.text for cue in cues] == [f"[{name}]" for *_, name in want]
    assert [cue.start.ordinal for cue in cues] == [1000 * start for start, *_ in want]
    cues.save(str(tmp_path / "one.srt"), encoding="utf-8")
    cues = list(srt.parse(path.read_text(encoding="utf-8")))
    assert [cue.content for cue in cues] == [f"[{name}]" for *_, name in want]
    text = srt.compose(cues)
    (tmp_path / "two.srt").write_text(text, encoding="utf-8")
    for again in ("one.srt", "two.srt"):
        assert read_back(tmp_path / again) == want


def test_pandas_reads_the_csv(tmp_path):
    import pandas as pd

    path, want = written(tmp_path, "csv", TURNS)
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["recording", "start", "end", "speaker"]
    rows = frame[["start", "end", "speaker"]].itertuples(index=False, name=None)
    assert list(rows) == want


def test_spreadsheets_see_no_formula(tmp_path):
    path, _ = written(tmp_path, "csv")
    cells = [line.rsplit(",", 1)[1] for line in path.read_text().splitlines()[1:]]
    assert not [cell for cell in cells if cell.strip('"')[:1] in "=+-@"]
    assert "'=1+2" in cells


# --- what others write ----------------------------------------------------------


def read_as(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_back(path)


def test_json_of_others(tmp_path):
    segments = [{"start": 0.1, "end": 0.3, "speaker": "A", "text": "hi"}]
    for content in (segments, {"segments": segments}, {"turns": segments}):
        got = read_as(tmp_path, "x.json", json.dumps(content))
        assert got == [(0.1, 0.3, "A")]
    (path := tmp_path / "y.json").write_text(
        '[{"recording": "r", "start": 1, "duration": 2, "speaker": "B"}]'
    )
    (turn,) = read_annotation(path)
    assert turn == Turn(Segment("r", 1.0, 3.0), "B")


def test_subtitles_of_others(tmp_path):
    text = (
        "1\r\n00:00:01,000 --> 00:00:02,000 X1:0\r\n[ann]: hello [laughs]\r\nmore\r\n"
        "\r\n2\r\n00:00:03.000 --> 00:00:04.000\r\nbob: it is 12:30\r\n\r\n\r\n"
    )
    want = [(1.0, 2.0, "ann"), (3.0, 4.0, "bob")]
    assert read_as(tmp_path, "x.srt", b"\xef\xbb\xbf" + text.encode()) == want
    text = (
        "WEBVTT - a title\nKind: captions\n\nNOTE\na --> b\n\nSTYLE\n::cue {}\n\n"
        "intro\n00:01.000 --> 00:02.000 align:start\n<v.loud Ann &amp; Co>Hi</v>\n"
        "<v bob>Hello\n\n00:03.000 --> 00:04.000\nbob: hi\n"
    )
    assert read_as(tmp_path, "x.vtt", text) == [
        (1.0, 2.0, "Ann & Co"), (1.0, 2.0, "bob"), (3.0, 4.0, "bob"),
    ]  # fmt: skip


def test_textgrids_of_others(tmp_path):
    short = (
        'File type = "ooTextFile short"\n"TextGrid"\n\n0\n3.5\n<exists>\n2\n'
        '"IntervalTier"\n"ann ""A"""\n0\n3.5\n3\n0\n1\n""\n1\n2.5\n"said ""hi"" 7"\n'
        '2.5\n3.5\n" "\n"TextTier"\n"clicks"\n0\n3.5\n1\n1.5\n"x"\n'
    )
    want = [(1.0, 2.5, 'ann "A"')]
    assert read_as(tmp_path, "x.TextGrid", short) == want
    assert read_as(tmp_path, "x.TextGrid", short.encode("utf-16")) == want


EAF = (
    '<?xml version="1.0" encoding="UTF-8"?>{}<ANNOTATION_DOCUMENT>'
    '<HEADER TIME_UNITS="{}"/><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" '
    'TIME_VALUE="500"/><TIME_SLOT TIME_SLOT_ID="t2"{}/></TIME_ORDER>'
    '<TIER TIER_ID="ref@A" PARTICIPANT="Ann"><ANNOTATION><ALIGNABLE_ANNOTATION '
    'ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="{}"/></ANNOTATION></TIER>'
    '<TIER TIER_ID="gloss" PARENT_REF="ref@A"><ANNOTATION><ALIGNABLE_ANNOTATION '
    'TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"/></ANNOTATION></TIER>'
    "</ANNOTATION_DOCUMENT>"
)


def test_elan_of_others(tmp_path):
    text = EAF.format("", "milliseconds", ' TIME_VALUE="750"', "t2")
    assert read_as(tmp_path, "x.eaf", text) == [(0.5, 0.75, "Ann")]


def test_labels_of_audacity_with_frequencies(tmp_path):
    text = "0.5\t1.5\tann\n\\\t100\t200\n2\t3\tbob b\n"
    assert read_as(tmp_path, "labels.txt", text) == [
        (0.5, 1.5, "ann"), (2.0, 3.0, "bob b"),
    ]  # fmt: skip


# --- faults ---------------------------------------------------------------------

TIME = "00:00:01,000 --> 00:00:02,000\n"
GRID = 'File type = "ooTextFile"\nObject class = "{}"\nxmin = 0\nxmax = 1\n{}'
TIER = GRID.format("TextGrid", '<exists>\n1\n"{}"\n{}')
UNNAMED = '""\n0\n1\n1\n0\n1\n"x"\n'
NEGATIVE = EAF.format("", "milliseconds", ' TIME_VALUE="-3"', "t2")
TURN = '[{{"start": {}, "end": 1, "speaker": "a"}}]'
BOMB = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">'
    '<!ENTITY c SYSTEM "file:///etc/passwd">]>'
)


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("x.txt", "0\t1\t\n", 1, "the label is empty"),
        ("x.txt", "0\t1\ta\n1\t2\n", 2, "a label has 3 fields"),
        ("x.txt", "0\t1\ta\n1,5\t2\ta\n", 2, "start must be a number of"),
        ("x.txt", "0\t1\ta\n-1\t2\ta\n", 2, "start must not be negative"),
        ("x.srt", "1\n00:01\nx: y\n", 1, "a cue begins with its times"),
        ("x.srt", "1\n1 --> 2\nx: y\n", 2, "a time line is"),
        ("x.srt", "1\n00:60:01,000 --> 00:00:02,000\n[a]\n", 2, "minutes and"),
        ("x.srt", "999999:00:01,000 --> 00:00:02,000\n[a]\n", 1, "times must be"),
        ("x.srt", f"1\n{TIME}just words\n", 2, "the cue does not name a speaker"),
        ("x.srt", f"1\n{TIME}", 2, "the cue does not name a speaker"),
        ("x.vtt", "00:01.000 --> 00:02.000\n<c>\n", 1, "the cue does not name"),
        ("x.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhi\n", 3, "the cue does not"),
        ("x.TextGrid", GRID.format("Sound", ""), 2, "a Praat 'Sound'"),
        ("x.TextGrid", GRID.format("TextGrid", ""), None, "ends where"),
        ("x.TextGrid", TIER.format("IntervalTier", '"a'), 8, "'a quote that is not"),
        ("x.TextGrid", TIER.format("Tier", '"a"'), 7, "class 'Tier'"),
        ("x.TextGrid", TIER.format("IntervalTier", UNNAMED), 8, "the tier has no name"),
        ("x.TextGrid", "ooBinaryFile\x08TextGrid", None, "is a binary TextGrid"),
        ("x.TextGrid", b'"ooTextFile"\n\xe9', 2, "byte 0xe9 is not UTF-8"),
        ("x.eaf", EAF.format("", "NTSC-frames", "", "t2"), 1, "times must be in"),
        ("x.eaf", EAF.format("", "milliseconds", "", "t2"), 1, "time slot 't2'"),
        ("x.eaf", EAF.format("", "milliseconds", "", "t9"), 1, "slot 't9' does not"),
        ("x.eaf", NEGATIVE, 1, "got '-3'"),
        ("x.eaf", EAF.format(BOMB, "milliseconds", "", "t2"), 1, "has a document"),
        ("x.eaf", "<html></html>", 1, "its root is <html>"),
        ("x.eaf", "<?xml version='1.0'?><ANNOTATION_DOCUMENT>", 1, "not whole"),
        ("x.json", "{", 1, "not JSON: "),
        ("x.json", "[" * 100_000, 1, "not read: values are nested too deeply"),
        ("x.json", '{"a": 1}', None, 'expected an object with the list "record'),
        ("x.json", "[1]", 1, "[0]: must be an object, got 1"),
        ("x.json", '[\n{"start": 0, "end": 1}]', 2, '[0]: "speaker" is missing'),
        ("x.json", TURN.format('"x"'), 1, '"start" must be'),
        ("x.json", TURN.format(-1), 1, "not be negative"),
        ("x.json", '{"recordings": [{"recording": "r"}]}', 1, 'must have the list "tu'),
        (
            "x.json",
            '{"recordings": [{"turns": [], "recording": 1}]}',
            1,
            "must be text",
        ),
    ],
)
def test_faults_are_named(refused, name, text, line, problem):
    refused(read_annotation, text, problem, line=line, name=name)
