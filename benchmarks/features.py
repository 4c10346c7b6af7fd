"""Real-time factor and peak memory of the front end, for long recordings.

Separate processes compute features of speech-like noise (8 kHz, 16 bit)::

    scripts/bench features               # half an hour, into RESULTS.md
    .bench-venv/bin/python -m benchmarks.features --hours 1 5 \
        > benchmarks/RESULTS-features.md

User and system seconds and the peak resident size are those that the operating system
counts. System time is mostly spent on fresh memory and depends on what ran before, so
the real-time factor counts user time only, and the order of cases is reversed in every
other round. python_speech_features is called on the whole file, with and without its
derivatives, which are a loop in Python.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from python_speech_features import delta, mfcc

from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import plan_runs, tell
from sms_diar.features.extract import features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.feature_ark import FeatureArk

RATE = 8000


def write_audio(path: Path, hours: float) -> None:
    """Write noise in bursts, like syllables and pauses."""
    rng = np.random.default_rng(0)
    seconds = round(hours * 3600)
    with soundfile.SoundFile(path, "w", RATE, 1, "PCM_16") as file:
        for _ in range(0, seconds, 60):
            level = np.repeat(rng.uniform(0, 1, 300) ** 4 * 0.1 + 1e-4, RATE // 5)
            file.write(rng.standard_normal(60 * RATE) * level)


def ours(folder: Path, *, cmvn: str = "session", vad: str = "energy") -> int:
    """Do what ``sms-diar features`` does, and return the number of frames."""
    config = FrontEnd.from_dict({"cmvn": {"method": cmvn}, "vad": {"method": vad}})
    total = 0
    with (folder / "feats.ark").open("wb") as stream:
        ark = FeatureArk(stream)
        for name, frames in features_of_segments(DataDir(folder), config):
            ark.write(name, frames)
            total += len(frames)
    return total


def library(folder: Path, *, deltas: bool) -> int:
    """Run python_speech_features on the whole file, in memory."""
    signal, _ = soundfile.read(folder / "a.wav")
    frames = mfcc(
        signal * 32768,
        samplerate=RATE,
        numcep=20,
        nfilt=24,
        nfft=256,
        lowfreq=200,
        highfreq=3700,
        winfunc=np.hamming,
    )
    frames = (frames - frames.mean(axis=0)) / frames.std(axis=0)
    if deltas:
        first = delta(frames, 2)
        frames = np.hstack([frames, first, delta(first, 2)])
    return len(frames)


CASES: dict[str, Callable[[Path], int]] = {
    "sms_diar, session CMVN (two passes), energy VAD, deltas, ark": ours,
    "sms_diar, segment CMVN, no VAD, deltas, ark": lambda folder: ours(
        folder, cmvn="segment", vad="none"
    ),
    "sms_diar, sliding CMVN, no VAD, deltas, ark": lambda folder: ours(
        folder, cmvn="sliding", vad="none"
    ),
    "python_speech_features on the whole file, no deltas": lambda folder: library(
        folder, deltas=False
    ),
    "python_speech_features on the whole file, deltas": lambda folder: library(
        folder, deltas=True
    ),
}


class Run(NamedTuple):
    """User and system seconds, and peak memory in MiB."""

    user: float
    system: float
    peak: float


def measure(case: str, folder: Path) -> Run | None:
    """Measure one case in its own process; None if it fails."""
    command = [sys.executable, "-m", "benchmarks.features", "--case", case]
    done = subprocess.run(  # noqa: S603
        [*command, "--folder", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ONE_THREAD},
    )
    if done.returncode:
        sys.stderr.write(f"{case}: failed\n{done.stderr}")
        return None
    return Run(*map(float, done.stdout.split()))


def run(options: Options) -> list[Measurement]:
    """Measure half an hour of audio, or six minutes if quick."""
    hours = 0.1 if options.quick else 0.5
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_audio(folder / "a.wav", hours)
        (folder / "wav.scp").write_text("a a.wav\n")
        firsts = {case: measure(case, folder) for case in CASES}
        runs: dict[str, list[Run]] = {case: [] for case in CASES}
        for turn in (0, 1):
            for case in list(CASES)[:: -1 if turn else 1]:
                first = firsts[case]
                if first is None:
                    continue
                plan = plan_runs(
                    first.user + first.system, options.budget, quick=options.quick
                )
                if plan.rounds[turn]:
                    tell(f"  time        {case}")
                if plan.counts_check and not turn:
                    runs[case].append(first)
                more = [measure(case, folder) for _ in range(plan.rounds[turn])]
                runs[case] += [one for one in more if one is not None]
    for case, mine in runs.items():
        found.append(_measurement(case, hours, mine))
    return found


def _measurement(case: str, hours: float, runs: list[Run]) -> Measurement:
    shown, n = f"{hours:g} h", round(hours * 3600)
    if not runs:
        return Measurement(case, shown, n, "failed", note="the process failed")
    seconds = tuple(one.user + one.system for one in runs)
    user = statistics.median(one.user for one in runs)
    facts = {
        "user": user,
        "system": statistics.median(one.system for one in runs),
        "factor": user / n,
        "peak": max(one.peak for one in runs),
    }
    return Measurement(case, shown, n, "measured", seconds, facts=facts)


def row(case: str, hours: float, runs: list[Run | None]) -> str:
    """Format a line of the table."""
    good = [run for run in runs if run is not None]
    if len(good) < len(runs):
        return f"| {case} | {hours:g} h | {len(runs)} | failed | - | - | - |"
    user = sorted(run.user for run in good)
    system = sorted(run.system for run in good)
    factors = [seconds / (hours * 3600) for seconds in user]
    return (
        f"| {case} | {hours:g} h | {len(runs)} | {user[0]:.1f} - {user[-1]:.1f} s "
        f"| {system[0]:.1f} - {system[-1]:.1f} s "
        f"| {factors[0]:.5f} - {factors[-1]:.5f} "
        f"| {max(run.peak for run in good):.0f} MiB |"
    )


def main() -> None:
    """Print a table of all cases, or measure the one that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 5.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case")
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    if args.case:
        CASES[args.case](args.folder)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        print(usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024)
        return
    load = os.getloadavg()[0]
    print("# Features of long recordings\n")
    print(
        f"`python -m benchmarks.features` on {platform.machine()}, {os.cpu_count()} "
        f"cores, load {load:.1f} at the start, Python {platform.python_version()}, "
        f"NumPy {np.__version__}; one thread, each run in its own process.\n"
        f"Times (start-up and imports included) are the least and the most of the "
        f"runs. The real-time factor counts user time: system time is mostly the "
        f"price of fresh memory and depends on what ran before. Peak memory is the "
        f"most of the runs.\n"
    )
    print(
        "| case | audio | runs | user time | system time | real-time factor "
        "| peak memory |"
    )
    print("|---|---|---|---|---|---|---|")
    for hours in args.hours:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_audio(folder / "a.wav", hours)
            (folder / "wav.scp").write_text("a a.wav\n")
            runs: dict[str, list[Run | None]] = {case: [] for case in CASES}
            for turn in range(args.repeats):
                for case in list(CASES)[:: -1 if turn % 2 else 1]:
                    runs[case].append(measure(case, folder))
            for case, found in runs.items():
                print(row(case, hours, found), flush=True)


if __name__ == "__main__":
    main()
