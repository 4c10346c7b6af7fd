"""Stages: what runs, what is skipped, and what a crash leaves behind."""

import fcntl
import json
from pathlib import Path

import pytest

from sms_diar._random import named_generator
from sms_diar.errors import ExperimentError
from sms_diar.experiment.stages import Stage, run_stages, run_tasks


class Recorder:
    """Two chains that meet in a report, each stage noting that it ran."""

    def __init__(self):
        self.ran = []
        self.fail = None

    def stages(self, one=1, two=2):
        def note(run):
            if run.name == self.fail:
                raise RuntimeError("crash")
            self.ran.append(run.name)
            (run.folder / "out").write_text(run.name)

        return [
            Stage("draw", note, {"value": one}),
            Stage("cluster", note, after=("draw",)),
            Stage("other", note, {"value": two}),
            Stage("report", note, after=("cluster", "other")),
        ]


ALL = ["draw", "cluster", "other", "report"]


@pytest.fixture
def recorder():
    return Recorder()


def test_everything_runs_once(recorder, tmp_path):
    assert run_stages(recorder.stages(), tmp_path) == ALL
    assert run_stages(recorder.stages(), tmp_path) == []
    assert recorder.ran == ALL


def test_a_changed_setting_runs_what_can_see_it(recorder, tmp_path):
    run_stages(recorder.stages(), tmp_path)
    assert run_stages(recorder.stages(two=3), tmp_path) == ["other", "report"]
    again = run_stages(recorder.stages(one=5, two=3), tmp_path)
    assert again == ["draw", "cluster", "report"]


def test_from_repeats_a_stage_and_its_dependents(recorder, tmp_path):
    run_stages(recorder.stages(), tmp_path)
    (tmp_path / "cluster" / "left-over").write_text("old")
    again = run_stages(recorder.stages(), tmp_path, first="cluster")
    assert again == ["cluster", "report"]
    assert not (tmp_path / "cluster" / "left-over").exists()


CALLS = []


def count_call(*, number):
    CALLS.append(number)
    return number


def test_from_repeats_the_finished_repetitions_of_dependents(tmp_path):
    def cluster(run):
        run.map(count_call, {"a": {"number": 1}, "b": {"number": 2}})

    stages = [
        Stage("draw", lambda run: None),
        Stage("cluster", cluster, after=("draw",)),
    ]
    CALLS.clear()
    run_stages(stages, tmp_path)
    run_stages(stages, tmp_path)
    assert CALLS == [1, 2]
    run_stages(stages, tmp_path, first="draw")
    assert CALLS == [1, 2, 1, 2]


def test_an_unknown_stage_is_named(recorder, tmp_path):
    with pytest.raises(ExperimentError, match=r"'embeddings'.* draw, cluster, other, "):
        run_stages(recorder.stages(), tmp_path, first="embeddings")


@pytest.mark.parametrize("broken", ALL)
def test_a_crash_is_not_mistaken_for_success(recorder, tmp_path, broken):
    run_stages(recorder.stages(), tmp_path)
    recorder.fail = broken
    with pytest.raises(RuntimeError, match="crash"):
        run_stages(recorder.stages(), tmp_path, first=broken)
    recorder.fail = None
    again = run_stages(recorder.stages(), tmp_path)
    assert again[0] == broken
    assert again[-1] == "report"
    assert run_stages(recorder.stages(), tmp_path) == []


def test_another_version_runs_everything_again(recorder, tmp_path, monkeypatch):
    run_stages(recorder.stages(), tmp_path)
    monkeypatch.setattr("sms_diar.experiment.stages.__version__", "99.0")
    assert run_stages(recorder.stages(), tmp_path) == ALL


def test_a_damaged_stamp_runs_the_stage_again(recorder, tmp_path):
    run_stages(recorder.stages(), tmp_path)
    (tmp_path / "other" / "stage.json").write_text("{")
    assert run_stages(recorder.stages(), tmp_path) == ["other", "report"]
    stamp = json.loads((tmp_path / "other" / "stage.json").read_text())
    assert set(stamp) == {"fingerprint", "version"}


def test_two_runs_do_not_share_a_folder(recorder, tmp_path):
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ExperimentError, match="another run is using this folder"):
            run_stages(recorder.stages(), tmp_path)
    assert recorder.ran == []


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
        for workers in (1, 2)
    ]
    assert results[0] == results[1]
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


def test_named_streams_are_unrelated():
    draws = [named_generator(1, "set", i).standard_normal() for i in range(400)]
    assert len(set(draws)) == 400
    assert abs(sum(draws)) / 400 < 5 / 400**0.5
    first, second = (named_generator(1, *names) for names in (("a", "b"), ("ab",)))
    assert first.integers(2**60) != second.integers(2**60)
