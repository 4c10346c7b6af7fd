"""The peers that ``recipes/compare`` compares: methods of the registry, and two extras.

Every method runs with its defaults, the same ones everywhere. "ahc-oracle" is `ahc`
with, session by session, the threshold of highest G, which no user can know;
"nme-parts" is `nme-sc` without the rule that keeps the graph connected. Where the times
of windows are known, methods that can make use of them may have them.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar.clustering.baselines import AgglomerativeSpeakers
from sms_diar.clustering.methods import DEFAULT_METHOD, METHODS, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.metrics import score_clustering
from sms_diar.scoring.backend import BackEnd
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Peer:
    """A method as it takes part in the comparison.

    Parameters
    ----------
    method : str
        Its name in the registry.
    seconds, power : float
        CPU time at 1,000 segments, and the power of their number with which it grows.
    head : str
        Short column head; empty for the name. A star marks an oracle.
    oracle : bool, default=False
        Whether it looks at the truth.
    parameters : mapping
        What differs from the defaults.
    windowed : mapping
        What differs where windows of 1.44 s every 0.24 s are known to be such.
    """

    method: str
    seconds: float
    power: float
    head: str = ""
    oracle: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    windowed: Mapping[str, Any] = field(default_factory=dict)


PEERS: Mapping[str, Peer] = {
    "sms": Peer("sms", 1.9, 1.3),
    "sms-paper": Peer("sms-paper", 0.15, 1.5, "paper"),
    "ms": Peer("ms", 0.15, 2.0),
    "bms": Peer("bms", 0.25, 2.0),
    "ahc": Peer("ahc", 0.03, 2.0),
    "ahc-oracle": Peer("ahc", 0.15, 2.0, "ahc*", oracle=True),
    "nme-sc": Peer("nme-sc", 1.3, 2.9, "nme"),
    "nme-parts": Peer("nme-sc", 1.3, 2.9, "nme-p", parameters={"connected": False}),
    "spectral": Peer("spectral", 0.25, 2.5, "spec"),
    "kmeans": Peer("kmeans", 1.5, 2.0, "kmns"),
    "hdbscan": Peer("hdbscan", 0.05, 2.0, "hdb"),
    "vbx": Peer(
        "vbx",
        0.05,
        2.0,
        # As its authors run it on such windows.
        windowed={"Fa": 0.3, "Fb": 17.0, "loop_probability": 0.99},
    ),
}
"""Peers by the names that settings and tables use."""

OURS = DEFAULT_METHOD
ORACLES = tuple(name for name, peer in PEERS.items() if peer.oracle)
WINDOWED = {name: peer.windowed for name, peer in PEERS.items() if peer.windowed}


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


def head(name: str) -> str:
    """Column head of a peer."""
    return PEERS[name].head or name


def build(
    name: str, backend: BackEnd | None, seed: int, **known: Any
) -> SpeakerEstimator:
    """Make the estimator of a peer.

    Parameters
    ----------
    name : str
        One of `PEERS`.
    backend : BackEnd or None
        What scores.
    seed : int
        For methods that draw.
    **known
        Further parameters, where more is known about the session.
    """
    peer = PEERS[name]
    estimator = build_method(peer.method, backend, seed=seed)
    estimator.set_params(**peer.parameters, **known)
    return estimator


def settings_of(name: str) -> dict[str, Any]:
    """Every parameter of a peer, its defaults included."""
    estimator = build(name, None, 0)
    shown = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in estimator.get_params().items()
        if key not in ("backend", "random_state")
    }
    kind = type(estimator)
    return {"class": f"{kind.__module__}.{kind.__qualname__}", **shown}


def module_of(name: str) -> str:
    """Module of the estimator of a peer."""
    return str(METHODS[PEERS[name].method].load().__module__)


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
        Of `PEERS`.
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
        if PEERS[method].oracle:
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
    for peer in (PEERS[method] for method in methods):
        total += peer.seconds * (n / 1000.0) ** peer.power
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
    for method in PEERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            build(method, backend, 0).fit(session.X)
