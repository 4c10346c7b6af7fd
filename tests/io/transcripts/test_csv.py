"""Tables of phrases and of words."""

import csv

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, words_of_text


def test_rows_are_phrases(read_text):
    text = (
        '"Start",Duration,speaker,text,notes\n0.5,1.5,ann,"good, ""day""",x\n\n'
        "2,1,,hm,\n"
    )
    transcript = read_text("call.csv", text)
    assert [(p.recording, p.speaker, p.start, p.end, p.text) for p in transcript] == [
        ("call", "ann", 0.5, 2.0, 'good, "day"'), ("call", None, 2.0, 3.0, "hm"),
    ]  # fmt: skip


def test_rows_of_words_are_grouped(read_text):
    text = (
        "recording\tstart\tend\tspeaker\tword\tconfidence\nr\t0\t0.5\tann\tgood\t0.75\n"
        "r\t0.75\t1\tann\tday\t\nr\t1\t1.5\tbob\tyes\t1\nr\t4\t5\tbob\tno\t\n"
    )
    transcript = read_text("call.tsv", text)
    assert [(p.speaker, p.text) for p in transcript] == [
        ("ann", "good day"), ("bob", "yes"), ("bob", "no"),
    ]  # fmt: skip
    assert [w.confidence for w in transcript.words] == [0.75, None, 1.0, None]


def test_whisper_writes_tabs_and_milliseconds(read_text):
    (phrase,) = read_text("call.tsv", "start\tend\ttext\n500\t1500\tgood day\n")
    assert (phrase.start, phrase.end, phrase.text) == (0.5, 1.5, "good day")


def test_spreadsheets_see_no_formula():
    texts = ("=1+2", "@x", "-2+3", "+4 a", "'=x")
    phrases = [
        Phrase("=r", n, n + 1, "@ann", words_of_text(text, n, n + 1))
        for n, text in enumerate(texts)
    ]
    rows = list(csv.reader(transcript_text(phrases, "csv").splitlines()))[1:]
    assert [row[4] for row in rows] == ["'=1+2", "'@x", "'-2+3", "'+4 a", "''=x"]
    assert {(row[0], row[3]) for row in rows} == {("'=r", "'@ann")}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("start,text\n0,a\n", 1, "start, and end or duration"),
        ("start,end,text\n0,1,a\n0,1\n", 3, "has 2 fields, the header 3"),
        ("start,end,text\n0,x,a\n", 2, "end must be"),
        ("start,end,text\n\n2,1,a\n", 3, "must not precede"),
        ('start,end,text\n0,1,"a\nb\n', 3, "end of data"),
        ("recording,start,end,text\na\x07,0,1,b\n", 2, "not a valid id"),
        ("start,end,word,confidence\n0,1,b,high\n", 2, "high"),
    ],
)
def test_damage_is_reported_with_its_line(read_text, text, line, problem):
    with pytest.raises(DataFormatError, match=problem) as caught:
        read_text("x.csv", text)
    assert caught.value.line == line
