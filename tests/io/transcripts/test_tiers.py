"""TextGrid and ELAN with words: which tiers are words of whom."""

import pytest

from sms_diar.errors import DataFormatError
from sms_diar.io.transcripts.files import read_transcript, transcript_text
from sms_diar.timeline.transcript import Phrase, words_of_text


def grid(**tiers):
    """A TextGrid in the short format; intervals are (start, end, text)."""
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "9"]
    lines += ["<exists>", str(len(tiers))]
    for name, rows in tiers.items():
        lines += ['"IntervalTier"', f'"{name}"', "0", "9", str(len(rows))]
        lines += [f'{start}\n{end}\n"{text}"' for start, end, text in rows]
    return "\n".join(lines) + "\n"


def phrases(transcript):
    return [(p.speaker, p.start, p.end, p.text) for p in transcript]


def test_single_words_have_times_and_several_share_theirs(read_text):
    rows = [
        (0, 0.5, "good"),
        (0.5, 1, "day"),
        (1, 2, ""),
        (3, 4, "so"),
        (4, 6, "we go"),
    ]
    transcript = read_text("x.TextGrid", grid(ann=rows))
    assert phrases(transcript) == [
        ("ann", 0.0, 1.0, "good day"),
        ("ann", 3.0, 4.0, "so"),
        ("ann", 4.0, 6.0, "we go"),
    ]
    assert [w.is_estimated for w in transcript.words] == [False] * 3 + [True] * 2


def test_tiers_of_the_montreal_forced_aligner(read_text):
    words, phones = (
        [(0, 0.5, "hi"), (0.5, 1, "<eps>")],
        [(0, 0.5, "HH"), (0.5, 1, "AY1")],
    )
    tiers = {
        "ann": [(0, 1, "hi")], "ann - words": words, "ann - phones": phones,
        "bob - words": [(0.25, 0.5, "yes")], "bob - phones": phones,
        "cy": [(2, 3, "no")],
    }  # fmt: skip
    assert phrases(read_text("x.TextGrid", grid(**tiers))) == [
        ("ann", 0.0, 0.5, "hi"), ("bob", 0.25, 0.5, "yes"), ("cy", 2.0, 3.0, "no"),
    ]  # fmt: skip
    text = grid(words=words, phones=phones)
    assert phrases(read_text("x.TextGrid", text)) == [(None, 0.0, 0.5, "hi")]
    assert phrases(read_text("x.TextGrid", grid(phones=words)))[0][0] == "phones"


def overlapping():
    spans = [(0.0, 5.0, "a b"), (1.0, 2.0, "c d"), (1.0, 3.0, "e f"), (7.0, 7.0, "g")]
    return [Phrase("r", a, b, "ann", words_of_text(t, a, b)) for a, b, t in spans]


@pytest.mark.parametrize(
    ("format", "name"), [("textgrid", "r.TextGrid"), ("eaf", "r.eaf")]
)
def test_overlaps_within_a_tier_are_resolved_without_losing_words(
    read_text, format, name
):
    text = transcript_text(overlapping(), format)
    assert phrases(read_text(name, text)) == [
        ("ann", 0.0, 1.0, "a b"),
        ("ann", 1.0, 1.001, "c d"),
        ("ann", 1.001, 3.0, "e f"),
        ("ann", 7.0, 7.001, "g"),
    ]


def test_elan_has_text_in_values_and_skips_tiers_with_a_parent(read_text):
    text = transcript_text(overlapping()[:1], "eaf").replace(
        "</TIER>",
        '</TIER><TIER TIER_ID="gloss" PARENT_REF="ann"><ANNOTATION>'
        '<ALIGNABLE_ANNOTATION TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">'
        "<ANNOTATION_VALUE>x</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION>"
        "</ANNOTATION></TIER>",
    )
    assert phrases(read_text("x.eaf", text)) == [("ann", 0.0, 5.0, "a b")]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.TextGrid", grid(ann=[(1, 0.5, "a b")]), 13),
        ("x.TextGrid", grid(ann=[("x", 1, "a b")]), 15),
        ("x.eaf", "<ANNOTATION_DOCUMENT>\n<TIER>\n", 3),
        ("x.eaf", "<!DOCTYPE x>\n<ANNOTATION_DOCUMENT/>", 1),
    ],
)
def test_damage_is_reported_with_its_line(read_text, name, text, line):
    with pytest.raises(DataFormatError) as caught:
        read_text(name, text)
    assert caught.value.line == line


def test_praatio_reads_and_writes_the_words(tmp_path):
    praatio = pytest.importorskip("praatio.textgrid")
    path = tmp_path / "r.TextGrid"
    words = words_of_text('say "hi" שלום', 0.5, 2.0)
    path.write_text(transcript_text([Phrase("r", 0.5, 2.0, "ann", words)], "textgrid"))
    grid = praatio.openTextgrid(str(path), includeEmptyIntervals=False)
    entries = [(e.start, e.end, e.label, t.name) for t in grid.tiers for e in t]
    assert entries == [(0.5, 2.0, 'say "hi" שלום', "ann")]
    grid.save(str(path), format="long_textgrid", includeBlankSpaces=True)
    assert phrases(read_transcript(path)) == [("ann", 0.5, 2.0, 'say "hi" שלום')]


def test_pympi_reads_and_writes_the_words(tmp_path):
    elan = pytest.importorskip("pympi.Elan")
    path = tmp_path / "r.eaf"
    words = words_of_text("R&D <b> שלום", 0.5, 2.0)
    path.write_text(transcript_text([Phrase("r", 0.5, 2.0, None, words)], "eaf"))
    document = elan.Eaf(str(path))
    data = document.get_annotation_data_for_tier("unknown")
    assert [row[:3] for row in data] == [(500, 2000, "R&D <b> שלום")]
    document.add_annotation("unknown", 2500, 3000, "so & on")
    path.unlink()
    document.to_file(str(path))
    assert phrases(read_transcript(path)) == [
        (None, 0.5, 2.0, "R&D <b> שלום"), (None, 2.5, 3.0, "so & on"),
    ]  # fmt: skip
