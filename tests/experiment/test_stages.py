"""Stages: what runs, what is skipped, and what a crash leaves behind."""

import fcntl
import json

import pytest

from sms_diar.errors import ExperimentError
from sms_diar.experiment.stages import Stage, run_stages


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
    assert run_stages(recorder.stages(one=5, two=3), tmp_path) == [
        "draw",
        "cluster",
        "report",
    ]


def test_from_repeats_a_stage_and_its_dependents(recorder, tmp_path):
    run_stages(recorder.stages(), tmp_path)
    (tmp_path / "cluster" / "left-over").write_text("old")
    assert run_stages(recorder.stages(), tmp_path, first="cluster") == [
        "cluster",
        "report",
    ]
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
    with pytest.raises(ExperimentError) as caught:
        run_stages(recorder.stages(), tmp_path, first="embeddings")
    assert str(caught.value) == (
        "no stage named 'embeddings'; this recipe has draw, cluster, other, report"
    )


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
        with pytest.raises(ExperimentError) as caught:
            run_stages(recorder.stages(), tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: another run is using this folder; wait for it or choose another "
        f"one with --exp"
    )
    assert recorder.ran == []
