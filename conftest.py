"""Shared fixtures and switches of the test suite."""

from __future__ import annotations

import functools
import io
import os
import shlex
import stat
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from sms_diar._files import protecting

# The one knob for drawn examples: --hypothesis-profile chooses. Compiling inside an
# example would trip the deadline, and CI must draw the same examples every time.
for profile, examples in (("test", 25), ("interpreted", 4), ("soak", 500)):
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=profile != "soak",
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("test")

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") == "1"
PYTHON = sys.executable  # tests may pretend that it is another one
ROOT = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run tests marked soak, too")


@pytest.hookimpl(tryfirst=True)  # before -m selects by marker
def pytest_collection_modifyitems(config, items):
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else ()
        if {"estimator", "check"} <= set(parameters):  # parametrize_with_checks
            item.add_marker(pytest.mark.contract)
    if config.getoption("--soak") and not JIT_OFF:
        return
    reason = "interpreted loops" if JIT_OFF else "scripts/soak long runs it"
    for item in items:
        if "soak" in item.keywords:
            item.add_marker(pytest.mark.skip(reason=f"long test: {reason}"))


@pytest.fixture(scope="session", autouse=True)
def _disk_is_not_flushed():
    """Files of tests need not survive a power cut, and flushing takes long."""
    flush, os.fsync = os.fsync, lambda _: None
    yield
    os.fsync = flush


@pytest.fixture(scope="session", autouse=True)
def _temporary_files_go_with_the_session(tmp_path_factory):
    """Checks of scikit-learn clear up at the exit of Python, which may not come."""
    tmp_path_factory.getbasetemp()  # pytest keeps its own folders for a look at them
    with (
        tempfile.TemporaryDirectory(
            prefix="sms-diar-tests-", ignore_cleanup_errors=True
        ) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def _inputs_are_protected_within_a_test():
    """A command that a test calls without `main` protects its inputs until the end."""
    with protecting(()):
        yield


@pytest.fixture
def root() -> Path:
    """Top of the checkout."""
    return ROOT


@pytest.fixture
def three_gaussians():
    """Forty points per cluster around three means, and their labels."""
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(3), 40)
    means = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    return means[truth] + 0.25 * rng.standard_normal((120, 2)), truth


@pytest.fixture(scope="session")
def corpus_data() -> Path:
    """Folder with the real speech and embeddings, or skip."""
    folder = Path(os.environ.get("SMS_DIAR_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no speech data at {folder}; point SMS_DIAR_DATA to it")
    return folder


@dataclass(frozen=True)
class KaldiReference:
    """Results of Kaldi's own programs, and the samples they had."""

    folder: Path
    speech: Path

    @property
    def segments(self) -> dict[str, tuple[str, float, float]]:
        rows = map(str.split, (self.folder / "segments").read_text().splitlines())
        return {name: (rec, float(a), float(b)) for name, rec, a, b in rows}

    def samples(self, name):
        import soundfile

        recording, start, end = self.segments[name]
        path = self.speech / "flac" / f"{recording}.flac"
        samples, rate = soundfile.read(path, dtype="int16")
        return samples[int(start * rate) : int(end * rate)] / 32768.0

    def matrices(self, name):
        """Arrays of an ark of float32, read without the package."""
        data, at, arrays = (self.folder / "expected" / name).read_bytes(), 0, {}
        while at < len(data):
            end = data.index(b" ", at)
            key, kind = data[at:end].decode(), data[end + 1 : end + 6]
            assert kind in (b"\0BFM ", b"\0BFV "), kind
            at, shape = end + 6, []
            for _ in range(2 if kind == b"\0BFM " else 1):
                shape.append(int.from_bytes(data[at + 1 : at + 5], "little"))
                at += 5
            size = 4 * int(np.prod(shape))
            arrays[key] = np.frombuffer(data[at : at + size], "<f4").reshape(shape)
            at += size
        return arrays


@pytest.fixture(scope="session")
def kaldi_reference(corpus_data) -> KaldiReference:
    """Results of Kaldi's own programs, or skip."""
    folder = corpus_data / "kaldi-reference"
    if not folder.is_dir():
        pytest.skip(f"no results of Kaldi at {folder}")
    return KaldiReference(folder, corpus_data / "libri-testother10-8k")


@dataclass(frozen=True)
class CliResult:
    """What a command left on its streams, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def build_command():
    """Typer's `get_command`, which takes longer than most commands, called once."""
    from typer.main import get_command

    return functools.cache(get_command)


@pytest.fixture
def run_cli(monkeypatch, build_command):
    """Run the command line within this process: quick, and seen by coverage."""
    from sms_diar.cli.main import main

    def run(*arguments, stdin: bytes | None = None) -> CliResult:
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with monkeypatch.context() as patch:
            patch.setattr("typer.main.get_command", build_command)
            patch.setattr(sys, "argv", ["sms-diar", *map(str, arguments)])
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    main()
                except SystemExit as end:
                    code = int(end.code or 0)
        return CliResult(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def write_program():
    """Write a program of Python that can be started by its path.

    The path of Python may hold blanks, which the line ``#!`` does not allow. A shell
    starts it instead: the next two lines are a command there, and a text in Python.
    """

    def write(path: Path, code: str) -> Path:
        command = f"""'''exec' {shlex.quote(PYTHON)} "$0" "$@"\n' '''"""
        path.write_text(f"#!/bin/sh\n{command}\n{code}", encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


# --- devices: copies for root, who could lose the real ones to a fault -------------


@pytest.fixture
def null_device(tmp_path) -> Path:
    """A device that swallows everything."""
    return _device(tmp_path / "null", 3)


@pytest.fixture
def full_device(tmp_path) -> Path:
    """A device that is always full."""
    return _device(tmp_path / "full", 7)


def _device(path: Path, minor: int) -> Path:
    if os.geteuid():
        real = Path("/dev") / path.name
        return real if real.exists() else pytest.skip(f"no {real}")
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"devices cannot be made here ({error})")
    return path


# --- speech: data directories, voices, small models ---------------------------


@pytest.fixture(scope="session")
def write_tables():
    """Write tables of a data directory, each a list of lines; dots are ``__``."""

    def write(folder: Path, **tables: list[str]) -> Path:
        folder.mkdir(exist_ok=True)
        for name, lines in tables.items():
            path = folder / name.replace("__", ".")
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def one_voice():
    """Six seconds of a synthetic voice at 8 kHz, speaking from 0.5 s to 5 s."""
    from sms_diar.synthetic.voices import Voice, converse
    from sms_diar.types import Segment

    def speak(seed: int):
        rng = np.random.default_rng(seed)
        turns = [(Segment("x", 0.5, 5.0), Voice.draw(rng))]
        return converse(turns, 6.0, rng, rate=8000)

    return speak


@pytest.fixture(scope="session")
def noise_corpora(tmp_path_factory, write_tables):
    """Two data directories of coloured noise: each speaker has two resonances."""
    import soundfile
    from scipy.signal import lfilter

    folder = tmp_path_factory.mktemp("corpora")
    n_speakers, n_segments, rate = 3, 8, 8000

    def corpus(name: str, prefix: str, seed: int) -> Path:
        rng = np.random.default_rng(seed)
        (folder / name).mkdir()
        wav, table, labels = [], [], []
        for number in range(n_speakers):
            speaker = f"{prefix}{number}"
            signal = rng.standard_normal(n_segments * rate // 2)
            for frequency in rng.uniform(300, 3500, 2):
                radius, angle = 0.95, 2 * np.pi * frequency / rate
                poles = [1, -2 * radius * np.cos(angle), radius**2]
                signal = lfilter([1], poles, signal)
            audio = folder / name / f"{speaker}.wav"
            soundfile.write(audio, 0.3 * signal / abs(signal).max(), rate)
            wav.append(f"{speaker} {audio}")
            for place in range(n_segments):
                times = f"{place / 2} {place / 2 + 0.5}"
                table.append(f"{speaker}-{place} {speaker} {times}")
                labels.append(f"{speaker}-{place} {speaker}")
        return write_tables(folder / name, wav__scp=wav, segments=table, utt2spk=labels)

    return corpus("first", "a", 1), corpus("second", "b", 2)


@pytest.fixture(scope="session")
def noise_model(noise_corpora, tmp_path_factory) -> Path:
    """A tiny i-vector model with a back end, trained on the coloured noise."""
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.features.vad import VadConfig
    from sms_diar.io.kaldi.data_dir import DataDir
    from sms_diar.pipeline.train.extraction import Speech
    from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
    from sms_diar.pipeline.train.models import write_ivector_model

    front_end = FrontEnd(vad=VadConfig(method="none"))
    model = train_ivectors(
        [Speech(DataDir(folder), front_end) for folder in noise_corpora],
        IvectorSettings(n_components=2, rank=4, tv_iter=3),
        backend=True,
    )
    path = tmp_path_factory.mktemp("models") / "model.npz"
    write_ivector_model(path, model)
    return path


# --- neural networks ----------------------------------------------------------


@pytest.fixture
def no_networks(tmp_path_factory, monkeypatch):
    """A machine without networks, whatever its cache folder holds."""
    folder = tmp_path_factory.mktemp("no-networks")
    monkeypatch.setenv("SMS_DIAR_MODELS", str(folder))


@pytest.fixture(scope="session")
def stored_network():
    """Arrays of a network from the user's cache folder, or skip."""
    from sms_diar.networks import store

    def load(name: str):
        if not store.is_stored(name):
            pytest.skip(f"no network '{name}' here; run sms-diar models fetch {name}")
        return store.load(name)

    return load


@pytest.fixture(scope="session")
def originals():
    """What the original networks gave; tests/networks/test_originals.py says how."""
    with np.load(ROOT / "tests" / "networks" / "originals.npz") as content:
        return dict(content)


@pytest.fixture(scope="session")
def warble():
    """Seeded noise and wandering tones at 16 kHz, as whole numbers of 16 bits."""

    def make(seed: int, seconds: float):
        rng = np.random.default_rng(seed)
        t = np.arange(int(seconds * 16000)) / 16000
        x = 0.02 * rng.standard_normal(len(t))
        for _ in range(6):
            pitch, wander = rng.uniform(100, 3500), rng.uniform(0.5, 4)
            level, beat = rng.uniform(0.02, 0.12), rng.uniform(0.3, 3)
            tone = np.sin(2 * np.pi * pitch * t + 8 * np.sin(2 * np.pi * wander * t))
            x += level * tone * (0.5 + 0.5 * np.sin(2 * np.pi * beat * t))
        return np.round(x * 32768).clip(-32768, 32767).astype(np.int16)

    return make
