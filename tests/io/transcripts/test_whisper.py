"""JSON of Whisper in the shapes of its programs."""

import json

import pytest

from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, Word

# As openai-whisper and faster-whisper write words: a space belongs to the next word.
OPENAI = {
    "text": " Hello, well-known world.",
    "segments": [
        {
            "id": 0,
            "seek": 0,
            "start": 0.0,
            "end": 2.0,
            "text": " Hello, well-known world.",
            "tokens": [50364, 2425],
            "temperature": 0.0,
            "avg_logprob": -0.3,
            "words": [
                {"word": " Hello,", "start": 0.0, "end": 0.5, "probability": 0.9},
                {"word": " well", "start": 0.5, "end": 0.9, "probability": 0.8},
                {"word": "-known", "start": 0.9, "end": 1.2, "probability": 0.7},
                {"word": " world.", "start": 1.4, "end": 2.0, "probability": 1.0},
            ],
        }
    ],
    "language": "en",
}
HELLO = (
    Word("Hello,", 0.0, 0.5, 0.9),
    Word("well", 0.5, 0.9, 0.8),
    Word("-known", 0.9, 1.2, 0.7, is_joined=True),
    Word("world.", 1.4, 2.0, 1.0),
)


def test_words_of_openai_whisper_keep_times_and_probabilities(transcript):
    (phrase,) = transcript(OPENAI)
    assert phrase == Phrase("call", 0.0, 2.0, None, HELLO)
    assert phrase.text == "Hello, well-known world."


def test_segments_without_words_share_their_time(transcript):
    segment = {k: v for k, v in OPENAI["segments"][0].items() if k != "words"}
    (phrase,) = transcript({**OPENAI, "segments": [segment]})
    # 6 of 22 letters in two seconds.
    assert phrase.words[0].end == pytest.approx(12 / 22)
    assert phrase.words[0].is_estimated
    assert len(phrase.words) == 3


@pytest.mark.parametrize("words_last", [False, True])
def test_dumps_of_faster_whisper_are_lists_of_objects_or_values(transcript, words_last):
    segment = OPENAI["segments"][0]
    assert transcript([segment])[0].words == HELLO
    keys = ("start", "end", "word", "probability")
    words = [[word[key] for key in keys] for word in segment["words"]]
    values = [1, 0, 0.0, 2.0, segment["text"], [50364, 2425], -0.3, 1.1, 0.0]
    values += [0.01, words] if words_last else [words, 0.0]
    assert transcript([values])[0].words == HELLO
    assert transcript({"segments": [values]})[0].words == HELLO
    without = [None if value is words else value for value in values]
    assert transcript([without])[0].text == "Hello, well-known world."


def test_words_of_whisperx_have_no_spaces_and_may_have_no_times(transcript):
    words = [
        {"word": "In", "start": 0.5, "end": 1.0, "score": 0.9},
        {"word": "1984,"},
        {"word": "the"},
        {"word": "end.", "start": 2.6, "end": 3.0, "score": 0.5},
        {"word": "7"},
    ]
    segment = {"start": 0.5, "end": 4.0, "text": " In 1984, the end. 7", "words": words}
    (phrase,) = transcript({"segments": [segment], "word_segments": words})
    # Eight letters between 1.0 and 2.6, five of them in the first word.
    assert [(w.text, w.start, w.end, w.is_estimated) for w in phrase.words] == [
        ("In", 0.5, 1.0, False),
        ("1984,", 1.0, pytest.approx(2.0), True),
        ("the", pytest.approx(2.0), pytest.approx(2.6), True),
        ("end.", 2.6, 3.0, False),
        ("7", 3.0, 4.0, True),
    ]
    assert phrase.text == "In 1984, the end. 7"


def test_speakers_of_words_divide_segments(transcript):
    words = [
        {"word": "no", "start": 0.0, "end": 1.0, "speaker": "A"},
        {"word": "12"},
        {"word": "yes", "start": 2.0, "end": 3.0, "speaker": "B"},
    ]
    segment = {"start": 0.0, "end": 3.5, "text": "no 12 yes", "words": words}
    segments = [{**segment, "speaker": "A"}, {"start": 4, "end": 5, "text": "hm"}]
    phrases = transcript({"segments": segments})
    assert [(p.start, p.end, p.speaker, p.text) for p in phrases] == [
        (0.0, 2.0, "A", "no 12"),
        (2.0, 3.5, "B", "yes"),
        (4.0, 5.0, None, "hm"),
    ]


def test_words_alone_are_a_phrase_for_each_run_of_a_speaker(transcript):
    words = [
        {"word": "no", "start": 0.5, "end": 1.0, "speaker": "A"},
        {"word": "yes", "start": 2.0, "end": 3.0, "speaker": "B"},
    ]
    for content in ({"word_segments": words}, {"words": words}, words):
        phrases = transcript(content)
        assert [(p.start, p.end, p.text) for p in phrases] == [
            (0.5, 1.0, "no"),
            (2.0, 3.0, "yes"),
        ]


def test_words_of_verbose_json_get_the_punctuation_of_their_segment(transcript):
    content = {
        "task": "transcribe",
        "language": "english",
        "duration": 5.0,
        "text": "\u201cHello,\u201d he said. Never mind (well) - ok?",
        "segments": [
            {"start": 0.0, "end": 2.0, "text": "\u201cHello,\u201d he said."},
            {"start": 2.0, "end": 5.0, "text": " Never mind (well) - ok?"},
        ],
        "words": [
            {"word": "Hello", "start": 0.0, "end": 0.5},
            {"word": "he", "start": 0.5, "end": 0.9},
            {"word": "said", "start": 0.9, "end": 2.1},
            {"word": "Never", "start": 2.1, "end": 2.5},
            {"word": "mind", "start": 2.5, "end": 3.0},
            {"word": "well", "start": 3.0, "end": 3.5},
            {"word": "ok", "start": 4.0, "end": 4.5},
        ],
    }
    first, second = transcript(content)
    assert [word.text for word in first.words] == ["\u201cHello,\u201d", "he", "said."]
    assert [word.text for word in second.words] == ["Never", "mind", "(well)", "ok?"]
    assert second.words[0].start == 2.1


def test_chinese_is_written_without_spaces(transcript):
    words = [
        {"word": text, "start": i / 2, "end": i / 2 + 0.5}
        for i, text in enumerate(["你", "好", "世界", "。", " ok"])
    ]
    segment = {"start": 0, "end": 3, "text": "你好世界。 ok", "words": words}
    (phrase,) = transcript({"segments": [segment]})
    assert phrase.text == "你好世界。 ok"


def test_segments_of_diarized_json_have_speakers(transcript):
    segments = [
        {
            "type": "transcript.text.segment",
            "id": f"seg_{i}",
            "start": float(i),
            "end": i + 1.0,
            "text": text,
            "speaker": speaker,
        }
        for i, (text, speaker) in enumerate([("Hi there.", "A"), ("Hello.", "agent")])
    ]
    content = {"task": "transcribe", "duration": 2.0, "text": "Hi there. Hello."}
    phrases = list(transcript({**content, "segments": segments}))
    assert [phrase.speaker for phrase in phrases] == ["A", "agent"]
    assert json.loads(transcript_text(phrases, "openai")) == {
        **content,
        "segments": segments,
    }


def test_rounding_may_put_an_end_before_its_start_by_50_ms(transcript, fault):
    def with_end(end):
        words = [{"word": "a", "start": 1.0, "end": end}]
        return {"segments": [{"start": 0, "end": 2, "text": "a", "words": words}]}

    for end in (1.0, 0.98, 0.95):
        assert list(transcript(with_end(end)).words) == [Word("a", 1.0, 1.0)]
    assert "segments[0].words[0]" in fault(with_end(0.94))[1]


def test_phrases_are_extended_to_their_words(transcript):
    words = [{"word": "a", "start": 0.9, "end": 2.1}]
    segment = {"start": 1.0, "end": 2.0, "text": "a", "words": words}
    (phrase,) = transcript({"segments": [segment]})
    assert (phrase.start, phrase.end) == (0.9, 2.1)


def test_order_of_the_file_is_kept(transcript):
    segments = [{"start": s, "end": s + 1, "text": f"w{s}"} for s in (5, 1, 3)]
    assert [p.text for p in transcript({"segments": segments})] == ["w5", "w1", "w3"]


def test_times_may_be_texts_and_a_text_may_be_missing(transcript):
    words = [{"word": "a", "start": "0.5", "end": "1"}]
    (phrase,) = transcript({"segments": [{"start": "0", "end": "2", "words": words}]})
    assert phrase.words == (Word("a", 0.5, 1.0),)


def test_silence_is_an_empty_transcript(transcript):
    assert len(transcript({"text": "", "segments": [], "language": "en"})) == 0
    assert len(transcript({"segments": [{"start": 0, "end": 1, "text": " "}]})) == 0


@pytest.mark.parametrize(
    ("segment", "place"),
    [
        (7, "segments[1]"),
        ({"start": 0, "end": 1, "text": 7}, "segments[1]"),
        ({"start": 0, "end": 1, "words": [7]}, "segments[1].words[0]"),
        ({"start": 0, "end": 1, "words": [{"word": 7}]}, "segments[1].words[0]"),
        ({"start": 1, "end": 0.5, "text": "a"}, "segments[1]"),
        ({"end": 0.5, "text": "a"}, "segments[1]"),
    ],
)
def test_damage_is_named(fault, segment, place):
    good = {"start": 0, "end": 1, "text": "a"}
    line, problem = fault({"segments": [good, segment]})
    assert problem.startswith(f"{place}: ")
    assert line >= 8


@pytest.mark.parametrize("end", [{}, {"end": None}])
def test_a_missing_time_is_named(fault, end):
    _, problem = fault({"segments": [{"start": 0, "text": "a", **end}]})
    assert problem == 'segments[0]: "end" is missing'
