"""kNN mean shift of speaker embeddings, beside loops, linkage and spectra.

A simulated session of 60 speakers, 2,013 segments, 100 dimensions, and a PLDA
back end trained on other speakers of the same world. Scores of all pairs, where
a competitor needs them, are part of its time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmarks._records import AbsentError, Case, Competitor, Data, Outcome
from benchmarks._speaker_loop import plain_numpy_loop
from benchmarks._table import count
from sms_diar import clustering
from sms_diar.clustering import SpeakerStochasticMeanShift
from sms_diar.scoring import BackEnd, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray

TITLE = "Speakers"
BASE = "SMS, tol 1e-2"
K = 17
ROUGH, REST = 1e-2, 1e-6  # tolerances: the labels no longer change, and full rest
WORLD_SEED, SESSION_SEED, RUN_SEED = 1, 0, 0
N_SPEAKERS, N_SEGMENTS, DIM = 60, 2013, 100

SERIES = ("speakers",)


def cases(*, quick: bool = False) -> list[Case]:
    """One session."""
    n = 300 if quick else N_SEGMENTS
    return [Case(f"{count(n)} segments", "speakers", n, d=30 if quick else DIM)]


def load(case: Case, folder: Path) -> Data:
    """Draw the session and train its back end, once for all processes."""
    path = folder / f"session-{case.n}-{case.d}.joblib"
    if not path.is_file():
        joblib.dump(tuple(_draw(case)), path)
    return Data(*joblib.load(path))


def _draw(case: Case) -> Data:
    world = PldaWorld(dim=case.d)
    n_speakers = max(2, round(case.n * N_SPEAKERS / N_SEGMENTS))
    # A few more than wanted, of which the surplus is left out at random.
    session = world.draw_session(n_speakers + 2, SESSION_SEED)
    inside = np.flatnonzero(session.speakers < n_speakers)
    rng = np.random.default_rng(SESSION_SEED)
    if len(inside) < case.n:
        raise ValueError(f"speakers: seed {SESSION_SEED} draws too few segments")
    rows = np.sort(rng.choice(inside, size=case.n, replace=False))
    training = world.draw_training(300, 20, WORLD_SEED)
    backend = train_backend(training.X, training.speakers, n_components=case.d)
    return Data(session.X[rows], session.speakers[rows], backend)


def competitors(paths: dict[str, str]) -> dict[str, Competitor]:
    """Everyone, by name."""
    stochastic = "SpeakerStochasticMeanShift"
    found = [
        _rival(
            BASE, _ours(stochastic, tol=ROUGH, random_state=RUN_SEED), promised=True
        ),
        _rival(
            "NumPy loop, tol 1e-2",
            _loop(ROUGH),
            promised=True,
            twin=BASE,
            twin_by="labels",
        ),
        _rival(
            "SMS, tol 1e-6",
            _ours(stochastic, tol=REST, random_state=RUN_SEED),
            promised=True,
        ),
        _rival(
            "NumPy loop, tol 1e-6",
            _loop(REST),
            promised=True,
            twin="SMS, tol 1e-6",
            twin_by="labels",
        ),
        _rival("MS, tol 1e-6", _ours("SpeakerMeanShift", tol=REST)),
        _rival("BMS, tol 1e-6", _ours("SpeakerBlurringMeanShift", tol=REST)),
    ]
    for key, name in BASELINES.items():
        found.append(_rival(f"{name} (ours)", _baseline(key)))
    found += [
        _rival("AHC (scipy)", _linkage("scipy.cluster.hierarchy"), ours=False),
        _rival("AHC (fastcluster)", _linkage("fastcluster"), ours=False),
        _rival("spectralcluster", _spectralcluster, ours=False),
        _rival("spectralcluster, autotune", _autotuned, ours=False),
    ]
    return {rival.name: rival for rival in found}


BASELINES = {
    "ahc": "AHC",
    "nme-sc": "NME-SC",
    "spectral": "spectral",
    "vbx": "VBx",
    "kmeans": "k-means",
    "hdbscan": "HDBSCAN",
}
"""Our own versions of other methods, where this version of the package has them."""


def _rival(name: str, make: Any, *, ours: bool = True, **more: Any) -> Competitor:
    return Competitor(name, make, SERIES, ours=ours, **more)


Make = Callable[[Data, Case], Callable[[], Outcome]]


def _ours(name: str, **options: Any) -> Make:
    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        model_class = getattr(clustering, name)

        def call() -> Outcome:
            model = model_class(backend=data.extra, k=K, **options).fit(data.X)
            return Outcome(model.labels_, model.resting_points_, model.n_steps_)

        return call

    return make


def _loop(tol: float) -> Make:
    """The straightforward loop in NumPy, with our way to label what came to rest."""

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        backend: BackEnd = data.extra
        labeller = SpeakerStochasticMeanShift(backend=backend, k=K, tol=tol)

        def call() -> Outcome:
            states = backend.prepare(data.X)
            rest = plain_numpy_loop(states, backend, K, tol, RUN_SEED)
            labels = labeller._merge(rest.states, backend)
            return Outcome(labels, rest.states, rest.n_steps)

        return call

    return make


def _baseline(key: str) -> Make:
    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        try:
            registry = importlib.import_module("sms_diar.clustering.methods")
            model_class = registry.METHODS[key].load()
        except (ImportError, AttributeError, KeyError) as error:
            raise AbsentError(f"this version of sms_diar has no {key}") from error
        options = {"backend": data.extra, "random_state": RUN_SEED}
        known = model_class().get_params()
        options = {name: value for name, value in options.items() if name in known}

        def call() -> Outcome:
            return Outcome(model_class(**options).fit(data.X).labels_)

        return call

    return make


def _linkage(module: str) -> Make:
    """Average linkage of PLDA scores, cut where they stop being positive."""

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        library = importlib.import_module(module)
        from scipy.cluster.hierarchy import fcluster  # noqa: PLC0415
        from scipy.spatial.distance import squareform  # noqa: PLC0415

        def call() -> Outcome:
            scores = _scores(data)
            highest = float(scores.max())
            distances = highest - scores
            np.fill_diagonal(distances, 0.0)
            tree = library.linkage(squareform(distances, checks=False), "average")
            return Outcome(fcluster(tree, highest, "distance"))

        return call

    return make


def _spectralcluster(data: Data, case: Case) -> Callable[[], Outcome]:
    """Refinement of the ICASSP 2018 configuration, without its blur over time."""
    library = importlib.import_module("spectralcluster")
    names = library.RefinementName
    refinement = library.RefinementOptions(
        p_percentile=0.95,
        thresholding_soft_multiplier=0.01,
        thresholding_type=library.ThresholdType.RowMax,
        refinement_sequence=[
            names.CropDiagonal,
            names.RowWiseThreshold,
            names.Symmetrize,
            names.Diffuse,
            names.RowWiseNormalize,
        ],
    )
    return _spectral_call(library, data, refinement, laplacian_type=None)


def _autotuned(data: Data, case: Case) -> Callable[[], Outcome]:
    """NME-SC in spectralcluster: the threshold is searched for, in 12 steps."""
    library = importlib.import_module("spectralcluster")
    return _spectral_call(
        library,
        data,
        library.configs.turntodiarize_refinement_options,
        autotune=library.configs.turntodiarize_auto_tune,
        laplacian_type=library.LaplacianType.GraphCut,
        row_wise_renorm=True,
    )


def _spectral_call(
    library: Any, data: Data, refinement: Any, **options: Any
) -> Callable[[], Outcome]:
    def affinity(_: FloatArray) -> FloatArray:
        scores = _scores(data)
        scores /= float(np.abs(scores).max())
        return np.asarray((1.0 + scores) / 2.0)

    def call() -> Outcome:
        model = library.SpectralClusterer(
            min_clusters=2,
            max_clusters=2 * N_SPEAKERS,
            refinement_options=refinement,
            affinity_function=affinity,
            **options,
        )
        np.random.seed(RUN_SEED)  # noqa: NPY002, TID251 - its k-means takes no seed
        labels: AnyArray = model.predict(data.X)
        return Outcome(labels)

    return call


def _scores(data: Data) -> FloatArray:
    """PLDA scores of all pairs of the session."""
    backend: BackEnd = data.extra
    return backend.features(backend.prepare(data.X)).matrix()
