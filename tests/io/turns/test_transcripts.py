"""Transcripts are refused as turns, by name."""

import json

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.turns.files import check_annotation, read_annotation, turns_text
from sms_diar.types import Segment, Turn


def ctm(path, names, seconds, *, confidence=False):
    behind = " 0.87" if confidence else ""
    lines = [
        f"call 1 {place * seconds:.2f} {seconds:.2f} {name}{behind}\n"
        for place, name in enumerate(names)
    ]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("confidence", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ["hello", "world"],
        ["what", "we", "want", "is", "what", "they", "want", "to", "know"],
        ["你好", "世界", "<unk>", "[laughter]"],
        ["one", "two", "three", "one"] * 50,
        ["1", "2", "3"] * 50,
        ["hello"] * 3,
        ["ann", "bob"] * 20,
    ],
)
def test_a_ctm_of_words_is_refused_as_turns(tmp_path, words, confidence):
    path = ctm(tmp_path / "x.ctm", words, 0.3, confidence=confidence)
    with pytest.raises(
        DataFormatError, match="contains words, so this is a transcript"
    ):
        read_annotation(path)
    (problem,) = check_annotation(path)
    assert (problem.severity, problem.kind) == ("error", "transcript")


@pytest.mark.parametrize(
    ("speakers", "seconds"),
    [
        (["ann", "bob"], 2.5),
        (["ann"], 1.0),
        (["spk1", "spk2", "spk3"], 0.3),
        (["speaker_a", "speaker_b"], 0.5),
    ],
)
def test_a_ctm_of_speakers_is_read_as_turns(tmp_path, speakers, seconds):
    path = ctm(tmp_path / "x.ctm", speakers, seconds)
    assert [turn.speaker for turn in read_annotation(path)] == speakers


def test_short_turns_of_different_speakers_are_read_if_the_format_is_named(tmp_path):
    path = ctm(tmp_path / "x.ctm", ["ann", "bob", "cy"], 0.4)
    with pytest.raises(DataFormatError, match="sms-diar convert"):
        read_annotation(path)
    assert len(read_annotation(path, format="ctm")) == 3
    assert check_annotation(path, format="ctm") == []


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="format must be one of 'rttm'"):
        read_annotation(tmp_path / "x.ctm", format="txt")


WHISPER = {
    "text": " hello",
    "language": "en",
    "segments": [{"id": 0, "start": 0.0, "end": 1.5, "text": " hello"}],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.ctm", "call 1 0.0 0.3 hello 0.9 lex ann\n"),
        ("x.json", json.dumps(WHISPER)),
        ("x.json", json.dumps(WHISPER["segments"])),
        ("x.json", json.dumps([{"word": "hello", "start": 0, "end": 1}])),
        ("x.json", '{"transcription": [{"text": "hello"}]}'),
        ("x.json", '{"text": "hello", "chunks": []}'),
        ("x.tsv", "start\tend\ttext\n0\t1500\thello\n"),
        ("x.csv", "start,end,text\n0,1.5,hello\n"),
        ("x.srt", "1\n00:00:00,000 --> 00:00:01,000\nhello world\n"),
        ("x.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nhello world\n"),
    ],
)
def test_a_transcript_is_called_one(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataFormatError, match=r"\btranscript\b"):
        read_annotation(path)


def test_words_without_speakers_are_sent_to_the_command_that_finds_them(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(WHISPER))
    (problem,) = check_annotation(path)
    assert (problem.severity, problem.kind) == ("error", "transcript")
    assert "sms-diar transcript" in problem.text
    with pytest.raises(DataFormatError, match="without speakers"):
        read_annotation(path, format="whisper")


def test_phrases_without_a_speaker_are_skipped_with_a_warning(tmp_path):
    path = tmp_path / "x.json"
    turn = {"start": 2.0, "end": 3.5, "text": " hello", "speaker": "ann"}
    path.write_text(json.dumps({"segments": [*WHISPER["segments"], turn]}))
    annotation = read_annotation(path)
    assert [(t.segment.start, t.speaker) for t in annotation] == [(2.0, "ann")]
    (problem,) = annotation.problems
    assert (problem.severity, problem.kind) == ("warning", "no speaker")


def test_faults_of_transcripts_are_named_with_their_line(tmp_path):
    path = tmp_path / "x.jsonl"
    row = {"recording_id": "a", "start": 0.0, "duration": 1.0, "speaker": "ann"}
    path.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'start': -1})}\n")
    with pytest.raises(DataFormatError) as caught:
        read_annotation(path)
    assert caught.value.line == 2


def test_a_speaker_whose_name_means_none_is_not_written():
    turns = [Turn(Segment("call", 0.0, 1.0), "unknown")]
    with pytest.raises(InvalidParameterError, match="speaker must not be 'unknown'"):
        turns_text(turns, "lhotse")
    assert "unknown" in turns_text(turns, "rttm")


def test_json_of_turns_is_read_as_before_even_with_texts(tmp_path):
    # Its turns name their recordings, and may end before they start.
    path = tmp_path / "x.json"
    turn = {"recording": "r", "start": 1, "end": 2, "speaker": "ann", "text": "hi"}
    path.write_text(json.dumps([turn, {**turn, "end": 0.5}]))
    annotation = read_annotation(path)
    assert annotation.recordings == ("r",)
    assert len(annotation.start) == 2


@pytest.mark.parametrize("number", ["1e" + "9" * 20, "9" * 5000])
def test_a_number_of_too_many_digits_is_refused(tmp_path, number):
    path = tmp_path / "x.json"
    path.write_text(f'[{{"start": 0, "end": {number}, "speaker": "ann"}}]')
    with pytest.raises(DataFormatError, match=r"too many digits|a number of seconds"):
        read_annotation(path)


def test_words_divide_the_turns_of_whisperx_if_it_is_named(tmp_path):
    path = tmp_path / "x.json"
    words = [
        {"word": "no", "start": 0.0, "end": 1.0, "speaker": "ann"},
        {"word": "yes", "start": 1.0, "end": 1.5, "speaker": "bob"},
    ]
    segment = {"start": 0.0, "end": 1.5, "text": "no yes", "speaker": "ann"}
    path.write_text(json.dumps({"segments": [{**segment, "words": words}]}))
    assert [t.speaker for t in read_annotation(path)] == ["ann"]
    named = read_annotation(path, format="whisper")
    assert [t.speaker for t in named] == ["ann", "bob"]


def test_transcripts_with_speakers_are_turns(tmp_path):
    path = tmp_path / "x.json"
    turn = {"start": 0.0, "end": 1.5, "text": " hello", "speaker": "ann"}
    path.write_text(json.dumps({**WHISPER, "segments": [turn]}))
    assert [t.speaker for t in read_annotation(path)] == ["ann"]
