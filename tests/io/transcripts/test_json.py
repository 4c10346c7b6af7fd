"""JSON formats of transcripts: round trips, hostile text, damage, size."""

import json

import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.registry import TRANSCRIPT_FORMATS, WRITTEN_TRANSCRIPTS
from sms_diar.io.transcripts.files import (
    read_transcript,
    transcript_text,
    write_transcript,
)
from sms_diar.timeline.transcript import Phrase, Word, words_of_text

FORMATS = ("seglst", "lhotse", "nemo", "pyannoteai", "whisper")
TIMED = ("lhotse", "pyannoteai", "whisper")  # words have times of their own
TEXTS = [
    "Good morning, everyone.",
    "שלום עולם",
    "مرحبا بالعالم",
    "🎤👩‍👩‍👧 na\u0308ive",
    "你好\uff0c世界。hello",
    "say \"hi\" \\ <b> & 'x' {} [] --> %s",
    "=1+2 -dash #x",
]
PHRASES = [
    Phrase("call", start, start + 1.5, "ann", words_of_text(text, start, start + 1.5))
    for start, text in zip(range(0, 99, 2), TEXTS, strict=False)
]


def timed(phrase):
    """The phrase, as if its times were measured."""
    words = (
        Word(w.text, round(w.start, 3), round(w.end, 3), is_joined=w.is_joined)
        for w in phrase.words
    )
    return Phrase("call", phrase.start, phrase.end, phrase.speaker, tuple(words))


def again(folder, phrases, format):
    path = folder / f"call{TRANSCRIPT_FORMATS[format].suffix}"
    write_transcript(path, phrases, format)
    return list(read_transcript(path))


@pytest.mark.parametrize("format", [*FORMATS, "openai"])
def test_texts_of_any_script_come_back(tmp_path, format):
    back = again(tmp_path, PHRASES, format)
    assert [phrase.text for phrase in back] == TEXTS
    assert [phrase.speaker for phrase in back] == ["ann"] * len(TEXTS)


@pytest.mark.parametrize("format", ["seglst", "lhotse", "nemo", "whisper"])
def test_estimated_times_are_estimated_again(tmp_path, format):
    back = again(tmp_path, PHRASES, format)
    assert [phrase.text for phrase in back] == [phrase.text for phrase in PHRASES]
    assert all(word.is_estimated for phrase in back for word in phrase.words)
    starts, originals = (
        [word.start for phrase in phrases for word in phrase.words]
        for phrases in (back, PHRASES)
    )
    assert starts == pytest.approx(originals)


@pytest.mark.parametrize("format", TIMED)
def test_measured_times_come_back(tmp_path, format):
    phrases = [timed(phrase) for phrase in PHRASES]
    assert again(tmp_path, phrases, format) == phrases


@pytest.mark.parametrize("format", FORMATS)
def test_words_without_a_speaker_stay_without(tmp_path, format):
    unknown = Phrase("call", 0.0, 1.0, None, words_of_text("well", 0.0, 1.0))
    (back,) = again(tmp_path, [unknown], format)
    assert back.speaker is None


def segment(text="hello", **values):
    return {"start": 0.0, "end": 1.0, "text": text, **values}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\u202eb c", "ab c"),
        ("a\0b", "ab"),
        ("one\ttwo\nthree", "one two three"),
        ("\ud800x", "x"),
        ("\x1b[2Jx", "[2Jx"),
        ("\u2028 x \u200f", "x \u200f"),
    ],
)
def test_characters_that_control_terminals_are_removed(transcript, raw, text):
    words = [{"word": raw, "start": 0.0, "end": 1.0}]
    for content in (segment(raw), segment(raw, words=words)):
        (phrase,) = transcript({"segments": [content]})
        assert phrase.text == text


def test_a_word_of_such_characters_alone_is_dropped(transcript):
    words = [
        {"word": text, "start": 0.0, "end": 1.0} for text in ("\u202e", " a", "", " ")
    ]
    (phrase,) = transcript({"segments": [segment(words=words)]})
    assert [word.text for word in phrase.words] == ["a"]


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "9" * 400,
        "1e999",
        "-1",
        '"x"',
        "null",
        "true",
        "[]",
    ],
)
@pytest.mark.parametrize("key", ["start", "end"])
def test_a_time_that_is_none_is_named_with_its_line(fault, value, key):
    good = json.dumps(segment())
    bad = good.replace(f'"{key}": {segment()[key]}', f'"{key}": {value}')
    line, problem = fault(f'{{"segments": [\n{good},\n{good},\n{bad}]}}')
    assert line == 4
    assert problem.startswith("segments[2]: ")


def test_faults_in_words_name_segment_and_word(fault):
    words = [{"word": "a", "start": 0, "end": 1}, {"word": "b", "start": 2, "end": 1}]
    content = {"language": "en", "segments": [segment(), segment(words=words)]}
    text = json.dumps(content, indent=1)
    line, problem = fault(text)
    assert problem.startswith("segments[1].words[1]: ")
    # The object of the second word begins two lines before its start.
    assert "{" in text.splitlines()[line - 1]
    assert '"b"' in text.splitlines()[line]


def test_of_equal_keys_the_last_one_is_meant_by_the_line(fault):
    bad = '{"start": 2, "end": 1, "text": "x"}'
    line, _ = fault(f'{{"segments": [],\n"segments": [\n{bad}]}}')
    assert line == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"segments": [\n{"start": 0,\n', 3),
        ('{"segments": [\n}', 2),
        ('{"recording_id": "a", "start": 0, "duration": 1}\n{"x"', 2),
        ('{"recording_id": "a", "start": 0, "duration": 1}\n7\n', 2),
        ('{"recording_id": "a", "start": 0, "duration": 1}\n\n{"start": 1}\n', 3),
        ("[" * 100_000, 1),
        ('{"a":' * 100_000, 1),
        ('{"segments": [{"start": ' + "9" * 5000, 1),
    ],
)
def test_what_is_not_json_is_named_with_its_line(fault, text, line):
    assert fault(text)[0] == line


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "text", ["", "hello", "{}", "[1]", "[[]]", "7", '{"a": 1}\n[]']
)
def test_a_named_format_is_checked(fault, format, text):
    _, problem = fault(text, format=format)
    assert problem


def test_other_files_are_not_transcripts(fault):
    assert "is not a transcript" in fault({"labels": {"a": "b"}})[1]
    assert "is not a transcript" in fault("SPEAKER a 1 0 1 <NA> <NA> b <NA> <NA>\n")[1]


def test_a_format_that_only_writes_is_not_read(tmp_path):
    with pytest.raises(InvalidParameterError, match="format"):
        read_transcript(tmp_path / "a.json", "openai")
    with pytest.raises(InvalidParameterError, match="format"):
        transcript_text([], "whisper_cpp")
    assert "openai" in WRITTEN_TRANSCRIPTS


@pytest.mark.parametrize("name", ["a\nb", "\u202eann", "\0", [], {}, True, 1.5])
def test_speakers_must_be_names(fault, name):
    line, problem = fault({"segments": [segment(), segment(speaker=name)]})
    assert problem.startswith('segments[1]: "speaker" must be a name')
    assert line == 8


def test_utf_16_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "call.json"
    text = json.dumps({"segments": [segment("schön")]}, ensure_ascii=False)
    for encoding in ("utf-16", "utf-8-sig"):
        path.write_text(text, encoding=encoding)
        assert read_transcript(path)[0].text == "schön"
    path.write_text("\n\n" + text, encoding="latin-1")
    with pytest.raises(DataFormatError) as caught:
        read_transcript(path)
    assert caught.value.line == 3


def large(n_words):
    words = [Word(f"word{i}", i * 0.25, i * 0.25 + 0.25, 0.5) for i in range(n_words)]
    return [
        Phrase("call", part[0].start, part[-1].end, f"s{i % 3}", part)
        for i, part in enumerate(
            tuple(words[start : start + 20]) for start in range(0, n_words, 20)
        )
    ]


@pytest.mark.parametrize("format", ["lhotse", "whisper"])
def test_forty_thousand_words_come_back(tmp_path, format):
    phrases = large(40_000)
    assert again(tmp_path, phrases, format) == phrases


@pytest.mark.soak
@pytest.mark.timeout(1200)  # of the wall clock, on a busy machine
@pytest.mark.parametrize("format", FORMATS)
def test_a_million_words_come_back(tmp_path, format):
    back = again(tmp_path, large(1_000_000), format)
    assert sum(len(phrase.words) for phrase in back) == 1_000_000
