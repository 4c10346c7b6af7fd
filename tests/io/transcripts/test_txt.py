"""Readable scripts, as text and as Markdown."""

import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.transcripts.files import read_transcript, transcript_text
from sms_diar.timeline.transcript import Phrase, words_of_text


def phrase(text, start, end, speaker=None):
    return Phrase("call", start, end, speaker, words_of_text(text, start, end))


def test_phrases_of_a_speaker_are_a_paragraph_until_a_pause():
    phrases = [
        phrase("Good day.", 0.5, 2, "ann"),
        phrase("So.", 4, 5, "ann"),
        Phrase("call", 5, 6, "bob"),
        phrase("Well.", 8.5, 9, "ann"),
        phrase("hm", 3661.9, 3663),
    ]
    assert transcript_text(phrases, "txt") == (
        "[00:00:00] ann: Good day. So.\n\n[00:00:08] ann: Well.\n\n"
        "[01:01:01] unknown: hm\n"
    )
    assert transcript_text(phrases[-1:], "txt") == "[01:01:01] hm\n"


def test_markdown_has_names_in_bold():
    phrases = [phrase("Good day.", 65, 67, "ann"), phrase("hm", 67, 68)]
    assert transcript_text(phrases, "markdown") == (
        "**ann** (00:01:05): Good day.\n\n**unknown** (00:01:07): hm\n"
    )
    assert transcript_text(phrases[1:], "markdown") == "(00:01:07): hm\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("![x](y) `c` *b* _i_ ~~s~~", r"!\[x\](y) \`c\` \*b\* \_i\_ \~\~s\~\~"),
        ("<script>&amp;</script>", r"\<script\>\&amp;\</script\>"),
        ("http://x www.y a@b", r"http\://x www\.y a\@b"),
        ("a\\ | $x$", r"a\\ \| \$x\$"),
    ],
)
def test_words_and_names_are_no_markdown(text, want):
    content = transcript_text([phrase(text, 0, 1, text)], "markdown")
    assert content == f"**{want}** (00:00:00): {want}\n"


def test_a_script_can_only_be_written(tmp_path):
    (tmp_path / "x.txt").write_text("[00:00:00] ann: hi\n")
    with pytest.raises(InvalidParameterError, match="format"):
        read_transcript(tmp_path / "x.txt", "txt")
