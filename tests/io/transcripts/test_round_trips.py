"""What all formats of lines, cues and tiers have in common."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import DataFormatError, InvalidParameterError, SmsDiarError
from sms_diar.io.registry import (
    READ_TRANSCRIPTS,
    TRANSCRIPT_FORMATS,
    WRITTEN_TRANSCRIPTS,
)
from sms_diar.io.transcripts._source import Source
from sms_diar.io.transcripts.files import (
    read_transcript,
    transcript_format,
    transcript_text,
    write_transcript,
)
from sms_diar.timeline.transcript import Phrase, Transcript, words_of_text

FORMATS = ("vtt", "srt", "textgrid", "eaf", "csv", "stm", "ctm")
TIMED = ("textgrid", "eaf", "csv", "stm")
ONE_RECORDING = ("vtt", "srt", "textgrid", "eaf", "txt", "markdown")
HOSTILE = [
    "שלום עולם",
    "مرحبا",
    "🎤👩‍🚀 ok",
    'say "hi" \'there\' ""',
    "<script>alert(1)</script>",
    "R&D &amp; &lt;b&gt;",
    "=1+2 @x",
    "'=x -y",
    "back\\slash %s $x",
    "]]> <!-- x",
    "[x](javascript:y) `code` *b* _i_",
    "# not | a | table",
    "NOTE this",
    "WEBVTT",
    "<o,f0,male> words",
    "ünï\u0301cödé\ufffd",
    "1",
    "0:30 12:45",
]


def phrase(text, start, end, speaker="ann", recording="call"):
    return Phrase(recording, start, end, speaker, words_of_text(text, start, end))


def there_and_back(folder, phrases, format):
    path = folder / f"call{TRANSCRIPT_FORMATS[format].suffix}"
    write_transcript(path, phrases, format)
    assert transcript_format(Source(path)).name == format
    return read_transcript(path)


def spoken(phrases):
    return [(word.text, p.speaker) for p in phrases for word in p.words]


@pytest.mark.parametrize("format", FORMATS)
def test_words_and_speakers_come_back(tmp_path, format):
    phrases = [
        phrase("Good morning, everyone.", 0.5, 2.0),
        phrase("hi", 2.25, 2.5, None),
        phrase("你好世界 good", 61.0, 64.0, "李雷"),
    ]
    transcript = there_and_back(tmp_path, phrases, format)
    assert spoken(transcript) == spoken(phrases)
    assert transcript.recordings == ["call"]
    starts = [word.start for word in transcript.words]
    want = [word.start for p in phrases for word in p.words]
    if format in ("vtt", "srt"):  # a cue of 0.25 s is shown for longer
        assert [p.start for p in transcript] == [0.5, 2.25, 61.0]
    else:
        assert starts == pytest.approx(want, abs=0.0011)


@pytest.mark.parametrize("format", TIMED)
def test_phrases_of_files_with_phrases_are_the_same(tmp_path, format):
    phrases = [phrase("one two", 0.5, 2.0), phrase("three four", 2.0, 3.125, "bob")]
    assert list(there_and_back(tmp_path, phrases, format)) == phrases


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("format", FORMATS)
def test_hostile_text_comes_back(tmp_path, format, text):
    phrases = [phrase(text, 0.5, 2.0), phrase("yes --> no", 4.0, 5.0, "bob")]
    want = spoken(phrases)
    if format == "srt":  # which has no escapes
        want = [(word.replace("-->", "->"), name) for word, name in want]
    assert spoken(there_and_back(tmp_path, phrases, format)) == want


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_any_text_that_a_phrase_can_hold_comes_back(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    phrases = []
    for number, text in enumerate(texts):
        try:
            phrases.append(phrase(text, 5.0 * number, 5.0 * number + 4.0))
        except SmsDiarError:
            return
    if not any(p.words for p in phrases):
        return
    for format in ("vtt", "textgrid", "csv"):
        got = there_and_back(folder, phrases, format)
        assert [word for word, _ in spoken(got)] == [w for w, _ in spoken(phrases)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("letters", ["-", "<,", "[", "<v ", "{\\", ": ", "{ / ", "<b "])
@pytest.mark.timeout(60)  # minutes, if a regular expression backtracks
def test_repeated_signs_are_read_or_refused(tmp_path, format, letters):
    path = tmp_path / f"x{TRANSCRIPT_FORMATS[format].suffix}"
    text = transcript_text([phrase("MARK", 0, 1)], format)
    path.write_text(text.replace("MARK", letters * 10_000))
    with suppress(DataFormatError):
        assert all(word.text.strip() for word in read_transcript(path).words)


@pytest.mark.parametrize("format", [*ONE_RECORDING, "whisper", "pyannoteai", "openai"])
def test_two_recordings_in_a_file_of_one_are_refused(format):
    phrases = [phrase("a b", 0, 1), phrase("c d", 0, 1, recording="other")]
    with pytest.raises(InvalidParameterError, match="got 'call' and 'other'"):
        transcript_text(phrases, format)


@pytest.mark.parametrize("format", ["csv", "stm", "ctm"])
def test_other_formats_name_the_recordings(tmp_path, format):
    phrases = [phrase("a b", 0, 1), phrase("c d", 0, 1, recording="other")]
    assert there_and_back(tmp_path, phrases, format).recordings == ["call", "other"]


@pytest.mark.parametrize("format", FORMATS)
def test_turns_are_no_transcript(tmp_path, format):
    from sms_diar.io.registry import WRITTEN_FORMATS
    from sms_diar.io.turns.files import write_turns
    from sms_diar.types import Segment, Turn

    if format not in WRITTEN_FORMATS or format == "stm":
        pytest.skip("is not written as turns, or has phrases without words")
    path = tmp_path / f"x{TRANSCRIPT_FORMATS[format].suffix}"
    write_turns(path, [Turn(Segment("x", 0.0, 1.0), "ann")], format)
    with pytest.raises(DataFormatError, match="is not a transcript"):
        read_transcript(path)


@pytest.mark.parametrize("format", ["stm", "ctm"])
@pytest.mark.parametrize("name", ["Ann Lee", ";x", "#x"])
def test_names_that_fields_cannot_hold_are_refused(format, name):
    with pytest.raises(InvalidParameterError, match="speaker must"):
        transcript_text([phrase("a", 0, 1, name)], format)


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_that_are_not_utf8_have_their_line(tmp_path, format):
    path = tmp_path / f"x{TRANSCRIPT_FORMATS[format].suffix}"
    data = transcript_text([phrase("caf\xe9", 0, 1)], format).encode()
    path.write_bytes(data.replace(b"\xc3\xa9", b"\xe9"))
    with pytest.raises(DataFormatError, match="0xe9") as caught:
        read_transcript(path)
    assert caught.value.line == data[: data.index(b"\xc3")].count(b"\n") + 1


def test_compressed_files_are_read(tmp_path):
    text = transcript_text([phrase("a b", 0, 1)], "stm")
    (tmp_path / "x.stm.gz").write_bytes(gzip.compress(text.encode()))
    assert len(read_transcript(tmp_path / "x.stm.gz")) == 1


@pytest.mark.parametrize("format", [*FORMATS, "txt", "markdown"])
def test_ten_thousand_words_are_all_written(tmp_path, format):
    texts = "one two three four, five six seven eight nine ten."
    phrases = [
        phrase(texts, 4.0 * i, 4.0 * i + 3.5, ("ann", "bob", None)[i % 3])
        for i in range(1000)
    ]
    text = transcript_text(phrases, format)
    assert text.count("seven") == 1000
    if format in READ_TRANSCRIPTS:
        path = tmp_path / f"x{TRANSCRIPT_FORMATS[format].suffix}"
        path.write_text(text)
        assert sum(1 for _ in read_transcript(path, format).words) == 10_000


def test_every_module_of_the_registry_has_its_functions():
    for name, entry in TRANSCRIPT_FORMATS.items():
        wanted = ["fits", "read"] * ("r" in entry.words)
        wanted += ["text"] * ("w" in entry.words)
        assert all(callable(entry._function(function)) for function in wanted), name


def test_an_empty_transcript_is_written(tmp_path):
    for format in WRITTEN_TRANSCRIPTS:
        assert isinstance(transcript_text(Transcript(()), format), str)
