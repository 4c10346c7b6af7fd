"""The synthetic recipe, in a size for tests, and what interrupting it does."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

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


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    path = tmp_path_factory.mktemp("conf") / "toy.toml"
    path.write_text(TOY)
    return path


@pytest.fixture(scope="module")
def toy(run, conf, tmp_path_factory):
    return run(tmp_path_factory.mktemp("toy") / "exp", conf=[conf])


def test_writes_every_kind_of_output(toy):
    written = {path.name for path in (toy.folder / "report").iterdir()}
    texts = {"results.json", "table.csv", "table.tex", "report.md", "summary.txt"}
    sweeps = ("ratio", "dimension", "clusters", "time")
    assert written >= texts | {f"sweep-{name}.png" for name in sweeps}
    assert (toy.folder / "pictures" / "pictures.png").stat().st_size > 10_000
    rows = [line for line in toy.summary.splitlines() if line.startswith("points-")]
    assert len(rows) == 2 * (3 * 3 + 1)  # DSMS is not printed
    assert max(len(row) for row in rows) <= 80


def test_shows_the_printed_value_and_the_difference(toy):
    results = toy.results
    entry = results["table"]["reproducing"]["set2"]["points-sms"]["k"]
    assert entry["printed"] == 0.87
    assert entry["difference"] == pytest.approx(entry["mean"] - 0.87)
    assert "printed" not in results["table"]["reproducing"]["set2"]["points-dsms"]["k"]
    assert "(.87, " in (toy.folder / "report" / "report.md").read_text()


@pytest.mark.soak  # tests/experiment says the same of tasks
def test_the_number_of_workers_does_not_change_the_figures(
    run, toy, conf, tmp_path, without_times
):
    again = run(tmp_path / "exp", conf=[conf], workers=2)
    assert without_times(again.results) == without_times(toy.results)


def test_a_second_run_repeats_nothing(run, toy, conf):
    assert run(toy.folder, conf=[conf]).ran == ()


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
def test_an_interrupted_run_goes_on_where_it_stopped(
    run, tmp_path, without_times, end, workers
):
    conf = tmp_path / "slow.toml"
    conf.write_text(TOY.replace("runs = 2", "runs = 60", 1))
    folder, errors = tmp_path / "exp", tmp_path / "errors"
    same = {"workers": int(workers), "conf": [conf]}
    words = ["--exp", folder, "--conf", conf, "--set", "figures=false"]
    words += ["--workers", workers]
    with errors.open("w") as stderr:  # a pipe would be kept open by orphaned workers
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "run", "synthetic", *map(str, words)],
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
        assert "interrupted" in errors.read_text().splitlines()[-1]
    journal = folder / "table" / "journal.jsonl"
    before = journal.read_text().splitlines()[1 : len(done)]
    again = run(folder, "figures=false", **same)
    after = journal.read_text().splitlines()[1 : len(done)]
    assert after == before  # times and all: these were not computed again
    fresh = run(tmp_path / "fresh", "figures=false", **same)
    assert without_times(again.results) == without_times(fresh.results)
