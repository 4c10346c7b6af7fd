"""``sms-diar transcript`` and ``sms-diar diarize --transcript``."""

import json

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.cli.options.transcripts import WordFormatName
from sms_diar.io.registry import WRITTEN_TRANSCRIPTS
from sms_diar.io.turns.files import read_turns
from sms_diar.types import Segment, Turn

TURNS = [
    Turn(Segment("call", 0.0, 2.1), "ann"),
    Turn(Segment("call", 2.4, 3.1), "bob"),
]
SEGMENTS = [
    {"words": "How are you?", "start_time": 0.0, "end_time": 2.0},
    {"words": "Fine.", "start_time": 2.4, "end_time": 3.0},
]


@pytest.fixture
def turns(tmp_path):
    path = tmp_path / "call.rttm"
    sms_diar.write_rttm(path, TURNS)
    return path


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.json"
    common = {"session_id": "call", "speaker": "unknown"}
    path.write_text(json.dumps([common | segment for segment in SEGMENTS]))
    return path


def script(path):
    phrases = sms_diar.read_transcript(path)
    return [(phrase.speaker, phrase.text) for phrase in phrases]


def test_the_option_offers_all_formats():
    assert [name.value for name in WordFormatName] == list(WRITTEN_TRANSCRIPTS)


def test_words_with_speakers_are_written(run_cli, tmp_path, turns, words):
    out, named = tmp_path / "out.json", tmp_path / "out.dat"
    result = run_cli("transcript", turns, words, "-o", out)
    assert result.returncode == 0, result.stderr
    assert script(out) == [("ann", "How are you?"), ("bob", "Fine.")]
    assert result.stdout == "4 words of 2 speakers\n"
    options = ("-o", named, "--format", "seglst")
    assert run_cli("transcript", turns, words, *options).returncode == 0
    assert named.read_text() == out.read_text()


def test_standard_output_gets_words_or_a_summary(run_cli, turns, words):
    printed = run_cli("transcript", turns, words, "--format", "seglst").stdout
    speakers = [segment["speaker"] for segment in json.loads(printed)]
    assert speakers == ["ann", "bob"]
    summary = json.loads(run_cli("transcript", turns, words, "--json").stdout)
    assert summary["words"] == 4
    assert summary["speakers"] == [
        {"speaker": "ann", "words": 3},
        {"speaker": "bob", "words": 1},
    ]
    readable = run_cli("transcript", turns, words)
    assert "How are you?" in readable.stdout
    assert readable.returncode == 0


def test_bad_input_is_an_error_and_nothing_is_written(run_cli, tmp_path, turns, words):
    out, empty = tmp_path / "out.json", tmp_path / "empty.json"
    empty.write_text("[]")
    late = tmp_path / "late.rttm"
    sms_diar.write_rttm(late, [Turn(Segment("call", 90.0, 95.0), "ann")])
    for inputs in ((words, turns), (turns, empty), (late, words), (turns, turns)):
        result = run_cli("transcript", *inputs, "-o", out)
        assert result.returncode == 1
        assert len(result.stderr.splitlines()) == 1
        assert not out.exists()


def test_unknown_suffixes_and_inputs_are_no_outputs(run_cli, tmp_path, turns, words):
    result = run_cli("transcript", turns, words, "-o", tmp_path / "out.xyz")
    assert result.returncode == 2
    before = words.read_text()
    assert run_cli("transcript", turns, words, "-o", words).returncode == 1
    assert words.read_text() == before


@pytest.mark.usefixtures("no_networks")
def test_diarize_writes_words_and_turns_at_once(run_cli, tmp_path, words):
    audio, rate = tmp_path / "call.wav", 8000
    noise = 0.1 * np.random.default_rng(0).standard_normal(4 * rate)
    soundfile.write(audio, noise, rate)
    options = ("--vad", "none", "--max-speakers", "1", "--transcript", words)
    script_file, turn_file = tmp_path / "out.json", tmp_path / "out.rttm"
    outputs = ("-o", script_file, "-o", turn_file)
    result = run_cli("diarize", audio, *options, *outputs, "--exclusive")
    assert result.returncode == 0, result.stderr
    assert script(script_file) == [("spk-01", "How are you?"), ("spk-01", "Fine.")]
    assert [turn.speaker for turn in read_turns(turn_file)] == ["spk-01"]
    printed = run_cli("diarize", audio, *options).stdout
    assert "How are you?" in printed
    assert run_cli("diarize", audio, "--transcript", turn_file).returncode == 1


def test_diarize_refuses_a_transcript_without_words_before_the_work(run_cli, tmp_path):
    empty, audio = tmp_path / "empty.json", tmp_path / "call.wav"
    empty.write_text("[]")
    audio.write_text("is not decoded")
    result = run_cli("diarize", audio, "--transcript", empty)
    assert result.returncode == 1
    assert f"{empty.name}: contains no words" in result.stderr
