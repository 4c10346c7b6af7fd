"""``sms-diar diarize --link --enrol`` on synthetic voices, by the embedded model."""

import json

import numpy as np
import pytest
import soundfile

from sms_diar._random import named_generator
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment

RATE = 8000
PEOPLE = {
    "ann": Voice(pitch=210.0, tract=1.25, tilt=0.5),
    "bob": Voice(pitch=95.0, tract=0.82, tilt=0.9),
}

pytestmark = pytest.mark.usefixtures("no_networks")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Make two different calls of two people, and a recording of each person."""
    folder = tmp_path_factory.mktemp("calls")

    def write(name, people, n_turns):
        turns, at = [], 0.5
        for number in range(n_turns):
            voice = PEOPLE[people[number % len(people)]]
            turns += [(Segment(name, at + s, at + s + 1.0), voice) for s in range(4)]
            at += 4.6
        rng = named_generator(3, name)
        soundfile.write(folder / f"{name}.wav", converse(turns, at, rng), RATE)
        return folder / f"{name}.wav"

    return {
        "mon": write("mon", ("ann", "bob"), 6),
        "tue": write("tue", ("bob", "ann"), 6),
        "ann": write("ann", ("ann",), 3),
        "bob": write("bob", ("bob",), 3),
    }


def speakers(path):
    found = {}
    for turn in read_rttm(path):
        found.setdefault(turn.segment.recording, []).append(turn.speaker)
    return {name: list(dict.fromkeys(turns)) for name, turns in found.items()}


def run(run_cli, recordings, out, *options):
    given = ("diarize", recordings["mon"], recordings["tue"], "--model", "embedded")
    return run_cli(*given, "--num-speakers", 2, "--rttm", out, *options)


def test_the_same_voices_have_one_name_in_both_calls(recordings, tmp_path, run_cli):
    out, again = tmp_path / "out.rttm", tmp_path / "again.rttm"
    result = run(run_cli, recordings, out, "--link")
    assert result.returncode == 0, result.stderr
    assert speakers(out) == {"mon": ["spk-01", "spk-02"], "tue": ["spk-02", "spk-01"]}
    told = (
        "link: 4 speakers of 2 recordings are 2 people, 2 of them in several recordings"
    )
    assert told in result.stderr
    assert "embedded i-vectors often link different people" in result.stderr
    run(run_cli, recordings, again, "--link", "--workers", 2)
    assert again.read_text() == out.read_text()


def test_known_voices_get_their_names(recordings, tmp_path, run_cli):
    out = tmp_path / "out.rttm"
    known = [f"{name}={recordings[name]}" for name in ("ann", "bob")]
    options = ("--enrol", known[0], "--enrol", known[1], "--json")
    result = run(run_cli, recordings, out, *options)
    assert result.returncode == 0, result.stderr
    assert speakers(out) == {"mon": ["ann", "bob"], "tue": ["bob", "ann"]}
    assert "enrol ann: found in mon (" in result.stderr
    content = json.loads(result.stdout)
    assert content["naming"]["enrol_threshold"] == 0.5
    for recording in content["recordings"]:
        for speaker in recording["speakers"]:
            assert [one["name"] for one in speaker["enrolled"]] == ["ann", "bob"]
            best = max(one["probability"] for one in speaker["enrolled"])
            assert (speaker["named_by"] == "voice") == (best >= 0.5)
    strict = (*options, "--enrol-threshold", "0.999999")
    result = run(run_cli, recordings, out, *strict)
    assert "ann: no match (best candidate" in result.stderr
    assert speakers(out)["mon"] == ["mon-spk-01", "mon-spk-02"]


@pytest.mark.parametrize("text", ["ann", "=x.wav", "ann="])
def test_an_enrolment_needs_a_name_and_a_file(text, recordings, tmp_path, run_cli):
    result = run(run_cli, recordings, tmp_path / "out.rttm", "--enrol", text)
    assert (result.returncode, "--enrol" in result.stderr) == (2, True)
    assert not (tmp_path / "out.rttm").exists()


def test_broken_enrolments_are_said_and_nothing_is_written(
    recordings, tmp_path, run_cli
):
    out, silent = tmp_path / "out.rttm", tmp_path / "x.wav"
    soundfile.write(silent, np.zeros(3 * RATE), RATE)
    for text, start in (
        ("ann=gone.wav", "gone.wav: no such file"),
        (f"ann={silent}", f"{silent}: no speech was found in 3.0 s"),
        (f"an n={silent}", "diarize: a name to enrol must be a name without white"),
    ):
        result = run(run_cli, recordings, out, "--enrol", text)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(f"sms-diar: {start}")
    assert not out.exists()
