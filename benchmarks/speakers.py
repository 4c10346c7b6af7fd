"""kNN mean shift of speaker embeddings, compared with loops in NumPy and other methods.

A simulated session of 60 speakers, 2,013 segments and 100 dimensions, with a PLDA back
end trained on other speakers of the same world. Competitors that need the scores of all
pairs are timed with them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

from benchmarks._figures import count
from benchmarks._records import AbsentError, Case, Competitor, Data, Outcome
from sms_diar import clustering
from sms_diar._random import as_generator
from sms_diar.clustering import SpeakerStochasticMeanShift
from sms_diar.scoring import BackEnd, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray, RandomState

TITLE = "Speakers"
BASE = "SMS, tol 1e-2"
K = 17
ROUGH, REST = 1e-2, 1e-6  # tolerances: labels no longer change; points are at rest
WORLD_SEED, SESSION_SEED, RUN_SEED = 1, 0, 0
N_SPEAKERS, N_SEGMENTS, DIM = 60, 2013, 100

SERIES = ("speakers",)


def cases(*, quick: bool = False) -> list[Case]:
    """Return one session."""
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
    # Draw more than enough, then drop the surplus at random.
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
    """Return all competitors by name."""
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
"""Our implementations of other methods."""


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
    """The loop in NumPy, labelled the way our estimator labels its resting points."""

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
    """Average linkage of PLDA scores, cut at a score of 0."""

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
    """The ICASSP 2018 configuration of spectralcluster, without its blur over time."""
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
    """NME-SC in spectralcluster, which searches for the threshold."""
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
    """Return the PLDA scores of all pairs of segments."""
    backend: BackEnd = data.extra
    return backend.features(backend.prepare(data.X)).matrix()


class Rest(NamedTuple):
    """Final states and number of single moves."""

    states: FloatArray
    n_steps: int


def plain_numpy_loop(
    states: FloatArray,
    backend: BackEnd,
    k: int,
    tol: float,
    seed: RandomState,
    *,
    rest_share: float = 1.0,
    max_steps: int | None = None,
) -> Rest:
    """Run kNN stochastic mean shift as one would write it in NumPy, for comparison.

    A step is a matrix-vector product, a partial sort, a mean, and the back end on one
    row: only the scoring vector of the moved point is updated. The same seed draws
    the same points as in `SpeakerStochasticMeanShift`, so that labels
    can be compared. `states` has shape (n, d), is the result of ``backend.prepare``,
    and is not modified. A point is at rest if its last move was shorter than `tol`;
    the run ends when `rest_share` of the points are, or after `max_steps` moves (None
    means 200 per point).
    """
    states = states.copy()
    n = len(states)
    k = min(k, n)
    terms = backend.features(states)
    U, bias = terms.U.copy(), terms.bias.copy()
    rng = as_generator(seed)
    at_rest = np.zeros(n, dtype=bool)
    n_at_rest, n_resting = math.ceil(rest_share * n), 0
    limit = max_steps or 200 * n
    step = 0
    while step < limit:
        # Drawing in blocks gives the same numbers and is cheaper.
        for i in rng.integers(n, size=min(1024, limit - step)):
            scores = U @ U[i]
            scores += bias
            scores[i] = np.inf
            near = np.argpartition(scores, n - k)[n - k :]
            target = states[near].mean(axis=0)
            move = target - states[i]
            states[i] = target
            moved = backend.features(target[None])
            U[i], bias[i] = moved.U[0], moved.bias[0]
            rests = math.sqrt(move @ move) < tol
            n_resting += int(rests) - int(at_rest[i])
            at_rest[i] = rests
            step += 1
            if n_resting >= n_at_rest:
                return Rest(states, step)
    return Rest(states, step)
