"""One session, all methods; and the meeting."""

import numpy as np
import pytest

from sms_diar.io.model import write_model
from sms_diar.scoring import backend_to_model, train_backend
from sms_diar.studies.compare.conditions import Condition
from sms_diar.studies.compare.meeting import compare_meeting
from sms_diar.studies.compare.peers import Labelling
from sms_diar.studies.compare.sessions import (
    compare_one,
    estimate_minutes,
    figures_of,
    session_tasks,
)
from sms_diar.synthetic import PldaWorld


@pytest.fixture
def catalogue(tmp_path):
    fields = {"dim": 8, "eer": 0.05}
    training = PldaWorld(**fields).draw_training(40, 8, 0)
    path = tmp_path / "backend.npz"
    backend = train_backend(training.X, training.speakers)
    write_model(path, backend_to_model(backend))
    return {"w": {"world": fields, "tail": 0.0, "backend": str(path)}}


def tasks(conditions, catalogue, **changes):
    work = {"methods": ["sms", "ahc"], "limited": [], "limit": 10, "seed": 1}
    return session_tasks(conditions, catalogue, **{**work, **changes})


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
    # Clusters are pure; b's purity is 1/2: ALP = 3/4, K = sqrt(3/4).
    assert found["k"] == pytest.approx(np.sqrt(0.75))


def test_the_estimate_is_shared_by_the_workers():
    rows = [Condition("x", "g", "w", 10, "100", 60)]
    # 60 sessions of 1,000 segments, 0.3 + 1.9 s each.
    assert estimate_minutes(rows, ["sms"], [], 0, 1) == pytest.approx(2.2)
    assert estimate_minutes(rows, ["sms"], [], 0, 2) == pytest.approx(1.1)


@pytest.mark.corpus
@pytest.mark.soak
def test_a_real_meeting_is_scored(corpus_data):
    folder = str(corpus_data / "ami-es2005a")
    result = compare_meeting(
        folder=folder, times=True, run=0, methods=["vbx", "ahc-oracle"], seed=1
    )
    assert result["session"]["n_speakers"] == 4
    # With its authors' settings, VBx gives their own answer window by window.
    vbx = result["methods"]["vbx"]
    assert vbx["found"] == 5.0
    assert vbx["der"] == pytest.approx(result["session"]["vbx_rttm"], abs=1e-3)
    assert 0.0 < result["methods"]["ahc-oracle"]["der"] < 1.0
