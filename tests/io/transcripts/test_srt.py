"""SubRip with words: whose words they are, and how phrases are divided into cues."""

import re
from itertools import pairwise

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, Word, words_of_text


def cues(*texts):
    """A file with cues of two seconds."""
    return "".join(
        f"{n + 1}\n00:00:{3 * n:02d},000 --> 00:00:{3 * n + 2:02d},000\n{text}\n\n"
        for n, text in enumerate(texts)
    )


def said(transcript):
    return [(phrase.speaker, phrase.text) for phrase in transcript]


def test_a_colon_in_ordinary_text_names_nobody(read_text):
    text = cues("He said: no", "One thing: I go", "It is 12:30", "See: here", "Yes")
    assert [name for name, _ in said(read_text("x.srt", text))] == [None] * 5


def test_names_that_recur_are_speakers(read_text):
    texts = ("ann: hello", "well", "Ann Lee: hi", "- ann: bye", "Ann Lee:", "no: x")
    texts = (*texts, *"abcd")
    assert said(read_text("x.srt", cues(*texts)))[:5] == [
        ("ann", "hello"), (None, "well"), ("Ann Lee", "hi"), ("ann", "bye"),
        (None, "no: x"),
    ]  # fmt: skip


def test_names_before_colons_in_most_cues_are_speakers(read_text):
    text = cues("ANN: hello", "Speaker 1: hi\nBOB: yes", "and then he said to me: go")
    assert said(read_text("x.srt", text)) == [
        ("ANN", "hello"), ("Speaker 1", "hi"), ("BOB", "yes"),
        (None, "and then he said to me: go"),
    ]  # fmt: skip


def test_brackets_are_speakers_with_a_colon_or_in_most_cues(read_text):
    text = cues("[ann]: hello", "[laughs] well", "[Music]", "[laughs] no", *"abc")
    assert said(read_text("x.srt", text))[:2] == [
        ("ann", "hello"), (None, "[laughs] well"),
    ]  # fmt: skip
    text = cues("[ann] hello", "[bob] hi", "[ann]")
    assert said(read_text("x.srt", text)) == [("ann", "hello"), ("bob", "hi")]


def test_formatting_is_removed_and_words_are_not(read_text):
    text = cues("{\\an8}<i>Un</i>believable,", '<font color="#fff">a < b</font> <unk>')
    assert [p.text for p in read_text("x.srt", text)] == [
        "Unbelievable,", "a < b <unk>",
    ]  # fmt: skip


def test_the_words_of_a_cue_share_its_time(read_text):
    (phrase,) = read_text("x.srt", cues("ann: good\nday"))
    times = [(word.text, word.start, word.end) for word in phrase.words]
    # Seven letters in two seconds.
    assert times == [
        ("good", 0.0, pytest.approx(8 / 7)), ("day", pytest.approx(8 / 7), 2.0),
    ]  # fmt: skip
    assert all(word.is_estimated for word in phrase.words)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1\n00:00:00,000 --> 00:00:01,000\nhi\n\n2\n00:00:xx --> 1\nhi\n", 6),
        ("1\n00:00:00,000 --> 00:00:01,000\nhi\n\nmore\n", 5),
        ("1\n00:00:02,000 --> 00:00:01,000\nhi\n", 2),
        ("1\n00:00:01,000 --> 00:00:02,000\n<00:00:99.000>hi\n", 2),
    ],
)
def test_damage_is_reported_with_its_line(read_text, text, line):
    with pytest.raises(DataFormatError) as caught:
        read_text("x.srt", text)
    assert caught.value.line == line


CUE = re.compile(r"\d+\n(\S+) --> (\S+)\n((?:.+\n)+)")


def written(phrases):
    """Start, end in milliseconds, and lines of the cues that are written."""

    def milliseconds(text):
        hours, minutes, seconds = text.replace(",", "").split(":")
        return (int(hours) * 60 + int(minutes)) * 60_000 + int(seconds)

    return [
        (milliseconds(start), milliseconds(end), text.splitlines())
        for start, end, text in CUE.findall(transcript_text(phrases, "srt"))
    ]


def test_long_phrases_become_cues_of_two_short_lines_and_six_seconds():
    text = "This is a sentence of words, which goes on and on. " * 10
    phrases = [Phrase("r", 0.0, 60.0, "ann", words_of_text(text, 0.0, 60.0))]
    shown = written(phrases)
    assert all(end - start <= 6000 for start, end, _ in shown)
    lines = [line for *_, rows in shown for line in rows]
    assert all(len(line) <= 42 for line in lines)
    assert all(len(rows) <= 2 for *_, rows in shown)
    assert all(rows[0].startswith("[ann]: ") for *_, rows in shown)
    assert " ".join(lines).replace("[ann]: ", "") == text.strip()
    assert all(" ".join(rows)[-1] in ",." for *_, rows in shown)


def test_a_pause_divides_a_phrase():
    words = (Word("one", 0.0, 1.5), Word("two", 4.0, 5.5))
    shown = written([Phrase("r", 0.0, 5.5, None, words)])
    assert shown == [(0, 1500, ["one"]), (4000, 5500, ["two"])]


def test_short_cues_last_a_second_if_there_is_room():
    words = [Word(text, at, at + 0.2) for text, at in (("a", 0), ("b", 0.5), ("c", 9))]
    phrases = [Phrase("r", w.start, w.end, "ann", (w,)) for w in words]
    assert [row[:2] for row in written(phrases)] == [
        (0, 500),
        (500, 1500),
        (9000, 10000),
    ]


def test_cues_of_a_speaker_do_not_overlap():
    spans = [(0, 5), (1, 2), (1, 9), (1, 1), (4, 4.5), (4, 20)]
    phrases = [
        Phrase("r", a, b, ("ann", "bob")[n % 2], words_of_text("a b", a, b))
        for n, (a, b) in enumerate(spans)
    ]
    shown = written(phrases)
    assert len(shown) >= len(spans)
    for name in ("ann", "bob"):
        own = [row for row in shown if name in row[2][0]]
        assert all(a[0] < a[1] <= b[0] for a, b in pairwise(own))


def test_a_joined_word_stays_on_the_line_unless_its_script_has_no_spaces():
    words = [Word("x" * 38, 0.0, 1.0), Word("demi", 1.0, 2.0)]
    words.append(Word("-sorry", 2.0, 3.0, is_joined=True))
    assert written([Phrase("r", 0.0, 3.0, None, tuple(words))]) == [
        (0, 3000, ["x" * 38, "demi-sorry"])
    ]
    text = "\u4f60" * 50
    phrases = [Phrase("r", 0.0, 5.0, None, words_of_text(text, 0.0, 5.0))]
    assert [row[2] for row in written(phrases)] == [["\u4f60" * 42, "\u4f60" * 8]]


def test_no_names_are_written_if_no_speaker_is_known():
    phrases = [Phrase("r", 0.0, 2.0, None, words_of_text("good day", 0.0, 2.0))]
    assert written(phrases) == [(0, 2000, ["good day"])]
    phrases.append(Phrase("r", 2.0, 4.0, "ann", words_of_text("hi", 2.0, 4.0)))
    assert [row[2] for row in written(phrases)] == [
        ["[unknown]: good day"],
        ["[ann]: hi"],
    ]


def test_other_programs_read_the_cues():
    pysrt, srt = pytest.importorskip("pysrt"), pytest.importorskip("srt")
    text = "a --> b <i>c</i> שלום 🎤 and so on, for a while and a while longer"
    phrases = [Phrase("r", 0.5, 5.0, "ann", words_of_text(text, 0.5, 5.0))]
    content = transcript_text(phrases, "srt")
    shown = [(start, end, "\n".join(rows)) for start, end, rows in written(phrases)]
    assert [
        (c.start.total_seconds() * 1000, c.end.total_seconds() * 1000, c.content)
        for c in srt.parse(content)
    ] == shown
    got = pysrt.from_string(content)
    assert [(c.start.ordinal, c.end.ordinal, c.text) for c in got] == shown
