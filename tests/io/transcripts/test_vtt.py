"""WebVTT with words: voices, times of words, escapes."""

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import transcript_text
from sms_diar.timeline.transcript import Phrase, words_of_text

HEAD = "WEBVTT - a title\nKind: captions\n\nNOTE\na --> b\n\nSTYLE\n::cue {}\n\n"


def test_voices_are_speakers_and_share_a_cue(read_text):
    text = HEAD + (
        "00:01.000 --> 00:02.000\n<v.loud Ann &amp; Co>Hi</v>\n<v bob>you &lt;b&gt;\n"
        "all</v>\n\n00:03.000 --> 00:04.000 align:start\nand <c.x>so <lang en>on"
        "</lang></c>\n\n1\n00:05.000 --> 00:06.000\n<v unknown>hm\n"
    )
    transcript = read_text("x.vtt", text)
    assert [(p.speaker, p.text) for p in transcript] == [
        ("Ann & Co", "Hi"), ("bob", "you <b> all"), (None, "and so on"), (None, "hm"),
    ]  # fmt: skip
    # Eleven letters in a second, of which the first voice has two.
    assert transcript[1].start == pytest.approx(1 + 2 / 11)
    assert transcript[1].end == 2.0


def test_times_inside_cues_are_times_of_words(read_text):
    text = (
        "WEBVTT\n\n00:01.000 --> 00:04.000\n<v ann>so<00:00:02.000><c> well,</c>"
        "<00:02.500> my dear<00:00:09.000>\n"
    )
    (phrase,) = read_text("x.vtt", text)
    times = [(w.text, w.start, w.end, w.is_estimated) for w in phrase.words]
    assert times == [
        ("so", 1.0, 2.0, True),
        ("well,", 2.0, 2.5, False),
        # Six letters in one and a half seconds, until the end of the cue.
        ("my", 2.5, 3.0, True),
        ("dear", 3.0, 4.0, True),
    ]
    assert phrase.speaker == "ann"


def test_what_would_be_a_tag_or_an_arrow_is_escaped():
    words = words_of_text("a --> <v bob> &amp;", 0.0, 2.0)
    assert transcript_text([Phrase("r", 0.0, 2.0, "<i>", words)], "vtt") == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n"
        "<v &lt;i&gt;>a --&gt; &lt;v bob&gt; &amp;amp;\n"
    )


def test_damage_is_reported_with_its_line(read_text):
    for text, line in (("WEBVTTX\n", None), ("WEBVTT\n\n\n0 --> 1\nhi\n", 4)):
        with pytest.raises(DataFormatError) as caught:
            read_text("x.vtt", text)
        assert caught.value.line == line


def test_a_file_without_cues_says_so(read_text):
    for text in ("WEBVTT\n", "WEBVTT\n\nNOTE nothing\n"):
        with pytest.raises(DataFormatError, match="has no cues"):
            read_text("x.vtt", text)


def test_webvtt_reads_the_cues(tmp_path):
    webvtt = pytest.importorskip("webvtt")
    text = "good <b>day</b> --> and so on, for a while, and for a while longer"
    phrases = [Phrase("r", 0.5, 4.5, "ann", words_of_text(text, 0.5, 4.5))]
    path = tmp_path / "x.vtt"
    path.write_text(transcript_text(phrases, "vtt"))
    (caption,) = webvtt.read(str(path))
    assert (caption.start, caption.end) == ("00:00:00.500", "00:00:04.500")
    assert caption.voice == "ann"
    assert "good" in caption.text
    assert "longer" in caption.text
