"""Transcripts are refused as turns, by name."""

import json

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.turns.files import check_annotation, read_annotation


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
        (["ann", "bob"] * 20, 0.4),
        (["ann"], 0.3),
        (["spk1", "spk2", "spk3"], 0.3),
        (["speaker_a", "speaker_b"], 0.5),
        (["hello"] * 3, 0.3),
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
        read_annotation(tmp_path / "x.ctm", format="stm")


STM = ";; a comment\ncall 1 ann 0.00 1.50 <o,f0> hello world\n"
WHISPER = {
    "text": " hello",
    "language": "en",
    "segments": [{"id": 0, "start": 0.0, "end": 1.5, "text": " hello"}],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.stm", STM),
        ("x.rttm", STM),
        ("x.ctm", STM),
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


def test_transcripts_with_speakers_are_turns(tmp_path):
    path = tmp_path / "x.json"
    turn = {"start": 0.0, "end": 1.5, "text": " hello", "speaker": "ann"}
    path.write_text(json.dumps({**WHISPER, "segments": [turn]}))
    assert [t.speaker for t in read_annotation(path)] == ["ann"]
