"""A little of what ``scripts/soak fuzz`` does, every day, with the same inputs."""

import importlib.util
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

HERE = Path(__file__).resolve().parent


def _load():
    """The harness is a program too, so it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("fuzz_harness", HERE / "harness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_harness"] = module
    spec.loader.exec_module(module)
    return module


harness = _load()
READERS = harness.readers()
HDF5 = ("transform-h5", "sidekit", "mat-h5")
DEAR = ("parquet", *HDF5, "model-parts", "data-dir")
SOUND = ("wav", "flac", "ogg", "sphere", "shorten")


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(dir=harness.fast_folder()) as path:
        yield Path(path)


def needed(name):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    if name in HDF5:
        pytest.importorskip("h5py")
    return READERS[name]


def test_every_reader_has_seeds_and_they_are_small():
    assert {path.name for path in harness.CORPUS.iterdir()} == set(READERS)
    sizes = [path.stat().st_size for path in harness.CORPUS.glob("*/*")]
    assert sum(sizes) < 300_000


@pytest.mark.parametrize("name", READERS)
def test_kept_inputs_cost_no_more_than_an_error_of_ours(name, folder):
    reader = needed(name)
    faults = [harness.fault_of(reader, data, folder) for data in reader.seeds()]
    assert faults == [None] * len(faults)


# Sound that soundfile refuses goes to ffmpeg, and a process for each input would cost
# more than all other readers: here it gets a few, and all of them in scripts/soak.
@pytest.fixture
def no_ffmpeg(monkeypatch):
    monkeypatch.setattr("sms_diar.io.audio.ffmpeg.is_installed", lambda: False)


@pytest.mark.parametrize("name", READERS)
def test_changed_inputs_cost_no_more_than_an_error_of_ours(name, folder, no_ffmpeg):
    executions = 50 if name in DEAR else 250
    outcome = harness.mutate(needed(name), folder, executions=executions)
    assert outcome.executions == executions
    assert outcome.faults == {}


@pytest.mark.parametrize("name", SOUND)
def test_changed_sound_costs_no_more_with_ffmpeg(name, folder):
    outcome = harness.mutate(READERS[name], folder, executions=8)
    assert outcome.executions == 8
    assert outcome.faults == {}


LETTERS = st.characters() | st.sampled_from(
    "\0\t\n\r ,;:[]{}()=+-@'\"|.#eE019\ufeff\xb2"
)
LINES = st.lists(st.text(LETTERS, max_size=12), max_size=8).map(" ".join)
TEXTS = st.lists(LINES, max_size=6).map("\n".join)
INPUTS = st.binary(max_size=200) | TEXTS.map(lambda t: t.encode("utf-8", "replace"))


@given(st.sampled_from(sorted(set(READERS) - set(DEAR))), INPUTS)
def test_drawn_inputs_cost_no_more_than_an_error_of_ours(name, data):
    with tempfile.TemporaryDirectory(dir=harness.fast_folder()) as path:
        assert harness.fault_of(READERS[name], data, Path(path)) is None


def test_a_reader_that_fails_hangs_or_swells_is_found(folder, monkeypatch):
    def fail(_):
        raise KeyError("x")

    def hang(_):
        while True:
            pass

    monkeypatch.setattr(harness, "LONGEST", 0.05)
    faults = [
        harness.fault_of(harness.Reader("x", "", read), b"", folder)
        for read in (fail, hang)
    ]
    assert faults[0].startswith("KeyError")
    assert faults[1] == "took too long"
    monkeypatch.setattr(harness, "LONGEST", 5.0)
    monkeypatch.setattr(harness, "MEMORY", -1)
    fine = harness.Reader("x", "", lambda _: None)
    assert harness.fault_of(fine, b"", folder) == "asked for 0 MiB"
