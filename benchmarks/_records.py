"""Records passed between the processes of a benchmark and to results.json."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sms_diar.types import AnyArray, FloatArray

Status = Literal["measured", "extrapolated", "beyond", "absent", "failed", "wrong"]


class AbsentError(Exception):
    """A competitor is not there, or lacks what is asked of it; says why."""


@dataclass(frozen=True)
class Case:
    """Data that a competitor is given.

    Parameters
    ----------
    name : str
        As tables show it.
    series : str
        Cases of one series differ in one thing; "size" is the one that grows.
    n : int
        Points.
    d : int, default=2
        Dimensions.
    kernel : str, default="uniform"
        Kernel of our estimators.
    seed : int, default=0
        Run seed of competitors that draw.
    seeds : int, default=1
        Run seeds, from 0 on, over which the quality of results is averaged, for
        competitors that are to show it. Times are measured with `seed`.
    runs : int, default=5
        Timed runs at most, short calls apart.
    """

    name: str
    series: str
    n: int
    d: int = 2
    kernel: str = "uniform"
    seed: int = 0
    seeds: int = 1
    runs: int = 5


class Data(NamedTuple):
    """Points, their true clusters, and what else a suite needs."""

    X: FloatArray
    truth: AnyArray
    extra: Any = None


class Outcome(NamedTuple):
    """What a competitor found."""

    labels: AnyArray
    states: FloatArray | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Competitor:
    """A way to cluster, ready to be measured.

    Parameters
    ----------
    name : str
        As tables show it.
    make : callable
        Data and case to a function without arguments, which is what is timed. It
        raises `AbsentError` where it cannot be had.
    series : tuple of str, default=("size",)
        Series of cases it takes part in.
    twin : str or None, default=None
        Competitor whose results must be the same ones.
    twin_by : {"states", "labels"}, default="states"
        Part of the results that must be identical.
    ours : bool, default=False
        Whether it is our implementation, which has a longer time limit.
    promised : bool, default=False
        Whether it has a target. It has a longer time limit and more time for more
        runs, in two processes.
    over_seeds : bool, default=False
        Whether to run all seeds of a case, to compare results.
    largest, smallest : int
        Cases outside these sizes are skipped.
    extrapolated : bool, default=False
        Whether the suite can estimate its time where a run would take too long.
    """

    name: str
    make: Callable[[Data, Case], Callable[[], Outcome]]
    series: tuple[str, ...] = ("size",)
    twin: str | None = None
    twin_by: Literal["states", "labels"] = "states"
    ours: bool = False
    promised: bool = False
    over_seeds: bool = False
    largest: int = 10**9
    smallest: int = 0
    extrapolated: bool = False

    def takes(self, case: Case) -> bool:
        """Return whether it is measured on a case."""
        return case.series in self.series and self.smallest <= case.n <= self.largest


@dataclass(frozen=True)
class Measurement:
    """All that is known of one competitor on one case.

    Parameters
    ----------
    competitor, case : str
        Their names.
    n : int
        Points of the case.
    status : str
        "measured"; "extrapolated" from parts of the run; "beyond" the limit of
        time; "absent", "failed", or "wrong", and then not timed.
    cpu, wall : tuple of float
        Seconds of each run, processor and clock; of one call where a run is
        many calls.
    calls : int
        Calls that one run averages over.
    note : str
        Reason for a missing figure, or its origin.
    facts : mapping
        Clusters, agreement, steps, compile seconds and the like.
    """

    competitor: str
    case: str
    n: int
    status: Status
    cpu: tuple[float, ...] = ()
    wall: tuple[float, ...] = ()
    calls: int = 1
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """Median processor seconds, or None without a figure."""
        return statistics.median(self.cpu) if self.cpu else None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Measurement:
        """Read one back from JSON, where tuples have become lists."""
        return cls(
            **{**fields, "cpu": tuple(fields["cpu"]), "wall": tuple(fields["wall"])}
        )


@dataclass(frozen=True)
class Options:
    """How to run.

    Parameters
    ----------
    quick : bool, default=False
        Few small cases and two runs: shows that everything works.
    full : bool, default=False
        Run what would otherwise be extrapolated.
    limit : float, default=15.0
        Seconds that one run of a competitor may be expected to take; more for ours
        and for those that targets are about.
    budget : float, default=10.0
        Seconds for the runs of one competitor on one case; more for those that
        targets are about.
    paths : mapping
        Checkouts of peers that have to be given: name to folder.
    """

    quick: bool = False
    full: bool = False
    limit: float = 15.0
    budget: float = 10.0
    paths: Mapping[str, str] = field(default_factory=dict)
