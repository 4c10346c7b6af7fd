"""Processor seconds of the first run after installation, and of later runs.

Kernels are compiled when they are first called and stored on disk. Each case runs in
processes of its own, first with an empty folder for compiled kernels and then with the
folder that this run has filled. Start-up and imports are included::

    scripts/bench first-use
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import tell
from sms_diar.datasets import sample_conversation

RUNS = 3
SMS_DIAR = (sys.executable, "-m", "sms_diar")
POINTS = """
import numpy as np
from sms_diar.clustering import StochasticMeanShift

rng = np.random.default_rng(0)
centers = 10.0 * rng.normal(size=(15, 2))
X = centers[rng.integers(15, size=750)] + rng.normal(size=(750, 2))
StochasticMeanShift(bandwidth=2.0, random_state=0).fit(X)
"""


def commands(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the command line of each case.

    Writes 1,000 embeddings of 40 speakers in 192 dimensions to the folder.
    """
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, 192))
    X = centers[rng.integers(40, size=1000)] + 0.6 * rng.normal(size=(1000, 192))
    np.save(folder / "session.npy", X)
    audio = str(sample_conversation().audio)
    turns, labels = str(folder / "turns.rttm"), str(folder / "labels.txt")
    return {
        "diarize the sample conversation with networks": (
            *SMS_DIAR,
            *("diarize", audio, "--model", "neural", "--rttm", turns),
        ),
        "StochasticMeanShift on 750 points": (sys.executable, "-c", POINTS),
        "cluster 1,000 x 192": (
            *SMS_DIAR,
            *("cluster", str(folder / "session.npy"), "--output", labels),
        ),
    }


def run(options: Options) -> list[Measurement]:
    """Measure all cases, three times each (once if quick)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return measure(commands(folder), folder, 1 if options.quick else RUNS)


def measure(
    cases: Mapping[str, Sequence[str]], folder: Path, runs: int
) -> list[Measurement]:
    """Run each command with an empty cache and then with the cache it has filled.

    The folder receives the caches.
    """
    measurements = []
    for place, (name, command) in enumerate(cases.items()):
        seconds: dict[str, list[tuple[float, float]]] = {"empty": [], "warm": []}
        problem = ""
        for turn in range(runs):
            cache = folder / f"cache-{place}-{turn}"
            cache.mkdir()
            for state, times in seconds.items():
                tell(f"  {state:11} {name}")
                begin, before = time.perf_counter(), _children_seconds()
                problem = problem or _call(command, cache)
                cpu = _children_seconds() - before
                times.append((cpu, time.perf_counter() - begin))
        for state, times in seconds.items():
            if problem:
                one = Measurement(name, state, 1, "failed", note=problem)
            else:
                one = Measurement(name, state, 1, "measured", *zip(*times, strict=True))
            measurements.append(one)
    return measurements


def _call(command: Sequence[str], cache: Path) -> str:
    """Run a command; return the last line of its error output if it fails."""
    done = subprocess.run(  # noqa: S603
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": str(cache)},
    )
    if not done.returncode:
        return ""
    return " ".join(done.stderr.strip().splitlines()[-1:]) or "the process failed"


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
