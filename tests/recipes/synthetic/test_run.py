"""The synthetic recipe, in a size for tests, and what interrupting it does."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sms_diar.experiment.recipe import find_recipe, run_recipe

TOY = """
runs = 2
repetitions = 2
sets = ["set2"]
[search]
runs = 2
bandwidths = [0.8, 0.9]
[sweeps]
per_cluster = 10
ratios = [0.5, 1]
dimensions = [2, 3]
clusters = [2, 3]
sizes = [5, 10, 20]
time_points = 0
"""


# Under nohup, and in background jobs, Ctrl-C is ignored, and Python leaves it so.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sms_diar.cli.main import main; main()"
)


def command(folder, conf, *more):
    return [
        sys.executable,
        "-c",
        MAIN,
        "run",
        "synthetic",
        "--exp",
        str(folder),
        "--conf",
        str(conf),
        *more,
    ]


def run(folder, conf, **options):
    return run_recipe(find_recipe("synthetic"), folder, conf=[conf], **options)


def figures(folder):
    """All results but times and stamps."""

    def strip(value):
        if isinstance(value, dict):
            return {
                key: strip(inner)
                for key, inner in value.items()
                if key not in ("stamp", "seconds", "growth")
            }
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip(json.loads((folder / "report" / "results.json").read_text()))


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    conf = folder / "toy.toml"
    conf.write_text(TOY)
    return folder / "exp", conf, run(folder / "exp", conf)


def test_writes_every_kind_of_output(toy):
    folder, _, outcome = toy
    written = {path.name for path in (folder / "report").iterdir()}
    assert written >= {
        "results.json",
        "table.csv",
        "table.tex",
        "report.md",
        "summary.txt",
        "sweep-ratio.png",
        "sweep-dimension.pdf",
        "sweep-clusters.png",
        "sweep-time.png",
    }
    assert (folder / "pictures" / "pictures.png").stat().st_size > 10_000
    assert "difference" in outcome.summary
    assert "\nset2\n" in outcome.summary
    rows = [line for line in outcome.summary.splitlines() if line.startswith("points-")]
    assert len(rows) == 2 * (3 * 3 + 1)  # DSMS is not printed
    assert max(len(row) for row in rows) <= 80


def test_shows_the_printed_value_and_the_difference(toy):
    folder = toy[0]
    results = json.loads((folder / "report" / "results.json").read_text())
    entry = results["table"]["reproducing"]["set2"]["points-sms"]["k"]
    assert entry["printed"] == 0.87
    assert entry["difference"] == pytest.approx(entry["mean"] - 0.87)
    assert "printed" not in results["table"]["reproducing"]["set2"]["points-dsms"]["k"]
    assert results["stamp"]["seed"] == 1
    assert "(.87, " in (folder / "report" / "report.md").read_text()


@pytest.mark.soak  # tests/experiment says the same of tasks
def test_the_number_of_workers_does_not_change_the_figures(toy, tmp_path):
    folder, conf, _ = toy
    run(tmp_path / "exp", conf, workers=2)
    assert figures(tmp_path / "exp") == figures(folder)


def test_a_second_run_repeats_nothing(toy, run_cli):
    folder, conf, _ = toy
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.png")}
    result = run_cli("run", "synthetic", "--exp", folder, "--conf", conf, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table"]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.png")} == before


def finished(folder, stage):
    journal = folder / stage / "journal.jsonl"
    if not journal.exists():
        return []
    lines = journal.read_text().splitlines()[1:]
    return [json.loads(line)["key"] for line in lines if line.endswith("}")]


@pytest.mark.parametrize(
    ("workers", "end"),
    [
        pytest.param("1", signal.SIGINT, id="1-ctrl-c"),
        pytest.param("2", signal.SIGINT, id="2-ctrl-c", marks=pytest.mark.soak),
        pytest.param("1", signal.SIGKILL, id="1-kill -9", marks=pytest.mark.soak),
        pytest.param("2", signal.SIGKILL, id="2-kill -9", marks=pytest.mark.soak),
    ],
)
def test_an_interrupted_run_goes_on_where_it_stopped(toy, tmp_path, end, workers):
    conf = tmp_path / "slow.toml"
    conf.write_text(TOY.replace("runs = 2", "runs = 60", 1))
    folder, errors = tmp_path / "exp", tmp_path / "errors"
    same = {"workers": int(workers), "assignments": ("figures=false",)}
    with errors.open("w") as stderr:  # a pipe would be kept open by orphaned workers
        process = subprocess.Popen(
            command(folder, conf, "--workers", workers, "--set", "figures=false"),
            stderr=stderr,
            start_new_session=True,
        )
    deadline = time.monotonic() + 60
    while len(finished(folder, "table")) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    if end == signal.SIGINT:
        os.killpg(process.pid, end)  # as a terminal does
    else:
        process.kill()
    process.wait(timeout=60)
    done = finished(folder, "table")
    assert 5 <= len(done) < 120
    assert not (folder / "table" / "stage.json").exists()
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert errors.read_text().splitlines()[-1] == (
            "sms-diar: interrupted; run it again to go on from here"
        )

    before = (
        (folder / "table" / "journal.jsonl").read_text().splitlines()[1 : len(done)]
    )
    run(folder, conf, **same)
    after = (folder / "table" / "journal.jsonl").read_text().splitlines()[1 : len(done)]
    assert after == before  # times and all: these were not computed again
    fresh = tmp_path / "fresh"
    run(fresh, conf, **same)
    assert figures(folder) == figures(fresh)
