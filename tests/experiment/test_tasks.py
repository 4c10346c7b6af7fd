"""Repetitions that survive interruptions."""

import json
from pathlib import Path

import numpy as np
import pytest

from sms_diar._random import named_generator
from sms_diar.experiment.tasks import run_tasks


def draw(*, seed, name, log=None):
    if log is not None:
        with Path(log).open("a") as file:
            file.write(f"{name}\n")
    if name == "bad":
        raise ValueError("this one fails")
    return {"value": named_generator(seed, name).standard_normal()}


def tasks_for(names, log=None):
    return {name: {"seed": 1, "name": name, "log": log} for name in names}


NAMES = [f"run{i}" for i in range(12)]


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    results = [
        run_tasks(
            draw,
            tasks_for(NAMES),
            journal=tmp_path / f"{workers}.jsonl",
            fingerprint="f",
            workers=workers,
        )
        for workers in (1, 2, 3)
    ]
    assert results[0] == results[1] == results[2]
    assert list(results[1]) == NAMES


def test_finished_tasks_are_not_repeated(tmp_path):
    log, journal = tmp_path / "log", tmp_path / "j.jsonl"
    names = ["a", "b", "bad", "c"]
    with pytest.raises(ValueError, match="this one fails"):
        run_tasks(draw, tasks_for(names, log), journal=journal, fingerprint="f")
    assert log.read_text().split() == ["a", "b", "bad"]
    good = ["a", "b", "c"]
    results = run_tasks(draw, tasks_for(good, log), journal=journal, fingerprint="f")
    assert log.read_text().split() == ["a", "b", "bad", "c"]
    fresh = run_tasks(
        draw, tasks_for(good), journal=tmp_path / "k.jsonl", fingerprint="f"
    )
    assert results == fresh


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_line_is_done_again(tmp_path, cut):
    log, journal = tmp_path / "log", tmp_path / "j.jsonl"
    whole = run_tasks(draw, tasks_for("abc"), journal=journal, fingerprint="f")
    journal.write_bytes(journal.read_bytes()[:-cut])
    again = run_tasks(draw, tasks_for("abc", log), journal=journal, fingerprint="f")
    assert again == whole
    # Cutting just the newline loses nothing; cutting more loses the last task.
    assert (log.read_text() if log.exists() else "").split() == (
        [] if cut == 1 else ["c"]
    )


def test_other_settings_throw_the_journal_away(tmp_path):
    log, journal = tmp_path / "log", tmp_path / "j.jsonl"
    run_tasks(draw, tasks_for("ab"), journal=journal, fingerprint="old")
    run_tasks(draw, tasks_for("ab", log), journal=journal, fingerprint="new")
    assert log.read_text().split() == ["a", "b"]
    assert json.loads(journal.read_text().splitlines()[0]) == {"fingerprint": "new"}


@pytest.mark.parametrize(
    "content", [b"", b"not json\n", b"\xff\xfe\n", b"[]\n", b"{}\n"]
)
def test_a_journal_that_makes_no_sense_is_ignored(tmp_path, content):
    journal = tmp_path / "j.jsonl"
    journal.write_bytes(content)
    results = run_tasks(draw, tasks_for("ab"), journal=journal, fingerprint="f")
    assert list(results) == ["a", "b"]


def test_floats_survive_the_journal_to_the_last_bit(tmp_path):
    journal = tmp_path / "j.jsonl"
    first = run_tasks(draw, tasks_for(NAMES), journal=journal, fingerprint="f")
    second = run_tasks(draw, tasks_for(NAMES), journal=journal, fingerprint="f")
    for name in NAMES:
        exact = named_generator(1, name).standard_normal()
        assert first[name]["value"] == second[name]["value"] == exact


def test_named_streams_are_unrelated():
    draws = np.array(
        [named_generator(1, "set", i).standard_normal() for i in range(400)]
    )
    assert len(np.unique(draws)) == 400
    assert abs(draws.mean()) < 5 / np.sqrt(400)
    assert named_generator(1, "a", "b").integers(2**60) != named_generator(
        1, "ab"
    ).integers(2**60)
