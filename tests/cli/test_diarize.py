"""``sms-diar diarize`` on conversations of synthetic voices."""

import json

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar._random import named_generator
from sms_diar.features.cmvn import CmvnConfig
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.turns.files import read_turns
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.metrics.diarization.evaluation import score_diarization
from sms_diar.pipeline.train.extraction import Speech
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
from sms_diar.pipeline.train.models import write_ivector_model
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment, Turn

RATE = 8000

pytestmark = pytest.mark.usefixtures("no_networks")
SECONDS = 48.0
ANN = Voice(pitch=120.0, tract=1.2, tilt=0.6)
BOB = Voice(pitch=95.0, tract=0.85, tilt=0.9)
# Alternating turns of 4 s with pauses of 0.6 s.
TIMES = [(0.5 + 4.6 * i, 4.5 + 4.6 * i) for i in range(10)]
WHO = {"ann": ANN, "bob": BOB}


def reference(recording="call"):
    return [
        Turn(Segment(recording, start, end), ("ann", "bob")[number % 2])
        for number, (start, end) in enumerate(TIMES)
    ]


def speech(*, seed="call", rate=RATE, voices=("ann", "bob")):
    """Return turns of four sentences of one second each."""
    spoken = [
        (Segment("call", start, start + 1.0), WHO[turn.speaker])
        for turn in reference()
        if turn.speaker in voices
        for start in turn.segment.start + np.arange(4.0)
    ]
    return converse(spoken, SECONDS, named_generator(6, seed), rate=rate)


@pytest.fixture(scope="module")
def model(tmp_path_factory, write_tables):
    """Train a small model on other calls with two voices each."""
    folder = tmp_path_factory.mktemp("training")
    lines = {"wav__scp": [], "segments": [], "utt2spk": []}
    for name in (f"train{i:02d}" for i in range(20)):
        rng = named_generator(7, name)
        voices = Voice.draw(rng), Voice.draw(rng)
        # Segments differ, so that within-speaker variability can be estimated.
        times = [Segment(name, 1.5 * i, 1.5 * (i + 1)) for i in range(16)]
        turns = [(time, voices[i % 2]) for i, time in enumerate(times)]
        soundfile.write(folder / f"{name}.wav", converse(turns, 24.0, rng), RATE)
        lines["wav__scp"].append(f"{name} {folder / name}.wav")
        for i, time in enumerate(times):
            lines["segments"].append(f"{name}-{i:02d} {name} {time.start} {time.end}")
            lines["utt2spk"].append(f"{name}-{i:02d} {name}-{i % 2}")
    write_tables(folder, **lines)
    settings = IvectorSettings(n_components=16, rank=12, ubm_iter=4, tv_iter=3)
    front_end = FrontEnd(cmvn=CmvnConfig(method="recording"))
    trained = train_ivectors(
        [Speech(DataDir(folder), front_end)], settings, backend=True
    )
    write_ivector_model(folder / "model.npz", trained)
    return folder / "model.npz"


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls") / "call.wav"
    soundfile.write(path, speech(), RATE)
    return path


def check_turns(turns, recording="call"):
    """Make a call of two speakers and its turns."""
    assert len({turn.speaker for turn in turns}) == 2
    scores = score_diarization(reference(recording), turns, collar=0.25)
    assert scores.overall["der"] < 0.03


def test_two_voices_are_two_speakers(call, model, tmp_path, run_cli):
    out = tmp_path / "out.rttm"
    result = run_cli("diarize", call, "--model", model, "--rttm", out)
    assert result.returncode == 0, result.stderr
    size = out.stat().st_size / 1e3
    assert result.stderr == f"sms-diar: wrote {out} ({size:.1f} kB)\n"
    turns = list(read_rttm(out))
    check_turns(turns)
    assert {turn.speaker for turn in turns} == {"spk-01", "spk-02"}
    # Reading and writing again gives the same text.
    write_rttm(tmp_path / "again.rttm", turns)
    assert (tmp_path / "again.rttm").read_text() == out.read_text()
    assert turns[0].speaker == "spk-01"
    title, head, *lines = result.stdout.splitlines()
    assert title.startswith("call: 2 speakers, 0:4")
    assert title.endswith(" of speech in 0:48.0")
    assert head.split() == ["speaker", "time", "share", "turns"]
    assert [line.split()[::2] for line in lines] == [
        ["spk-01", "50%"],
        ["spk-02", "50%"],
    ]


def test_json_tells_turns_and_what_was_found(call, model, run_cli):
    result = run_cli("diarize", call, "--model", model, "--json")
    content = json.loads(result.stdout)
    assert (content["method"], content["problems"]) == ("sms", [])
    [recording] = content["recordings"]
    assert (recording["recording"], recording["n_speakers"]) == ("call", 2)
    assert recording["duration"] == SECONDS
    assert recording["k"] is None
    # Ten turns of 4 s and the margins of the detector; windows overlap by half.
    assert 40.0 <= recording["speech"] < 43.0
    assert 0.5 < recording["row_weight"] < 0.7
    turns = [
        Turn(Segment("call", turn["start"], turn["end"]), turn["speaker"])
        for turn in recording["turns"]
    ]
    check_turns(turns)
    assert content == sms_diar.diarize(call, model=model).to_dict()


def test_many_files_are_many_recordings(call, model, tmp_path, run_cli):
    other = tmp_path / "other call.wav"
    soundfile.write(other, speech(seed="other"), RATE)
    out = tmp_path / "out.rttm"
    result = run_cli(
        "diarize", call, other, "--model", model, "--rttm", out, "--num-speakers", 2
    )
    assert result.returncode == 0, result.stderr
    turns = list(read_rttm(out))
    for name in ("call", "other_call"):
        check_turns([t for t in turns if t.segment.recording == name], name)
    assert {t.speaker for t in turns if t.segment.recording == "call"} == {
        "call-spk-01",
        "call-spk-02",
    }
    head, *lines, last = result.stdout.splitlines()
    assert head.split() == ["recording", "length", "speech", "speakers", "turns"]
    assert [line.split()[:2] for line in lines] == [
        ["call", "0:48.0"],
        ["other_call", "0:48.0"],
    ]
    assert last == "2 recordings, 1:36.0"


def test_commands_run_only_when_allowed(call, model, tmp_path, run_cli):
    (tmp_path / "wav.scp").write_text(f"call cat {call} |\n")
    refused = run_cli("diarize", tmp_path, "--model", model)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "commands need --allow-commands" in refused.stderr
    allowed = run_cli("diarize", tmp_path, "--model", model, "--allow-commands")
    assert allowed.returncode == 0, allowed.stderr
    assert allowed.stdout == run_cli("diarize", call, "--model", model).stdout


@pytest.fixture
def stereo(tmp_path):
    """Write each side of the call to a separate channel."""
    sides = [speech(seed=name, voices=(name,)) for name in WHO]
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack(sides, axis=1), RATE)
    return path


def test_a_channel_can_be_chosen(stereo, model, tmp_path, run_cli):
    out = tmp_path / "out.rttm"
    given = ("diarize", stereo, "--model", model)
    result = run_cli(*given, "--rttm", out, "--channel", 2, "--num-speakers", 1)
    assert result.returncode == 0, result.stderr
    assert "channels were mixed" not in result.stderr
    turns = list(read_rttm(out))
    assert len(turns) == 5  # bob speaks five times
    for turn, expected in zip(turns, reference()[1::2], strict=True):
        assert turn.segment.start == pytest.approx(expected.segment.start, abs=0.2)
    none = run_cli(*given, "--channel", 3)
    assert (none.returncode, none.stdout) == (1, "")
    assert "has 2 channel(s), channel 3 does not exist" in none.stderr


def test_crosstalk_is_an_option_of_channels_that_are_speakers(stereo, model, run_cli):
    given = ("diarize", stereo, "--model", model, "--crosstalk", "remove")
    without = run_cli(*given, "--channel", 2)
    assert (without.returncode, without.stdout) == (1, "")
    assert "--crosstalk can be 'remove' only with --channel each" in without.stderr
    result = run_cli(*given, "--channel", "each")
    assert result.returncode == 0, result.stderr
    assert "cross-talk" not in result.stderr


def test_speech_outside_the_uem_is_left_out(call, model, tmp_path, run_cli):
    (tmp_path / "all.uem").write_text("call 1 10.0 30.0\nother 1 0 5\n")
    result = run_cli(
        "diarize", call, "--model", model, "--uem", tmp_path / "all.uem",
        "--rttm", tmp_path / "out.rttm",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    turns = list(read_rttm(tmp_path / "out.rttm"))
    assert turns[0].segment.start == 10.0
    assert turns[-1].segment.end <= 30.0
    (tmp_path / "none.uem").write_text("other 1 0 5\n")
    result = run_cli("diarize", call, "--model", model, "--uem", tmp_path / "none.uem")
    assert result.returncode == 1
    assert result.stderr.startswith(f"sms-diar: call: {tmp_path / 'none.uem'}: ")


def test_subtitles_bridge_pauses_unless_a_gap_is_given(call, model, tmp_path, run_cli):
    given = ("diarize", call, "--model", model, "--num-speakers", 1)
    out = tmp_path / "out.srt"
    for options, cues in (((), 1), (("--max-gap", 0.1), 10)):
        result = run_cli(*given, "-o", out, *options)
        assert result.returncode == 0, result.stderr
        assert len(read_turns(out)) == cues


def test_other_methods_can_be_chosen(call, model, run_cli):
    given = ("diarize", call, "--model", model, "--method", "sms-paper")
    result = run_cli(*given, "--num-speakers", 2, "--json")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["method"] == "sms-paper"
    assert content["recordings"][0]["n_speakers"] == 2
    assert content["recordings"][0]["k"] == 17


def fails(result, start, out):
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"sms-diar: {start}")
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def broken(kind, path):
    """Write an invalid recording."""
    if kind == "silent":
        soundfile.write(path, np.zeros(5 * RATE), RATE)
    elif kind == "short":
        soundfile.write(path, speech()[RATE : RATE + 400], RATE)
    elif kind == "slow":
        soundfile.write(path, np.zeros(5 * RATE), 6000)
    else:
        path.write_text("" if kind == "empty" else "This is a letter.\n")


KINDS = ["silent", "short", "slow", "empty", "letter"]


def test_broken_recordings_leave_the_others_intact(call, model, tmp_path, run_cli):
    paths = [tmp_path / f"{kind}.wav" for kind in KINDS]
    for kind, path in zip(KINDS, paths, strict=True):
        broken(kind, path)
    result = run_cli("diarize", *paths, call, "--model", model)
    assert result.returncode == 3
    alone = run_cli("diarize", call, "--model", model)
    problems = result.stderr.removesuffix(alone.stderr).splitlines()
    for kind, path, line in zip(KINDS, paths, problems, strict=True):
        assert line.startswith(f"sms-diar: {kind}: {path}: ")
    assert result.stdout == alone.stdout


def test_what_is_missing_is_found_before_the_work(call, model, tmp_path, run_cli):
    out, gone = tmp_path / "out.rttm", tmp_path / "gone.wav"
    given = ("diarize", call, "--model", model)
    fails(run_cli(*given, gone, "--rttm", out), f"{gone}: no such file", out)
    fails(run_cli(*given, tmp_path, "--rttm", out), f"{tmp_path}: the folder", out)
    nowhere = tmp_path / "no" / "out.rttm"
    fails(run_cli(*given, "--rttm", nowhere), f"{nowhere}: no such folder", nowhere)
    twice = run_cli(*given, call, "--rttm", out)
    fails(twice, "recordings must have different names, got 'call'", out)
    many = run_cli(*given, "--num-speakers", 999, "--rttm", out)
    fails(many, "call: --num-speakers must be at most the number of segments (", out)


# --- formats, folders, standard input, audio of speakers -------------------------


@pytest.fixture(scope="module")
def found(call, model):
    return sms_diar.diarize(call, model=model)


def test_the_suffix_of_an_output_is_its_format(call, model, found, tmp_path, run_cli):
    names = ["x.rttm", "x.csv", "call.txt", "call.TextGrid", "call.eaf", "call.vtt"]
    outputs = [word for name in names for word in ("-o", tmp_path / name)]
    result = run_cli(
        "diarize", call, "--model", model, *outputs, "-o", tmp_path / "x.json"
    )
    assert result.returncode == 0, result.stderr
    want = sorted(read_turns(tmp_path / "x.csv"))
    assert [turn.speaker for turn in want] == [turn.speaker for turn in found.turns]
    for name in names:
        for got, turn in zip(sorted(read_turns(tmp_path / name)), want, strict=True):
            assert got.speaker == turn.speaker
            assert got.segment.recording == "call"
            assert got.segment.start == pytest.approx(turn.segment.start, abs=6e-4)
    assert json.loads((tmp_path / "x.json").read_text()) == found.to_dict()
    grid = (tmp_path / "call.TextGrid").read_text()
    assert f"xmax = {SECONDS:.1f}" in grid  # end of the recording, not of the last turn


def test_standard_output_and_folders_have_a_format(
    call, model, found, tmp_path, run_cli
):
    result = run_cli("diarize", call, "--model", model, "--format", "srt")
    assert result.stdout == found.text("srt")
    result = run_cli(
        "diarize", call, "--model", model, "--format", "vtt", "-o", tmp_path
    )
    assert result.returncode == 0
    assert (tmp_path / "call.vtt").read_text() == found.text("vtt")


def test_outputs_that_cannot_be_are_found_before_the_work(call, tmp_path, run_cli):
    """The model does not exist, so any work would fail."""
    other = tmp_path / "other.wav"
    other.write_bytes(call.read_bytes())
    given = ("diarize", call, "--model", tmp_path / "none.npz")
    for arguments, said in (
        (("-o", tmp_path / "x.docx"), "unknown suffix '.docx'"),
        ((other, "-o", tmp_path / "x.srt"), "holds one recording per file, got 2"),
        ((other, "--format", "srt"), "holds one recording per file, got 2"),
        (("--split", other), "is a file; specify a folder"),
        (("-k", 5), "-k"),
        (("--num-speakers", 2, "--max-speakers", 3), "--num-speakers"),
        (("--min-turn", -1), "--min-turn"),
    ):
        result = run_cli(*given, *arguments)
        assert result.returncode == 2, result.stderr
        assert "".join(said.split()) in "".join(result.stderr.replace("│", "").split())
    for arguments in (
        ("-o", tmp_path / "no" / "x.srt"),
        ("--split", tmp_path / "no/x"),
    ):
        result = run_cli(*given, *arguments)
        assert result.returncode == 1
        assert "no such folder" in result.stderr


def test_standard_input_is_a_recording(call, model, found, run_cli):
    result = run_cli("diarize", "-", "--model", model, stdin=call.read_bytes())
    assert result.returncode == 0, result.stderr
    assert result.stdout == found.text().replace("call", "stdin")


def test_each_speaker_gets_an_audio_file(call, model, found, tmp_path, run_cli):
    folder = tmp_path / "speakers"
    result = run_cli("diarize", call, "--model", model, "--split", folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout == found.text()
    samples, rate = soundfile.read(call, dtype="int16")
    for speaker in {turn.speaker for turn in found.turns}:
        got, got_rate = soundfile.read(folder / f"call-{speaker}.wav", dtype="int16")
        pieces = [
            samples[round(t.segment.start * rate) : round(t.segment.end * rate)]
            for t in found.turns
            if t.speaker == speaker
        ]
        assert got_rate == rate
        np.testing.assert_array_equal(got, np.concatenate(pieces))
    assert len(list(folder.iterdir())) == len({turn.speaker for turn in found.turns})
