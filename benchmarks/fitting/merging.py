"""Fit the probability that two clusters are one speaker, and the trust in results.

`scripts/fit-merging` computes ``WEIGHTS`` of ``clustering/speakers/merging.py``, and
``CERTAINTY`` and ``TRUST`` of ``fragments.py``. Fragments of development sessions are
merged in two ways: by an oracle, which merges the most probable pair that is right, and
by the method itself beyond its stopping point, with the weights fitted so far. Only the
second shows clusters of several speakers, to which nothing else should be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.reliability import right_rows
from sms_diar.clustering.speakers.fragments import (
    SpeakerFragmentMeanShift,
    brevity,
    nearness,
    number_evidence,
)
from sms_diar.clustering.speakers.merging import (
    MEASUREMENTS,
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
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

START = Weights(
    distance=-4.0,
    similarity=8.0,
    direction=2.0,
    smaller=0.0,
    larger=1.0,
    crowd=-0.5,
    width=-3.0,
    constant=0.0,
)
"""Weights that order the first merges of the oracle. They are fixed, so that the result
does not depend on the shipped weights."""

ROUNDS = 3
"""Number of times that the method merges by itself, each time with better weights."""

_MAX_WRONG = 6  # Pairs of two speakers per merge of the oracle.
_SHOWN = 4  # Pairs that are recorded per merge of the method.
_MIN_PROBABILITY = 0.08  # Merge at which the method stops, far below even odds.
_MIN_AGREEMENT = 0.4  # Probability that rows of two clusters agree if they are right.
_MAX_MERGES = 400
_MAX_PAIRS = 2000  # Pairs that are considered for a merge.
_WEAK_PENALTY = 1000.0  # Inverse strength of the regularisation.
_TERMS = Weights._fields[:-1]


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


@dataclass(frozen=True, eq=False)
class Decisions:
    """Pairs of clusters, and whether they are one speaker.

    Parameters
    ----------
    terms : ndarray of shape (m, 7)
        Measurements of each pair.
    same : ndarray of shape (m,)
        The truth.
    session, extractor : ndarray of shape (m,)
        Source of each decision.
    """

    terms: FloatArray
    same: BoolArray
    session: AnyArray
    extractor: AnyArray

    @classmethod
    def join(cls, parts: Iterable[Decisions]) -> Decisions:
        """Concatenate decisions."""
        every = list(parts)
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(p, n) for p in every]) for n in names))

    def where(self, kept: BoolArray) -> Decisions:
        """Return some of the decisions."""
        return Decisions(*(getattr(self, field.name)[kept] for field in fields(self)))

    def shares(self) -> FloatArray:
        """Weight sessions equally, and pairs of a session by the root of their size.

        A session has many decisions about a few rows and few about many, but these
        are the ones that matter.
        """
        roots = np.exp(0.5 * self.terms[:, _TERMS.index("smaller")])
        _, number = np.unique(self.session, return_inverse=True)
        shares: FloatArray = roots / np.bincount(number, roots)[number]
        return shares


def decide(
    session: Session, proposed: Proposed, weights: Weights, *, guided: bool, name: str
) -> Decisions:
    """Merge the fragments of a session, and record the pairs that are considered.

    `weights` order the merges. If `guided`, an oracle skips wrong pairs. The result has
    `name` as its session.
    """
    terms: list[FloatArray] = []
    same: list[bool] = []
    fragments = proposed.fragments_
    if len(fragments):
        true = np.unique(session.speakers, return_inverse=True)[1]
        clusters = Clusters.of(proposed.places_, proposed.directions_, fragments)
        talk = np.zeros((len(clusters), int(true.max()) + 1))  # rows of each speaker
        np.add.at(talk, (fragments, true[proposed.chosen_.rows]), 1.0)
        for _ in range(_MAX_MERGES):
            if len(clusters) == 1:
                break
            one, other, odds = _likely_pairs(clusters, weights)
            right = _are_one(talk, one, other)
            shown, best = _considered(odds, right, guided=guided)
            measured = clusters.measurements()
            terms += [_terms(measured, one[i], other[i]) for i in shown]
            same += [bool(right[i]) for i in shown]
            if best is None:
                break
            kept, gone = int(one[best]), int(other[best])
            clusters.merge(kept, gone)
            talk[kept] += talk[gone]
            talk = np.delete(talk, gone, axis=0)
    m = len(same)
    return Decisions(
        np.array(terms).reshape(m, len(_TERMS)),
        np.array(same, dtype=np.bool_),
        np.full(m, name, dtype=object),
        np.full(m, session.extractor, dtype=object),
    )


def _likely_pairs(
    clusters: Clusters, weights: Weights
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return pairs and their log odds, the most probable first."""
    one, other = np.triu_indices(len(clusters), 1)
    odds = clusters.log_odds(weights)[one, other]
    order = np.argsort(-odds, kind="stable")[:_MAX_PAIRS]
    return one[order], other[order], odds[order]


def _are_one(talk: FloatArray, one: IntArray, other: IntArray) -> BoolArray:
    """Return whether pairs have the same main speaker, and mostly agree."""
    shares = talk / talk.sum(axis=1, keepdims=True)
    main = talk.argmax(axis=1)
    agreement = np.sum(shares[one] * shares[other], axis=1)
    right: BoolArray = (main[one] == main[other]) & (agreement > _MIN_AGREEMENT)
    return right


def _considered(
    odds: FloatArray, right: BoolArray, *, guided: bool
) -> tuple[list[int], int | None]:
    """Return the pairs to record, and the pair to merge."""
    if not guided:
        shown = list(range(min(_SHOWN, len(odds))))
        return shown, 0 if odds[0] >= logit(_MIN_PROBABILITY) else None
    if not right.any():
        return list(range(min(_MAX_WRONG, len(odds)))), None
    first = int(np.argmax(right))
    return [*range(min(_MAX_WRONG, first)), first], first


def _terms(measured: Mapping[str, FloatArray], one: int, other: int) -> FloatArray:
    return np.array([measured[name][one, other] for name in MEASUREMENTS])


def learn_decisions(
    sessions: Sequence[Session],
    proposals: Sequence[Proposed],
    progress: Callable[[], None] = lambda: None,
) -> Decisions:
    """Collect decisions of the oracle, and of the method in several rounds.

    `progress` is called ``(1 + ROUNDS) * len(sessions)`` times.
    """
    every: list[Decisions] = []
    weights = START
    for number in range(1 + ROUNDS):
        for session, proposed in zip(sessions, proposals, strict=True):
            name = f"{session.name}, round {number}"
            guided = number == 0
            every.append(decide(session, proposed, weights, guided=guided, name=name))
            progress()
        weights = fit_weights(Decisions.join(every))
    return Decisions.join(every)


def fit_weights(decisions: Decisions, without: Collection[str] = ()) -> Weights:
    """Fit a logistic regression; measurements in `without` have no weight."""
    used = [i for i, name in enumerate(_TERMS) if name not in without]
    scaler = StandardScaler().fit(decisions.terms[:, used])
    model = LogisticRegression(C=_WEAK_PENALTY, max_iter=3000)
    model.fit(
        scaler.transform(decisions.terms[:, used]),
        decisions.same,
        sample_weight=decisions.shares(),
    )
    slopes = np.zeros(len(_TERMS))
    slopes[used] = model.coef_[0] / scaler.scale_
    constant = float(model.intercept_[0] - slopes[used] @ scaler.mean_)
    return Weights(*(round(float(value), 3) for value in (*slopes, constant)))


def judge_weights(weights: Weights, decisions: Decisions) -> tuple[float, float]:
    """Return the log loss and the error rate at even odds, weighted as in the fit."""
    odds = decisions.terms @ np.array(weights[:-1]) + weights.constant
    signed = np.where(decisions.same, odds, -odds)
    shares = decisions.shares()
    shares /= shares.sum()
    return float(shares @ np.logaddexp(0.0, -signed)), float(shares @ (signed < 0.0))


def number_evidence_of(
    sessions: Sequence[Session], proposals: Sequence[Proposed]
) -> tuple[FloatArray, BoolArray, FloatArray, AnyArray]:
    """Measure how clear the number of speakers is in each session with fragments.

    Returns the evidence of shape (n, 4), whether the number is right, weights by which
    groups of sessions count by the root of their size, and the extractors.
    """
    rows, right, groups, extractors = [], [], [], []
    for session, proposed in zip(sessions, proposals, strict=True):
        if not len(proposed.fragments_):
            continue
        merged = merge_fragments(
            proposed.places_,
            proposed.directions_,
            proposed.fragments_,
            low=1,
            high=len(session.X),
        )
        segments = session.segments
        times = None if segments is None else RowTimes.of_segments(segments)
        rows.append(number_evidence(merged, brevity(times)))
        n_speakers = len(np.unique(session.speakers))
        right.append(int(merged.labels.max()) + 1 == n_speakers)
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
) -> tuple[float, float, float]:
    """Fit the weights of the confidence of labels to the results of the method."""
    measured, right, shares = [], [], []
    for session, proposed in zip(sessions, proposals, strict=True):
        posterior = proposed.count_posterior_
        if not len(proposed.fragments_) or posterior is None:
            continue
        n, chosen = len(session.X), proposed.chosen_
        near = nearness(proposed.places_, _numbered(proposed.labels_[chosen.rows]))
        sure = np.clip(max(posterior.values()), 0.01, 0.99)
        measured.append(np.column_stack([near[chosen.of], np.full(n, logit(sure))]))
        right.append(right_rows(session.speakers, proposed.labels_))
        shares.append(np.full(n, 1.0 / n))
    model = LogisticRegression(C=_WEAK_PENALTY)
    weights = np.concatenate(shares)
    model.fit(np.concatenate(measured), np.concatenate(right), sample_weight=weights)
    values = (model.intercept_[0], *model.coef_[0])
    constant, of_nearness, of_certainty = (round(float(value), 2) for value in values)
    return constant, of_nearness, of_certainty


def _numbered(labels: IntArray) -> IntArray:
    numbered: IntArray = np.unique(labels, return_inverse=True)[1]
    return numbered
