"""Work on a real cluster of separate processes, one of which is lost."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip(
    "distributed", reason="no Dask here; pip install 'sms-diar[dask]' brings it"
)

import sms_diar
from sms_diar import _scheduler
from sms_diar.errors import InvalidParameterError, MissingExtraError, SchedulerError
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.types import EmbeddingSet, Segment

pytestmark = pytest.mark.usefixtures("no_networks")


def _load():
    """The harness is a program too, so it is loaded by its path."""
    path = Path(__file__).resolve().parent / "harness.py"
    spec = importlib.util.spec_from_file_location("machines_harness", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["machines_harness"] = module
    spec.loader.exec_module(module)
    return module


harness = _load()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers; tests that lose one say so, and the next gets another."""
    with harness.machines(tmp_path_factory.mktemp("machines"), 2) as found:
        yield found


@pytest.fixture
def address(cluster):
    cluster.complete(2)
    return cluster.address


@pytest.fixture(scope="module")
def lonely(tmp_path_factory):
    with harness.machines(tmp_path_factory.mktemp("lonely"), 0) as found:
        yield found


@pytest.fixture
def odd(lonely):
    """Another scheduler, without workers to begin with."""
    yield lonely
    lonely.dismiss()


@pytest.fixture
def losing(monkeypatch, tmp_path):
    """Let the worker die, and leave nothing, that starts the given piece of work."""
    calls = tmp_path / "calls"

    def at(number):
        # Defined here, and so sent as code; the file tells all workers of each other.
        def apply(function, item, home):
            from sms_diar._scheduler import apply as real

            with calls.open("a") as file:
                file.write("x")
                file.flush()
                if file.tell() == number:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(function, item, home)

        monkeypatch.setattr(_scheduler, "apply", apply)

    yield at
    if calls.exists():
        assert calls.stat().st_size > 2  # there was other work, too


def square(number):
    return number * number


# --- the map ------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [True, False])
def test_what_a_lost_worker_had_is_done_again(address, cluster, losing, ordered):
    if ordered:
        losing(7)
    drawn = []

    def items():
        for number in range(40):
            drawn.append(number)
            yield number

    def power(number):  # sent as code: workers cannot import this file
        return number**3

    with _scheduler.scheduler(address):
        found = []
        for result in _scheduler.current().map(power, items(), ordered=ordered):
            found.append(result)
            # Three for each worker are under way, and no more wait for the caller.
            assert len(drawn) - len(found) <= 3 * 2
    expected = [number**3 for number in range(40)]
    assert (found if ordered else sorted(found)) == expected
    lost = sum(worker.poll() is not None for worker in cluster.workers)
    assert lost == (1 if ordered else 0)


def test_errors_and_warnings_arrive_as_if_they_were_made_here(address):
    def work(number):
        if number == 2:
            raise sms_diar.SmsDiarError("no such number")
        warnings.warn(f"number {number}", UserWarning, stacklevel=1)
        return number

    with _scheduler.scheduler(address):
        results = _scheduler.current().map(work, [0, 1, 2])
        with pytest.warns(UserWarning, match="number 0"):
            assert next(results) == 0
        with (
            pytest.warns(UserWarning, match="number 1"),
            pytest.raises(sms_diar.SmsDiarError, match="no such number"),
        ):
            list(results)


def test_workers_use_one_thread_and_the_folder_of_the_caller(
    address, tmp_path, monkeypatch
):
    def look(_):
        from threadpoolctl import threadpool_info

        blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
        return str(Path.cwd()), {one["num_threads"] for one in blas}

    monkeypatch.chdir(tmp_path)
    with _scheduler.scheduler(address):
        assert [*_scheduler.current().map(look, [0])] == [(str(tmp_path), {1})]


def test_arrays_begin_on_a_worker_where_they_begin_here(address):
    # Dask's messages bring them at any byte, and NumPy has other sums for such arrays.
    with _scheduler.scheduler(address):
        for length in range(8):
            word, model = "w" * length, np.arange(5.0 + length)

            def look(word, model, item):
                flags = item[1].flags.aligned, model.flags.aligned
                return word, flags, item[1] + 1.0

            function = partial(look, word, model)
            items = [("i" * n, np.arange(3.0 + n)) for n in range(4)]
            for _, flags, sums in _scheduler.current().map(function, items):
                assert (*flags, sums.flags.aligned) == (True, True, True)


# --- commands -----------------------------------------------------------------


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Four recordings of two or three voices, as vectors with times."""
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(4)
    rows, segments = [], {}
    for recording in range(4):
        voices = 3.0 * rng.standard_normal((2 + recording % 2, 6))
        for place in range(20):
            name = f"r{recording}-{place:02d}"
            segments[name] = Segment(f"r{recording}", place, place + 1.0)
            rows.append(voices[place % len(voices)] + rng.standard_normal(6))
    write_embeddings(folder / "x.npz", EmbeddingSet(tuple(segments), np.array(rows)))
    write_segments(folder / "segments", segments)
    return folder


def rttm(path, shift):
    lines = [
        f"SPEAKER r{n} 1 {at + shift * n:.2f} 2.00 <NA> <NA> s{at % 3} <NA> <NA>\n"
        for n in range(3)
        for at in range(0, 20, 2)
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def commands(noise_corpora, noise_model, vectors, tmp_path):
    """Words of each command, with OUT for the folder of its results."""
    data, model = noise_corpora[0], noise_model
    systems = [rttm(tmp_path / f"s{n}.rttm", 0.1 * n) for n in range(3)]
    few = ("--components", 2, "--rank", 3, "--iterations", 2, "--ubm-iterations", 2)
    return {
        "diarize": ("diarize", data, "--model", model, "--vad", "none",
                    "--rttm", "OUT/o.rttm", "--json"),
        "features": ("features", data, "-o", "OUT/f.ark"),
        "train": ("ivectors", "train", data, *few, "--vad", "none", "--backend",
                  "-o", "OUT/m.npz"),
        "extract": ("ivectors", "extract", data, "--model", model, "-o", "OUT/v.csv"),
        "cluster": ("cluster", vectors / "x.npz", "--segments", vectors / "segments",
                    "-o", "OUT/l.txt", "--rttm", "OUT/l.rttm"),
        "score": ("score", *systems, "--bootstrap", 20, "--json"),
    }  # fmt: skip


def results(run_cli, words, folder, *options):
    """What a command prints and writes."""
    folder.mkdir()
    given = [str(word).replace("OUT", str(folder)) for word in words]
    done = run_cli(*given, *options)
    assert done.returncode == 0, done.stderr
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return files, done.stdout.replace(str(folder), "OUT")


def losses():
    """Which piece of work ends a worker; a new one takes seconds to come up."""
    for name, loss in {"diarize": 2, "train": 9}.items():
        yield pytest.param(name, loss, id=f"{name}, one lost")
    for name in ("features", "extract", "cluster", "score"):
        yield pytest.param(name, None, id=name)
    for name, loss in {"features": 3, "extract": 4, "cluster": 2}.items():
        yield pytest.param(name, loss, id=f"{name}, one lost", marks=pytest.mark.soak)


@pytest.mark.parametrize(("name", "loss"), [*losses()])
def test_a_command_gives_the_same_files_here_and_on_a_cluster(
    run_cli, address, cluster, commands, losing, tmp_path, name, loss
):
    words = commands[name]
    here = results(run_cli, words, tmp_path / "here")
    if name in ("diarize", "train"):  # of the others, tests/cli and tests/embeddings
        two = results(run_cli, words, tmp_path / "two", "--workers", 2)
        assert two == here
    if loss:
        losing(loss)
    there = results(run_cli, words, tmp_path / "there", "--scheduler", address)
    assert there == here
    lost = [worker for worker in cluster.workers if worker.poll() is not None]
    assert len(lost) == (1 if loss else 0)


TABLE = (
    "--set", "speakers=[3]", "--set", "view_speakers=3", "--set", "figures=false",
    "--set", "runs=8", "--set", 'methods=["ms", "sms-paper"]',
)  # fmt: skip


def test_a_recipe_gives_one_table_here_and_on_a_cluster_that_loses_a_worker(
    run_cli, root, address, cluster, losing, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # with a relative folder, as users give it
    conf = root / "conf" / "speakers-small.toml"
    words = ("run", root / "recipes" / "speakers", "--conf", conf, *TABLE, "--json")
    tables = []
    for name, options in {
        "one": ("--workers", 1),
        "dask": ("--scheduler", address),
    }.items():
        if name == "dask":
            losing(4)
        done = run_cli(*words, "--exp", name, *options)
        assert done.returncode == 0, done.stderr
        tables.append(harness.without_times(json.loads(done.stdout)))
    assert tables[0] == tables[1]
    assert any(worker.poll() is not None for worker in cluster.workers)


def test_one_bad_recording_is_named_by_a_cluster_as_it_is_here(
    run_cli, address, noise_corpora, noise_model, tmp_path
):
    lines = (noise_corpora[0] / "wav.scp").read_text()
    (tmp_path / "wav.scp").write_text(lines + "gone no/such/file.wav\n")
    words = ("diarize", tmp_path / "wav.scp", "--model", noise_model, "--vad", "none")
    here = run_cli(*words)
    there = run_cli(*words, "--scheduler", address)
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout)
    assert here.returncode == 3
    assert here.stderr.splitlines()[-1] == there.stderr.splitlines()[-1]
    assert "no/such/file.wav' for 'gone'" in here.stderr


# Under nohup, and in background jobs, Ctrl-C is ignored, and Python leaves it so.
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sms_diar.cli.main import main; main()"
)


def test_ctrl_c_ends_at_once_and_the_run_can_go_on(address, root, tmp_path):
    conf = root / "conf" / "speakers-small.toml"
    words = ["run", str(root / "recipes" / "speakers"), "--conf", str(conf), *TABLE]
    words += ["--set", "runs=3000", "--exp", str(tmp_path / "exp")]
    journal = tmp_path / "exp" / "sessions" / "journal.jsonl"
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *words, "--scheduler", address],
            stderr=errors,
            start_new_session=True,
        )
    try:
        harness.wait_for(
            lambda: journal.exists() and journal.read_text().count('"key"') > 2
        )
        started = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(timeout=30) == 130
        taken = time.monotonic() - started
    finally:
        process.kill()
    assert (tmp_path / "errors").read_text().splitlines()[-1] == (
        "sms-diar: interrupted; run it again to go on from here"
    )
    assert taken < 5.0  # 2 s on a machine that has nothing else to do
    assert journal.read_text().count('"key"') > 2


def test_a_command_says_that_it_connects_and_ctrl_c_ends_the_wait(tmp_path):
    turns = rttm(tmp_path / "a.rttm", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:  # which never answers
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        words = ("score", turns, turns, "--scheduler", address)
        with (tmp_path / "errors").open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", MAIN, *words],
                stderr=errors,
                start_new_session=True,
            )
        try:
            harness.wait_for(lambda: (tmp_path / "errors").stat().st_size > 0)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
    assert (tmp_path / "errors").read_text().splitlines() == [
        f"sms-diar: connecting to the scheduler at {address}",
        "sms-diar: interrupted; nothing was written; run it again",
    ]


# --- clusters that are of no use ----------------------------------------------


def connect(address, **options):
    with _scheduler.scheduler(address, **options):
        return


def test_a_missing_extra_is_told_before_any_work(run_cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError):
        connect("tcp://127.0.0.1:8786")
    out = tmp_path / "o.ark"
    result = run_cli("features", tmp_path, "-o", out, "--scheduler", "tcp://x:1")
    assert result.returncode == 1
    assert result.stderr == (
        "sms-diar: connecting to the scheduler at tcp://x:1\n"
        "sms-diar: work on a scheduler needs Dask: pip install 'sms-diar[dask]'\n"
    )


@pytest.mark.parametrize("address", ["carrier-pigeon://loft:1", "tcp://host", "", "::"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InvalidParameterError, match="must be the address of a Dask"):
        connect(address)


@pytest.mark.parametrize("kind", ["closed", "silent", "other"])
def test_where_no_scheduler_answers_an_error_says_so(monkeypatch, kind):
    monkeypatch.setattr(_scheduler, "_CONNECT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if kind == "closed":
            server.close()
        elif kind == "other":
            import threading

            def answer():
                other, _ = server.accept()
                with other:
                    other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

            threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(SchedulerError, match=f"no Dask scheduler .* at {address}"):
            connect(address)


def test_a_scheduler_without_workers_is_not_waited_for_without_end(odd):
    said = []
    with pytest.raises(SchedulerError, match=r"has had no worker for 0\.1 s; start"):
        connect(odd.address, patience=0.1, say=said.append)
    assert said == [f"no worker at {odd.address}; waiting 0.1 s for one"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("__version__ = '9.9'", "has sms_diar 9.9 where this machine has"),
        ("raise ImportError('not here')", "cannot load sms_diar (not here); install"),
    ],
    ids=["another", "none"],
)
def test_a_worker_with_another_version_is_refused(odd, tmp_path, content, problem):
    package = tmp_path / "other" / "sms_diar"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(content + "\n")
    odd.add(1, PYTHONPATH=str(package.parent))
    with pytest.raises(SchedulerError, match=r"^worker tcp://") as caught:
        connect(odd.address)
    assert problem in str(caught.value)


def test_workers_that_do_not_see_our_files_are_refused(address, monkeypatch):
    elsewhere = _scheduler.Home("/nowhere/at/all")
    monkeypatch.setattr(_scheduler, "Home", lambda: elsewhere)
    with pytest.raises(SchedulerError, match="has no folder /nowhere/at/all; workers"):
        connect(address)


def test_if_the_last_worker_goes_the_run_waits_and_then_gives_up(odd):
    odd.add(1)

    def die(_):
        os.kill(os.getpid(), signal.SIGKILL)

    said = []
    with (
        _scheduler.scheduler(odd.address, patience=0.5, say=said.append),
        pytest.raises(SchedulerError, match=r"no worker for 0\.5 s"),
    ):
        list(_scheduler.current().map(die, [0]))
    assert said[-1] == f"no worker at {odd.address}; waiting 0.5 s for one"


def test_a_worker_that_comes_in_time_goes_on_with_the_work(odd, tmp_path):
    odd.add(1)
    flag = tmp_path / "flag"

    def die_once(number):
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    said = []

    def say(line):
        said.append(line)
        if line.startswith("no worker"):
            odd.complete(1)

    with _scheduler.scheduler(odd.address, say=say):
        assert [*_scheduler.current().map(die_once, range(3))] == [0, 1, 2]
    assert f"no worker at {odd.address}; waiting 60 s for one" in said


def test_if_the_scheduler_goes_an_error_says_so(tmp_path):
    with harness.machines(tmp_path, 1) as odd, _scheduler.scheduler(odd.address):
        results = _scheduler.current().map(str, iter(range(100)))
        assert next(results) == "0"
        odd.scheduler.kill()
        with pytest.raises(SchedulerError, match="connection to the scheduler at"):
            list(results)


def test_work_that_ends_every_worker_is_not_tried_for_ever(tmp_path):
    def die(_):
        os.kill(os.getpid(), signal.SIGKILL)

    once = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}  # 3 as a rule
    with (
        harness.machines(tmp_path, 1, **once) as found,
        _scheduler.scheduler(found.address),
        pytest.raises(SchedulerError, match="1 workers were killed by the same item"),
    ):
        list(_scheduler.current().map(die, [0]))


# --- what a worker does, seen from within -------------------------------------


def late(numbers):
    """The same numbers in an array that begins one byte too late."""
    raw = np.zeros(numbers.nbytes + 1, dtype=np.uint8)
    array = raw[1:].view(numbers.dtype).reshape(numbers.shape)
    array[...] = numbers
    assert not array.flags.aligned
    return array


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    numbers: np.ndarray

    def own(self, _=None):
        return self.numbers


@pytest.mark.parametrize(
    "function_of",
    [
        lambda numbers: partial(lambda numbers, _: numbers, numbers),
        lambda numbers: Model(numbers).own,
        lambda numbers: partial(Model.own, Model(numbers)),
    ],
    ids=["partial", "method", "object"],
)
def test_arrays_of_functions_and_items_are_whole_and_copied_once(function_of):
    left = np.random.default_rng(0).standard_normal((83, 2))
    function, home = function_of(late(left)), _scheduler.Home()
    found, again = (_scheduler.apply(function, n, home)[0] for n in range(2))
    assert found.flags.aligned
    assert found is again
    assert (found.T @ left).tobytes() == (left.T @ left).tobytes()
    item, _ = _scheduler.apply(list, [late(left)], home)
    assert item[0].flags.aligned


@pytest.mark.parametrize(
    ("home", "problem"),
    [
        (_scheduler.Home(versions={"numpy": "0.1"}), "where this machine has 0.1"),
        (_scheduler.Home(folder="/no/such"), "a worker has no folder /no/such"),
    ],
)
def test_a_worker_that_came_later_refuses_what_it_cannot_do(home, problem):
    with pytest.raises(_scheduler.UnfitWorkerError, match=problem):
        _scheduler.apply(square, 2, home)
