"""Check or time one competitor in a process of its own.

The parent sends a job as JSON on standard input and reads one JSON object per case
from the file that the job names; competitors may write to standard output.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._records import AbsentError, Case, Competitor, Outcome, pin_to_one_core
from sms_diar.metrics import score_clustering

RUN = 0.05  # seconds a run should last; shorter calls are repeated within it
MOST_CALLS = 500
WARM = 2.0  # calls shorter than this are made once more before they are timed
SHORT = 0.01  # seconds below which a call is mostly overhead
LONG = 10.0  # seconds of a call for which the time of loading kernels is not measured


@dataclass(frozen=True)
class Job:
    """Task of a worker; mappings are by name of case."""

    suite: str
    competitor: str
    phase: str  # "check", "time", "extrapolate" or "seeds"
    cases: list[dict[str, Any]]
    report: str  # file to append to
    folder: str  # for labels and caches of the whole benchmark
    limit: float = math.inf
    runs: dict[str, int] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)  # seconds of a call
    steps: dict[str, int] = field(default_factory=dict)  # of a whole run
    paths: dict[str, str] = field(default_factory=dict)


class Compiling:
    """Processor seconds that numba spends compiling."""

    def __init__(self) -> None:
        self.total = 0.0
        self._depth = 0
        self._since = 0.0

    @contextmanager
    def listen(self) -> Iterator[Compiling]:
        """Count compile time inside the context."""
        from numba.core import event  # noqa: PLC0415

        outer = self

        class Listener(event.Listener):
            def on_start(self, event: object) -> None:
                outer._depth += 1
                if outer._depth == 1:
                    outer._since = time.process_time()

            def on_end(self, event: object) -> None:
                outer._depth -= 1
                if outer._depth == 0:
                    outer.total += time.process_time() - outer._since

        with event.install_listener("numba:compile", Listener()):
            yield self


def main() -> None:
    """Do the job given on standard input."""
    job = Job(**json.load(sys.stdin))
    pin_to_one_core()
    warnings.simplefilter("ignore")
    suite = importlib.import_module(f"benchmarks.{job.suite}")
    known: dict[str, Competitor] = suite.competitors(job.paths)
    competitor = known[job.competitor]
    with threadpool_limits(limits=1):
        try:
            _PHASES[job.phase](job, suite, competitor)
        except (AbsentError, ImportError) as error:
            _emit(job, {"absent": _one_line(error)})
        except Exception as error:  # noqa: BLE001
            # One broken competitor must not cost the figures of the others.
            traceback.print_exc()
            _emit(job, {"failed": f"{type(error).__name__}: {_one_line(error)}"})


def _check(job: Job, suite: Any, competitor: Competitor) -> None:
    """Run each case, a second time if the first was short or compiled."""
    done: list[tuple[int, float]] = []
    compiling = Compiling()
    with compiling.listen():
        for case in _cases(job):
            predicted = predict_seconds(done, case.n) if case.series == "size" else 0.0
            if predicted > job.limit:
                _emit(job, {"case": case.name, "beyond": predicted})
                continue
            data = suite.load(case, Path(job.folder))
            call = competitor.make(data, case)
            before = compiling.total
            cpu, wall, outcome = _timed(call)
            paid = 0.0
            if cpu < WARM or compiling.total > before:
                # The first call may have compiled or imported.
                paid = cpu
                cpu, wall, outcome = _timed(call)
                paid -= cpu
            if case.series == "size":
                done.append((case.n, max(cpu, 1e-9)))
            labels = np.asarray(outcome.labels)
            np.save(labels_path(job.folder, job.competitor, case.name), labels)
            _emit(
                job,
                {
                    "case": case.name,
                    "cpu": cpu,
                    "wall": wall,
                    "compile": paid if compiling.total > before else 0.0,
                    **_digests(outcome),
                    "facts": _facts(outcome, data.truth),
                },
            )


def _time(job: Job, suite: Any, competitor: Competitor) -> None:
    """Run each case as often as the job says, after a warm-up call."""
    cases = _cases(job)
    smallest = min(cases, key=lambda case: case.n)
    load = None
    if job.first[smallest.name] < LONG:
        call = competitor.make(suite.load(smallest, Path(job.folder)), smallest)
        start = time.process_time()
        call()
        load = time.process_time() - start
    for case in cases:
        call = competitor.make(suite.load(case, Path(job.folder)), case)
        if job.first[case.name] < WARM:
            start = time.process_time()
            call()
            job.first[case.name] = time.process_time() - start
        calls = _calls(job.first[case.name])
        cpu, wall = [], []
        outcome = None
        for _ in range(job.runs[case.name]):
            run_cpu, run_wall, outcome = _timed(call, calls)
            cpu.append(run_cpu)
            wall.append(run_wall)
        told = {} if outcome is None else _digests(outcome)
        _emit(
            job,
            {
                "case": case.name,
                "cpu": cpu,
                "wall": wall,
                "calls": calls,
                "load": load,
                **told,
            },
        )


def _extrapolate(job: Job, suite: Any, competitor: Competitor) -> None:
    """Report the suite's estimates of runs that would take too long."""
    for case in _cases(job):
        data = suite.load(case, Path(job.folder))
        found = suite.extrapolate(competitor.name, data, case, job.steps[case.name])
        _emit(job, {"case": case.name, **found})


def _seeds(job: Job, suite: Any, competitor: Competitor) -> None:
    """Run each case with all its seeds and report G of each."""
    for case in _cases(job):
        data = suite.load(case, Path(job.folder))
        seeds = list(range(case.seeds))
        outcomes = (competitor.make(data, replace(case, seed=s))() for s in seeds)
        found = [_facts(outcome, data.truth)["g"] for outcome in outcomes]
        _emit(job, {"case": case.name, "seeds": seeds, "g": found})


_PHASES = {
    "check": _check,
    "time": _time,
    "extrapolate": _extrapolate,
    "seeds": _seeds,
}


def _cases(job: Job) -> list[Case]:
    return [Case(**fields) for fields in job.cases]


def _timed(call: Callable[[], Outcome], calls: int = 1) -> tuple[float, float, Outcome]:
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        outcome = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu / calls, wall / calls, outcome


def _calls(first: float) -> int:
    return int(np.clip(math.ceil(RUN / max(first, 1e-9)), 1, MOST_CALLS))


def _digests(outcome: Outcome) -> dict[str, str | None]:
    """Return digests of the states, bit by bit, and of the labels."""
    states = outcome.states
    return {
        "states": None if states is None else _digest(np.asarray(states)),
        "labels": _digest(np.asarray(outcome.labels, dtype=np.int64)),
    }


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _facts(outcome: Outcome, truth: Any) -> dict[str, float | int | None]:
    scores = score_clustering(truth, outcome.labels)
    return {
        "clusters": scores.sizes.n_clusters,
        "ari": float(adjusted_rand_score(truth, outcome.labels)),
        "k": scores.purity.k,
        "g": scores.majority.g,
        "steps": outcome.steps,
    }


def labels_path(folder: str | Path, competitor: str, case: str) -> Path:
    """Return the file that holds the labels of a check."""
    name = hashlib.sha256(f"{competitor}\n{case}".encode()).hexdigest()[:16]
    return Path(folder) / f"labels-{name}.npy"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _emit(job: Job, found: dict[str, Any]) -> None:
    with Path(job.report).open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


def predict_seconds(done: Sequence[tuple[int, float]], n: int) -> float:
    """Predict the seconds of `n` points from (size, seconds) of smaller cases.

    The growth exponent of the last two sizes is clipped to [1, 2.5]; it is 2 if
    these runs were too short.
    """
    if not done:
        return 0.0
    last_n, last = done[-1]
    power = 2.0
    if len(done) > 1 and done[-2][1] > SHORT and done[-2][0] < last_n:
        before_n, before = done[-2]
        power = math.log(last / before) / math.log(last_n / before_n)
        power = min(max(power, 1.0), 2.5)
    return float(last * (n / last_n) ** power)


if __name__ == "__main__":
    main()
