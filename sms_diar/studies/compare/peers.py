"""The methods that ``recipes/compare`` compares, by the names that commands use.

Every method runs with its defaults, the same ones everywhere. Two know more than a
user does and are marked so: "ahc-oracle" takes, session by session, the threshold
of highest G, and the windows of a meeting may be announced to those methods that
can make use of it.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar.clustering import (
    SpeakerBlurringMeanShift,
    SpeakerMeanShift,
    SpeakerStochasticMeanShift,
)
from sms_diar.clustering.baselines import (
    AgglomerativeSpeakers,
    HdbscanSpeakers,
    KMeansSpeakers,
    NmeSpectralSpeakers,
    SpectralSpeakers,
    VbxSpeakers,
)
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.metrics import score_clustering
from sms_diar.scoring.backend import BackEnd
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray, IntArray

K = 17  # the paper's neighbours

KINDS: Mapping[str, tuple[type, Mapping[str, Any]]] = {
    "sms": (SpeakerEvidenceMeanShift, {}),
    "sms-paper": (SpeakerStochasticMeanShift, {"k": K}),
    "ms": (SpeakerMeanShift, {"k": K}),
    "bms": (SpeakerBlurringMeanShift, {"k": K}),
    "ahc": (AgglomerativeSpeakers, {}),
    "ahc-oracle": (AgglomerativeSpeakers, {}),
    "nme-sc": (NmeSpectralSpeakers, {}),
    "nme-parts": (NmeSpectralSpeakers, {"connected": False}),
    "spectral": (SpectralSpeakers, {}),
    "kmeans": (KMeansSpeakers, {}),
    "hdbscan": (HdbscanSpeakers, {}),
    "vbx": (VbxSpeakers, {}),
}
"""Estimator of each method, and what differs from its defaults."""

OURS = "sms"
ORACLES = ("ahc-oracle",)
HEADS = {
    "sms-paper": "paper",
    "ahc-oracle": "ahc*",
    "nme-sc": "nme",
    "nme-parts": "nme-p",
    "spectral": "spec",
    "kmeans": "kmns",
    "hdbscan": "hdb",
}
"""Short column heads; other methods keep their names. A star marks an oracle."""

# VBx as its authors run it on windows of 1.44 s every 0.24 s.
WINDOWED = {"vbx": {"Fa": 0.3, "Fb": 17.0, "loop_probability": 0.99}}

# CPU seconds at 1,000 segments, and the power of n with which they grow.
_COST = {
    "sms": (1.9, 1.3),
    "sms-paper": (0.15, 1.5),
    "ms": (0.15, 2.0),
    "bms": (0.25, 2.0),
    "ahc": (0.03, 2.0),
    "ahc-oracle": (0.15, 2.0),
    "nme-sc": (1.3, 2.9),
    "nme-parts": (1.3, 2.9),
    "spectral": (0.25, 2.5),
    "kmeans": (1.5, 2.0),
    "hdbscan": (0.05, 2.0),
    "vbx": (0.05, 2.0),
}


@dataclass(frozen=True, eq=False)
class Labelling:
    """What a method said about a session.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Clusters.
    seconds : float
        CPU time.
    """

    labels: IntArray
    seconds: float


def head(method: str) -> str:
    """Column head of a method."""
    return HEADS.get(method, method)


def build(method: str, backend: BackEnd | None, seed: int, **known: Any) -> Any:
    """Make the estimator of a method.

    Parameters
    ----------
    method : str
        One of `KINDS`.
    backend : BackEnd or None
        What scores.
    seed : int
        For methods that draw.
    **known
        Further parameters, where more is known about the session.
    """
    kind, given = KINDS[method]
    settings = {**given, **known, "backend": backend}
    estimator = kind(**settings)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator


def settings_of(method: str) -> dict[str, Any]:
    """Every parameter of a method, its defaults included."""
    params: dict[str, Any] = build(method, None, 0).get_params()
    shown = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in params.items()
        if name not in ("backend", "random_state")
    }
    kind = KINDS[method][0]
    return {"class": f"{kind.__module__}.{kind.__qualname__}", **shown}


def label(
    methods: Sequence[str],
    X: FloatArray,
    truth: AnyArray,
    backend: BackEnd | None,
    seed_of: Callable[[str], int],
    known: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Labelling]:
    """Cluster a session with every method.

    Parameters
    ----------
    methods : sequence of str
        Of `KINDS`.
    X : ndarray of shape (n, d)
        Raw embeddings.
    truth : ndarray of shape (n,)
        Speakers, which only the oracle looks at.
    backend : BackEnd or None
        What scores.
    seed_of : callable
        Seed of a method.
    known : mapping, optional
        Further parameters by method.
    """
    warm_up()
    found: dict[str, Labelling] = {}
    for method in methods:
        more = (known or {}).get(method, {})
        estimator = build(method, backend, seed_of(method), **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            labels = estimator.fit_predict(X)
            seconds = time.process_time() - start
        if method == "ahc-oracle":
            labels = best_cut(estimator, truth)
        found[method] = Labelling(labels, seconds)
    return found


def best_cut(fitted: AgglomerativeSpeakers, truth: AnyArray) -> IntArray:
    """Labels of the threshold of highest G: what no user can know.

    Thresholds are tried at every number of clusters up to three for each speaker
    and twenty more, and beyond in steps of a twentieth.
    """
    n = len(fitted.labels_)
    close = min(n, 3 * len(np.unique(truth)) + 20)
    steps = max(0, round(np.log(n / close) / np.log(1.05))) + 1
    counts = {*range(1, close + 1), *np.geomspace(close, n, steps).astype(int).tolist()}
    best, highest = fitted.labels_, -1.0
    for count in sorted(counts):
        # Scores above the threshold merge: n - count of them, ties aside.
        threshold = -np.inf if count == 1 else float(fitted.merge_scores_[n - count])
        labels = fitted.labels_at(threshold)
        g = score_clustering(truth, labels).majority.g
        if g > highest:
            best, highest = labels, g
    return best


def expected_seconds(methods: Sequence[str], n: int) -> float:
    """CPU time of all methods for n segments, about."""
    total = 0.3  # drawing and scoring the session
    for seconds, power in (_COST[method] for method in methods):
        total += seconds * (n / 1000.0) ** power
    return total


def allowed(
    methods: Sequence[str], n: int, limited: Sequence[str], limit: int
) -> list[str]:
    """Methods that may run on n segments."""
    return [name for name in methods if name not in limited or n <= limit]


@functools.cache
def warm_up() -> None:
    """Compile, or load from the disk cache, before anything is timed."""
    from sms_diar.scoring import train_backend  # noqa: PLC0415

    world = PldaWorld(dim=6, eer=0.05)
    training, session = world.draw_training(20, 6, 0), world.draw_session(3, 1)
    backend = train_backend(training.X, training.speakers)
    for method in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            build(method, backend, 0).fit(session.X)
