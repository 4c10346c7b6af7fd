"""A Dask cluster of separate processes on this machine, and a long run on it.

`Machines` starts a scheduler and workers, each a process, and kills them when asked.
As a program (`scripts/soak cluster` runs it) it gives the same work to one process, to
two, and to a cluster that loses a worker in the middle: `run speakers` with a thousand
sessions, and `diarize` with a thousand recordings. The results must be the same, byte
for byte but for times of day and seconds taken.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import soundfile

PATIENCE = 60.0  # seconds for a process to come up
WORKER = (
    "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0",
    "--death-timeout", "20",
)  # fmt: skip


class Machines:
    """A scheduler, and workers that can be lost.

    Parameters
    ----------
    folder : Path
        For their logs and whatever else they write.
    environment : str
        Variables of the scheduler, by their names.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        self._count = 0
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(self._file), "--idle-timeout", "10 minutes",
            **environment,
        )  # fmt: skip
        wait_for(lambda: self._file.exists() and self._file.stat().st_size > 0)
        self.address: str = json.loads(self._file.read_text())["address"]

    def add(self, number: int = 1, **environment: str) -> None:
        """Start workers, and wait until the scheduler knows them."""
        for _ in range(number):
            options = ("--local-directory", str(self.folder), *WORKER)
            self.workers.append(
                self._start("dask_worker", self.address, *options, **environment)
            )
        wait_for(lambda: self._known() >= len(self.workers))

    def complete(self, number: int) -> None:
        """Start as many workers as are missing."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        self.add(number - len(self.workers))

    def dismiss(self) -> None:
        """Kill all workers, and wait until the scheduler has noticed."""
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.workers.clear()
        wait_for(lambda: self._known() == 0)

    def lose(self) -> None:
        """Kill a worker; nothing of it is left."""
        self.workers.pop().kill()

    def close(self) -> None:
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _known(self) -> int:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return len(client.nthreads())

    def _start(
        self, program: str, *options: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        self._count += 1
        log = self.folder / f"{program}-{self._count}.log"
        with log.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", *options],
                stdout=file,
                stderr=file,
                cwd=self.folder,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is for the command, not for them
            )


@contextlib.contextmanager
def machines(folder: Path, workers: int, **environment: str) -> Iterator[Machines]:
    """A cluster that is gone afterwards."""
    found = Machines(folder, **environment)
    try:
        found.add(workers)
        yield found
    finally:
        found.close()


def wait_for(happens: Callable[[], bool]) -> None:
    """Look again and again until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > deadline:
            raise TimeoutError("a process of the cluster did not come up")
        time.sleep(0.02)


def without_times(value: object) -> object:
    """Results without what differs from run to run: seconds taken, and stamps."""
    if isinstance(value, dict):
        return {
            key: without_times(inner)
            for key, inner in value.items()
            if key not in ("stamp", "seconds")
        }
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    return value


# --- the long run -------------------------------------------------------------

SPEAKERS = (
    "--set", "speakers=[3]", "--set", "figures=false", "--set", "view_speakers=3",
    "--set", 'methods=["ms", "sms-paper"]',
)  # fmt: skip


def write_recordings(folder: Path, number: int) -> Path:
    """Recordings of two voices in turn, each twice 3 s, and a table that lists them."""
    from sms_diar.synthetic.voices import Voice, converse
    from sms_diar.types import Segment

    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    rate, turn = 8000, Segment("x", 0.1, 5.9)
    said = [converse([(turn, Voice.draw(rng))], 6.0, rng, rate=rate) for _ in range(24)]
    half = 3 * rate
    lines = []
    for place in range(number):
        a, b = (said[voice] for voice in rng.choice(len(said), 2, replace=False))
        samples = np.concatenate([a[:half], b[:half], a[half:], b[half:]])
        samples = samples + 1e-3 * rng.standard_normal(len(samples))
        path = folder / f"r{place:04d}.wav"
        soundfile.write(path, np.clip(samples, -1.0, 1.0), rate)
        lines.append(f"{path.stem} {path}\n")
    (folder / "wav.scp").write_text("".join(lines))
    return folder


def speakers(folder: Path, sessions: int, *options: str) -> bytes:
    """Results of the recipe `speakers`."""
    _command("run", "speakers", "--exp", str(folder), "--set", f"runs={sessions}",
             *SPEAKERS, *options)  # fmt: skip
    results = json.loads((folder / "report" / "results.json").read_text())
    return json.dumps(without_times(results), sort_keys=True).encode()


def turns(folder: Path, recordings: Path, *options: str) -> bytes:
    """Turns of all recordings."""
    folder.mkdir()
    out = folder / "out.rttm"
    _command("diarize", str(recordings), "--model", "embedded", "--rttm", str(out),
             *options)  # fmt: skip
    return out.read_bytes()


def _command(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "sms_diar", *words],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def compare(
    name: str, folder: Path, work: Callable[..., bytes], share: float
) -> list[str]:
    """Do the work in three ways, and say what came out of each."""
    found = []
    for workers in (1, 2):
        started = time.monotonic()
        result = work(folder / f"{name}-{workers}", "--workers", str(workers))
        taken = time.monotonic() - started
        found.append((f"{workers} process(es)", result, taken))
    place = folder / f"{name}-machines"
    place.mkdir()
    with machines(place, 2) as cluster:
        import threading

        # The second of two goes when a share of the time that two need is over.
        losing = threading.Timer(share * found[-1][2], cluster.lose)
        losing.start()
        started = time.monotonic()
        result = work(folder / f"{name}-dask", "--scheduler", cluster.address)
        taken = time.monotonic() - started
        losing.cancel()
        lost = 2 - len(cluster.workers)
        found.append((f"Dask, {lost} of 2 workers lost", result, taken))
    for way, result, taken in found:
        digest = hashlib.sha256(result).hexdigest()[:16]
        print(f"{name:10} {way:26} {taken:7.1f} s  {len(result):9} bytes  {digest}")
    faults = [way for way, result, _ in found if result != found[0][1]]
    if not lost:
        faults.append("the worker outlived the work")
    return [f"{name}: {fault}" for fault in faults]


def main() -> None:
    """Run it, and end with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--recordings", type=int, default=1000)
    parser.add_argument("--only", choices=("speakers", "diarize"))
    options = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only != "diarize":
            work = lambda place, *more: speakers(place, options.sessions, *more)  # noqa: E731
            faults += compare("speakers", folder, work, 0.5)
        if options.only != "speakers":
            data = write_recordings(folder / "data", options.recordings)
            work = lambda place, *more: turns(place, data, *more)  # noqa: E731
            faults += compare("diarize", folder, work, 0.5)
    for fault in faults:
        print(f"differs: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
