"""Speakers of a session whose vectors have no trained model: the session teaches.

``EVIDENCE.md`` explains the steps: rows that are evidence, a space learnt from
neighbours, fragments proposed by stochastic mean shift, and fragments joined as long
as two of them are probably one speaker.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from sms_diar.clustering.speakers.joining import Joined, join_fragments
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers.neighbour_space import (
    NeighbourSpace,
    learn_space,
    neighbour_count,
    neighbours_of,
)
from sms_diar.clustering.speakers.representatives import (
    Representatives,
    find_representatives,
)
from sms_diar.clustering.speakers.same_speaker import Members
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.preprocessing import scale_rows
from sms_diar.types import FloatArray, IntArray

NEIGHBOURS = 8
"""k of the run that proposes fragments; more where windows overlap."""

GATE = 0.6
"""Share of its own score that a neighbour must reach in those runs."""

TRUST = (0.99, 1.29, 0.37)
"""Weights of the confidence in a label: constant, of nearness, of the number found;
learnt by `scripts/fit-merging`."""

FEWEST = 4
"""Rows below which a session is one speaker: there is no neighbour to learn from."""

_LEAST = 2  # best neighbours that count in any case; more where windows overlap
_SHARE = 0.25  # of the rows, which neighbours are at most
_LINKS = 5  # neighbours of a segment that link it to groups
_BLOCK = 5_000  # rows of very long sessions that are looked at together
_LINKED_ROWS = 20_000  # rows of very long sessions whose neighbours are looked up
_MOST_STEPS = 10  # from the number found to others that are thought possible


@dataclass(frozen=True, eq=False)
class UntrainedSession:
    """Speakers of a session, and what is known about them.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Speaker of each row.
    confidence : ndarray of shape (n,)
        Probability that the label of a row is right.
    count_posterior : mapping from int to float
        Probability of each number of speakers.
    space : NeighbourSpace or None
        What was learnt; None for sessions of a few rows, or of equal ones.
    n_steps, k : int
        Moves of single segments, and neighbours, in the runs that proposed.
    """

    labels: IntArray
    confidence: FloatArray
    count_posterior: Mapping[int, float]
    space: NeighbourSpace | None
    n_steps: int
    k: int


@dataclass(frozen=True, eq=False)
class Proposal:
    """Fragments of a session, before it is decided which are one speaker.

    Parameters
    ----------
    chosen : Representatives
        Rows that are evidence.
    members : Members
        These rows, in the space of the session.
    fragments : ndarray of shape (m,)
        Fragments of these rows, each of one speaker.
    space : NeighbourSpace
        What the session taught.
    n_steps, k : int
        Moves of single segments, and neighbours, in the runs that proposed.
    """

    chosen: Representatives
    members: Members
    fragments: IntArray
    space: NeighbourSpace
    n_steps: int
    k: int


def cluster_untrained(
    X: FloatArray,
    times: RowTimes | None,
    row_weight: float,
    *,
    low: int,
    high: int,
    rng: np.random.Generator,
    tell: Callable[[float], None],
) -> UntrainedSession:
    """Find the speakers of a session.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Raw embeddings.
    times : RowTimes or None
        When they were spoken, if known.
    row_weight : float
        Share of new speech in a row.
    low, high : int
        Bounds on the number of speakers; fewer than `low` may come out where there
        are too few rows that differ.
    rng : Generator
        Source of the draws.
    tell : callable
        Called with the share of the work that is done.
    """
    proposed = propose_fragments(X, times, row_weight, rng=rng, tell=tell)
    if proposed is None:
        return _single(len(X))
    members = proposed.members
    joined = join_fragments(
        members, proposed.fragments, low, high, lambda done: tell(0.7 + 0.3 * done)
    )
    posterior = count_posterior(joined)
    trust = confidence_of(nearness(members.places, joined.labels), posterior)
    of = proposed.chosen.of
    return UntrainedSession(
        joined.labels[of],
        trust[of],
        posterior,
        proposed.space,
        proposed.n_steps,
        proposed.k,
    )


def propose_fragments(
    X: FloatArray,
    times: RowTimes | None,
    row_weight: float,
    *,
    rng: np.random.Generator,
    tell: Callable[[float], None] = lambda _: None,
) -> Proposal | None:
    """Learn the space of a session and find pure fragments in it.

    Parameters are those of `cluster_untrained`.

    Returns
    -------
    proposal : Proposal or None
        None where fewer than `FEWEST` rows differ.
    """
    every = scale_rows(X)
    chosen = find_representatives(every, times, row_weight)
    if len(chosen.rows) < FEWEST:
        return None
    when = None if times is None else times.take(chosen.rows)
    directions = every[chosen.rows]
    space = learn_space(directions, when)
    tell(0.1)
    places = space.project(directions)
    rows, n = X[chosen.rows], len(directions)
    fragments = np.empty(n, dtype=np.int64)
    found = n_steps = k = 0
    parts = np.array_split(np.arange(n), max(1, round(n / _BLOCK)))
    for number, part in enumerate(parts, start=1):
        run = _run(rows[part], space, chosen.new_speech, rng)
        own: IntArray = run.labels_
        if len(parts) > 1:
            # The work grows with the length of a session, not with its square:
            # speakers of a block are the fragments of the whole.
            then = None if when is None else when.take(part)
            block = members_of(places[part], directions[part], then)
            own = join_fragments(block, own, 1, len(part)).labels
        fragments[part] = found + own
        found += int(own.max()) + 1
        n_steps, k = n_steps + run.n_steps_, max(k, run.k)
        tell(0.1 + 0.6 * number / len(parts))
    members = members_of(places, directions, when)
    return Proposal(chosen, members, fragments, space, n_steps, k)


def _run(
    rows: FloatArray,
    space: NeighbourSpace,
    new_speech: float,
    rng: np.random.Generator,
) -> SpeakerStochasticMeanShift:
    """Pure fragments, proposed by gated stochastic mean shift.

    Of a window that overlaps its neighbours in time these are the nearest ones, which
    say nothing new; so the less new speech there is in a row, the more rows are asked.
    """
    n = len(rows)
    k = min(round(NEIGHBOURS / new_speech), max(2, int(_SHARE * n)))
    run = SpeakerStochasticMeanShift(
        backend=space.backend(),
        k=k,
        gate=GATE,
        gate_least=min(round(_LEAST / new_speech), max(2, k // 2)),
        tol=1e-2,
        max_steps=15 * n,
        random_state=rng.spawn(1)[0],
    )
    with warnings.catch_warnings():
        # A run that has not quite come to rest proposes just as well.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return run.fit(rows)


def members_of(
    places: FloatArray, directions: FloatArray, times: RowTimes | None
) -> Members:
    """How the segments of a session hang together."""
    n = len(places)
    k = neighbour_count(n, _LINKS)
    queries = np.unique(np.linspace(0, n - 1, min(n, _LINKED_ROWS)).astype(np.int64))
    near, exists = neighbours_of(places, k, times, queries)
    linked = np.stack([np.repeat(queries, k)[exists.ravel()], near[exists]], axis=1)
    touching = None
    if times is not None:
        pairs = np.stack(times.overlapping(), axis=1)
        touching = pairs if len(pairs) else None
    return Members(places, directions, linked, touching)


def count_posterior(joined: Joined) -> dict[int, float]:
    """Probability of each number of speakers, from the odds of the joins around it.

    One speaker less means that the next join should have been made, at its odds; one
    more that the least probable join that was made should not have been.
    """
    found = int(joined.labels.max()) + 1
    weights = {found: 1.0}
    down = up = 1.0
    for step, probability in enumerate(joined.refused[:_MOST_STEPS], start=1):
        down *= _odds(probability)
        weights[found - step] = down
    for step, probability in enumerate(sorted(joined.taken)[:_MOST_STEPS], start=1):
        up *= _odds(1.0 - probability)
        weights[found + step] = up
    total = sum(weights.values())
    return {number: weights[number] / total for number in sorted(weights)}


def within_bounds(
    posterior: Mapping[int, float], low: int, high: int, found: int
) -> dict[int, float]:
    """The same, knowing that the number lies between bounds."""
    kept = {n: p for n, p in posterior.items() if low <= n <= high}
    total = sum(kept.values())
    if found not in kept or total <= 0.0:
        return {found: 1.0}
    return {n: p / total for n, p in kept.items()}


def _odds(probability: float) -> float:
    return probability / max(1.0 - probability, 1e-12)


def nearness(places: FloatArray, labels: IntArray) -> FloatArray:
    """How much nearer each row is to its own speaker than to the next, as a log.

    A row is left out of the mean of its own speaker; alone, it is as near as not. Where
    there is one speaker only, there is no next, and the log is 1.
    """
    sizes = np.bincount(labels).astype(np.float64)
    if len(sizes) == 1:
        return np.ones(len(places))
    means = np.zeros((len(sizes), places.shape[1]))
    np.add.at(means, labels, places)
    means /= sizes[:, None]
    energy = np.sum(means**2, axis=1)
    distances = np.sum(places**2, axis=1)[:, None] + energy - 2.0 * places @ means.T
    rows, others = np.arange(len(places)), sizes[labels] - 1.0
    # The mean of the others is farther off than the mean of all by n / (n - 1).
    own = distances[rows, labels] * ((others + 1.0) / np.maximum(others, 1.0)) ** 2
    distances[rows, labels] = np.inf
    next_best = np.maximum(distances.min(axis=1), 1e-12)
    log = np.log(np.clip(next_best / np.maximum(own, 1e-12), 1e-3, 1e3))
    log[others == 0.0] = 0.0
    return np.asarray(log)


def confidence_of(near: FloatArray, posterior: Mapping[int, float]) -> FloatArray:
    """Probability that labels are right, from `nearness` and from the number found."""
    sure = logit(np.clip(max(posterior.values()), 0.01, 0.99))
    constant, slope, of_number = TRUST
    return np.asarray(expit(constant + slope * near + of_number * sure))


def _single(n: int) -> UntrainedSession:
    """One speaker, for want of evidence; the probability is a guess, and says so."""
    labels = np.zeros(n, dtype=np.int64)
    posterior = {1: 1.0} if n == 1 else {1: 0.5, 2: 0.5}
    return UntrainedSession(labels, np.full(n, posterior[1]), posterior, None, 0, 0)
