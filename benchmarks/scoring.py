"""Time scorers on corpora of the size of AMI and VoxConverse.

The references of the scoring cases are repeated under new names and jittered
until there are 170 (AMI) and 448 (VoxConverse) recordings; the hypothesis is the
reference with jittered boundaries, missed turns and confused speakers. Each tool
runs as a process of its own; its CPU seconds include start-up::

    scripts/bench scoring                # into RESULTS.md
    .bench-venv/bin/python -m benchmarks.scoring --data ../shared/data/scoring \
        --python /path/to/venv/bin/python --dscore /path/to/dscore

The first finds the scoring cases below $SMS_DIAR_DATA or ../shared/data. The
second prints a table of the least of several runs. `--python` is an interpreter
that has pyannote.metrics, spy-der and dscore's requirements, `--dscore` a
checkout with md-eval-22.pl. Missing tools are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import plan_runs, tell
from sms_diar import __version__

CORPORA = {
    "AMI": (("pami1", "pami2", "pami3"), 170),
    "VoxConverse": (("pvox1", "pvox2", "pvox3"), 448),
}
SEED = 5
OURS_NAME = "sms-diar (all measures)"

OURS = """
import typer
from sms_diar.cli.commands import score
app = typer.Typer()
app.command(cls=score.ManyValues)(score.score)
app()
"""

PYANNOTE = """
import sys, warnings
from collections import defaultdict
warnings.simplefilter("ignore")
from pyannote.core import Annotation, Segment, Timeline
from pyannote.metrics.diarization import DiarizationErrorRate
def read(path):
    found = {}
    for number, line in enumerate(open(path)):
        f = line.split()
        start = float(f[3])
        turns = found.setdefault(f[1], Annotation(uri=f[1]))
        turns[Segment(start, start + float(f[4])), number] = f[7]
    return found
uem = defaultdict(list)
for line in open(sys.argv[3]):
    f = line.split()
    uem[f[0]].append(Segment(float(f[2]), float(f[3])))
ref, hyp = read(sys.argv[1]), read(sys.argv[2])
der = DiarizationErrorRate(collar=0.5)
for name in ref:
    der(ref[name], hyp.get(name, Annotation()), uem=Timeline(uem[name]))
print(100 * abs(der))
"""


def read_turns(path: Path) -> dict[str, list[tuple[float, float, str]]]:
    """Read (start, end, speaker) of the turns of each recording."""
    turns = defaultdict(list)
    for line in path.read_text().splitlines():
        f = line.split()
        start, length = float(f[3]), float(f[4])
        turns[f[1]].append((start, start + length, f[7]))
    return turns


def write_corpus(folder: Path, data: Path, names: tuple[str, ...], size: int) -> None:
    """Write a reference, a hypothesis and a UEM file of `size` recordings."""
    rng = np.random.default_rng(SEED)
    sources = [
        turns
        for name in names
        for turns in read_turns(data / "ref" / f"{name}.rttm").values()
    ]
    ref, hyp, uem = [], [], []
    for number in range(size):
        recording, latest = f"rec{number:04d}", 0.0
        source = sources[number % len(sources)]
        speakers = sorted({speaker for _, _, speaker in source})
        for start, end, speaker in source:
            moved = start + 0.1 * rng.random()
            length = max(0.05, end - start - 0.2 * rng.random())
            ref.append(line_of(recording, moved, length, speaker))
            latest = max(latest, moved + length)
            if rng.random() < 0.1:
                continue
            who = speaker if rng.random() < 0.9 else str(rng.choice(speakers))
            onset = max(0.0, moved + 0.1 * rng.standard_normal())
            length = max(0.05, length + 0.1 * rng.standard_normal())
            hyp.append(line_of(recording, onset, length, f"h-{who}"))
        uem.append(f"{recording} 1 0.000 {latest + 1.0:.3f}\n")
    for name, lines in (("ref.rttm", ref), ("hyp.rttm", hyp), ("all.uem", uem)):
        (folder / name).write_text("".join(lines))


def line_of(recording: str, start: float, length: float, speaker: str) -> str:
    """Format a line of RTTM."""
    times = f"{start:.3f} {length:.3f}"
    return f"SPEAKER {recording} 1 {times} <NA> <NA> {speaker} <NA> <NA>\n"


def cpu_seconds(command: list[str], folder: Path) -> tuple[float, str]:
    """Return CPU seconds of a process with its children, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, **ONE_THREAD}
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, done.stdout


def tools(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the command of each scorer that is installed."""
    files = ["ref.rttm", "hyp.rttm", "all.uem"]
    ours = [sys.executable, "-c", OURS, "score", *files[:2], "--uem", files[2]]
    ours += ["--collar", "0.25", "--json"]
    found = {OURS_NAME: ours}
    for convention in ("nist", "dscore", "pyannote"):
        found[f"sms-diar --convention {convention}"] = [
            *ours,
            "--convention",
            convention,
        ]
    if options.python:
        spyder = Path(options.python).parent / "spyder"
        found["spyder (DER)"] = [str(spyder), *files[:2], "-u", files[2]]
        found["spyder (DER)"] += ["-c", "0.25", "--per-file"]
    if options.dscore:
        md_eval = Path(options.dscore).resolve() / "scorelib" / "md-eval-22.pl"
        found["md-eval (DER)"] = ["perl", str(md_eval), "-af", "-c", "0.25"]
        found["md-eval (DER)"] += ["-r", files[0], "-s", files[1], "-u", files[2]]
        if options.python:
            score = Path(options.dscore).resolve() / "score.py"
            found["dscore"] = [options.python, str(score), "--collar", "0.25"]
            found["dscore"] += ["-r", files[0], "-s", files[1], "-u,--uem", files[2]]
    if options.python:
        found["pyannote.metrics (DER)"] = [options.python, "-c", PYANNOTE, *files]
    return found


def run(options: Options) -> list[Measurement]:
    """Measure the scorers that are installed."""
    data = Path(os.environ.get("SMS_DIAR_DATA", ROOT.parent / "shared" / "data"))
    data /= "scoring"
    if not data.is_dir():
        note = "no scoring cases; point SMS_DIAR_DATA to the folder that holds them"
        return [
            Measurement(OURS_NAME, c, n, "absent", note=note)
            for c, (_, n) in CORPORA.items()
        ]
    found: list[Measurement] = []
    for corpus, (names, size) in CORPORA.items():
        n = min(size, 12) if options.quick else size
        with tempfile.TemporaryDirectory() as temporary:
            write_corpus(Path(temporary), data, names, n)
            found += _measure_corpus(f"{corpus}, {n} recordings", n, temporary, options)
    return found


def _measure_corpus(
    case: str, n: int, folder: str, options: Options
) -> list[Measurement]:
    """Check and time each scorer on one corpus."""
    asked = argparse.Namespace(
        python=sys.executable, dscore=options.paths.get("dscore")
    )
    commands = tools(asked)
    checks: dict[str, tuple[float, str] | None] = {}
    found: dict[str, Measurement] = {}
    for name, command in commands.items():
        tell(f"  check       {name}")
        try:
            checks[name] = cpu_seconds(command, Path(folder))
        except (OSError, subprocess.CalledProcessError) as error:
            checks[name] = None
            note = _why(error)
            found[name] = Measurement(name, case, n, "absent", note=note)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in (0, 1):
        for name in list(commands)[:: -1 if turn else 1]:
            first = checks[name]
            if first is None:
                continue
            plan = plan_runs(first[0], options.budget, quick=options.quick)
            if plan.rounds[turn]:
                tell(f"  time        {name}")
            if plan.counts_check and not turn:
                times[name].append(first[0])
            for _ in range(plan.rounds[turn]):
                times[name].append(cpu_seconds(commands[name], Path(folder))[0])
    for name, first in checks.items():
        if first is not None:
            der = float(overall(name, first[1]))
            found[name] = Measurement(
                name, case, n, "measured", tuple(times[name]), facts={"der": der}
            )
    ours = found[OURS_NAME].facts.get("der")
    return [_judged(found[name], ours) for name in commands]


def _judged(found: Measurement, ours: float | None) -> Measurement:
    """Mark a scorer as wrong whose DER differs from ours by more than 0.02 %."""
    der = found.facts.get("der")
    if der is None or ours is None or abs(der - ours) <= 0.02:
        return found
    note = f"DER {der:.4f}, ours {ours:.4f}"
    return Measurement(found.competitor, found.case, found.n, "wrong", note=note)


def _why(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = str(error.stderr).strip().splitlines()
        return lines[-1] if lines else f"ended with {error.returncode}"
    return "not installed"


def overall(name: str, text: str) -> str:
    """Return the DER that a tool printed."""
    if name.startswith("sms-diar"):
        return f"{100 * json.loads(text)['overall']['der']:.4f}"
    if name.startswith("md-eval"):
        lines = [line for line in text.splitlines() if "OVERALL SPEAKER" in line]
        return lines[-1].split("=")[1].split()[0]
    if name.startswith("spyder"):
        row = next(line for line in text.splitlines() if "Overall" in line)
        return row.replace("%", " ").split()[-2]
    if name == "dscore":
        return text.strip().splitlines()[-1].split()[3]
    return f"{float(text.strip().splitlines()[-1]):.4f}"


def main() -> None:
    """Print a table of the fastest of several runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--python", help="interpreter with the other tools")
    parser.add_argument("--dscore", help="checkout of dscore, with md-eval")
    parser.add_argument(
        "--repeat", type=int, default=3, help="runs of each; the least counts"
    )
    options = parser.parse_args()
    print(f"sms_diar {__version__}, Python {platform.python_version()}, ", end="")
    print(f"NumPy {np.__version__}, {platform.machine()}, seed {SEED}\n")
    for corpus, (names, size) in CORPORA.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_corpus(folder, options.data, names, size)
            n_ref = (folder / "ref.rttm").read_text().count("\n")
            n_hyp = (folder / "hyp.rttm").read_text().count("\n")
            print(f"## {corpus}: {size} recordings, {n_ref} + {n_hyp} turns\n")
            print("| scorer | CPU s | times ours | DER % |\n| :-- | --: | --: | --: |")
            base = 0.0
            for name, command in tools(options).items():
                runs = [cpu_seconds(command, folder) for _ in range(options.repeat)]
                used = min(seconds for seconds, _ in runs)
                base = base or used
                der = overall(name, runs[0][1])
                print(
                    f"| {name} | {used:.2f} | {used / base:.1f} | {der} |", flush=True
                )
            print()


if __name__ == "__main__":
    main()
