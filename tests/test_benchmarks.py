"""Every suite of scripts/bench can be run; `scripts/soak benchmarks` tests the rest."""

import importlib

import pytest

from benchmarks import gaussians
from benchmarks._records import Options
from benchmarks._report import TITLES, render


@pytest.mark.parametrize("suite", TITLES)
def test_a_suite_has_something_to_run(suite):
    module = importlib.import_module(f"benchmarks.{suite.replace('-', '_')}")
    if hasattr(module, "competitors"):
        assert module.BASE in module.competitors({})
        assert module.cases(quick=True)
    else:
        assert callable(module.run)


def test_a_competitor_labels_a_case(tmp_path):
    case = gaussians.cases(quick=True)[0]
    data = gaussians.load(case, tmp_path)
    outcome = gaussians.competitors({})[gaussians.BASE].make(data, case)()
    assert len(outcome.labels) == case.n


def test_the_stored_results_make_a_report(root, tmp_path, monkeypatch):
    from benchmarks import _report

    monkeypatch.setattr(_report, "draw_growth", lambda found, folder: [])
    render(root / "benchmarks" / "results.json", tmp_path / "RESULTS.md")
    stored = (root / "benchmarks" / "RESULTS.md").read_text("utf-8")
    assert (tmp_path / "RESULTS.md").read_text("utf-8") == stored


def test_options_have_the_defaults_of_the_command_line():
    from benchmarks.__main__ import _parser

    args = _parser().parse_args([])
    assert (args.limit, args.budget) == (Options.limit, Options.budget)
