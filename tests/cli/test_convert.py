"""``sms-diar convert``: formats, renamed and merged speakers."""

import numpy as np
import pytest
import soundfile

from sms_diar.cli.commands.convert import (
    ReadFormatName,
    SourceFormatName,
    TargetFormatName,
)
from sms_diar.io.registry import (
    READ_TRANSCRIPTS,
    TURN_FORMATS,
    WRITTEN_FORMATS,
    WRITTEN_TRANSCRIPTS,
)
from sms_diar.io.transcripts.files import read_transcript
from sms_diar.io.turns.files import read_annotation, write_turns
from sms_diar.types import Segment, Turn

TURNS = [
    Turn(Segment("call", 0.0, 1.5), "ann"),
    Turn(Segment("call", 1.25, 2.5), "bob"),
    Turn(Segment("call", 3.0, 4.0), "cy"),
]


@pytest.fixture
def call(tmp_path):
    path = tmp_path / "call.rttm"
    write_turns(path, TURNS)
    return path


def test_the_options_offer_all_formats():
    assert [name.value for name in ReadFormatName] == list(TURN_FORMATS)
    sources = {name.value for name in SourceFormatName}
    assert sources == {*TURN_FORMATS, *READ_TRANSCRIPTS}
    targets = {name.value for name in TargetFormatName}
    assert targets == {*WRITTEN_FORMATS, *WRITTEN_TRANSCRIPTS}


def test_formats_can_be_named(run_cli, tmp_path):
    source, target = tmp_path / "x.ctm", tmp_path / "out.dat"
    source.write_text("call 1 0 0.4 ann\ncall 1 1 0.4 bob\n")
    assert run_cli("convert", source, target, "--to", "rttm").returncode == 1
    assert run_cli("convert", source, target, "--from", "ctm").returncode == 1
    assert not target.exists()
    result = run_cli("convert", source, target, "--from", "ctm", "--to", "rttm")
    assert result.returncode == 0
    assert [turn.speaker for turn in read_annotation(target)] == ["ann", "bob"]


def test_standard_output_gets_rttm_or_the_format_asked_for(run_cli, call):
    assert run_cli("convert", call, "-").stdout == call.read_text()
    assert run_cli("convert", call, "-", "--to", "vtt").stdout.startswith("WEBVTT\n")


def test_speakers_are_renamed_and_can_swap(run_cli, tmp_path, call):
    swap = ["--rename", "ann=bob", "--rename", "bob=ann"]
    result = run_cli("convert", call, tmp_path / "out.csv", *swap)
    assert result.returncode == 0
    speakers = [turn.speaker for turn in read_annotation(tmp_path / "out.csv")]
    assert speakers == ["bob", "ann", "cy"]


def test_merged_speakers_have_the_first_name_and_no_overlap(run_cli, tmp_path, call):
    options = ["--merge", "ann,bob", "--rename", "ann=host"]
    assert run_cli("convert", call, tmp_path / "o.TextGrid", *options).returncode == 0
    assert [
        (turn.segment.start, turn.segment.end, turn.speaker)
        for turn in read_annotation(tmp_path / "o.TextGrid")
    ] == [(0.0, 2.5, "host"), (3.0, 4.0, "cy")]


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["--rename", "dan=x"], "--rename must name speakers of the turns, got 'dan'"),
        (["--merge", "ann,dan"], "--merge must name speakers of the turns, got 'dan'"),
        (["--rename", "ann=bob"], "--rename must keep speakers apart, got 'bob'"),
        (["--rename", "ann=a\x1b[2J"], "write_rttm: speaker must be a name of visible"),
    ],
)
def test_names_that_cannot_be_are_refused(run_cli, tmp_path, call, options, start):
    result = run_cli("convert", call, tmp_path / "out.rttm", *options)
    assert result.returncode == 1
    assert result.stderr.startswith(f"sms-diar: {start}")
    assert not (tmp_path / "out.rttm").exists()


@pytest.mark.parametrize(
    "options", [["--rename", "ann"], ["--rename", "=x"], ["--merge", "ann,"]]
)
def test_options_that_are_not_understood_are_usage_errors(run_cli, call, options):
    assert run_cli("convert", call, "-", *options).returncode == 2


def test_the_input_is_not_overwritten(run_cli, tmp_path, call):
    before = call.read_bytes()
    result = run_cli("convert", call, tmp_path, "--to", "rttm", "--rename", "ann=x")
    assert result.returncode == 1
    assert "is read as an input" in result.stderr
    assert call.read_bytes() == before


def test_several_recordings_need_a_format_that_names_them_or_a_folder(
    run_cli, tmp_path
):
    source, folder = tmp_path / "all.rttm", tmp_path / "out"
    turns = [Turn(Segment(name, 0.0, 1.0), "ann") for name in ("a", "b")]
    write_turns(source, turns)
    result = run_cli("convert", source, tmp_path / "x.eaf")
    assert result.returncode == 1
    assert "must be from a single recording, got 'a' and 'b'" in result.stderr
    assert not (tmp_path / "x.eaf").exists()
    folder.mkdir()
    assert run_cli("convert", source, folder).returncode == 2
    assert run_cli("convert", source, folder, "--to", "eaf").returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a.eaf", "b.eaf"]
    assert run_cli("convert", folder, tmp_path / "again.rttm").returncode == 0
    assert sorted(read_annotation(tmp_path / "again.rttm")) == turns


def test_what_the_output_cannot_hold_is_reported(run_cli, tmp_path):
    source = tmp_path / "x.rttm"
    source.write_text(
        "SPEAKER r 1 0 1 <NA> <NA> a <NA> <NA>\nSPEAKER r 2 0 0 <NA> <NA> a <NA> <NA>\n"
    )
    result = run_cli("convert", source, tmp_path / "y.csv")
    assert "skipped 1 line(s) without a positive length" in result.stderr
    assert "the 2 channels are combined in the output" in result.stderr


@pytest.fixture
def audio(tmp_path):
    path = tmp_path / "call.wav"
    soundfile.write(path, np.linspace(-0.5, 0.5, 32000), 8000)
    return path


@pytest.mark.parametrize("name", ["call.rttm", "hyp.srt"])
def test_each_speaker_gets_an_audio_file(run_cli, tmp_path, audio, name):
    source, folder = tmp_path / name, tmp_path / "voices"
    write_turns(source, TURNS)
    result = run_cli(
        "convert", source, tmp_path / "o.csv", "--split", audio, folder,
        "--merge", "ann,bob",
    )  # fmt: skip
    assert result.returncode == 0
    lengths = {path.name: soundfile.info(path).frames for path in folder.iterdir()}
    assert lengths == {"call-ann.wav": 20000, "call-cy.wav": 8000}


def test_audio_is_not_overwritten_by_the_audio_of_a_speaker(run_cli, tmp_path, audio):
    before = audio.read_bytes()
    write_turns(tmp_path / "x.rttm", [Turn(Segment("call", 0.0, 1.0), "call")])
    result = run_cli(
        "convert", tmp_path / "x.rttm", tmp_path / "o.csv", "--split", audio, tmp_path
    )
    assert result.returncode == 1
    assert "call.wav: is read as an input" in result.stderr
    assert audio.read_bytes() == before
    assert not (tmp_path / "o.csv").exists()


def test_validation_takes_the_format_by_name(run_cli, tmp_path):
    path = tmp_path / "x.ctm"
    path.write_text("call 1 0 0.4 ann\ncall 1 1 0.4 bob\n")
    assert run_cli("validate-rttm", path).returncode == 1
    assert run_cli("validate-rttm", path, "--format", "ctm").returncode == 0


# --- transcripts ----------------------------------------------------------------

STM = "call 1 ann 0.5 2.0 Good day.\ncall 1 bob 2.5 4.0 Well, hello.\n"


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "call.stm"
    path.write_text(STM)
    return path


def said(path):
    return [(phrase.speaker, phrase.text) for phrase in read_transcript(path)]


SAID = [("ann", "Good day."), ("bob", "Well, hello.")]


@pytest.mark.parametrize(
    "suffix", ["srt", "vtt", "TextGrid", "eaf", "csv", "json", "ctm", "stm"]
)
def test_words_are_kept_where_the_output_can_hold_them(
    run_cli, tmp_path, words, suffix
):
    target = tmp_path / f"out.{suffix}"
    result = run_cli("convert", words, target)
    assert result.returncode == 0, result.stderr
    assert "4 words, 2 phrases, 2 speakers" in result.stderr
    assert said(target) == SAID
    again = tmp_path / "again.stm"
    assert run_cli("convert", target, again).returncode == 0
    assert said(again) == SAID


def test_text_is_a_script_of_words_and_labels_of_turns(run_cli, tmp_path, words, call):
    assert run_cli("convert", words, tmp_path / "a.txt").returncode == 0
    assert (tmp_path / "a.txt").read_text().startswith("[00:00:00] ann: Good day.\n")
    assert run_cli("convert", call, tmp_path / "b.txt").returncode == 0
    assert (tmp_path / "b.txt").read_text().startswith("0.0\t1.5\tann\n")
    assert run_cli("convert", words, tmp_path / "a.md").returncode == 0
    assert (tmp_path / "a.md").read_text().startswith("**ann** (00:00:00): Good day.")


def test_words_that_are_not_written_are_reported(run_cli, tmp_path, words):
    result = run_cli("convert", words, tmp_path / "x.rttm")
    assert result.returncode == 0
    assert "call.stm" in result.stderr
    assert "its words are not written" in result.stderr
    assert [t.speaker for t in read_annotation(tmp_path / "x.rttm")] == ["ann", "bob"]


@pytest.mark.parametrize("format", ["stm", "seglst", "lhotse", "nemo", "pyannoteai"])
def test_turns_without_words_stay_turns(run_cli, tmp_path, call, format):
    source = tmp_path / f"turns.{TURN_FORMATS[format].suffix.removeprefix('.')}"
    assert run_cli("convert", call, source, "--to", format).returncode == 0
    result = run_cli("convert", source, tmp_path / "out.csv")
    assert result.returncode == 0, result.stderr
    assert "words are not written" not in result.stderr
    back = read_annotation(tmp_path / "out.csv")
    assert [(t.segment.start, t.speaker) for t in back] == [
        (0.0, "ann"),
        (1.25, "bob"),
        (3.0, "cy"),
    ]
    refused = run_cli("convert", source, tmp_path / "out.md")
    assert refused.returncode == 1
    assert "has turns but no words" in refused.stderr
    assert not (tmp_path / "out.md").exists()


def test_counts_have_a_singular(run_cli, tmp_path):
    (tmp_path / "one.stm").write_text("call 1 ann 0 1 Hello\n")
    result = run_cli("convert", tmp_path / "one.stm", tmp_path / "one.ctm")
    assert "1 word, 1 phrase, 1 speaker\n" in result.stderr


def test_turns_cannot_become_words(run_cli, tmp_path, call):
    result = run_cli("convert", call, tmp_path / "x.md")
    assert result.returncode == 1
    assert "call.rttm: is not a transcript; expected one of" in result.stderr
    assert not (tmp_path / "x.md").exists()


def test_speakers_of_words_are_renamed_and_merged(run_cli, tmp_path, words):
    options = ["--rename", "ann=Ann Lee"]
    assert run_cli("convert", words, tmp_path / "x.srt", *options).returncode == 0
    assert said(tmp_path / "x.srt") == [("Ann Lee", "Good day."), SAID[1]]
    options = ["--merge", "bob,ann"]
    assert run_cli("convert", words, tmp_path / "y.srt", *options).returncode == 0
    assert [name for name, _ in said(tmp_path / "y.srt")] == ["bob", "bob"]
    result = run_cli("convert", words, tmp_path / "z.srt", "--rename", "dan=x")
    assert result.returncode == 1
    assert "--rename must name speakers of the turns, got 'dan'" in result.stderr


def test_several_recordings_of_words_go_to_a_folder(run_cli, tmp_path, words):
    words.write_text(STM + "other 1 ann 0 1 Yes.\n")
    result = run_cli("convert", words, tmp_path / "x.srt")
    assert result.returncode == 1
    assert "must be from a single recording, got" in result.stderr
    (tmp_path / "out").mkdir()
    assert (
        run_cli("convert", words, tmp_path / "out", "--to", "markdown").returncode == 0
    )
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["call.md", "other.md"]


def test_files_with_and_without_words_are_not_mixed(run_cli, tmp_path, words, call):
    result = run_cli("convert", f"{tmp_path}/call.*", tmp_path / "x.csv")
    assert result.returncode == 1
    assert "call.stm has words, but" in result.stderr


def test_standard_input_with_words_is_read_once(run_cli, tmp_path):
    result = run_cli("convert", "-", "-", "--to", "srt", stdin=STM.encode())
    assert result.returncode == 0
    assert "[bob]: Well, hello.\n" in result.stdout
    result = run_cli("convert", "-", "-", "--to", "markdown", stdin=STM.encode())
    assert result.stdout.startswith("**ann** (00:00:00): Good day.")


def test_a_short_ctm_is_words_or_turns_as_the_output_needs(run_cli, tmp_path):
    source = tmp_path / "x.ctm"
    source.write_text("call 1 0 0.4 ann\ncall 1 1 0.4 bob\n")
    assert run_cli("convert", source, tmp_path / "x.stm").returncode == 0
    assert said(tmp_path / "x.stm") == [(None, "ann bob")]
    assert run_cli("convert", source, tmp_path / "x.rttm").returncode == 1
    options = [source, tmp_path / "x.rttm", "--from", "ctm"]
    assert run_cli("convert", *options).returncode == 0
    assert len(read_annotation(tmp_path / "x.rttm")) == 2
