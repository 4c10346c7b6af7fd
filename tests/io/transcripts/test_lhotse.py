"""Manifests of lhotse."""

import gzip
import json

import pytest

from sms_diar.io.transcripts.files import read_transcript, transcript_text
from sms_diar.timeline.transcript import Phrase, Word

SUPERVISION = {
    "id": "s1",
    "recording_id": "call",
    "start": 1.0,
    "duration": 2.5,
    "channel": 0,
    "text": "hello, world",
    "speaker": "ann",
    "alignment": {
        "word": [["hello,", 1.0, 0.5, 0.9], ["", 1.5, 0.5, None], ["world", 2.0, 1.5]]
    },
}
PHRASE = Phrase(
    "call", 1.0, 3.5, "ann", (Word("hello,", 1.0, 1.5, 0.9), Word("world", 2.0, 3.5))
)
OTHER = {"id": "s2", "recording_id": "b", "start": 0.1, "duration": 0.2, "channel": [0]}
RECORDING = {"id": "call", "sources": [], "sampling_rate": 16000, "duration": 10.0}


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_supervisions_are_phrases_and_their_alignment_is_words(transcript):
    assert list(transcript(lines(SUPERVISION, OTHER), "a.jsonl")) == [PHRASE]
    assert list(transcript(lines(SUPERVISION), "a.jsonl")) == [PHRASE]  # one line
    assert list(transcript([SUPERVISION, OTHER])) == [PHRASE]


def test_compressed_manifests_are_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines(SUPERVISION, OTHER).encode()))
    assert list(read_transcript(path)) == [PHRASE]


def test_supervisions_of_cuts_are_relative_to_them_and_words_to_the_recording(
    transcript,
):
    # As lhotse writes a cut that is truncated by half a second at its start.
    cut = {
        "id": "c",
        "start": 0.5,
        "duration": 6.0,
        "channel": 0,
        "supervisions": [{**SUPERVISION, "start": 0.5}],
        "recording": RECORDING,
        "type": "MonoCut",
    }
    assert list(transcript(lines(cut), "a.jsonl")) == [PHRASE]
    # Twice in a mixed cut: words at 0.5 s and 6.5 s.
    tracks = [{"cut": cut, "offset": 0.0}, {"cut": cut, "offset": 6.0}]
    padding = {"id": "p", "duration": 1.0, "type": "PaddingCut"}
    tracks.append({"cut": padding, "offset": 12.0})
    mixed = {"id": "m", "tracks": tracks, "type": "MixedCut"}
    phrases = transcript(lines(mixed), "a.jsonl")
    assert [(p.recording, p.start, p.end) for p in phrases] == [
        ("m", 0.5, 3.0),
        ("m", 6.5, 9.0),
    ]
    assert [word.start for word in phrases.words] == [0.5, 1.5, 6.5, 7.5]


def test_alignments_of_old_versions_are_objects(transcript):
    item = {"symbol": "hello", "start": 1.0, "duration": 0.5}
    row = {**SUPERVISION, "text": None, "alignment": {"word": [item]}}
    (phrase,) = transcript(lines(row), "a.jsonl")
    assert phrase.words == (Word("hello", 1.0, 1.5),)


def test_a_set_of_recordings_has_no_words(fault):
    line, problem = fault(lines(RECORDING), "a.jsonl")
    assert line == 1
    assert "RecordingSet" in problem
    assert "supervisions" in problem


def test_what_is_written_is_the_manifest(transcript):
    text = transcript_text([PHRASE, Phrase("b", 0.1, 0.3)], "lhotse")
    first, second = map(json.loads, text.splitlines())
    alignment = [["hello,", 1.0, 0.5, 0.9], ["world", 2.0, 1.5, None]]
    assert first == {
        **SUPERVISION,
        "id": "call-000000",
        "alignment": {"word": alignment},
    }
    assert second == {**OTHER, "id": "b-000001", "channel": 0}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"start": None}, ""),
        ({"duration": "x"}, ""),
        ({"duration": -0.06}, ""),
        ({"start": -0.5}, ""),
        ({"recording_id": None}, ""),
        ({"recording_id": "a\nb"}, ""),
        ({"text": []}, ""),
        ({"alignment": []}, ""),
        ({"alignment": {"word": 7}}, "alignment.word: "),
        ({"alignment": {"word": [7]}}, "alignment.word[0]: "),
        ({"alignment": {"word": [["a"]]}}, "alignment.word[0]: "),
        ({"alignment": {"word": [["a", 0, 1], [7, 0, 1]]}}, "alignment.word[1]: "),
        ({"alignment": {"word": [["a", 0, 10**400]]}}, "alignment.word[0]: "),
    ],
)
def test_damage_is_named_with_its_line(fault, change, place):
    row = {**SUPERVISION, **change}
    line, problem = fault(lines(SUPERVISION, OTHER, row), "a.jsonl")
    assert line == 3
    assert problem.startswith(place)
    line, problem = fault([SUPERVISION, row])
    assert problem.startswith(f"[1]{'.' if place else ': '}{place}")


def test_lhotse_reads_and_writes_what_we_do(tmp_path):
    lhotse = pytest.importorskip("lhotse")
    path = tmp_path / "a.jsonl"
    path.write_text(transcript_text([PHRASE, Phrase("b", 0.1, 0.3)], "lhotse"))
    manifest = lhotse.SupervisionSet.from_file(path)
    first, second = manifest
    assert (first.recording_id, first.start, first.end) == ("call", 1.0, 3.5)
    assert [item.end for item in first.alignment["word"]] == [1.5, 3.5]
    assert (second.end, second.speaker) == (0.3, None)
    for name in ("b.jsonl", "b.jsonl.gz", "b.json"):
        manifest.to_file(tmp_path / name)
        assert list(read_transcript(tmp_path / name)) == [PHRASE]
