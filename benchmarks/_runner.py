"""Check all competitors against each other, then time them.

Each competitor has a process for its checks and another for its runs, with all
its cases in them, from small to large. Those that targets are about have two for
their runs, the second ones in reverse order, so that what drifts (the clock, the
neighbours on the machine) touches all alike. numba's disk cache is a new folder: checks
compile, which is counted apart, and runs load.
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

from benchmarks._environment import ONE_THREAD, ROOT
from benchmarks._records import Case, Competitor, Measurement, Options
from benchmarks._worker import WARM, Job, labels_path

RUNS = Case.runs
SHORT = 0.1  # seconds: calls so short get more runs, their differences are small
SHORT_RUNS = 8
PROMISED_BUDGET = 10.0  # times as much for those that targets are about
MORE_LIMIT = 5.0  # for them and for ours
PATIENCE = 20.0  # limits after which a process is stopped: its cases add up


@dataclass(frozen=True)
class Plan:
    """Runs of a case in each round, and whether its check is one of them."""

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
    """Five runs, or as many as the budget holds, two at least.

    A check that took long enough to be warm is the first of the runs. More than
    twice the budget is too much for a second one: the check is then all.

    Parameters
    ----------
    first : float
        Seconds that the check took.
    budget : float
        Seconds for all runs.
    quick : bool, default=False
        Two runs, whatever they take.
    rounds : int, default=2
        Processes that the runs are shared by.
    most : int, default=5
        Runs, where a call is not short.
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
    """Workers of one suite."""

    def __init__(self, suite: ModuleType, options: Options, folder: Path) -> None:
        self.name = suite.__name__.rpartition(".")[2]
        self.options = options
        self.folder = folder
        self.cases: list[Case] = suite.cases(quick=options.quick)
        known: dict[str, Competitor] = suite.competitors(dict(options.paths))
        self.competitors = list(known.values())
        self.base: str = suite.BASE

    def run(self) -> list[Measurement]:
        """Measure everything."""
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
        """Results by name of the case."""
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
        """Decide what is timed; the rest has its reason told already."""
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
                        # Targets are about small ratios, too.
                        rounds=2 if rival.promised else 1,
                        most=most[case],
                    )
        return plans, found

    @staticmethod
    def _differs(
        rival: Competitor, case: str, checks: dict[str, dict[str, dict[str, Any]]]
    ) -> str:
        """Return the differences between a result and its twin."""
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
        """Adjusted Rand index with what our own competitor found."""
        ours = labels_path(self.folder, self.base, case)
        theirs = labels_path(self.folder, name, case)
        if not ours.is_file() or not theirs.is_file():
            return None
        return float(adjusted_rand_score(np.load(ours), np.load(theirs)))

    def _extrapolate(self, found: list[Measurement]) -> list[Measurement]:
        """Estimates for what was beyond, and one where the truth is known."""
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
        """Return whether this is the largest measured size."""
        run = [m.n for m in mine.values() if m.status == "measured"]
        return known.status == "measured" and known.n == max(run) and known.n > 1000

    def _over_seeds(self, found: list[Measurement]) -> list[Measurement]:
        """Add how good results are with each run seed, where that is to be shown."""
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
        """Let a process do one job and read what it reports."""
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
    """Say on the terminal how far it is."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
