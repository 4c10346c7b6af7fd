"""Records of a benchmark, and the machine and software they were made with."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sms_diar.types import AnyArray, FloatArray

Status = Literal["measured", "extrapolated", "beyond", "absent", "failed", "wrong"]


class AbsentError(Exception):
    """A competitor is not installed or cannot do what is asked; says why."""


@dataclass(frozen=True)
class Case:
    """Data set and settings that competitors are measured on."""

    name: str  # shown in tables
    series: str  # what varies: "size", "dimension", "kernel", ...
    n: int  # points
    d: int = 2  # dimensions
    kernel: str = "uniform"  # of our estimators
    seed: int = 0  # of timed runs
    seeds: int = 1  # run seeds 0, 1, ... whose quality is reported (`over_seeds`)
    runs: int = 5  # at most; short calls get more


class Data(NamedTuple):
    """Points, their true clusters, and what else a suite needs."""

    X: FloatArray
    truth: AnyArray
    extra: Any = None


class Outcome(NamedTuple):
    """Result of a competitor; states are the points at which it came to rest."""

    labels: AnyArray
    states: FloatArray | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Competitor:
    """A way to cluster, ready to be measured.

    `make` turns data and case into a function without arguments, which is timed; it
    raises `AbsentError` if the competitor is not installed. A competitor is not timed
    if its states or labels (`twin_by`) differ from its `twin`'s. Competitors with a
    target (`promised`) run longer, in two processes, and have, like `ours`, a higher
    time limit.
    """

    name: str
    make: Callable[[Data, Case], Callable[[], Outcome]]
    series: tuple[str, ...] = ("size",)
    twin: str | None = None
    twin_by: Literal["states", "labels"] = "states"
    ours: bool = False
    promised: bool = False
    over_seeds: bool = False  # report the quality of all seeds of a case
    largest: int = 10**9
    smallest: int = 0
    extrapolated: bool = False  # the suite can estimate runs that take too long

    def takes(self, case: Case) -> bool:
        """Return whether the competitor is measured on a case."""
        return case.series in self.series and self.smallest <= case.n <= self.largest


@dataclass(frozen=True)
class Measurement:
    """Result of one competitor on one case.

    The status is "measured", "extrapolated" from parts of a run, "beyond" the time
    limit, "absent", "failed", or "wrong" (other results than its twin). `cpu` and
    `wall` are seconds of each run, averaged over `calls` calls.
    """

    competitor: str
    case: str
    n: int
    status: Status
    cpu: tuple[float, ...] = ()
    wall: tuple[float, ...] = ()
    calls: int = 1
    note: str = ""  # why a figure is missing, or where it comes from
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """Median processor seconds, or None without a figure."""
        return statistics.median(self.cpu) if self.cpu else None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Measurement:
        """Build a measurement from its JSON form."""
        return cls(
            **{**fields, "cpu": tuple(fields["cpu"]), "wall": tuple(fields["wall"])}
        )


@dataclass(frozen=True)
class Options:
    """Options of the command line.

    `limit` and `budget` are seconds for one run, and for all runs, of a competitor on
    a case; competitors with targets get more. `paths` are checkouts by name of peer.
    """

    quick: bool = False  # few small cases and two runs
    full: bool = False  # run what would otherwise be extrapolated
    limit: float = 15.0
    budget: float = 10.0
    paths: Mapping[str, str] = field(default_factory=dict)


ROOT = Path(__file__).resolve().parent.parent
ABSENT = "absent-peers.txt"  # what scripts/bench could not install, and why

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)
"""Environment variables that keep libraries to one thread."""

PACKAGES = (
    "sms-diar",
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "mlpack",
    "hdbscan",
    "fast_hdbscan",
    "fastcluster",
    "spectralcluster",
    "pyannote.metrics",
    "spy-der",
    "python_speech_features",
    "hnswlib",
    "pynndescent",
)
"""Packages whose versions are reported."""


def pin_to_one_core() -> None:
    """Pin this process to the last core, which other processes use least."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def describe() -> dict[str, object]:
    """Return machine, software and commit of a run."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(_memory_gib(), 1),
        "system": f"{_distribution()}, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "commit": _commit(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": versions(),
        "absent": absent_peers(),
    }


def cpu_model() -> str:
    """Return the processor with its family, clock and cache."""
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    if "model name" not in fields:
        return platform.processor() or platform.machine()
    words = [fields["model name"]]
    for key, word in (("cpu family", "family"), ("model", "model")):
        if key in fields:
            words.append(f"{word} {fields[key]}")
    if "cpu MHz" in fields:
        words.append(f"{float(fields['cpu MHz']) / 1000:.1f} GHz")
    if "cache size" in fields:
        words.append(f"{fields['cache size']} cache")
    return ", ".join(words)


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def absent_peers() -> dict[str, str]:
    """Return the peers that could not be installed, with the reason."""
    path = Path(sys.prefix) / ABSENT
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("\t") for line in lines if line.strip())
    return {name: reason for name, _, reason in pairs}


def _memory_gib() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):
        return float("nan")


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def _commit() -> str:
    """Return the commit, marked "dirty" if files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10"],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
