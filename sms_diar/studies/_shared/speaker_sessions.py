"""The speaker experiment of the paper: one session of drawn speakers at a time.

A repetition is a pure function of its arguments, the seed among them: it draws a
session, from a simulated world or from a corpus of embeddings, clusters it with
every method, and returns plain numbers. Arrays are named by path and loaded once
in each process.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from scipy.stats import binomtest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sms_diar._random import named_generator
from sms_diar._validation import check_count
from sms_diar.clustering import (
    SpeakerBlurringMeanShift,
    SpeakerMeanShift,
    SpeakerStochasticMeanShift,
)
from sms_diar.clustering._modes import merge_resting_points
from sms_diar.errors import InvalidParameterError
from sms_diar.io.arrays import load_arrays
from sms_diar.io.model import read_model
from sms_diar.metrics import all_pairs, equal_error_rate, score_clustering
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_training import KIND, backend_from_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray

METHODS = ("MS", "BMS", "SMS", "DSMS")
CRUMB = 5
"""A cluster of fewer segments is a crumb; "n_solid" counts the others."""

Figures = dict[str, float]

P = ParamSpec("P")
R = TypeVar("R")


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Let `function` compute in one thread.

    Matrices are small here: threads cost more than they gain, and how they split
    a product changes its last bit, which figures must not depend on.
    """

    @functools.wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with threadpool_limits(limits=1):
            return function(*args, **kwargs)

    return limited


@dataclass(frozen=True)
class Method:
    """Settings that all methods of a repetition share.

    Parameters
    ----------
    k : int
        Neighbours of MS, BMS and SMS.
    dsms_low, dsms_high : int
        Range from which DSMS draws its number of neighbours.
    tol : float
        Rest.
    merge_threshold : float
        Distance below which resting points are one cluster; 0 leaves it to the
        estimators.
    steps_per_segment : int
        Most moves of SMS and DSMS, for each segment of the session.
    """

    k: int
    dsms_low: int
    dsms_high: int
    tol: float
    merge_threshold: float
    steps_per_segment: int

    def build(
        self,
        name: str,
        backend: BackEnd | None,
        n_segments: int,
        rng: np.random.Generator,
    ) -> Any:
        """Make the estimator called "MS", "BMS", "SMS" or "DSMS"."""
        common: dict[str, Any] = {
            "backend": backend,
            "tol": self.tol,
            "merge_threshold": self.merge_threshold or None,
        }
        if name == "MS":
            return SpeakerMeanShift(k=self.k, **common)
        if name == "BMS":
            return SpeakerBlurringMeanShift(k=self.k, **common)
        return SpeakerStochasticMeanShift(
            k=self.k if name == "SMS" else (self.dsms_low, self.dsms_high),
            max_steps=self.steps_per_segment * n_segments,
            random_state=rng,
            **common,
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """A session: one vector per segment, and who speaks."""

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
    method: Mapping[str, Any],
    merge_thresholds: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Draw one session and cluster it with every method.

    Parameters
    ----------
    n_speakers, run : int
        Which repetition; its random numbers follow from both and the seed.
    source : mapping
        Where sessions come from; see `draw_session`.
    backend : str
        Model file of the back end; empty for the one that the estimators fit to
        a session.
    methods : sequence of str
        Of `METHODS`.
    method : mapping
        Fields of `Method`.
    merge_thresholds : sequence of float
        Further thresholds at which K and G are computed, as "k@0.1" and "g@0.1".
    seed : int
        Seed of the whole experiment.

    Returns
    -------
    figures : dict
        "session" (segments, equal error rate) and "methods", by name.
    """
    warm_up()
    session = draw_session(n_speakers, run, source, seed)
    scorer = load_backend(backend)
    key = f"{n_speakers}/{run}"
    figures: dict[str, Figures] = {}
    for name in methods:
        rng = named_generator(seed, "cluster", key, name)
        model = Method(**method).build(name, scorer, len(session.X), rng)
        figures[name] = _cluster(model, session, merge_thresholds)
    # Without a back end the estimators fit one to the session, all the same one.
    scores = model.backend_.score_matrix(session.X)
    described = {
        "n_segments": float(len(session.X)),
        "eer": equal_error_rate(*all_pairs(scores, session.speakers)),
    }
    return {"session": described, "methods": figures}


def draw_session(
    n_speakers: int, run: int, source: Mapping[str, Any], seed: int
) -> Drawn:
    """Draw the speakers, and segments, of one repetition.

    Parameters
    ----------
    n_speakers, run, seed : int
        See `session_repetition`.
    source : mapping
        ``{"world": fields of PldaWorld}``, or ``{"corpus": npz of ids, vectors
        and spk, "law": [] or [mean, std]}``. Without a law all segments of a drawn
        speaker are taken, with one a Gaussian number of them, as far as they go.
    """
    rng = named_generator(seed, "session", n_speakers, run)
    if "world" in source:
        session = PldaWorld(**source["world"]).draw_session(n_speakers, rng)
        return Drawn(session.X, session.speakers)
    corpus = load_corpus(source["corpus"])
    names = np.unique(corpus.speakers)
    if n_speakers > len(names):
        raise InvalidParameterError(
            f"draw_session: speakers must be at most the {len(names)} of the corpus, "
            f"got {n_speakers}"
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


def _cluster(model: Any, session: Drawn, thresholds: Sequence[float]) -> Figures:
    with warnings.catch_warnings():
        # Counted below: a table of averages says how many runs did not rest.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        labels = model.fit_predict(session.X)
        seconds = time.process_time() - start
    points = model.resting_points_
    if model.backend_.normalize_state:
        points = scale_rows(points)
    sensitivity = {}
    for threshold in thresholds:
        merged = merge_resting_points(points, threshold)
        scores = score_clustering(session.speakers, merged)
        sensitivity[f"k@{threshold:g}"] = scores.purity.k
        sensitivity[f"g@{threshold:g}"] = scores.majority.g
    return {
        **score_clustering(session.speakers, labels).as_dict(),
        "n_solid": int(np.count_nonzero(np.bincount(labels) >= CRUMB)),
        "n_steps": model.n_steps_,
        "converged": float(model.converged_),
        "seconds": seconds,
        **sensitivity,
    }


@functools.cache
def warm_up() -> None:
    """Compile, or load from the disk cache, before anything is timed."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    for name in METHODS:
        method = Method(3, 2, 4, 1e-3, 0.0, 50)
        rng = np.random.default_rng(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            method.build(name, None, len(X), rng).fit(X)


@dataclass(frozen=True)
class ComponentChoice:
    """Equal error rates of held-out speakers at each number of dimensions.

    Parameters
    ----------
    candidates : tuple of int
        Dimensions after the PCA that were tried.
    mean, std : tuple of float
        Of the equal error rate over folds and rounds.
    best : int
        The candidate of lowest mean; the smallest of equals.
    """

    candidates: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    best: int


@one_thread
def choose_components(
    X: FloatArray,
    speakers: AnyArray,
    candidates: Sequence[int],
    *,
    n_folds: int = 5,
    n_rounds: int = 1,
    seed: int = 0,
    groups: AnyArray | None = None,
) -> ComponentChoice:
    """Choose the dimensions of the back end by cross-validation over speakers.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Training vectors.
    speakers : ndarray of shape (n,)
        Who speaks in each.
    candidates : sequence of int
        Dimensions to try; those above d are left out.
    n_folds : int, default=5
        Parts into which the speakers are split; each is held out once.
    n_rounds : int, default=1
        Random splits.
    seed : int, default=0
        Draws the splits, which are the same for all candidates.
    groups : ndarray of shape (n,), optional
        Corpus of each vector. Pairs across corpora are not counted: telling
        corpora apart is easy and not what the back end is for.
    """
    check_count("choose_components", "n_folds", n_folds, least=2)
    check_count("choose_components", "n_rounds", n_rounds)
    names = np.unique(speakers)
    tried = tuple(sorted({q for q in candidates if 1 <= q <= X.shape[1]}))
    if not tried:
        raise InvalidParameterError(
            f"choose_components: candidates must hold a number in 1 .. {X.shape[1]}, "
            f"got {list(candidates)!r}"
        )
    if len(names) < 2 * n_folds:
        raise InvalidParameterError(
            f"choose_components: speakers must be at least two per fold, got "
            f"{len(names)} for {n_folds} folds"
        )
    corpora = np.zeros(len(X), np.int64) if groups is None else groups
    rates: dict[int, list[float]] = {q: [] for q in tried}
    for number in range(n_rounds):
        rng = named_generator(seed, "choose_components", number)
        for held_out in np.array_split(rng.permutation(names), n_folds):
            test = np.isin(speakers, held_out)
            one, two = np.triu_indices(int(test.sum()), k=1)
            comparable = corpora[test][one] == corpora[test][two]
            for q in tried:
                backend = train_backend(X[~test], speakers[~test], n_components=q)
                scores, same = all_pairs(backend.score_matrix(X[test]), speakers[test])
                rates[q].append(equal_error_rate(scores[comparable], same[comparable]))
    mean = tuple(float(np.mean(rates[q])) for q in tried)
    std = tuple(float(np.std(rates[q], ddof=1)) for q in tried)
    return ComponentChoice(tried, mean, std, tried[int(np.argmin(mean))])


def compare(
    repetitions: Sequence[Mapping[str, Figures]],
    one: str,
    other: str,
    measure: str = "k",
) -> dict[str, int]:
    """Count the sessions in which `one` is above, equal to or below `other`."""
    gaps = np.array([run[one][measure] - run[other][measure] for run in repetitions])
    tied = np.abs(gaps) < 1e-12  # the same partition, rounded alike or not
    return {
        "wins": int(np.count_nonzero(~tied & (gaps > 0.0))),
        "ties": int(np.count_nonzero(tied)),
        "losses": int(np.count_nonzero(~tied & (gaps < 0.0))),
    }


def sign_test(wins: int, losses: int) -> float:
    """Two-sided p-value of that many wins if either outcome were as likely."""
    if wins + losses == 0:
        return 1.0
    return float(binomtest(wins, wins + losses).pvalue)
