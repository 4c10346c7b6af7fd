"""Repetitions on Gaussian clusters."""

import numpy as np
import pytest

from recipes.synthetic import repetitions as gaussians

SETTINGS = {
    "bandwidth": 0.9,
    "kernel": "uniform",
    "tol": 1e-6,
    "max_steps": 100_000,
    "dsms_low": 0.5,
    "dsms_high": 1.5,
}
NAMES = gaussians.METHODS


def without_times(figures):
    return {
        name: {measure: value for measure, value in row.items() if measure != "seconds"}
        for name, row in figures.items()
    }


def table(run, seed=1):
    figures = gaussians.table_repetition(
        set_name="set2", run=run, std=0.6, methods=NAMES, settings=SETTINGS, seed=seed
    )
    return without_times(figures)


def test_a_repetition_follows_from_its_seed_and_number():
    assert table(0) == table(0)
    assert table(0) != table(1)
    assert table(0) != table(0, seed=2)


@pytest.mark.parametrize(
    ("sweep", "value", "n_labels"),
    [("time", 10, 3), ("ratio", 4.0, 3), ("dimension", 5, 3), ("clusters", 4, 4)],
)
def test_every_sweep_draws_what_it_says(sweep, value, n_labels, monkeypatch):
    seen = {}

    def spy(names, sample, *rest):
        seen["X"], seen["sizes"] = sample.X, np.bincount(sample.truth)
        return {}

    monkeypatch.setattr(gaussians, "run_methods", spy)
    gaussians.sweep_repetition(
        sweep=sweep,
        value=value,
        run=0,
        std=0.6,
        per_cluster=20,
        methods=NAMES,
        settings=SETTINGS,
        seed=1,
    )
    assert len(seen["sizes"]) == n_labels
    assert seen["X"].shape[1] == (5 if sweep == "dimension" else 2)
    # 60 points with one cluster four times as large as the others: 10 + 10 + 40
    expected = {"time": [10, 10, 10], "ratio": [10, 10, 40]}.get(sweep, [20] * n_labels)
    assert seen["sizes"].tolist() == expected


def test_growth_of_a_power_law_is_its_power():
    points = [10, 100, 1000, 10_000]
    assert gaussians.growth_exponent(points, [n**1.7 for n in points]) == pytest.approx(
        1.7
    )
    assert np.isnan(gaussians.growth_exponent([10], [1.0]))
