"""The meeting, with and without its PLDA model and its times."""

from pathlib import Path

import pytest

from benchmarks.compare.meeting import (
    MEETING_ROWS,
    compare_meeting,
    meeting_tasks,
)


def test_rows_differ_by_times_and_by_the_model():
    tasks = meeting_tasks(Path("m"), methods=["ahc"], runs=2, seed=1)
    assert len(tasks) == 6
    ways = [
        (tasks[f"{name}/1"]["times"], tasks[f"{name}/1"]["trained"])
        for name in MEETING_ROWS
    ]
    assert ways == [(False, True), (True, True), (True, False)]


@pytest.mark.corpus
@pytest.mark.soak
def test_a_real_meeting_is_scored(corpus_data):
    folder = str(corpus_data / "ami-es2005a")
    result = compare_meeting(
        folder=folder,
        times=True,
        trained=True,
        run=0,
        methods=["vbx", "ahc-oracle"],
        seed=1,
    )
    assert result["session"]["n_speakers"] == 4
    # With its authors' settings, VBx gives their own answer window by window.
    vbx = result["methods"]["vbx"]
    assert vbx["found"] == 5.0
    assert vbx["der"] == pytest.approx(result["session"]["vbx_rttm"], abs=1e-3)
    assert 0.0 < result["methods"]["ahc-oracle"]["der"] < 1.0


@pytest.mark.corpus
def test_raw_vectors_of_a_real_meeting_are_scored_without_vbx(corpus_data):
    folder = str(corpus_data / "ami-es2005a")
    result = compare_meeting(
        folder=folder,
        times=True,
        trained=False,
        run=0,
        methods=["sms-paper", "vbx"],
        seed=1,
    )
    assert set(result["methods"]) == {"sms-paper"}
    assert 0.0 < result["methods"]["sms-paper"]["der"] < 1.0
