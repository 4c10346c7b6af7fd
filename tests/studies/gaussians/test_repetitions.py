"""Repetitions on Gaussian clusters."""

import numpy as np
import pytest

from sms_diar.errors import DataFormatError
from sms_diar.studies._shared.printed import read_printed, worst_deviation
from sms_diar.studies.gaussians import repetitions as gaussians

METHOD = {
    "bandwidth": 0.9,
    "kernel": "uniform",
    "tol": 1e-6,
    "max_steps": 100_000,
    "dsms_low": 0.5,
    "dsms_high": 1.5,
}
NAMES = ("MS", "BMS", "SMS", "DSMS")


def without_times(figures):
    return {
        name: {measure: value for measure, value in row.items() if measure != "seconds"}
        for name, row in figures.items()
    }


def table(run, seed=1):
    figures = gaussians.table_repetition(
        set_name="set2", run=run, std=0.6, methods=NAMES, method=METHOD, seed=seed
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
        method=METHOD,
        seed=1,
    )
    assert len(seen["sizes"]) == n_labels
    assert seen["X"].shape[1] == (5 if sweep == "dimension" else 2)
    # 60 points with one cluster four times as large as the others: 10 + 10 + 40
    expected = {"time": [10, 10, 10], "ratio": [10, 10, 40]}.get(sweep, [20] * n_labels)
    assert seen["sizes"].tolist() == expected


def test_summary_by_hand():
    runs = [{"SMS": {"k": value}} for value in (0.0, 0.5, 1.0)]
    summary = gaussians.summarise(runs)["SMS"]["k"]
    assert summary == pytest.approx(
        {"mean": 0.5, "std": 0.5, "low": 0.05, "median": 0.5, "high": 0.95}
    )
    assert gaussians.summarise(runs[:1])["SMS"]["k"]["std"] == 0.0


def test_growth_of_a_power_law_is_its_power():
    points = [10, 100, 1000, 10_000]
    assert gaussians.growth_exponent(points, [n**1.7 for n in points]) == pytest.approx(
        1.7
    )
    assert np.isnan(gaussians.growth_exponent([10], [1.0]))


def test_printed_table_has_all_rows_of_the_paper(root):
    printed = read_printed(root / "recipes" / "synthetic" / "paper.csv")
    assert len(printed) == 12
    assert printed["set4", "MS"]["n_clusters"] == 3.35
    # K is the geometric mean of ACP and ALP, up to the printed digits
    for figures in printed.values():
        assert figures["k"] == pytest.approx(
            np.sqrt(figures["acp"] * figures["alp"]), abs=0.012
        )


def test_a_broken_printed_table_is_named(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("set,method,acp\nset1,MS,.9\n")
    with pytest.raises(
        DataFormatError, match=r"paper\.csv:2: expected the columns set"
    ):
        read_printed(path)


def test_worst_deviation_looks_at_purities_only():
    gap = {"acp": 0.01, "alp": -0.04, "k": 0, "pur_cd": 0, "pur_dc": 0, "g": 0.02}
    assert worst_deviation({**gap, "n_clusters": 3.0}) == 0.04
