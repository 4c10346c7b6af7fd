"""Results of jobs of pyannoteAI."""

import json

import pytest

from sms_diar.io.transcripts.files import transcript_text
from sms_diar.io.turns.files import read_annotation
from sms_diar.timeline.transcript import Phrase, Word

OUTPUT = {
    "diarization": [
        {"start": 0.4, "end": 2.4, "speaker": "SPEAKER_00"},
        {"start": 2.0, "end": 3.0, "speaker": "SPEAKER_01"},
    ],
    "wordLevelTranscription": [
        {"start": 0.5, "end": 0.8, "text": "Hello,", "speaker": "SPEAKER_00"},
        {"start": 0.9, "end": 1.0, "text": "you.", "speaker": "SPEAKER_00"},
        {"start": 2.1, "end": 2.3, "text": "Yes.", "speaker": "SPEAKER_00"},
        {"start": 2.4, "end": 2.9, "text": "No.", "speaker": "SPEAKER_01"},
    ],
    "turnLevelTranscription": [
        {"start": 0.5, "end": 1.0, "text": "Hello, you.", "speaker": "SPEAKER_00"},
        {"start": 2.1, "end": 2.3, "text": "Yes.", "speaker": "SPEAKER_00"},
        {"start": 2.4, "end": 2.9, "text": "No.", "speaker": "SPEAKER_01"},
    ],
}
JOB = {"jobId": "x", "status": "succeeded", "output": OUTPUT}


@pytest.mark.parametrize("content", [JOB, OUTPUT])
def test_words_are_divided_by_turn_and_speaker(transcript, content):
    phrases = transcript(content)
    assert [(p.start, p.end, p.speaker, p.text) for p in phrases] == [
        (0.5, 1.0, "SPEAKER_00", "Hello, you."),
        (2.1, 2.3, "SPEAKER_00", "Yes."),
        (2.4, 2.9, "SPEAKER_01", "No."),
    ]
    assert not any(word.is_estimated for word in phrases.words)


def test_turns_with_text_are_enough(transcript):
    output = {k: v for k, v in OUTPUT.items() if k != "wordLevelTranscription"}
    phrases = transcript({"output": output})
    assert [p.text for p in phrases] == ["Hello, you.", "Yes.", "No."]
    assert all(word.is_estimated for word in phrases.words)


def test_a_job_without_transcription_has_no_words(transcript):
    assert len(transcript({"output": {"diarization": OUTPUT["diarization"]}})) == 0


def test_the_turns_are_the_diarization_with_its_overlap(tmp_path):
    path = tmp_path / "call.json"
    for content in (JOB, OUTPUT):
        path.write_text(json.dumps(content))
        turns = read_annotation(path)
        assert [(t.segment.start, t.segment.end, t.speaker) for t in turns] == [
            (0.4, 2.4, "SPEAKER_00"),
            (2.0, 3.0, "SPEAKER_01"),
        ]


def test_names_of_identified_speakers_come_first(tmp_path):
    path = tmp_path / "call.json"
    named = [{"start": 0.4, "end": 2.4, "speaker": "ann"}]
    path.write_text(json.dumps({"output": {**OUTPUT, "identification": named}}))
    assert [turn.speaker for turn in read_annotation(path)] == ["ann"]


def test_what_is_written_is_the_output_of_a_job():
    words = (Word("Hello,", 0.5, 0.8), Word("you.", 0.9, 1.0))
    text = transcript_text([Phrase("a", 0.5, 1.0, "SPEAKER_00", words)], "pyannoteai")
    assert json.loads(text)["output"] == {
        "diarization": [{"start": 0.5, "end": 1.0, "speaker": "SPEAKER_00"}],
        "wordLevelTranscription": OUTPUT["wordLevelTranscription"][:2],
        "turnLevelTranscription": OUTPUT["turnLevelTranscription"][:1],
    }


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (7, "output.wordLevelTranscription"),
        ([7], "output.wordLevelTranscription[0]"),
        ([{"start": 0, "end": 1, "text": []}], "output.wordLevelTranscription[0]"),
        ([{"start": 1, "end": 0, "text": "a"}], "output.wordLevelTranscription[0]"),
    ],
)
def test_damage_is_named(fault, value, place):
    line, problem = fault({"output": {**OUTPUT, "wordLevelTranscription": value}})
    assert problem.startswith(f"{place}: ")
    assert line > 10
