"""``sms-diar simulate`` on tiny voices."""

import json

import pytest
import soundfile

from sms_diar._random import named_generator
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.synthetic.voices import Voice


@pytest.fixture(scope="module")
def voices(tmp_path_factory, write_tables):
    """Make three recordings of 14 s, each with one voice."""
    folder = tmp_path_factory.mktemp("voices")
    names = ("ann", "bob", "cat")
    for number, name in enumerate(names):
        rng = named_generator(number, "voice")
        soundfile.write(folder / f"{name}.wav", Voice.draw(rng).speak(14.0, rng), 8000)
    return write_tables(
        folder,
        wav__scp=[f"{name} {name}.wav" for name in names],
        utt2spk=[f"{name} {name}" for name in names],
    )


def test_conversations_are_made_and_listed(run_cli, voices, tmp_path):
    folder = tmp_path / "made"
    result = run_cli(
        *("simulate", voices, "-o", folder, "--speakers", 3, "--duration", 12),
        *("--conversations", 2, "--overlap", 0.1, "--snr", 20, "--format", "flac"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    heads, *rows = result.stdout.splitlines()
    assert heads.split() == [
        *("recording", "seconds", "speakers", "turns", "overlap", "repeated")
    ]
    assert [row.split()[:3] for row in rows] == [
        ["sim-0000", "12", "3"],
        ["sim-0001", "12", "3"],
    ]
    assert {turn.segment.recording for turn in read_rttm(folder / "ref.rttm")} == {
        "sim-0000",
        "sim-0001",
    }
    assert soundfile.info(folder / "audio" / "sim-0001.flac").frames == 12 * 8000


def test_json_is_that_of_the_file(run_cli, voices, tmp_path):
    folder = tmp_path / "made"
    result = run_cli(
        *("simulate", voices, "-o", folder, "--duration", 60, "--json"),
        *("--turn-segments", 1, 2, "--dominance", "zipf", "--rt60", 0.3),
    )
    printed = json.loads(result.stdout)
    assert printed.pop("output") == str(folder)
    assert printed == json.loads((folder / "simulation.json").read_text())
    assert printed["settings"]["turn_segments"] == [1, 2]
    # Two voices have 28 s, but 60 s are requested.
    assert result.stderr.startswith("sms-diar: speech recurs in 1 of 1 conversations")
