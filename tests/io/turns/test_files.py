"""Turns of any file format, with the numbers of their lines."""

import os

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.detect import is_label_table
from sms_diar.io.turns.files import check_annotation, read_annotation
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.types import Segment, Turn

LINE = "SPEAKER {} 1 {} {} <NA> <NA> {} <NA> <NA>\n"


def rows(annotation):
    """Turns as (recording, start, end, speaker, line), in seconds."""
    return [
        (
            annotation.recordings[r],
            start / TICKS_PER_SECOND,
            end / TICKS_PER_SECOND,
            annotation.speakers[s],
            line,
        )
        for r, start, end, s, line in zip(
            annotation.recording.tolist(),
            annotation.start.tolist(),
            annotation.end.tolist(),
            annotation.speaker.tolist(),
            annotation.line.tolist(),
            strict=True,
        )
    ]


def test_uniform_and_odd_lines_are_read_alike(tmp_path):
    plain, odd = tmp_path / "plain.rttm", tmp_path / "odd.rttm"
    body = [
        ("r.1-a", "0.5", "1.25", "s"),
        ("q", "2", ".75", "t"),
        ("q", "3.", "1", "s"),
    ]
    plain.write_text("".join(LINE.format(*row) for row in body))
    odd.write_text(
        "; comment\n# comment\n\n"
        "SPKR-INFO r.1-a 1 <NA> <NA> <NA> unknown s <NA> <NA>\n"
        "SPEAKER\tr.1-a 1   0.5 1.25 <NA> <NA> s <NA>\n"
        "SPEAKER q 1 2 7.5e-1 <NA> <NA> t <NA> <NA>\n"
        "speaker q 1 3. 1 <NA> <NA> s <NA> <NA>\r\n"
    )
    want = [("r.1-a", 0.5, 1.75, "s"), ("q", 2.0, 2.75, "t"), ("q", 3.0, 4.0, "s")]
    assert [row[:4] for row in rows(read_annotation(plain))] == want
    assert [row[:4] for row in rows(read_annotation(odd))] == want
    assert [row[4] for row in rows(read_annotation(plain))] == [1, 2, 3]
    assert [row[4] for row in rows(read_annotation(odd))] == [5, 6, 7]


def test_times_are_exact_to_twelve_decimals(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(LINE.format("r", "0.100000000001", "0.2", "s"))
    turns = read_annotation(path)
    assert turns.start.tolist() == [100_000_000_001]
    assert turns.end.tolist() == [300_000_000_001]
    assert turns.problems == ()


def test_more_decimals_are_rounded_with_a_warning(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(LINE.format("r", "0.30000000000000004", "1", "s"))
    turns = read_annotation(path)
    assert turns.start.tolist() == [300_000_000_000]
    assert [(r.kind, r.line) for r in turns.problems] == [("rounded", 1)]


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("x.rttm", "SPEAKER r 1 x 1 <NA> <NA> s <NA> <NA>", 1, "seconds, got 'x'"),
        ("x.rttm", "SPEAKER r 1 0 nan <NA> <NA> s <NA> <NA>", 1, "duration must be"),
        ("x.rttm", "SPEAKER r 1 -1 2 <NA> <NA> s <NA> <NA>", 1, "must not be negative"),
        ("x.rttm", "SPEAKER r 1 2e6 1 <NA> <NA> s <NA> <NA>", 1, "below 1000000"),
        ("x.rttm", "SPEAKER r 1 0 1e6 <NA> <NA> s <NA> <NA>", 1, "got 1e6"),
        ("x.rttm", "SPEAKER r 1 0 <NA> <NA> <NA> s <NA> <NA>", 1, "got '<NA>'"),
        ("x.rttm", "LEXEMES r 1 0 1 <NA> <NA> s <NA> <NA>", 1, "type 'LEXEMES'"),
        ("x.rttm", "; comment\nseg1 rec 0.0 1.5", 2, "type 'seg1'"),
        ("x.rttm", "SPEAKER r 1 0 1", 1, "9 or 10 fields, this one has 5"),
        ("x.rttm", "SPEAKER my call 1 0 1 <NA> <NA> s <NA> <NA>", 1, "contain spaces"),
        (
            "x.rttm",
            "SPEAKER r 1 0 1 <NA> <NA> s <NA>\n"  # nine and eleven are twice ten
            "SPEAKER SPEAKER 1 0 1 <NA> <NA> my speaker <NA> <NA>\n",
            2,
            "9 or 10 fields, this one has 11",
        ),
        ("x.rttm", b"SPEAKER r 1 0 1 <NA> <NA> \xe9 <NA> <NA>\n", 1, "byte 0xe9"),
        ("x.csv", "id,speaker\nu,s\n", 1, "the header must have"),
        ("x.csv", "recording,start,end,speaker\nr,0,1\n", 2, "this row has 3"),
        ("x.csv", "recording,start,duration,speaker\nr,-1,3,s\n", 2, "negative"),
        ("x.ctm", "r 1 0.5\n", 1, "5 or 6 fields"),
    ],
)
def test_bad_lines_are_named(refused, name, text, line, problem):
    refused(read_annotation, text, problem, line=line, name=name)


def test_all_problems_are_listed_at_once(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(
        LINE.format("r", "0", "1", "s")
        + LINE.format("r", "0.5", "1", "s")
        + LINE.format("r", "0", "1", "s")
        + LINE.format("r", "5", "0", "s")
        + LINE.format("r", "5", "-1", "s")
        + "SPEAKER r 1 oops\n"
        + "NOSCORE r 1 0 5 <NA> <NA> <NA> <NA>\n"
    )
    found = [(r.line, r.severity, r.kind) for r in check_annotation(path)]
    assert found == [
        (2, "warning", "self-overlap"),
        (3, "warning", "given twice"),
        (4, "warning", "no length"),
        (5, "warning", "negative length"),
        (6, "error", "format"),
        (7, "warning", "no-score line"),
    ]


def test_touching_turns_of_a_speaker_are_no_problem(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(
        LINE.format("r", "0.1", "0.2", "s") + LINE.format("r", "0.3", "1", "s")
    )
    assert check_annotation(path) == []


def test_files_folders_patterns_and_lists(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.rttm").write_text(LINE.format(name, "0", "1", "s"))
    (tmp_path / "all.lst").write_text("a.rttm\nb.rttm\n")
    (tmp_path / "notes.txt").write_text("nothing to see\n")
    for source in (
        tmp_path,
        str(tmp_path / "*.rttm"),
        tmp_path / "all.lst",
        [tmp_path / "a.rttm", tmp_path / "b.rttm"],
    ):
        assert [row[0] for row in rows(read_annotation(source))] == ["a", "b"]


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"x.rttm: no such file"):
        read_annotation(tmp_path / "x.rttm")
    with pytest.raises(MissingFileError, match=r"the folder contains no file with"):
        read_annotation(tmp_path)
    (tmp_path / "all.lst").write_text("gone.rttm\n")
    with pytest.raises(MissingFileError, match=r"all.lst: gone.rttm: no such file"):
        read_annotation(tmp_path / "all.lst")


def test_ctm_like_tables_and_csv(tmp_path):
    ctm, table = tmp_path / "x.ctm", tmp_path / "x.csv"
    ctm.write_text(";; comment\nr 1 0.5 1.25 s\nr 1 2 1 t 0.9\n")
    table.write_text("id,speaker,recording,start,end\nu,s,r,0.5,1.75\nv,t,r,2,3\n")
    want = [("r", 0.5, 1.75, "s"), ("r", 2.0, 3.0, "t")]
    assert [row[:4] for row in rows(read_annotation(ctm))] == want
    assert [row[:4] for row in rows(read_annotation(table))] == want


def test_turns_in_place_of_paths_are_refused():
    turn = Turn(Segment("r", 0.0, 1.0), "s")
    for value in ([turn], Annotation.from_turns([turn])):
        with pytest.raises(InvalidParameterError, match="sources must be the paths"):
            read_annotation(value)


def test_an_empty_file_holds_no_turns(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text("")
    turns = read_annotation(path)
    assert len(turns) == 0
    assert [r.with_severity() for r in turns.problems] == [
        f"{path}: note: contains no turns"
    ]


@pytest.mark.parametrize(
    ("name", "text", "is_labels"),
    [
        ("utt2spk", "u s\n", True),
        ("x.txt", "u s\n", True),
        ("x.json", '{"labels": {}}', True),
        ("x.csv", "id,speaker\n", True),
        ("x.csv", "id,speaker,recording,start,end\n", False),
        ("x.rttm", "", False),
        ("turns", LINE.format("r", "0", "1", "s"), False),
    ],
)
def test_labels_are_told_from_turns(tmp_path, name, text, is_labels):
    path = tmp_path / name
    path.write_text(text)
    assert is_label_table(path) is is_labels


@pytest.mark.parametrize("source", ["folder", "folder/*.rttm", "folder/b.rttm"])
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path, source):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.rttm").write_text(LINE.format("r", 0, 1, "s"))
    os.mkfifo(folder / "b.rttm")
    with pytest.raises(DataFormatError, match="a pipe, a device or a folder") as caught:
        read_annotation(tmp_path / source)
    assert caught.value.path == folder / "b.rttm"
