"""The speaker experiment of the paper: one session of drawn speakers at a time.

A repetition is a pure function of its arguments, including the seed: it draws a
session from a simulated world or from a corpus of embeddings, clusters it with every
method, and returns plain numbers. Arrays are given by path and loaded once per process.

The stage "prepare" leaves a folder with the embeddings (`CORPUS`) and the back end
(`BACKEND`), if there are any, and a JSON record of their origin (`RECORD`).
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._json import read_json, write_json
from sms_diar._random import named_generator
from sms_diar.clustering._modes import merge_resting_points
from sms_diar.clustering.methods import METHODS, MethodOptions, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.mean_shift import KnnMeanShift
from sms_diar.errors import ConfigError, DataFormatError, InvalidParameterError
from sms_diar.io.embeddings.arrays import (
    load_arrays,
    read_npz,
    read_speakers,
    write_npz,
)
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_utt2spk
from sms_diar.io.model import read_model, write_model
from sms_diar.metrics import all_pairs, equal_error_rate, score_clustering
from sms_diar.pipeline.train.models import choose_backend
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_training import (
    KIND,
    backend_from_model,
    backend_to_model,
    session_backend,
)
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray, RandomState

from .paper import paper_name
from .statistics import Figures
from .threads import one_thread

if TYPE_CHECKING:
    from .settings import EmbeddingFiles


CRUMB = 5
"""Minimum number of segments of the clusters that "n_solid" counts."""


@dataclass(frozen=True)
class ShiftSettings:
    """Settings of the paper's methods; other methods ignore those they do not have.

    Parameters
    ----------
    k : int
        Number of neighbours. dsms draws it within 40 %.
    tol : float
        A point is at rest if it moves by less than this.
    merge_threshold : float
        Distance below which resting points are one cluster; 0: the default of the
        method, 0.2 for vectors of unit length.
    steps_per_segment : int
        Maximum number of moves of stochastic methods, per segment of the session.
    """

    k: int
    tol: float
    merge_threshold: float
    steps_per_segment: int

    def build(
        self, name: str, backend: BackEnd | None, n_segments: int, seed: RandomState
    ) -> SpeakerEstimator:
        """Make the estimator of a method of the registry."""
        options = MethodOptions(
            k=self.k,
            tol=self.tol,
            merge_threshold=self.merge_threshold or None,
            max_steps=self.steps_per_segment * n_segments,
        )
        return build_method(name, backend, options=options.taken_by(name), seed=seed)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A session: vectors of shape (n, d), and the speaker of each."""

    X: FloatArray
    speakers: AnyArray


@one_thread
def session_repetition(
    *,
    n_speakers: int,
    run: int,
    source: Mapping[str, Any],
    backend: str,
    methods: Sequence[str],
    shift: Mapping[str, Any],
    merge_thresholds: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Draw one session and cluster it with every method.

    The draws follow from the seed, the number of speakers and the number of the run.
    `source` is passed to `draw_session`; `backend` is a model file (empty: the
    estimators fit one to the session), and `shift` has the fields of `ShiftSettings`.
    K and G of methods with resting points are also computed at `merge_thresholds`, as
    "k@0.1" and "g@0.1".

    Returns a dict with "session" (number of segments, equal error rate) and "methods"
    (measures by method).
    """
    warm_up(tuple(methods))
    session = draw_session(n_speakers, run, source, seed)
    scorer = load_backend(backend)
    key = f"{n_speakers}/{run}"
    figures: dict[str, Figures] = {}
    for name in methods:
        rng = named_generator(seed, "cluster", key, paper_name(name))
        model = ShiftSettings(**shift).build(name, scorer, len(session.X), rng)
        figures[name] = _cluster(model, session, merge_thresholds)
    # Without a back end, the model is fitted to the session as in the paper.
    scores = (scorer or session_backend(session.X)).score_matrix(session.X)
    described = {
        "n_segments": float(len(session.X)),
        "eer": equal_error_rate(*all_pairs(scores, session.speakers)),
    }
    return {"session": described, "methods": figures}


def draw_session(
    n_speakers: int, run: int, source: Mapping[str, Any], seed: int
) -> Drawn:
    """Draw the speakers and segments of one repetition.

    `source` is ``{"world": fields of PldaWorld}`` or ``{"corpus": path of an npz file
    with vectors and spk, "law": [] or [mean, std]}``. Without a law all segments of a
    drawn speaker are taken, otherwise a normally distributed number of them, at most
    all.
    """
    rng = named_generator(seed, "session", n_speakers, run)
    if "world" in source:
        session = PldaWorld(**source["world"]).draw_session(n_speakers, rng)
        return Drawn(session.X, session.speakers)
    corpus = load_corpus(source["corpus"])
    names = np.unique(corpus.speakers)
    if n_speakers > len(names):
        raise InvalidParameterError(
            f"must be at most the {len(names)} of the corpus, got {n_speakers}",
            owner="draw_session",
            parameter="speakers",
        )
    chosen = rng.choice(names, size=n_speakers, replace=False)
    rows = []
    for name in chosen:
        own = rng.permutation(np.flatnonzero(corpus.speakers == name))
        if source["law"]:
            own = own[: max(1, round(rng.normal(*source["law"])))]
        rows.append(own)
    taken = np.concatenate(rows)
    return Drawn(corpus.X[taken], corpus.speakers[taken])


def load_backend(path: str) -> BackEnd | None:
    """Read a back end once per process; an empty path means none."""
    if not path:
        return None
    return _load_backend(path, Path(path).stat().st_mtime_ns)


def load_corpus(path: str) -> Drawn:
    """Read vectors and speakers once per process."""
    return _load_corpus(path, Path(path).stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _load_backend(path: str, _modified: int) -> BackEnd:
    return backend_from_model(read_model(path, KIND))


@functools.lru_cache(maxsize=4)
def _load_corpus(path: str, _modified: int) -> Drawn:
    arrays = load_arrays(path)
    return Drawn(arrays["vectors"].astype(np.float64), arrays["spk"])


def _cluster(
    model: SpeakerEstimator, session: Drawn, thresholds: Sequence[float]
) -> Figures:
    with warnings.catch_warnings():
        # "converged" below counts the runs that did not come to rest.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        labels = model.fit_predict(session.X)
        seconds = time.process_time() - start
    return {
        **score_clustering(session.speakers, labels).as_dict(),
        "n_solid": int(np.count_nonzero(np.bincount(labels) >= CRUMB)),
        "n_steps": model.n_steps_,
        "converged": float(model.converged_),
        "seconds": seconds,
        **_sensitivity(model, session, thresholds),
    }


def _sensitivity(
    model: SpeakerEstimator, session: Drawn, thresholds: Sequence[float]
) -> Figures:
    """Return K and G at further merging thresholds, if there are resting points."""
    if not isinstance(model, KnnMeanShift):
        return {}
    points = model.resting_points_
    if model.backend_.normalize_state:
        points = scale_rows(points)
    figures = {}
    for threshold in thresholds:
        merged = merge_resting_points(points, threshold)
        scores = score_clustering(session.speakers, merged)
        figures[f"k@{threshold:g}"] = scores.purity.k
        figures[f"g@{threshold:g}"] = scores.majority.g
    return figures


@functools.cache
def warm_up(methods: tuple[str, ...]) -> None:
    """Compile the kernels, or load them from the disk cache, before timing."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    for name in methods:
        if METHODS[name].needs_plda:
            continue
        rng = np.random.default_rng(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ShiftSettings(3, 1e-3, 0.0, 50).build(name, None, len(X), rng).fit(X)


BACKEND = "backend.npz"
CORPUS = "corpus.npz"
RECORD = "prepare.json"


def remove_prepared(folder: Path) -> None:
    """Remove the files of an earlier run, which may be from another source."""
    for name in (BACKEND, CORPUS):
        (folder / name).unlink(missing_ok=True)


def prepare_data(folder: Path, files: EmbeddingFiles) -> None:
    """Prepare the user's files."""
    labels = Path(files.labels) if files.labels else None
    embeddings, speakers = read_labelled(Path(files.embeddings), labels)
    backend = choose_backend(
        embeddings,
        files.backend or files.plda or None,
        files.transform or None,
        models=(),
    )
    record = write_corpus(folder, embeddings, speakers)
    kind = "cosine, fitted to each session"
    if backend is not None:
        backend.check_compatible(embeddings)
        write_model(folder / BACKEND, backend_to_model(backend))
        kind = f"{backend.kind} from {files.backend or files.plda}"
    write_record(folder, {**record, "source": "data", "backend": kind})


def read_labelled(
    path: Path, labels: Path | None
) -> tuple[EmbeddingSet, dict[str, str]]:
    """Read embeddings and their speakers; without labels, both from an npz file."""
    if labels is None:
        return read_npz(path), read_speakers(path)
    embeddings, speakers = read_embeddings(path), read_utt2spk(labels)
    missing = [name for name in embeddings.ids if name not in speakers]
    if missing:
        raise DataFormatError(
            f"no speaker for {missing[0]!r} ({len(missing)} of {len(embeddings)} ids "
            f"of {path} have none)",
            path=labels,
        )
    return embeddings, speakers


def write_corpus(
    folder: Path, embeddings: EmbeddingSet, speakers: Mapping[str, str]
) -> dict[str, Any]:
    """Write embeddings with their speakers; return what the record says of them."""
    write_npz(folder / CORPUS, embeddings, speakers=speakers)
    names = {speakers[name] for name in embeddings.ids}
    return {"corpus_speakers": len(names), "corpus_segments": len(embeddings)}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the origin of the back end and the corpus in `folder`."""
    write_json(folder / RECORD, dict(record))


def read_record(folder: Path) -> dict[str, Any]:
    """Read the origin of the back end and the corpus in `folder`."""
    record: dict[str, Any] = read_json(folder / RECORD)
    return record


def backend_path(folder: Path) -> str:
    """Return the file of the back end, or "" if sessions fit their own."""
    path = folder / BACKEND
    return str(path) if path.exists() else ""


def check_speakers(numbers: Sequence[int], record: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if sessions need more speakers than the corpus has."""
    available = record.get("corpus_speakers")
    if available is not None and max(numbers) > available:
        raise ConfigError(
            f"'speakers' must be at most the {available} of the corpus, "
            f"got {max(numbers)}"
        )
