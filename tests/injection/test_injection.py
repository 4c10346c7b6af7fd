"""A little of what ``scripts/soak faults`` does, every day."""

import importlib.util
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _load():
    """The harness is a program too, so it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("fault_harness", HERE / "harness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fault_harness"] = module
    spec.loader.exec_module(module)
    return module


harness = _load()


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(dir=harness.fast_folder()) as name:
        path = Path(name)
        harness.prepare(path)
        yield path


@pytest.mark.parametrize(
    ("name", "step"),
    [("cluster", 1), ("ivectors-extract", 2), ("models-fetch", 1)],  # all: scripts/soak
)
def test_a_command_killed_at_any_call_leaves_old_or_new_and_can_be_repeated(
    folder, name, step
):
    trial = harness.Trial(harness.jobs()[name], folder)
    number = 1
    while trial.attempt(f"call {number}", harness.at_call(number, harness.killed)):
        number += step
    # Of each file at least a flush and a rename; of an scp, a removal.
    assert number > 2 * len(trial.job.results) + len(trial.job.indices)
    assert trial.tally.faults == []


def test_a_disk_without_space_costs_an_exit_code_of_one(folder):
    trial = harness.Trial(harness.jobs()["features"], folder)
    trial.starved()
    assert trial.tally.faults == []
