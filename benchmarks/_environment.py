"""The machine, the software on it, and the conditions that all runs share."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

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
"""Variables of the environment that keep libraries to one thread."""

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
    "faiss-cpu",
    "hnswlib",
    "pynndescent",
)
"""Packages whose versions a table needs to be understood."""


def pin_to_one_core() -> None:
    """Keep this process on one core, where the system allows it.

    The last one: the first is where systems prefer to put everything else.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def describe() -> dict[str, object]:
    """Name machine and software, as a table of results must."""
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
    """Return the name of the processor with family, clock and cache."""
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
    """Versions of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def absent_peers() -> dict[str, str]:
    """Peers that could not be installed, with the installer's reason."""
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
    """Commit of the checkout, with a mark if files differ from it."""
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
