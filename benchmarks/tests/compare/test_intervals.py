"""Intervals of paired differences."""

import numpy as np
import pytest

from benchmarks.compare.intervals import stratified_interval


def test_sessions_that_all_agree_leave_no_doubt():
    found = stratified_interval([np.full(5, 0.1), np.full(3, 0.3)], 0)
    assert found["low"] == pytest.approx(0.2)
    assert found["high"] == pytest.approx(0.2)


def test_an_interval_covers_as_often_as_it_says():
    # Two conditions of ten sessions, true difference 0: 95 % should cover, and
    # 400 trials have a standard error of 1.1 %.
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        gaps = [rng.normal(0.0, 1.0, 10), rng.normal(0.0, 2.0, 10)]
        found = stratified_interval(gaps, 1, n_samples=400)
        covered += found["low"] <= 0.0 <= found["high"]
    assert 0.90 <= covered / 400 <= 0.98


def test_one_session_has_no_interval_beyond_itself():
    found = stratified_interval([np.array([0.25])], 0)
    assert (found["low"], found["high"]) == (0.25, 0.25)
