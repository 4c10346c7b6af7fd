"""JSON of whisper.cpp, with tokens and without."""

import json

import pytest

from sms_diar.io.transcripts.files import read_transcript
from sms_diar.timeline.transcript import Word


def segment(text, start, end, tokens=None, **values):
    entry = {
        "timestamps": {"from": "00:00:00,000", "to": "00:00:00,000"},
        "offsets": {"from": start, "to": end},
        "text": text,
        **values,
    }
    if tokens is not None:
        entry["tokens"] = [
            {"text": t, "offsets": {"from": a, "to": b}, "id": 1, "p": p, "t_dtw": -1}
            for t, a, b, p in tokens
        ]
    return entry


def document(*segments):
    return {"systeminfo": "AVX = 1", "transcription": list(segments)}


def test_tokens_are_joined_to_words_and_special_ones_are_dropped(transcript):
    tokens = [
        ("[_BEG_]", 0, 0, 0.99),
        (" Amer", 500, 800, 0.5),
        ("icans", 800, 1200, 0.75),
        (",", 1200, 1300, 1.0),
        (" ask", 1300, 2000, 0.25),
        ("[_TT_100]", 2000, 2000, 0.1),
    ]
    (phrase,) = transcript(document(segment(" Americans, ask", 500, 2000, tokens)))
    # The mean of 0.5, 0.75 and 1.
    assert phrase.words == (
        Word("Americans,", 0.5, 1.3, 0.75),
        Word("ask", 1.3, 2.0, 0.25),
    )


def test_segments_without_tokens_share_their_time(transcript):
    (phrase,) = transcript(document(segment(" ask not", 0, 1200)))
    assert [(w.text, w.start, w.end) for w in phrase.words] == [
        ("ask", 0.0, pytest.approx(0.6)),
        ("not", pytest.approx(0.6), 1.2),
    ]


def test_times_that_run_backwards_are_estimated(transcript):
    tokens = [(" a", 0, 500, 1.0), (" b", 76_670, 8110, 1.0), (" c", 1500, 2000, 1.0)]
    (phrase,) = transcript(document(segment(" a b c", 0, 2000, tokens)))
    assert [(w.start, w.end, w.is_estimated) for w in phrase.words] == [
        (0.0, 0.5, False),
        (0.5, 1.5, True),
        (1.5, 2.0, False),
    ]


def test_tokens_without_offsets_are_estimated(transcript):
    entry = segment(" a b", 0, 2000, [(" a", 0, 0, 1), (" b", 0, 0, 1)])
    for token in entry["tokens"]:
        del token["offsets"]
    (phrase,) = transcript(document(entry))
    assert [(w.start, w.end) for w in phrase.words] == [(0.0, 1.0), (1.0, 2.0)]


def test_tokens_that_are_parts_of_letters_are_not_used(tmp_path):
    tokens = [(" X1", 0, 500, 1.0), ("X2", 500, 900, 1.0)]
    content = document(segment(" 你好", 0, 1000, tokens))
    data = json.dumps(content, ensure_ascii=False).encode()
    data = data.replace(b"X1", b"\xe4\xbd").replace(b"X2", b"\xa0\xe5")
    path = tmp_path / "call.json"
    path.write_bytes(data)
    (phrase,) = read_transcript(path)
    assert [word.text for word in phrase.words] == ["你", "好"]


def test_stereo_recordings_have_speakers(transcript):
    segments = [segment(f" w{s}", 0, 100, speaker=s) for s in ("0", "1", "?")]
    phrases = transcript(document(*segments))
    assert [phrase.speaker for phrase in phrases] == ["0", "1", None]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"offsets": None}, "transcription[1].offsets"),
        ({"offsets": 7}, "transcription[1]"),
        ({"offsets": {"from": 100, "to": "x"}}, "transcription[1].offsets"),
        ({"offsets": {"from": 100, "to": 10**400}}, "transcription[1].offsets"),
        ({"offsets": {"from": 100, "to": 20}}, "transcription[1].offsets"),
        ({"offsets": {"from": -100, "to": 20}}, "transcription[1].offsets"),
        ({"text": 7}, "transcription[1]"),
        ({"tokens": 7}, "transcription[1].tokens"),
        ({"tokens": [7]}, "transcription[1].tokens[0]"),
        ({"tokens": [{"text": 7}]}, "transcription[1].tokens[0]"),
    ],
)
def test_damage_is_named(fault, change, place):
    good = segment(" a", 0, 100)
    line, problem = fault(document(good, {**good, **change}))
    assert problem.startswith(f"{place}: ")
    assert line >= 15
