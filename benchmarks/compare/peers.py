"""The peers that are compared: methods of the registry, and two extras.

Every method runs with its defaults, the same ones everywhere. "ahc-oracle" is `ahc`
with, session by session, the threshold of highest G, which no user can know;
"nme-parts" is `nme-sc` without the rule that keeps the graph connected. Where the times
of windows are known, methods whose ``fit`` takes them have them.
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

from sms_diar.clustering.baselines import AgglomerativeSpeakers, SpeakerBaseline
from sms_diar.clustering.methods import DEFAULT_METHOD, METHODS, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.rows import row_weight_of
from sms_diar.metrics import score_clustering
from sms_diar.scoring.backend import BackEnd
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray, IntArray, Segment


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
        Whether it uses the true labels.
    parameters : mapping
        Settings that differ from the defaults.
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
    """Result of a method for a session.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Clusters.
    seconds : float
        CPU time.
    confidence : ndarray of shape (n,), optional
        Probability that a label is right, where the method says so.
    count_posterior : mapping from int to float, optional
        Probability of each number of speakers, where the method says so.
    """

    labels: IntArray
    seconds: float
    confidence: FloatArray | None = None
    count_posterior: Mapping[int, float] | None = None


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
        Back end.
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
    segments: Sequence[Segment] | None = None,
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
        Back end.
    seed_of : callable
        Seed of a method.
    known : mapping, optional
        Further parameters by method.
    segments : sequence of Segment, optional
        Times of the rows, for methods that use them.
    """
    warm_up()
    found: dict[str, Labelling] = {}
    for method in methods:
        more = (known or {}).get(method, {})
        estimator = build(method, backend, seed_of(method), **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            fit_rows(estimator, X, segments)
            seconds = time.process_time() - start
        labels = estimator.labels_
        if PEERS[method].oracle:
            labels = best_cut(estimator, truth)
        found[method] = Labelling(
            labels,
            seconds,
            estimator.confidence_,
            estimator.count_posterior_,
        )
    return found


def fit_rows(
    estimator: SpeakerEstimator, X: FloatArray, segments: Sequence[Segment] | None
) -> None:
    """Fit an estimator, with times where there are some and it takes them.

    An estimator that takes no times but the weight of a row gets that.
    """
    weighs_rows = estimator.get_params().get("row_weight") == "auto"
    if segments is not None and weighs_rows and not estimator.takes_times:
        estimator.set_params(row_weight=row_weight_of(segments))
    estimator.fit_timed(X, segments)


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
    methods: Sequence[str],
    n: int,
    limited: Sequence[str],
    limit: int,
    *,
    limit_pairs: int | None = None,
    trained: bool = True,
) -> list[str]:
    """Methods that may run on n segments.

    Parameters
    ----------
    methods : sequence of str
        All.
    n : int
        Segments of the session.
    limited, limit : sequence of str and int
        Methods that are skipped above this many segments.
    limit_pairs : int, optional
        Number of segments above which methods that store all scores are skipped.
    trained : bool, default=True
        Whether a PLDA model is available, which some methods require.
    """

    def may(name: str) -> bool:
        method = METHODS[PEERS[name].method]
        if (method.needs_plda and not trained) or (name in limited and n > limit):
            return False
        within = limit_pairs is None or n <= limit_pairs
        return within or not issubclass(method.load(), SpeakerBaseline)

    return [name for name in methods if may(name)]


@functools.cache
def warm_up() -> None:
    """Compile, or load from the disk cache, before anything is timed."""
    from sms_diar.scoring import train_backend  # noqa: PLC0415

    world = PldaWorld(dim=6, eer=0.05)
    training, session = world.draw_training(20, 6, 0), world.draw_session(3, 1)
    backend = train_backend(training.X, training.speakers)
    windows = [Segment("x", i, i + 1.5) for i in range(len(session.X))]
    for method in PEERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            build(method, backend, 0).fit(session.X)
            if not METHODS[PEERS[method].method].needs_plda:
                fit_rows(build(method, None, 0), session.X, windows)
