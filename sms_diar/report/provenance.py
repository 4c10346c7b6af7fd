"""Provenance of a result: version, commit, seed, settings, machine and time."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sms_diar import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib")


def stamp(*, seed: int | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Describe this run so that it can be repeated."""
    return {
        "sms_diar": __version__,
        "git": git_revision(),
        "seed": seed,
        "settings": dict(settings),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": cpu_name(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
        },
    }


def describe(record: Mapping[str, Any]) -> str:
    """Format a stamp as one line, for the foot of a table."""
    machine = record["machine"]
    return (
        f"sms_diar {record['sms_diar']}, git {record['git']}, seed {record['seed']}, "
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"numba {machine['numba']}, {record['date']}"
    )


def git_revision(folder: Path | None = None) -> str:
    """Short hash of the checkout this package runs from, or "unknown".

    A trailing ``+`` means that tracked files have been modified.
    """
    folder = folder or Path(__file__).resolve().parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],  # noqa: S607
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return described.stdout.strip() or "unknown"


def cpu_name() -> str:
    """Name of the processor model, as reported by the system."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
