"""Manifests of NeMo."""

import json

import pytest

from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, words_of_text

ROW = {
    "audio_filepath": "/data/wav/my.call.wav",
    "offset": 1.5,
    "duration": 2.0,
    "text": "good day",
    "label": "ann",
    "num_speakers": None,
}


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_lines_are_phrases_of_the_audio_file(transcript):
    words = words_of_text("good day", 1.5, 3.5)
    assert list(transcript(lines(ROW), "a.json")) == [
        Phrase("my.call", 1.5, 3.5, "ann", words)
    ]


@pytest.mark.parametrize(
    ("change", "speaker"),
    [({"label": "infer"}, None), ({"speaker": "bob"}, "bob"), ({"label": 3}, "3")],
)
def test_the_speaker_is_speaker_or_label(transcript, change, speaker):
    assert transcript(lines({**ROW, **change}), "a.jsonl")[0].speaker == speaker


def test_recognised_words_are_read_where_there_is_no_text(transcript):
    rows = [{**ROW, "pred_text": "x"}, {**ROW, "text": "-", "pred_text": "y"}]
    assert [p.text for p in transcript(lines(*rows), "a.jsonl")] == ["good day", "y"]


def test_an_offset_may_be_missing(transcript):
    row = {key: value for key, value in ROW.items() if key != "offset"}
    assert transcript(lines(row), "a.jsonl")[0].start == 0.0


def test_a_list_of_recordings_has_no_words(fault):
    row = {**ROW, "duration": None, "label": "infer", "text": "-", "rttm_filepath": "a"}
    line, problem = fault(lines(row), "a.jsonl")
    assert line == 1
    assert "rttm_filepath" in problem


def test_what_is_written_is_the_manifest():
    words = words_of_text("good day", 0.1, 0.3)
    text = transcript_text([Phrase("call", 0.1, 0.3, "ann", words)], "nemo")
    assert json.loads(text) == {
        "audio_filepath": "call.wav",
        "offset": 0.1,
        "duration": 0.2,
        "text": "good day",
        "label": "ann",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"audio_filepath": None},
        {"audio_filepath": ["a"]},
        {"offset": -1},
        {"offset": "x"},
        {"duration": None},
        {"duration": -1},
        {"duration": 10**400},
        {"text": 7},
        {"label": []},
    ],
)
def test_damage_is_named_with_its_line(fault, change):
    assert fault(lines(ROW, ROW, {**ROW, **change}), "a.jsonl")[0] == 3
