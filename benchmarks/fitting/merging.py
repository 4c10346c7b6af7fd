"""Fit the weights of merges, and the trust in results.

`scripts/fit-merging` computes ``WEIGHTS`` of ``clustering/speakers/merging.py``, and
``CERTAINTY`` and ``TRUST`` of ``fragments.py``. The fragments of development sessions
are proposed once. An evolution strategy searches the weights with which they are merged
best: the quality of a session is what its user gets, and not how well single pairs are
decided, since one wrong merge changes all that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from benchmarks.compare.reliability import right_rows
from sms_diar.clustering.speakers import merging
from sms_diar.clustering.speakers.fragments import (
    SpeakerFragmentMeanShift,
    brevity,
    nearness,
    number_evidence,
)
from sms_diar.clustering.speakers.merging import (
    Clusters,
    Merged,
    Weights,
    merge_fragments,
)
from sms_diar.clustering.speakers.rows import (
    Representatives,
    RowTimes,
    find_representatives,
)
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

START = Weights(
    distance=-2.73,
    similarity=8.59,
    direction=0.48,
    smaller=-1.39,
    larger=1.1,
    width=-3.82,
    constant=0.37,
    ambiguity=2.83,
)
"""Weights that the search begins with: the result of an earlier one."""

STEPS = Weights(
    distance=0.6,
    similarity=1.2,
    direction=0.4,
    smaller=0.25,
    larger=0.25,
    width=0.6,
    constant=0.5,
    ambiguity=0.3,
)
"""Standard deviations of the first steps of the search."""

GENERATIONS = 40
"""Steps of the search; the last ones are a tenth of the first."""

OFFSPRING = 10
"""Weights that are tried in a step, in pairs of opposite directions."""

RIGHT, NEAR = 0.15, 0.1
"""Value of the right number of speakers, and of a number within one of it, in K."""

OFF = 0.1
"""Cost of a number of speakers, for each unit of its log ratio to the true one."""

COLLAPSED = 0.75
"""K below which a session counts double."""

MAX_OF_GROUP, MAX_FRAGMENTS = 10, 300
"""Sessions of a group, and fragments of a session, in the search."""

_WEAK_PENALTY = 1000.0  # Inverse strength of the regularisation.


Change = tuple[Any, str, Any]
"""Owner, name and new value of an attribute."""


@contextmanager
def changed(*changes: Change) -> Iterator[None]:
    """Set attributes, and restore them."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


@dataclass(frozen=True, eq=False)
class Session:
    """Vectors of known speakers.

    Parameters
    ----------
    name, group, extractor : str
        Names of the session, of its condition, and of the extractor.
    X : ndarray of shape (n, d)
        Raw vectors.
    speakers : ndarray of shape (n,)
        Speaker of each row.
    segments : sequence of Segment or None
        Times of the rows, if known.
    """

    name: str
    group: str
    extractor: str
    X: FloatArray
    speakers: AnyArray
    segments: Sequence[Segment] | None = None


class Proposed(SpeakerFragmentMeanShift):
    """The default method, which keeps what it merges.

    Attributes
    ----------
    chosen_ : Representatives
        Rows that are evidence.
    places_, directions_ : ndarray of shape (m, q) and (m, d)
        These rows in the space of the session, and with unit length.
    fragments_ : ndarray of shape (m,)
        Their fragments; empty if there are too few rows.
    """

    def _fit_in_time(self, X: FloatArray, times: RowTimes | None) -> None:
        directions = scale_rows(X)
        self.chosen_: Representatives = find_representatives(
            directions, times, self.row_weight_
        )
        self.places_ = self.directions_ = directions[:0]
        self.fragments_: IntArray = np.zeros(0, dtype=np.int64)
        super()._fit_in_time(X, times)

    def _fit_in_order(
        self,
        X: FloatArray,
        directions: FloatArray,
        chosen: Representatives,
        times: RowTimes | None,
        low: int,
        high: int,
    ) -> tuple[Merged, FloatArray]:
        found = super()._fit_in_order(X, directions, chosen, times, low, high)
        self.directions_ = directions[chosen.rows]
        self.places_ = self._project(self.directions_)
        return found

    def _shift(
        self,
        vectors: FloatArray,
        backend: BackEnd,
        new_speech: float,
        rng: np.random.Generator,
    ) -> IntArray:
        self.fragments_ = super()._shift(vectors, backend, new_speech, rng)
        return self.fragments_


def propose(session: Session, seed: int = 0) -> Proposed:
    """Cluster a session by the default method."""
    return Proposed(random_state=seed).fit(session.X, segments=session.segments)


def merged(session: Session, proposed: Proposed) -> Merged | None:
    """Merge the fragments of a session again; None if it has none.

    The labels of the result are those of `proposed.chosen_`.
    """
    if not len(proposed.fragments_):
        return None
    clusters = Clusters.of(
        proposed.places_,
        proposed.directions_,
        proposed.fragments_,
        proposed.chosen_.weights,
    )
    found = merge_fragments(clusters, 1, len(session.X))
    return found._replace(labels=found.labels[proposed.fragments_])


def merged_labels(session: Session, proposed: Proposed) -> IntArray:
    """Return the labels of all rows after merging again."""
    found = merged(session, proposed)
    if found is None:
        return proposed.labels_
    labels: IntArray = found.labels[proposed.chosen_.of]
    return labels


def mean_of_groups(sessions: Sequence[Session], values: Sequence[float]) -> float:
    """Return the mean over groups of the means of their sessions."""
    by_group: dict[str, list[float]] = {}
    for session, value in zip(sessions, values, strict=True):
        by_group.setdefault(session.group, []).append(value)
    return float(np.mean([np.mean(own) for own in by_group.values()]))


def quality(session: Session, labels: IntArray) -> float:
    """Return K, plus the value of the number of speakers, minus the cost of a collapse.

    K is the mean of the paper's K and the weighted one, in which clusters and speakers
    count by their size: a cluster that absorbs a crowd lowers the paper's K little.
    """
    scores = score_clustering(session.speakers, labels)
    both = scores.purity.k, scores.weighted.weighted_k
    found, true = len(np.unique(labels)), len(np.unique(session.speakers))
    off = abs(found - true)
    value = RIGHT * (off == 0) + NEAR * (off <= 1) - OFF * abs(np.log(found / true))
    return float(np.mean(both) + value - max(0.0, COLLAPSED - min(both)))


def fit_weights(
    sessions: Sequence[Session],
    proposals: Sequence[Proposed],
    without: Collection[str] = (),
    *,
    generations: int = GENERATIONS,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> Weights:
    """Search the weights with the highest mean quality.

    An evolution strategy: in each step, weights around the present ones are tried, and
    the better half of them is averaged. The result is the mean of the last steps.

    Parameters
    ----------
    sessions, proposals : sequence
        Sessions and their fragments.
    without : collection of str
        Measurements without a weight.
    generations : int
        Number of steps; `progress` is called after each.
    seed : int
        Random seed.
    """
    chosen = _some_of_each(sessions, proposals)
    rng = np.random.default_rng(seed)
    used = np.array([name not in without for name in Weights._fields])
    centre, scale = np.where(used, START, 0.0), np.where(used, STEPS, 0.0)
    ranks = np.log(OFFSPRING / 2 + 0.5) - np.log(np.arange(1, OFFSPRING // 2 + 1))
    shares = ranks / ranks.sum()  # the best counts most
    passed = []
    for number in range(generations):
        size = 0.1 ** (number / generations)
        half = rng.standard_normal((OFFSPRING // 2, len(centre)))
        steps = size * scale * np.concatenate([half, -half])
        found = [_mean_quality(chosen, Weights(*(centre + step))) for step in steps]
        best = np.argsort(found)[::-1][: OFFSPRING // 2]
        centre = centre + shares @ steps[best]
        passed.append(centre)
        progress()
    last = np.mean(passed[-max(1, generations // 5) :], axis=0)
    return Weights(*(round(float(value), 2) for value in last))


def _some_of_each(
    sessions: Sequence[Session], proposals: Sequence[Proposed]
) -> list[tuple[Session, Proposed]]:
    """Return at most `MAX_OF_GROUP` sessions of each group, evenly spaced."""
    groups: dict[str, list[tuple[Session, Proposed]]] = {}
    for session, proposed in zip(sessions, proposals, strict=True):
        if 0 < len(np.unique(proposed.fragments_)) <= MAX_FRAGMENTS:
            groups.setdefault(session.group, []).append((session, proposed))
    return [
        pair for own in groups.values() for pair in own[:: -(-len(own) // MAX_OF_GROUP)]
    ]


def _mean_quality(
    chosen: Sequence[tuple[Session, Proposed]], weights: Weights
) -> float:
    with changed((merging, "WEIGHTS", weights)):
        values = [quality(one, merged_labels(one, own)) for one, own in chosen]
    return mean_of_groups([session for session, _ in chosen], values)


def number_evidence_of(
    sessions: Sequence[Session], proposals: Sequence[Proposed]
) -> tuple[FloatArray, BoolArray, FloatArray, AnyArray]:
    """Measure how clear the number of speakers is in each session with fragments.

    Returns the evidence of shape (n, 4), whether the number is right, weights by which
    groups of sessions count by the root of their size, and the extractors.
    """
    rows, right, groups, extractors = [], [], [], []
    for session, proposed in zip(sessions, proposals, strict=True):
        found = merged(session, proposed)
        if found is None:
            continue
        segments = session.segments
        times = None if segments is None else RowTimes.of_segments(segments)
        own = proposed.chosen_.weights
        rows.append(number_evidence(found, brevity(times), own))
        n_speakers = len(np.unique(session.speakers))
        right.append(int(found.labels.max()) + 1 == n_speakers)
        groups.append(session.group)
        extractors.append(session.extractor)
    _, number = np.unique(groups, return_inverse=True)
    weights = 1.0 / np.sqrt(np.bincount(number)[number])
    return np.array(rows), np.array(right), weights, np.array(extractors)


def fit_certainty(
    evidence: FloatArray, right: BoolArray, weights: FloatArray
) -> tuple[float, ...]:
    """Fit the weights of the probability that the number of speakers is right."""
    model = LogisticRegression(C=_WEAK_PENALTY)
    model.fit(evidence, right, sample_weight=weights)
    return tuple(round(float(v), 2) for v in (model.intercept_[0], *model.coef_[0]))


def unseen_certainty(
    evidence: FloatArray, right: BoolArray, weights: FloatArray, extractors: AnyArray
) -> FloatArray:
    """Return the probability of each number, with weights of the other extractors."""
    probabilities = np.empty(len(right))
    for name in np.unique(extractors):
        judged = extractors == name
        constant, *slopes = fit_certainty(
            evidence[~judged], right[~judged], weights[~judged]
        )
        probabilities[judged] = expit(constant + evidence[judged] @ slopes)
    return probabilities


def fit_trust(
    sessions: Sequence[Session], proposals: Sequence[Proposed]
) -> tuple[float, float]:
    """Fit the weights of the confidence of labels to the results of the method."""
    measured, right, shares = [], [], []
    for session, proposed in zip(sessions, proposals, strict=True):
        posterior = proposed.count_posterior_
        if not len(proposed.fragments_) or posterior is None:
            continue
        n, chosen = len(session.X), proposed.chosen_
        near = nearness(proposed.places_, _numbered(proposed.labels_[chosen.rows]))
        sure = np.clip(max(posterior.values()), 0.01, 0.99)
        measured.append(near[chosen.of] + logit(sure))
        right.append(right_rows(session.speakers, proposed.labels_))
        shares.append(np.full(n, 1.0 / n))
    model = LogisticRegression(C=_WEAK_PENALTY)
    weights = np.concatenate(shares)
    measurements = np.concatenate(measured)[:, None]
    model.fit(measurements, np.concatenate(right), sample_weight=weights)
    return round(float(model.intercept_[0]), 2), round(float(model.coef_[0, 0]), 2)


def _numbered(labels: IntArray) -> IntArray:
    numbered: IntArray = np.unique(labels, return_inverse=True)[1]
    return numbered
