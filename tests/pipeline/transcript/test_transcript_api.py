"""``sms_diar.transcript``: words of a file or in memory, and turns of any origin."""

import json

import numpy as np
import pytest

import sms_diar
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.transcript import Phrase, Transcript, Word
from sms_diar.types import Segment, Turn

TURNS = [
    Turn(Segment("call", 0.0, 2.1), "ann"),
    Turn(Segment("call", 2.4, 3.1), "bob"),
    Turn(Segment("call", 3.5, 6.0), "ann"),
]
WORDS = (
    Word("How", 0.1, 0.5),
    Word("are", 0.5, 1.0),
    Word("you?", 1.0, 2.0),
    Word("Fine.", 2.4, 3.0),
    Word("Good.", 4.0, 4.5),
)
PHRASES = [Phrase("call", 0.0, 5.0, words=WORDS)]
EXPECTED = [("ann", "How are you?"), ("bob", "Fine."), ("ann", "Good.")]


def script(transcript):
    return [(phrase.speaker, phrase.text) for phrase in transcript]


@pytest.fixture
def turn_file(tmp_path):
    path = tmp_path / "call.rttm"
    sms_diar.write_rttm(path, TURNS)
    return path


@pytest.fixture
def word_file(tmp_path):
    """SegLST, whose words have estimated times."""
    path = tmp_path / "words.json"
    segments = [
        {"words": "How are you?", "start_time": 0.0, "end_time": 2.0},
        {"words": "Fine.", "start_time": 2.4, "end_time": 3.0},
        {"words": "Good.", "start_time": 4.0, "end_time": 4.5},
    ]
    common = {"session_id": "call", "speaker": "unknown"}
    path.write_text(json.dumps([common | segment for segment in segments]))
    return path


@pytest.mark.parametrize("kind", [list, tuple, Annotation.from_turns, iter])
def test_turns_in_memory_give_words_their_speakers(kind):
    result = sms_diar.transcript(kind(TURNS), PHRASES)
    assert isinstance(result, Transcript)
    assert script(result) == EXPECTED


def test_files_give_the_same_words_as_values(turn_file, word_file):
    result = sms_diar.transcript(turn_file, word_file)
    assert script(result) == EXPECTED
    again = sms_diar.transcript(str(turn_file), sms_diar.read_transcript(word_file))
    assert again.phrases == result.phrases


def test_notes_count_words_outside_doubtful_ones_and_estimated_times(word_file):
    (note,) = sms_diar.transcript(TURNS, word_file).problems
    assert (note.severity, note.recording) == ("note", "call")
    assert note.text.startswith("5 of 5 words have times estimated")
    late = Phrase("call", 20.0, 21.0, words=(Word("late", 20.0, 21.0),))
    result = sms_diar.transcript(TURNS, [*PHRASES, late])
    assert result[-1].speaker is None
    assert [note.text.split(" words")[0] for note in result.problems] == ["1 of 6"]
    both = [Turn(Segment("call", 0, 5), name) for name in ("ann", "bob")]
    (note,) = sms_diar.transcript(both, PHRASES).problems
    assert note.text.startswith("5 of 5 words have a speaker with a probability below")


def test_most_words_outside_the_turns_are_a_warning():
    late = tuple(Word("late", 20.0 + n, 20.5 + n) for n in range(9))
    phrases = [*PHRASES, Phrase("call", 20.0, 29.0, words=late)]
    (warning,) = sms_diar.transcript(TURNS, phrases).problems
    assert warning.severity == "warning"
    assert "words from 0.1 to 28.5 s, turns from 0.0 to 6.0 s" in warning.text


def test_words_of_another_recording_are_refused():
    phrases = [Phrase("call", 100.0, 101.0, words=(Word("x", 100.0, 101.0),))]
    with pytest.raises(InvalidParameterError) as caught:
        sms_diar.transcript(TURNS, phrases)
    assert caught.value.parameter == "words"
    assert "words from 100.0 to 101.0 s" in str(caught.value)


def test_single_recordings_of_other_names_are_the_same():
    phrases = [Phrase("whisper", 0.0, 5.0, words=WORDS)]
    result = sms_diar.transcript(TURNS, phrases)
    assert result.recordings == ["call"]
    assert script(result) == EXPECTED
    assert "'whisper'" in result.problems[0].text


def test_several_recordings_are_matched_by_name():
    other = [Turn(Segment("other", 0.0, 9.0), "cy")]
    phrases = [Phrase("other", 0.0, 5.0, words=WORDS), *PHRASES]
    result = sms_diar.transcript([*TURNS, *other], phrases)
    assert script(result) == [("cy", "How are you? Fine. Good."), *EXPECTED]
    with pytest.raises(InvalidParameterError) as caught:
        sms_diar.transcript([*TURNS, *other], [Phrase("x", 0.0, 5.0, words=WORDS)])
    assert caught.value.parameter == "words"


def test_words_of_a_recording_without_turns_have_no_speaker():
    phrases = [*PHRASES, Phrase("other", 0.0, 5.0, "old", WORDS)]
    result = sms_diar.transcript(TURNS, phrases)
    assert script(result) == [*EXPECTED, (None, "How are you? Fine. Good.")]
    assert [(p.severity, p.recording) for p in result.problems] == [
        ("warning", "other")
    ]


@pytest.mark.parametrize("parameter", ["turns", "words"])
def test_nothing_is_refused(parameter):
    arguments = {"turns": TURNS, "words": PHRASES} | {parameter: []}
    with pytest.raises(InvalidParameterError) as caught:
        sms_diar.transcript(**arguments)
    assert caught.value.parameter == parameter


def test_turns_in_place_of_words_are_refused(turn_file, word_file):
    with pytest.raises(DataFormatError) as caught:
        sms_diar.transcript(word_file, turn_file)
    assert caught.value.path == turn_file


def test_options_of_diarize_require_audio():
    with pytest.raises(InvalidParameterError) as caught:
        sms_diar.transcript(TURNS, PHRASES, num_speakers=2)
    assert caught.value.parameter == "turns"


def test_audio_is_diarized_with_the_options():
    rate = 8000
    noise = 0.1 * np.random.default_rng(0).standard_normal(5 * rate)
    options = {"vad": "none", "max_speakers": 1, "model": "embedded"}
    result = sms_diar.transcript((noise, rate), PHRASES, **options)
    assert script(result) == [("spk-01", "How are you? Fine. Good.")]
    made = sms_diar.diarize({"call": (noise, rate)}, **options)
    assert script(sms_diar.transcript(made, PHRASES)) == script(result)


def test_exclusive_diarization_keeps_the_speech():
    rate = 8000
    noise = 0.1 * np.random.default_rng(0).standard_normal(5 * rate)
    options = {"vad": "none", "max_speakers": 1, "model": "embedded"}
    usual = sms_diar.diarize((noise, rate), **options)
    exclusive = sms_diar.diarize((noise, rate), exclusive=True, **options)
    assert exclusive.turns == usual.turns
    assert exclusive.settings["exclusive"] is True
    assert "exclusive" not in usual.settings
