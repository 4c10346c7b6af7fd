import json

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import read_transcript, transcript_text

SEGMENT = {
    "session_id": "call",
    "start_time": "0.5",
    "end_time": 2.5,
    "speaker": "ann",
    "words": "good day",
}


def written(tmp_path, segments):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(segments))
    return path


def test_words_share_the_time_of_their_segment_in_proportion_to_their_letters(tmp_path):
    (phrase,) = read_transcript(written(tmp_path, [SEGMENT]))
    assert (phrase.recording, phrase.speaker) == ("call", "ann")
    times = [(word.text, word.start, word.end) for word in phrase.words]
    # Seven letters in two seconds.
    assert times == [
        ("good", 0.5, pytest.approx(0.5 + 8 / 7)),
        ("day", pytest.approx(0.5 + 8 / 7), 2.5),
    ]
    assert all(word.is_estimated for word in phrase.words)


def test_what_is_written_is_read(tmp_path):
    transcript = read_transcript(written(tmp_path, [SEGMENT]))
    (tmp_path / "b.json").write_text(transcript_text(transcript, "seglst"))
    assert read_transcript(tmp_path / "b.json") == transcript


@pytest.mark.parametrize("key", ["session_id", "start_time", "end_time"])
def test_a_segment_without_a_value_is_named(tmp_path, key):
    damaged = {name: value for name, value in SEGMENT.items() if name != key}
    path = tmp_path / "a.json"
    path.write_text(f"[{json.dumps(SEGMENT)},\n{json.dumps(damaged)}]")
    with pytest.raises(DataFormatError, match=r"a.json:2: \[1\]: ") as caught:
        read_transcript(path)
    assert key in str(caught.value)


def test_speakers_and_words_may_be_missing_and_other_keys_are_ignored(tmp_path):
    bare = {key: SEGMENT[key] for key in ("session_id", "start_time", "end_time")}
    rows = [{**bare, "session_id": 7}, {**bare, "words": "x", "speaker": "unknown"}]
    (phrase,) = read_transcript(written(tmp_path, [*rows, {**bare, "words": None}]))
    assert (phrase.speaker, phrase.text) == (None, "x")


@pytest.mark.parametrize(
    "change",
    [
        {"start_time": "x"},
        {"start_time": "nan"},
        {"end_time": "-1"},
        {"end_time": 0.4},
        {"words": ["a"]},
        {"speaker": ["a"]},
        {"session_id": "a\nb"},
    ],
)
def test_damage_is_named(tmp_path, change):
    path = written(tmp_path, [SEGMENT, {**SEGMENT, **change}])
    with pytest.raises(DataFormatError, match=r"a.json:1: \[1\]: "):
        read_transcript(path)


def test_meeteval_reads_and_writes_what_we_do(tmp_path):
    pytest.importorskip("simplejson")  # which meeteval needs for it
    meeteval = pytest.importorskip("meeteval")
    transcript = read_transcript(written(tmp_path, [SEGMENT]))
    path = tmp_path / "b.json"
    path.write_text(transcript_text(transcript, "seglst"))
    segments = meeteval.io.SegLST.load(path)
    (segment,) = segments
    assert (segment["speaker"], segment["words"]) == ("ann", "good day")
    assert float(segment["start_time"]) == 0.5
    segments.dump(tmp_path / "c.json")
    assert read_transcript(tmp_path / "c.json") == transcript


def test_an_empty_list_is_a_transcript_without_words(tmp_path):
    assert list(read_transcript(written(tmp_path, []))) == []
