"""Very many embeddings across recordings: time, memory and quality as they grow.

Segments of simulated speakers, drawn by the PLDA law of the back end for CAM++ vectors
that comes with the package: 192 dimensions, 5 to 500 segments each (evenly on a
logarithmic scale), in random order::

    scripts/bench scale                  # 10,000 and 100,000
    scripts/bench --full scale           # 1,000,000 as well: an hour of two cores

Each run is a process of its own with two threads, which reads an npz of single
precision, clusters and measures. Peak memory is what the operating system counts.
Recall is that of the ten nearest neighbours in the space of the last model, for a
thousand rows, against all distances.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._crowd import draw_crowd
from benchmarks._environment import ONE_THREAD, ROOT
from benchmarks._indexes import INDEXES, measure_index
from benchmarks._records import Measurement, Options
from benchmarks._runner import tell
from benchmarks._table import count
from sms_diar.clustering.many.across import NEIGHBOURS, Found, cluster_many
from sms_diar.clustering.many.nearest import Rows, exact_neighbours
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.datasets import voice_backend_path
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.metrics import score_clustering
from sms_diar.pipeline.train.models import read_backend
from sms_diar.scoring.backend_plda import model_space
from sms_diar.types import IntArray

SEED = 0  # of the draws, and of the runs
WORKERS = 2
ASKED = 1000  # rows whose neighbours are looked up once more
ACROSS, EXACT, DEFAULT = "across", "across, all distances", "the default for a session"
ABSENT = 4  # exit code of a process that lacks a library
QUALITY = ("acp", "alp", "k", "g", "n_clusters", "n_singletons")


def cases(options: Options) -> list[tuple[str, int]]:
    """Who is run on how many segments."""
    if options.quick:
        return [(ACROSS, 2000), (EXACT, 2000)]
    found = [
        (DEFAULT, 2000),
        (ACROSS, 2000),
        (DEFAULT, 10_000),
        (ACROSS, 10_000),
        (EXACT, 10_000),
        (ACROSS, 30_000),
        (ACROSS, 100_000),
        (EXACT, 100_000),
    ]
    found += [(index, 100_000) for index in INDEXES]
    return [*found, (ACROSS, 1_000_000)] if options.full else found


def run(options: Options) -> list[Measurement]:
    """Measure all cases, each in a process of its own."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels: dict[tuple[str, int], IntArray] = {}
        for who, n in cases(options):
            tell(f"  {who}, {count(n)}")
            told = _measure(who, n, folder)
            case = f"n = {count(n)}"
            if told is None:
                found.append(Measurement(who, case, n, "failed", note="see above"))
                continue
            if "absent" in told:
                note = told["absent"]
                found.append(Measurement(who, case, n, "absent", note=note))
                continue
            if who not in INDEXES:
                labels[who, n] = np.load(_path(folder, who, n))
                if (ACROSS, n) in labels:
                    agreed = adjusted_rand_score(labels[ACROSS, n], labels[who, n])
                    told["ari_across"] = float(agreed)
            cpu, wall = told.pop("cpu"), told.pop("wall")
            found.append(
                Measurement(who, case, n, "measured", (cpu,), (wall,), facts=told)
            )
    return found


def _measure(who: str, n: int, folder: Path) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "benchmarks.scale", "--n", str(n), "--who", who]
    done = subprocess.run(  # noqa: S603
        [*command, "--folder", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        # pynndescent takes its threads from those of numba.
        env={**os.environ, **ONE_THREAD, "NUMBA_NUM_THREADS": str(WORKERS)},
    )
    if done.returncode == ABSENT:
        return {"absent": done.stdout.strip()}
    if done.returncode:
        return None
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure_here(who: str, n: int, folder: Path) -> dict[str, Any]:
    """One case, in this process."""
    backend = read_backend(voice_backend_path())
    path = folder / f"crowd-{n}.npz"
    if not path.is_file():  # the draw is no part of what is measured
        _in_another_process(n, path)
    if who in INDEXES:
        vectors = read_embeddings(path).vectors
        space = model_space(backend)
        rows = Rows(space.vectors(vectors).astype(np.float32), space.psi)
        del vectors
        return measure_index(who, rows)
    truth = np.load(path.with_suffix(".speakers.npy"))
    start = time.perf_counter()
    stages: list[tuple[str, float]] = []

    def stage(name: str) -> Any:
        stages.append((name, time.perf_counter()))
        sys.stderr.write(f"    {time.perf_counter() - start:7.0f} s  {name}\n")
        return lambda _: None

    stage("reading")
    vectors = read_embeddings(path).vectors
    found: Found | None = None
    if who == DEFAULT:
        stage("clustering")
        model = SpeakerEvidenceMeanShift(
            backend=backend, row_weight=1.0, random_state=SEED
        )
        labels: IntArray = model.fit(vectors).labels_
    else:
        search = "exact" if who == EXACT else "index"
        found = cluster_many(
            vectors, backend, seed=SEED, workers=WORKERS, search=search, stage=stage
        )
        labels = found.labels
    end = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    np.save(_path(folder, who, n), labels)
    figures = score_clustering(truth, labels).as_dict()
    ends = [*(at for _, at in stages[1:]), end]
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": end - start,
        "peak": usage.ru_maxrss / 1024,
        "speakers": len(np.unique(truth)),
        **{name: float(figures[name]) for name in QUALITY},
        "recall": None if found is None else recall(found),
        "stages": {
            name: round(after - at, 1)
            for (name, at), after in zip(stages, ends, strict=True)
        },
    }


def recall(found: Found) -> float:
    """Share of the nearest neighbours, of some rows, that were found."""
    rng = np.random.default_rng(SEED)
    n = len(found.rows)
    asked = np.sort(rng.choice(n, size=min(n, ASKED), replace=False))
    near = exact_neighbours(found.rows, asked, NEIGHBOURS)
    hits = [
        len(np.intersect1d(found.near[row], true))
        for row, true in zip(asked, near, strict=True)
    ]
    return sum(hits) / near.size


def _in_another_process(n: int, path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scale", "--n", str(n), "--draw"]
    subprocess.run([*command, str(path)], cwd=ROOT, check=True)  # noqa: S603


def _draw(n: int, path: Path) -> None:
    crowd = draw_crowd(read_backend(voice_backend_path()), n, random_state=SEED)
    ids = np.array([f"segment-{row:07d}" for row in range(n)])
    np.savez(path, ids=ids, vectors=crowd.X)
    np.save(path.with_suffix(".speakers.npy"), crowd.speakers)


def _path(folder: Path, who: str, n: int) -> Path:
    return folder / f"labels-{who.replace(' ', '-').replace(',', '')}-{n}.npy"


def main() -> None:
    """Measure one case, or draw what several are measured on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--who", choices=(ACROSS, EXACT, DEFAULT, *INDEXES))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--draw", type=Path, metavar="PATH")
    args = parser.parse_args()
    if args.draw:
        _draw(args.n, args.draw)
        return
    try:
        print(json.dumps(measure_here(args.who, args.n, args.folder)))
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed")
        sys.exit(ABSENT)


if __name__ == "__main__":
    main()
