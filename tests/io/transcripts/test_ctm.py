"""Words of CTM files, and how they differ from speakers."""

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, Word


def test_pauses_of_a_second_and_other_channels_begin_phrases(read_text):
    text = (
        ";; a comment\nr 1 0.0 0.25 good\nr 1 1.25 0.5 day\n\nr 1 2.76 0.25 so\n"
        "r 2 2.80 0.25 yes\nq 1 0.5 0.1 no\n"
    )
    transcript = read_text("x.ctm", text)
    assert [(p.recording, p.text, p.start, p.end) for p in transcript] == [
        ("r", "good day", 0.0, 1.75),
        ("r", "so", 2.76, 3.01),
        ("r", "yes", 2.8, 3.05),
        ("q", "no", 0.5, 0.6),
    ]
    assert transcript.speakers == []
    assert not any(word.is_estimated for word in transcript.words)


def test_confidences_types_and_speakers_are_read(read_text):
    text = "r 1 0.0 0.25 good 0.875 lex ann\nr 1 0.25 0.25 day NA lex bob\n"
    text += "r 1 0.50 0.25 mm 1.5 fp null\nr 1 0.75 0.25 so 1 lex unknown\n"
    transcript = read_text("x.ctm", text)
    assert [(p.speaker, p.text) for p in transcript] == [
        ("ann", "good"), ("bob", "day"), (None, "mm so"),
    ]  # fmt: skip
    confidences = [word.confidence for word in transcript.words]
    assert confidences == [0.875, None, None, 1.0]


def test_nemo_writes_speakers_as_channels_and_spaces_as_tokens(read_text):
    text = "r speaker_0 0.0 0.5 hi 0\nr speaker_1 0.5 0.5 you<space>too 0\n"
    transcript = read_text("x.ctm", text)
    assert [(p.speaker, p.text) for p in transcript] == [
        ("speaker_0", "hi"), ("speaker_1", "you too"),
    ]  # fmt: skip


def test_the_first_alternative_is_read(read_text):
    text = (
        "r 1 * * <ALT_BEGIN>\nr 1 0.0 0.5 um\nr 1 * * <ALT>\nr 1 0.0 0.5 uh\n"
        "r 1 * * <ALT_END>\nr 1 0.5 0.5 well\n"
    )
    assert [p.text for p in read_text("x.ctm", text)] == ["um well"]


def test_words_are_written_in_order_of_time_with_speakers_if_there_are_any():
    words = (Word("b", 1.0, 1.5, 0.5), Word("c", 1.5, 2.0))
    phrases = [Phrase("r", 1.0, 2.0, None, words), Phrase("r", 0, 1, None)]
    assert transcript_text(phrases, "ctm") == (
        "r 1 1.000 0.500 b 0.5\nr 1 1.500 0.500 c NA\n"
    )
    phrases.append(Phrase("r", 1.25, 1.5, "ann", (Word("x", 1.25, 1.5),)))
    assert transcript_text(phrases, "ctm") == (
        "r 1 1.000 0.500 b 0.5 lex unknown\nr 1 1.250 0.250 x NA lex ann\n"
        "r 1 1.500 0.500 c NA lex unknown\n"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("r 1 0.5 0.1", "5 to 8 fields"),
        ("r 1 0.5 0.1 a 1 lex ann x", "5 to 8 fields"),
        ("r 1 x 0.1 a", "start must be"),
        ("r 1 -1 0.1 a", "start must not be negative"),
        ("r 1 0.5 -0.1 a", "duration must not be negative"),
        ("r 1 1e9 0.1 a", "below"),
        ("a\x07 1 0.5 0.1 a", "not a valid id"),
    ],
)
def test_damage_is_reported_with_its_line(read_text, line, problem):
    with pytest.raises(DataFormatError, match=problem) as caught:
        read_text("x.ctm", f"r 1 0.0 0.25 good\n\n{line}\n")
    assert caught.value.line == 3


def test_a_ctm_of_speakers_is_no_transcript_unless_named(read_text):
    text = "r 1 0 2.5 ann\nr 1 3 2.5 bob\n"
    with pytest.raises(DataFormatError, match="is not a transcript"):
        read_text("x.ctm", text)
    assert len(read_text("x.ctm", text, format="ctm")) == 1


def test_meeteval_reads_the_words(tmp_path):
    meeteval = pytest.importorskip("meeteval")
    words = (Word("good", 0.5, 1.0, 0.5), Word("day", 1.0, 1.25))
    path = tmp_path / "x.ctm"
    path.write_text(transcript_text([Phrase("r", 0.5, 1.25, None, words)], "ctm"))
    lines = meeteval.io.CTM.load(path).lines
    assert [(line.filename, line.word, float(line.begin_time)) for line in lines] == [
        ("r", "good", 0.5), ("r", "day", 1.0),
    ]  # fmt: skip
