"""``sms-diar plda eval``, ``calibrate`` and ``apply``."""

import json

import numpy as np
import pytest

from sms_diar.metrics import (
    NIST_COSTS,
    DetectionCost,
    det_curve,
    log_likelihood_ratio_cost,
)
from sms_diar.scoring import fit_fusion, read_fusion

RNG = np.random.default_rng(4)
SAME = np.arange(200) % 4 == 0
BASE = RNG.standard_normal(200) + 2.0 * SAME
SCORES = {
    "one": np.round(3.0 * BASE + RNG.standard_normal(200), 3),
    "two": np.round(BASE + 0.5 * RNG.standard_normal(200) - 1.0, 3),
}
NAMES = [(f"m{i % 10}", f"t{i // 10:02d}") for i in range(200)]
SEX = np.where(np.arange(200) % 3, "m", "f")


@pytest.fixture(name="here")
def folder(tmp_path, monkeypatch):
    """Working folder with a key of Kaldi, one of NIST, and two files of scores."""
    monkeypatch.chdir(tmp_path)
    kinds = ["target" if same else "nontarget" for same in SAME]
    trials = list(zip(NAMES, kinds, SEX, strict=True))
    (tmp_path / "key").write_text("".join(f"{m} {t} {k}\n" for (m, t), k, _ in trials))
    rows = "".join(f"{m}\t{t}.sph\ta\t{k}\t{s}\n" for (m, t), k, s in trials)
    head = "modelid\tsegmentid\tside\ttargettype\tgender\n"
    (tmp_path / "key.tsv").write_text(head + rows)
    for name, values in SCORES.items():
        lines = [f"{m} {t} {v}\n" for (m, t), v in zip(NAMES, values, strict=True)]
        RNG.shuffle(lines)
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


@pytest.fixture(name="plda")
def command_line(here, run_cli):
    def run(*arguments):
        result = run_cli("plda", *arguments)
        return result.returncode, result.stdout, result.stderr

    return run


def metrics(name, costs):
    """What ``plda eval`` should show of the system `name`."""
    curve = det_curve(SCORES[name], SAME)
    return {
        "trials": 200,
        "targets": 50,
        "eer": curve.eer,
        "hull_eer": curve.hull.eer,
        "cllr": log_likelihood_ratio_cost(SCORES[name], SAME),
        "min_cllr": curve.min_cllr,
        **{f"act_{name}": cost.actual_of(curve) for name, cost in costs.items()},
        **{f"min_{name}": cost.min_of(curve) for name, cost in costs.items()},
    }


@pytest.mark.parametrize("key", ["key", "key.tsv"])
def test_json_has_the_values_of_the_library(plda, key):
    costs = {"sre16": NIST_COSTS["sre16"], "0.3,2,1": DetectionCost((0.3,), 2.0, 1.0)}
    options = [word for name in costs for word in ("--cost", name)]
    code, out, err = plda("eval", key, "one", "two", *options, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {name: metrics(name, costs) for name in SCORES}


def test_a_table_has_a_row_for_each_system(plda):
    code, out, err = plda("eval", "key", "one", "two", "--cost", "sre08")
    assert (code, err) == (0, "")
    head, first, second = out.splitlines()
    assert head.split("  ")[0] == "system"
    assert head.endswith("act_sre08  min_sre08")
    trials, targets, *rates = metrics("one", {"sre08": NIST_COSTS["sre08"]}).values()
    expected = ["one", str(trials), str(targets), *(f"{rate:.4f}" for rate in rates)]
    assert first.split() == expected
    assert second.split()[0] == "two"


def test_a_det_curve_is_drawn(here, plda):
    pytest.importorskip("matplotlib")
    assert plda("eval", "key", "one", "two", "--det", "det.png")[0] == 0
    assert (here / "det.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = plda("eval", "key", "one", "--det", "det.txt")
    assert code == 2
    assert "--det" in err
    assert plda("eval", "key", "one", "--det", "one.png", "--json")[0] == 0


def test_fused_scores_are_those_of_the_library(here, plda):
    assert plda("calibrate", "key", "one", "two", "-o", "c.json")[0] == 0
    X = np.stack(list(SCORES.values()), axis=1)
    fusion = fit_fusion(X, SAME)
    stored = read_fusion(here / "c.json")
    # The key has another order than the library was given: the sums differ by rounding.
    assert stored.weights == pytest.approx(fusion.weights, rel=1e-9)
    assert plda("apply", "c.json", "one", "two", "-o", "out")[0] == 0
    rows = [line.split() for line in (here / "out").read_text().splitlines()]
    ratios = {(m, t): float(v) for m, t, v in rows}
    expected = dict(zip(NAMES, stored.transform(X), strict=True))
    assert ratios == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert plda("apply", "c.json", "one", "two")[1] == (here / "out").read_text()


def test_the_message_of_calibrate_has_weights_and_cost(plda):
    code, out, _ = plda("calibrate", "key", "two", "-o", "c.json", "--prior", "0.1")
    assert code == 0
    assert out.startswith("wrote c.json: ")
    assert " two " in out
    assert "on these 200 trials" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("eval", "none", "one"), 1, "none: no such file"),
        (("eval", "key", "key"), 1, "key:1: a score must be a finite number"),
        (("eval", "one", "one"), 1, "one:1: a trial is target or nontarget"),
        (("eval", "targets", "one"), 1, "must mark some trials"),
        (("eval", "key", "part"), 1, "is not among the"),
        (("eval", "key", "one", "part"), 1, "part: has no score of 199 of 200 trials"),
        (("eval", "key", "one", "--cost", "sre99"), 2, "sre99"),
        (("eval", "key", "one", "--cost", "2,1,1"), 2, "2,1,1"),
        (("calibrate", "key", "one", "-o", "one"), 1, "one"),
        (("calibrate", "key", "one", "-o", "c", "--prior", "1"), 1, "--prior"),
        (("apply", "c.json", "one"), 2, "needs 2 files"),
        (("apply", "key", "one"), 1, "key: not a calibration"),
    ],
)
def test_wrong_files_are_refused_and_nothing_is_written(
    here, plda, arguments, code, says
):
    (here / "targets").write_text("m0 t00 target\n")
    (here / "part").write_text("m0 t00 1\n")
    assert plda("calibrate", "key", "one", "two", "-o", "c.json")[0] == 0
    before = {path: path.read_bytes() for path in here.iterdir()}
    got, out, err = plda(*arguments)
    assert (got, out) == (code, "")
    assert says in " ".join(err.replace("│", " ").split())
    assert {path: path.read_bytes() for path in here.iterdir()} == before
