"""Check all competitors against each other, then time them.

Each competitor has one process for its checks and one for its timed runs, which goes
through its cases from small to large. Competitors with targets have a second process
for timed runs; the order of competitors is then reversed, so that a drift of the
machine affects all alike. numba's disk cache is a new folder: checks compile, which is
counted separately, and timed runs load from the cache.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._records import ONE_THREAD, ROOT, Case, Competitor, Measurement, Options
from benchmarks._worker import WARM, Job, labels_path

RUNS = Case.runs
SHORT = 0.1  # seconds; shorter calls get more runs
SHORT_RUNS = 8
PROMISED_BUDGET = 10.0  # times the budget for competitors with targets
MORE_LIMIT = 5.0  # times the limit for them and for ours
PATIENCE = 20.0  # times the limit: a process that runs longer is stopped


@dataclass(frozen=True)
class Plan:
    """Number of runs in each round, and whether the check counts as a run."""

    rounds: tuple[int, int]
    counts_check: bool


def plan_runs(
    first: float,
    budget: float,
    *,
    quick: bool = False,
    rounds: int = 2,
    most: int = RUNS,
) -> Plan:
    """Plan `most` runs, or as many as fit into the budget, but at least two.

    `first` and `budget` are seconds of the check and of all runs. A check of `WARM`
    seconds or more counts as a run; if it took more than twice the budget, it is the
    only one. Calls shorter than `SHORT` get `SHORT_RUNS` runs, and `quick` two. The
    runs are split over one or two rounds.
    """
    if quick:
        return Plan((2, 0), counts_check=False)
    total = SHORT_RUNS
    if first >= SHORT:
        least = 2 if first <= 2.0 * budget else 1
        total = int(min(max(budget // first, least), most))
    counts_check = first >= WARM
    left = total - counts_check
    second = left // 2 if rounds == 2 and total >= RUNS else 0
    return Plan((left - second, second), counts_check)


class Runner:
    """Runs the workers of one suite."""

    def __init__(self, suite: ModuleType, options: Options, folder: Path) -> None:
        self.name = suite.__name__.rpartition(".")[2]
        self.options = options
        self.folder = folder
        self.cases: list[Case] = suite.cases(quick=options.quick)
        known: dict[str, Competitor] = suite.competitors(dict(options.paths))
        self.competitors = list(known.values())
        self.base: str = suite.BASE

    def run(self) -> list[Measurement]:
        """Return all measurements, by case and competitor."""
        checks = {rival.name: self._check(rival) for rival in self.competitors}
        plans, found = self._plan(checks)
        runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for turn in (0, 1):
            for rival in self.competitors[:: -1 if turn else 1]:
                self._time(rival, checks, plans, turn, runs)
        for (name, case), plan in plans.items():
            parts = runs.get((name, case), [])
            found.append(self._measured(checks[name][case], parts, plan, name, case))
        found += self._extrapolate(found)
        found = self._over_seeds(found)
        order = {rival.name: place for place, rival in enumerate(self.competitors)}
        cases = {case.name: place for place, case in enumerate(self.cases)}
        return sorted(found, key=lambda m: (cases[m.case], order[m.competitor]))

    def _check(self, rival: Competitor) -> dict[str, dict[str, Any]]:
        """Return the results of the checks by case."""
        cases = [case for case in self.cases if rival.takes(case)]
        limit = self._limit(rival)
        lines = self._work(rival, "check", cases, limit=limit)
        told = {line["case"]: line for line in lines if "case" in line}
        rest = next((line for line in lines if "case" not in line), None)
        for case in cases:
            told.setdefault(case.name, rest or {"failed": "the process ended early"})
        return told

    def _limit(self, rival: Competitor) -> float:
        if self.options.full and rival.extrapolated:
            return float("inf")
        return self.options.limit * (
            MORE_LIMIT if rival.ours or rival.promised else 1.0
        )

    def _plan(
        self, checks: dict[str, dict[str, dict[str, Any]]]
    ) -> tuple[dict[tuple[str, str], Plan], list[Measurement]]:
        """Plan the timed runs; return measurements without figures for the rest."""
        plans, found = {}, []
        sizes = {case.name: case.n for case in self.cases}
        most = {case.name: case.runs for case in self.cases}
        for rival in self.competitors:
            for case, told in checks[rival.name].items():
                blank = Measurement(rival.name, case, sizes[case], "failed")
                if "beyond" in told:
                    text = f"> {self._limit(rival):.0f} s"
                    facts = {"predicted": told["beyond"]}
                    found.append(
                        replace(blank, status="beyond", note=text, facts=facts)
                    )
                elif "absent" in told:
                    found.append(replace(blank, status="absent", note=told["absent"]))
                elif "failed" in told:
                    found.append(replace(blank, note=told["failed"]))
                elif problem := self._differs(rival, case, checks):
                    found.append(replace(blank, status="wrong", note=problem))
                else:
                    budget = self.options.budget
                    plans[rival.name, case] = plan_runs(
                        told["cpu"],
                        budget * PROMISED_BUDGET if rival.promised else budget,
                        quick=self.options.quick,
                        rounds=2 if rival.promised else 1,
                        most=most[case],
                    )
        return plans, found

    @staticmethod
    def _differs(
        rival: Competitor, case: str, checks: dict[str, dict[str, dict[str, Any]]]
    ) -> str:
        """Return how a result differs from its twin's, or an empty string."""
        twin = checks.get(rival.twin or "", {}).get(case, {})
        if rival.twin_by not in twin:
            return ""  # none, absent or beyond the limit: nothing to compare with
        if twin[rival.twin_by] == checks[rival.name][case][rival.twin_by]:
            return ""
        return f"other {rival.twin_by} than {rival.twin}"

    def _time(
        self,
        rival: Competitor,
        checks: dict[str, dict[str, dict[str, Any]]],
        plans: dict[tuple[str, str], Plan],
        turn: int,
        runs: dict[tuple[str, str], list[dict[str, Any]]],
    ) -> None:
        wanted = {
            case.name: plans[rival.name, case.name].rounds[turn]
            for case in self.cases
            if (rival.name, case.name) in plans
        }
        cases = [case for case in self.cases if wanted.get(case.name, 0)]
        if not cases:
            return
        first = {case.name: checks[rival.name][case.name]["cpu"] for case in cases}
        lines = self._work(rival, "time", cases, runs=wanted, first=first)
        for line in lines:
            if "case" in line:
                runs.setdefault((rival.name, line["case"]), []).append(line)

    def _measured(
        self,
        check: dict[str, Any],
        parts: list[dict[str, Any]],
        plan: Plan,
        name: str,
        case: str,
    ) -> Measurement:
        n = next(one.n for one in self.cases if one.name == case)
        cpu = [check["cpu"]] if plan.counts_check else []
        wall = [check["wall"]] if plan.counts_check else []
        for part in parts:
            cpu += part["cpu"]
            wall += part["wall"]
            for key in ("states", "labels"):
                if part[key] != check[key]:
                    note = f"{key} change from run to run"
                    return Measurement(name, case, n, "wrong", note=note)
        facts = {
            **check["facts"],
            "states": check["states"],
            "labels": check["labels"],
            "compile": check["compile"],
            "load": parts[0]["load"] if parts else None,
            "ari_base": self._agreement(name, case),
        }
        calls = parts[0]["calls"] if parts else 1
        if not cpu:
            return Measurement(name, case, n, "failed", note="no run ended")
        return Measurement(
            name, case, n, "measured", tuple(cpu), tuple(wall), calls, facts=facts
        )

    def _agreement(self, name: str, case: str) -> float | None:
        """Return the adjusted Rand index with the labels of the suite's `BASE`."""
        ours = labels_path(self.folder, self.base, case)
        theirs = labels_path(self.folder, name, case)
        if not ours.is_file() or not theirs.is_file():
            return None
        return float(adjusted_rand_score(np.load(ours), np.load(theirs)))

    def _extrapolate(self, found: list[Measurement]) -> list[Measurement]:
        """Estimate runs beyond the limit, and one that was measured, as a check."""
        steps = {
            (m.competitor, m.case): m.facts["steps"]
            for m in found
            if m.facts.get("steps") is not None
        }
        estimates = []
        for rival in self.competitors:
            if not rival.extrapolated:
                continue
            mine = {m.case: m for m in found if m.competitor == rival.name}
            wanted = []
            for case in self.cases:
                known = mine.get(case.name)
                total = steps.get((rival.twin or "", case.name))
                if known is None or total is None or case.series != "size":
                    continue
                if known.status == "beyond" or self._proves(known, mine):
                    wanted.append(case)
            counts = {case.name: steps[rival.twin or "", case.name] for case in wanted}
            lines = self._work(rival, "extrapolate", wanted, steps=counts)
            for line in lines:
                if "case" not in line:
                    continue
                known = mine[line["case"]]
                facts = {"per_step": line["per_step"], "sweeps": line["sweeps"]}
                if known.status == "beyond":
                    found.remove(known)
                    estimates.append(
                        replace(
                            known,
                            status="extrapolated",
                            cpu=tuple(line["cpu"]),
                            wall=tuple(line["cpu"]),
                            note=line["note"],
                            facts={**known.facts, **facts},
                        )
                    )
                else:
                    found.remove(known)
                    facts = {**known.facts, "estimate": sorted(line["cpu"])}
                    estimates.append(replace(known, facts=facts))
        return estimates

    @staticmethod
    def _proves(known: Measurement, mine: dict[str, Measurement]) -> bool:
        """Return whether this is the largest measured size, above 1,000 points."""
        run = [m.n for m in mine.values() if m.status == "measured"]
        return known.status == "measured" and known.n == max(run) and known.n > 1000

    def _over_seeds(self, found: list[Measurement]) -> list[Measurement]:
        """Add the quality for each run seed, for competitors with `over_seeds`."""
        told: dict[tuple[str, str], dict[str, Any]] = {}
        known = {(m.competitor, m.case) for m in found if m.status == "measured"}
        for rival in self.competitors:
            if not rival.over_seeds:
                continue
            wanted = [
                case
                for case in self.cases
                if case.seeds > 1 and (rival.name, case.name) in known
            ]
            for line in self._work(rival, "seeds", wanted):
                if "case" in line:
                    more = {"seeds": line["seeds"], "g_of_seeds": line["g"]}
                    told[rival.name, line["case"]] = more
        return [
            replace(m, facts={**m.facts, **told.get((m.competitor, m.case), {})})
            for m in found
        ]

    def _work(
        self, rival: Competitor, phase: str, cases: Sequence[Case], **more: Any
    ) -> list[dict[str, Any]]:
        """Run a worker process and return the lines of its report."""
        if not cases:
            return []
        report = self.folder / "report.jsonl"
        report.unlink(missing_ok=True)
        job = Job(
            suite=self.name,
            competitor=rival.name,
            phase=phase,
            cases=[asdict(case) for case in cases],
            report=str(report),
            folder=str(self.folder),
            paths=dict(self.options.paths),
            **more,
        )
        tell(f"  {phase:11} {rival.name}")
        cache = self.folder / "numba"
        patience = PATIENCE * self._limit(rival)
        output = self.folder / "output.txt"
        problem = ""
        with output.open("w", encoding="utf-8") as stream:
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks._worker"],
                    cwd=ROOT,
                    env={**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": str(cache)},
                    input=json.dumps(job.__dict__),
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                    timeout=None if math.isinf(patience) else patience,
                )
            except subprocess.TimeoutExpired:
                problem = f"stopped after {patience:.0f} s"
            else:
                if done.returncode:
                    last = output.read_text(encoding="utf-8").strip().splitlines()
                    problem = f"the process ended early: {' '.join(last[-1:])[:200]}"
        lines = []
        if report.is_file():
            told = report.read_text(encoding="utf-8").splitlines()
            lines = [json.loads(line) for line in told]
        return [*lines, {"failed": problem}] if problem else lines


def measure(suite: ModuleType, options: Options) -> list[Measurement]:
    """Measure the competitors of a suite on its cases."""
    with tempfile.TemporaryDirectory(prefix="sms-bench-") as folder:
        return Runner(suite, options, Path(folder)).run()


def tell(text: str) -> None:
    """Write a line of progress to the terminal."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
