"""One session, all methods; and the meeting."""

import numpy as np
import pytest

from benchmarks.compare.conditions import Condition
from benchmarks.compare.conversations import prepare_conversations
from benchmarks.compare.peers import Labelling
from benchmarks.compare.sessions import (
    compare_one,
    estimate_minutes,
    figures_of,
    session_tasks,
    timed_tasks,
)
from benchmarks.compare.timed import TimedCondition
from benchmarks.compare.vectors import prepare_stand_in
from sms_diar.io.model import write_model
from sms_diar.scoring import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld

WORK = {
    "methods": ["sms", "ahc"],
    "limited": [],
    "limit": 10,
    "limit_pairs": 3000,
    "seed": 1,
}


@pytest.fixture
def catalogue(tmp_path):
    fields = {"dim": 8, "eer": 0.05}
    training = PldaWorld(**fields).draw_training(40, 8, 0)
    path = tmp_path / "backend.npz"
    backend = train_backend(training.X, training.speakers)
    write_model(path, backend_to_model(backend))
    return {"w": {"world": fields, "tail": 0.0, "backend": str(path)}}


def tasks(conditions, catalogue, **changes):
    return session_tasks(conditions, catalogue, **{**WORK, **changes})


def test_a_session_is_judged_by_all_methods(catalogue):
    found = tasks([Condition("x", "g", "w", 3, "10", 2)], catalogue)
    assert list(found) == ["x/0", "x/1"]
    result = compare_one(**found["x/1"])
    assert result["session"]["n_segments"] == 30
    assert 0.0 <= result["session"]["eer"] < 0.2
    assert set(result["methods"]) == {"sms", "ahc"}
    again = compare_one(**found["x/1"])
    for name in ("k", "g", "found"):
        assert result["methods"]["sms"][name] == again["methods"]["sms"][name]


def test_a_session_of_one_speaker_has_no_error_rate(catalogue):
    found = tasks([Condition("x", "g", "w", 1, "10", 1)], catalogue, methods=["ahc"])
    assert compare_one(**found["x/0"])["session"]["eer"] == 0.0


def test_limited_methods_are_missing_from_large_sessions(catalogue):
    found = tasks([Condition("x", "g", "w", 3, "10", 1)], catalogue, limited=["sms"])
    assert set(compare_one(**found["x/0"])["methods"]) == {"ahc"}


def test_long_sessions_are_begun_first(catalogue):
    rows = [Condition("short", "g", "w", 2), Condition("long", "g", "w", 9)]
    assert next(iter(tasks(rows, catalogue))) == "long/0"


def test_figures_are_those_of_the_labels():
    # Two speakers of two segments, found as three clusters: one too many.
    truth = np.array(["a", "a", "b", "b"])
    found = figures_of(truth, Labelling(np.array([0, 0, 1, 2]), 0.5))
    assert found["found"] == 3.0
    assert found["count_error"] == 1.0
    assert found["relative_error"] == 0.5
    assert found["exact"] == 0.0
    assert found["seconds"] == 0.5
    # One of b's two clusters is b's, the other nobody's: 3 of 4 are right.
    assert found["right"] == 0.75
    # Clusters are pure; b's purity is 1/2: ALP = 3/4, K = sqrt(3/4).
    assert found["k"] == pytest.approx(np.sqrt(0.75))


def test_the_estimate_is_shared_by_the_workers():
    rows = [Condition("x", "g", "w", 10, "100", 60)]
    # 60 sessions of 1,000 segments, 0.3 + 1.9 s each.
    assert estimate_minutes(rows, ["sms"], [], 0, 1) == pytest.approx(2.2)
    assert estimate_minutes(rows, ["sms"], [], 0, 2) == pytest.approx(1.1)


def test_without_a_back_end_vectors_are_scored_by_the_session(tmp_path):
    world = {"dim": 8, "eer": 0.05}
    catalogue = prepare_stand_in(world=world, folder=str(tmp_path), seed=1)
    (source,) = catalogue
    row = Condition("x", "g", source, 3, "10", 1, part="untrained")
    found = tasks([row], catalogue, methods=["sms-paper", "vbx"])
    result = compare_one(**found["x/0"])
    # VBx cannot do without a PLDA model.
    assert set(result["methods"]) == {"sms-paper"}
    assert 0.0 <= result["session"]["eer"] < 0.3
    assert result["session"]["seconds"] == pytest.approx(30 * 2.4)
    assert result["reliability"] == {}


@pytest.fixture
def talks():
    drawn = {"world": {"dim": 8, "eer": 0.01}, "each": 1, "seed": 1}
    return prepare_conversations(name="t", source={"stand_in": drawn}, words="t")


def test_windows_in_time_are_judged_by_all_methods(talks):
    row = TimedCondition("x", "g", "t", "windows", "whole", 30.0)
    found = timed_tasks([row], talks, **WORK)
    assert list(found) == ["x/0", "x/1", "x/2"]
    result = compare_one(**found["x/1"])
    assert result["session"]["recording"] == "c2_0"
    assert result["session"]["n_speakers"] == 2
    assert result["session"]["seconds"] == talks["t"]["recordings"]["c2_0"]["seconds"]
    assert set(result["methods"]) == {"sms", "ahc"}
    assert 0.0 < result["methods"]["ahc"]["right"] <= 1.0


def test_cuts_are_as_long_as_was_asked_for(talks):
    once = TimedCondition("x", "g", "t", "lengths", "cut", 20.0)
    again = TimedCondition("y", "g", "t", "lengths", "repeat", 20.0, times=3)
    found = timed_tasks([once, again], talks, **{**WORK, "methods": ["ahc"]})
    # The longest first.
    assert next(iter(found)) == "y/0"
    assert compare_one(**found["x/0"])["session"]["seconds"] == 20.0
    assert compare_one(**found["y/0"])["session"]["seconds"] == 60.0


def test_methods_that_score_all_pairs_are_missing_from_long_sessions(talks):
    row = TimedCondition("x", "g", "t", "windows", "whole", 30.0)
    work = {**WORK, "methods": ["sms-paper", "ahc"], "limit_pairs": 20}
    found = timed_tasks([row], talks, **work)
    assert set(compare_one(**found["x/0"])["methods"]) == {"sms-paper"}
