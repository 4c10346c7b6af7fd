"""``sms-diar diarize --transcribe`` with a recogniser whose words are known."""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import soundfile

from sms_diar.networks import registry
from sms_diar.pipeline.transcribe import api
from sms_diar.timeline.transcript import Word

OPTIONS = ("--model", "embedded", "--vad", "none", "--max-speakers", "1")


@dataclass
class Counter:
    """Recogniser that hears a word in each second."""

    name: str = "counter"
    rate: int = 8000
    fingerprint: str = "0"
    n_parts: int = 0
    stops_at: int | None = None  # part that is interrupted

    def transcribe(self, samples):
        if self.n_parts == self.stops_at:
            raise KeyboardInterrupt
        self.n_parts += 1
        for second in range(len(samples) // self.rate):
            yield [Word(f"w{self.n_parts}.{second}", second, second + 0.5)]


@pytest.fixture
def recogniser(monkeypatch):
    """The recogniser "counter" in place of those of installed packages."""
    counter = Counter()

    class Point:
        name, value = "counter", "package:function"

        def load(self):
            return lambda **_: counter

    def find(*, group, name=None):
        is_ours = group == "sms_diar.recognisers" and name in (None, "counter")
        return [Point()] if is_ours else []

    monkeypatch.setattr(registry, "entry_points", find)
    return counter


@pytest.fixture
def noise(tmp_path):
    path = tmp_path / "noise.wav"
    samples = 0.1 * np.random.default_rng(0).standard_normal(4 * 8000)
    soundfile.write(path, samples, 8000)
    return path


def test_recognised_words_get_speakers(run_cli, recogniser, noise, tmp_path):
    out = tmp_path / "out.json"
    ran = run_cli("diarize", noise, *OPTIONS, "--transcribe", "counter:x", "-o", out)
    assert ran.returncode == 0, ran.stderr
    segments = json.loads(out.read_text())
    assert " ".join(s["words"] for s in segments) == "w1.0 w1.1 w1.2 w1.3"
    assert {s["speaker"] for s in segments} == {"spk-01"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["noise.wav", "out.json"]


def test_an_interrupted_command_continues(
    run_cli, recogniser, noise, tmp_path, monkeypatch
):
    monkeypatch.setattr(api, "LONGEST_PART", 2.0)
    monkeypatch.setattr(api, "_SEARCHED", 0.6)
    out = tmp_path / "out.json"
    command = ("diarize", noise, *OPTIONS, "--transcribe", "counter:x", "-o", out)
    recogniser.stops_at = 1
    ran = run_cli(*command)
    assert ran.returncode == 130
    assert "run the same command again to go on from here" in ran.stderr
    assert not out.exists()
    checkpoint = tmp_path / "out.json.checkpoint"
    [[[[[word, *_]]], *_]] = json.loads(checkpoint.read_text()).values()
    assert word == "w1.0"
    recogniser.stops_at = None
    assert run_cli(*command).returncode == 0
    words = " ".join(segment["words"] for segment in json.loads(out.read_text()))
    assert words.split()[:2] == ["w1.0", "w2.0"]
    assert recogniser.n_parts == 3  # parts of 1.4 to 2 s
    assert not checkpoint.exists()


def test_a_model_that_is_missing_is_reported_before_the_work(
    run_cli, noise, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    out = tmp_path / "out.json"
    ran = run_cli("diarize", noise, "--transcribe", tmp_path / "model", "-o", out)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "sms-diar[asr]" in ran.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--language", "en"), "--language"),
        (("--transcribe", "m", "--transcript", "t.json"), "--transcribe"),
    ],
)
def test_options_that_contradict_each_other_are_refused(run_cli, noise, options, named):
    ran = run_cli("diarize", noise, *options)
    assert ran.returncode == 2
    assert named in ran.stderr
