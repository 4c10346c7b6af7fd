"""STM files of NIST and of others."""

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import read_transcript, transcript_text
from sms_diar.io.turns.files import read_annotation, write_turns
from sms_diar.timeline.transcript import Phrase, words_of_text
from sms_diar.types import Segment, Turn

STM = (
    ';; CATEGORY "0" "" ""\nm1 1 ann 0.5 2.0 <o,f0,male> good day\n'
    "m1 1 inter_segment_gap 2.0 3.0 <o,,>\nm1 1 unknown 3 4 hm\n"
    "m1 1 bob 4 5 IGNORE_TIME_SEGMENT_IN_SCORING\nm2 A 1017 5 6.5 <NA> yes\n"
    "m2 A cy 7 8\n"
)


def test_lines_of_speakers_are_phrases(read_text):
    transcript = read_text("x.stm", STM)
    assert [(p.recording, p.speaker, p.start, p.end, p.text) for p in transcript] == [
        ("m1", "ann", 0.5, 2.0, "good day"),
        ("m1", None, 3.0, 4.0, "hm"),
        ("m2", "1017", 5.0, 6.5, "yes"),
    ]
    # Seven letters in 1.5 seconds, of which "good" has four.
    assert transcript[0].words[1].start == pytest.approx(0.5 + 1.5 * 4 / 7)


def test_speakers_that_are_numbers_need_the_suffix(read_text):
    assert len(read_text("x.stm", "m 1 7 0.5 2.0 good day\n")) == 1


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{ um / uh } well", "um well"),
        ("i { { a / b } c / d } e", "i a c e"),
        ("{ @ / uh } well", "well"),
        ("a / b @ c", "a / b @ c"),
        ("a } b", "a } b"),
        ("{ never closed / x", "{ never closed / x"),
        ("<unk> (uh)", "<unk> (uh)"),
    ],
)
def test_the_first_alternative_is_read(read_text, text, read):
    (phrase,) = read_text("x.stm", f"m 1 ann 0 1 {text}\n")
    assert phrase.text == read


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("m1 1 ann 0.5", "at least 5 fields"),
        ("m1 1 ann x 2 words", "start must be"),
        ("m1 1 ann 2 -1 words", "end must not be negative"),
        ("m1 1 ann 3 2 words", "must not precede"),
        ("m1 1 a\x1b 1 2 words", "not a valid id"),
    ],
)
def test_damage_is_reported_with_its_line(read_text, line, problem):
    with pytest.raises(DataFormatError, match=problem) as caught:
        read_text("x.stm", f";; c\nm1 1 ann 0 1 words\n{line}\n")
    assert caught.value.line == 3


@pytest.mark.parametrize("name", ["x.stm", "x.rttm", "x.ctm", "x.txt"])
def test_an_stm_is_turns_as_well(tmp_path, name):
    path = tmp_path / name
    path.write_text(STM)
    assert [(t.speaker, t.segment.start) for t in read_annotation(path)] == [
        ("ann", 0.5), ("1017", 5.0), ("cy", 7.0),
    ]  # fmt: skip


def test_turns_are_lines_without_words(tmp_path):
    path = tmp_path / "x.stm"
    write_turns(path, [Turn(Segment("m", 0.5, 2.0), "ann")])
    assert path.read_text() == "m 1 ann 0.5 2.0\n"
    assert [turn.speaker for turn in read_annotation(path)] == ["ann"]


def test_meeteval_reads_what_is_written_and_writes_what_is_read(tmp_path):
    meeteval = pytest.importorskip("meeteval")
    words = words_of_text("good day", 0.5, 2.0)
    phrases = [Phrase("m1", 0.5, 2.0, "ann", words), Phrase("m1", 3.0, 4.0, "bob")]
    path = tmp_path / "x.stm"
    path.write_text(transcript_text(phrases, "stm"))
    stm = meeteval.io.STM.load(path)
    got = [
        (s.filename, s.speaker_id, float(s.begin_time), float(s.end_time), s.transcript)
        for s in stm.lines
    ]
    want = [(p.recording, p.speaker, p.start, p.end, p.text) for p in phrases]
    assert got == want
    stm.dump(tmp_path / "y.stm")
    assert list(read_transcript(tmp_path / "y.stm")) == phrases[:1]
