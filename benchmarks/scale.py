"""Very many embeddings across recordings: time, memory and quality as they grow.

Segments of simulated speakers are drawn from the PLDA model of the back end for CAM++
vectors that comes with the package: 192 dimensions, 5 to 500 segments each, in random
order::

    scripts/bench scale                  # 2,000 to 100,000 segments
    scripts/bench --full scale           # and 1,000,000: 40 minutes on two cores

Each run is a process of its own with two threads, which reads a single-precision npz
file, clusters it and measures itself. Recall is the share of the ten nearest neighbours
of a thousand rows that were found, in the space of the last model.

Several indexes that could propose neighbours are also compared. They get the same
vectors (`sms_diar.clustering.many.nearest` says how scores become distances), propose
sixteen neighbours of every row with two threads, and are judged by how many of the ten
neighbours of highest score are among them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

from benchmarks._figures import count
from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import tell
from sms_diar._random import as_generator
from sms_diar._validation import check_count
from sms_diar.clustering.many import nearest
from sms_diar.clustering.many.across import NEIGHBOURS, Found, cluster_many
from sms_diar.clustering.many.nearest import Rows, exact_neighbours
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.datasets import voice_backend_path
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.metrics import score_clustering
from sms_diar.pipeline.train.models import read_backend
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import model_space, plda_of
from sms_diar.types import AnyArray, FloatArray, IntArray, RandomState

SEED = 0  # of the draws, and of the runs
WORKERS = 2
ASKED = 1000  # rows whose neighbours are looked up once more
ACROSS, EXACT, DEFAULT = "across", "across, all distances", "the default for a session"
ABSENT = 4  # exit code of a process that lacks a library
QUALITY = ("acp", "alp", "k", "g", "n_clusters", "n_singletons")


def cases(options: Options) -> list[tuple[str, int]]:
    """Return who is run on how many segments."""
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
    """Measure all cases, each in its own process."""
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
        # pynndescent uses the threads of numba.
        env={**os.environ, **ONE_THREAD, "NUMBA_NUM_THREADS": str(WORKERS)},
    )
    if done.returncode == ABSENT:
        return {"absent": done.stdout.strip()}
    if done.returncode:
        return None
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure_here(who: str, n: int, folder: Path) -> dict[str, Any]:
    """Measure one case in this process."""
    backend = read_backend(voice_backend_path())
    path = folder / f"crowd-{n}.npz"
    if not path.is_file():  # drawing is not measured
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
    """Return the share of nearest neighbours that were found, for a sample of rows."""
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
    """Measure one case, or draw the data that several cases share."""
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


_BLOCK = 50_000  # segments drawn at a time


class Crowd(NamedTuple):
    """Segments of many speakers, in random order."""

    X: npt.NDArray[np.float32]  # raw embeddings, shape (n, d)
    speakers: IntArray  # speaker of each row, shape (n,)


def draw_crowd(
    backend: BackEnd,
    n: int,
    *,
    fewest: int = 5,
    most: int = 500,
    random_state: RandomState = None,
) -> Crowd:
    """Draw `n` segments of many speakers from the PLDA model of a back end.

    A segment is ``x = mean + speaker + residual`` with the covariances of the model.
    The back end must be of kind "plda", keep all dimensions and have no offset. The
    number of segments of a speaker is uniform on a logarithmic scale from `fewest` to
    `most`; the last speaker may have more, so that none has fewer than `fewest`.
    """
    owner = "draw_crowd"
    check_count(owner, "fewest", fewest)
    check_count(owner, "n", n, least=fewest)
    check_count(owner, "most", most, least=fewest)
    model = plda_of(backend)
    back = _inverse(owner, backend) @ np.linalg.inv(model.transform)
    rng = as_generator(random_state)
    counts = _counts(n, fewest, most, rng)
    speakers = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(speakers)
    voices = np.sqrt(model.psi) * rng.standard_normal((len(counts), model.dim))
    X = np.empty((n, backend.dim), dtype=np.float32)
    origin = backend.center + _inverse(owner, backend) @ model.mean
    for first in range(0, n, _BLOCK):
        part = speakers[first : first + _BLOCK]
        rows = voices[part] + rng.standard_normal((len(part), model.dim))
        X[first : first + _BLOCK] = rows @ back.T + origin
    return Crowd(X, speakers)


def _counts(n: int, fewest: int, most: int, rng: np.random.Generator) -> IntArray:
    counts: list[int] = []
    left = n
    while left > 0:
        drawn = round(float(np.exp(rng.uniform(np.log(fewest), np.log(most)))))
        if left - drawn < fewest:
            drawn = left
        counts.append(drawn)
        left -= drawn
    return np.array(counts, dtype=np.int64)


def _inverse(owner: str, backend: BackEnd) -> FloatArray:
    """Return the inverse of the back end's linear map."""
    square = backend.matrix.shape[0] == backend.matrix.shape[1]
    if not square or backend.offset.any():
        raise InvalidParameterError(
            f"must keep all dimensions and add nothing, got one that maps "
            f"{backend.matrix.shape[1]} to {backend.matrix.shape[0]}",
            owner=owner,
            parameter="backend",
        )
    return np.asarray(np.linalg.inv(backend.matrix), dtype=np.float64)


PROPOSED, WANTED = 16, 10
ASKED = 1000
BLOCK = 8192


def _places(rows: Rows) -> AnyArray:
    parts = [slice(i, i + BLOCK) for i in range(0, len(rows), BLOCK)]
    placed = [rows.positions(part) for part in parts]
    rest = np.concatenate([rest for _, rest in placed])
    lifted = np.sqrt(np.maximum(rest - rest.min(), 0.0))
    U = np.concatenate([U for U, _ in placed])
    return np.ascontiguousarray(np.column_stack((U, lifted)), dtype=np.float32)


def _ours(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    index = nearest.build_index(rows, workers=2)
    clock()
    near, _ = nearest.ranked_neighbours(rows, index, PROPOSED, workers=2)
    return near


def _faiss_graph(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(2)
    places = _places(rows)
    index = faiss.IndexHNSWFlat(places.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 100
    index.add(places)
    clock()
    places[:, -1] = 0.0
    return np.asarray(index.search(places, PROPOSED + 1)[1])


def _hnswlib(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    library = importlib.import_module("hnswlib")
    places = _places(rows)
    index = library.Index(space="l2", dim=places.shape[1])
    index.init_index(max_elements=len(places), M=16, ef_construction=200, random_seed=0)
    index.set_num_threads(2)
    index.add_items(places)
    clock()
    index.set_ef(100)
    places[:, -1] = 0.0
    return np.asarray(index.knn_query(places, k=PROPOSED + 1)[0]).astype(np.int64)


def _pynndescent(rows: Rows, clock: Callable[[], None]) -> AnyArray:
    library = importlib.import_module("pynndescent")
    index = library.NNDescent(
        _places(rows), n_neighbors=PROPOSED + 1, random_state=0, n_jobs=2
    )
    clock()
    return np.asarray(index.neighbor_graph[0])


INDEXES: dict[str, Callable[[Rows, Callable[[], None]], AnyArray]] = {
    "index: faiss, cells": _ours,
    "index: faiss, graph": _faiss_graph,
    "index: hnswlib": _hnswlib,
    "index: pynndescent": _pynndescent,
}


def _resident() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure_index(name: str, rows: Rows) -> dict[str, Any]:
    """Build, search and judge one index in this process."""
    before, held = resource.getrusage(resource.RUSAGE_SELF), _resident()
    start = time.perf_counter()
    built: list[float] = []

    def clock() -> None:
        built.extend((time.perf_counter(), _resident()))

    near = INDEXES[name](rows, clock)
    end = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    asked = np.linspace(0, len(rows) - 1, ASKED).astype(np.int64)
    wanted = exact_neighbours(rows, asked, WANTED)
    hits = [
        len(np.intersect1d(near[row], true))
        for row, true in zip(asked, wanted, strict=True)
    ]
    cpu = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu": cpu,
        "wall": end - start,
        "build": built[0] - start,
        "search": end - built[0],
        "held": built[1] - held,
        "recall": sum(hits) / wanted.size,
    }


if __name__ == "__main__":
    main()
