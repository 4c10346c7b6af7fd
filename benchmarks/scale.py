"""Very many embeddings across recordings: time, memory and quality as they grow.

Segments of simulated speakers are drawn from the PLDA model of the back end for CAM++
vectors that comes with the package: 192 dimensions, 5 to 500 segments each, in random
order::

    scripts/bench scale                  # 2,000 to 100,000 segments
    scripts/bench --full scale           # and 1,000,000: half an hour and more

Each run is a process of its own with one thread, which reads a single-precision npz
file, clusters it and measures itself.
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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

from benchmarks._figures import count
from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import tell
from sms_diar._random import as_generator
from sms_diar._validation import check_count
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
from sms_diar.datasets import voice_backend_path
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.metrics import score_clustering
from sms_diar.pipeline.train.models import read_backend
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import plda_of
from sms_diar.types import FloatArray, IntArray, RandomState

SEED = 0  # of the draws, and of the runs
ACROSS, DEFAULT = "across", "the default for a session"
QUALITY = ("acp", "alp", "k", "g", "n_clusters", "n_singletons")


def cases(options: Options) -> list[tuple[str, int]]:
    """Return who is run on how many segments."""
    if options.quick:
        return [(ACROSS, 2000)]
    found = [
        (DEFAULT, 2000),
        (DEFAULT, 10_000),
        (ACROSS, 10_000),
        (ACROSS, 30_000),
        (ACROSS, 100_000),
    ]
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
            labels[who, n] = np.load(_path(folder, who, n))
            if (DEFAULT, n) in labels:
                agreed = adjusted_rand_score(labels[DEFAULT, n], labels[who, n])
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
        env={**os.environ, **ONE_THREAD},
    )
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
    truth = np.load(path.with_suffix(".speakers.npy"))
    start = time.perf_counter()
    vectors = read_embeddings(path).vectors
    kind = SpeakerEvidenceMeanShift if who == DEFAULT else SpeakerFragmentMeanShift
    model: SpeakerEstimator = kind(backend=backend, row_weight=1.0, random_state=SEED)
    labels: IntArray = model.fit(vectors).labels_
    end = time.perf_counter()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    np.save(_path(folder, who, n), labels)
    figures = score_clustering(truth, labels).as_dict()
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": end - start,
        "peak": usage.ru_maxrss / 1024,
        "speakers": len(np.unique(truth)),
        **{name: float(figures[name]) for name in QUALITY},
    }


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
    parser.add_argument("--who", choices=(ACROSS, DEFAULT))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--draw", type=Path, metavar="PATH")
    args = parser.parse_args()
    if args.draw:
        _draw(args.n, args.draw)
        return
    print(json.dumps(measure_here(args.who, args.n, args.folder)))


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


if __name__ == "__main__":
    main()
