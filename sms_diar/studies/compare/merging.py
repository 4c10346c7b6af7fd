"""Learn when two groups of segments are one speaker, from development sessions.

The weights in ``clustering/speakers/same_speaker.py`` and the confidence of labels come
from here (`scripts/fit-merging`). Sessions are those of the comparison without a PLDA
model, as they are and with a constant added to all vectors, because extractors differ
in where their origin is; and cuts of the meeting. In each, fragments are joined as the
method joins them, but by an oracle: pairs that it would join wrongly are examples of
two speakers, those that it joins of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.clustering.speakers.same_speaker import MEASUREMENTS, Groups, Weights
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.clustering.speakers.untrained import (
    cluster_untrained,
    nearness,
    propose_fragments,
)
from sms_diar.preprocessing import scale_rows
from sms_diar.studies.compare.reliability import right_rows
from sms_diar.types import AnyArray, BoolArray, FloatArray, Segment

OFFSETS = (0.7, 1.2)
"""Lengths of the constant that is added to vectors of unit length."""

START = Weights(1.467, -3.291, -3.461, -1.564, 1.152, 11.493, 0.143, -5.991)
"""Weights that order the first pass: those of an earlier fit. Fixed, so that what is
learnt does not depend on what is shipped."""

_WRONG = 6  # pairs of two speakers that one step gives at most


@dataclass(frozen=True, eq=False)
class Session:
    """Vectors of known speakers.

    Parameters
    ----------
    name, extractor : str
        Which session, and what made its vectors.
    X : ndarray of shape (n, d)
        Raw vectors.
    speakers : ndarray of shape (n,)
        Who speaks.
    segments : sequence of Segment or None
        Where they lie in time, if known.
    """

    name: str
    extractor: str
    X: FloatArray
    speakers: AnyArray
    segments: Sequence[Segment] | None = None

    @property
    def times(self) -> tuple[RowTimes | None, float]:
        """Times, and share of new speech in a row."""
        if self.segments is None:
            return None, 1.0
        return RowTimes.of_segments(self.segments), row_weight_of(self.segments)

    def shifted(self, length: float) -> Session:
        """The same with a constant added to all vectors."""
        rng = np.random.default_rng(5)
        constant = rng.standard_normal(self.X.shape[1])
        constant *= length / float(np.linalg.norm(constant))
        name = f"{self.name} + {length:g}"
        return replace(self, name=name, X=scale_rows(self.X) + constant)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Pairs of groups, and whether they are one speaker.

    Parameters
    ----------
    measured : ndarray of shape (m, 7)
        Measurements.
    same : ndarray of shape (m,)
        The truth.
    session, extractor : ndarray of shape (m,)
        Where each comes from.
    """

    measured: FloatArray
    same: BoolArray
    session: AnyArray
    extractor: AnyArray

    @classmethod
    def join(cls, parts: Iterable[Decisions]) -> Decisions:
        """All decisions of several."""
        every = list(parts)
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in every])
                for name in ("measured", "same", "session", "extractor")
            )
        )

    def of(self, extractor: str) -> Decisions:
        """Those of one extractor."""
        return self._where(self.extractor == extractor)

    def without(self, extractor: str) -> Decisions:
        """Those of all other extractors."""
        return self._where(self.extractor != extractor)

    def _where(self, kept: BoolArray) -> Decisions:
        return Decisions(
            self.measured[kept],
            self.same[kept],
            self.session[kept],
            self.extractor[kept],
        )


def decide(session: Session, weights: Weights = START, seed: int = 0) -> Decisions:
    """Join the fragments of a session by the truth, in the order of the weights."""
    rng = np.random.default_rng(seed)
    proposal = propose_fragments(session.X, *session.times, rng=rng)
    measured: list[FloatArray] = []
    same: list[bool] = []
    if proposal is not None:
        names = np.unique(session.speakers, return_inverse=True)[1]
        own = names[proposal.chosen.rows]
        groups = Groups.of(proposal.members, proposal.coarse)
        talk = np.zeros((len(groups), int(names.max()) + 1))
        np.add.at(talk, (proposal.coarse, own), 1.0)
        while len(groups) > 1:
            rows = np.stack(list(groups.measurements()), axis=-1)
            likely = groups.same(weights)
            one, other = np.triu_indices(len(groups), 1)
            order = np.argsort(-likely[one, other], kind="stable")
            true = talk.argmax(axis=1)[one] == talk.argmax(axis=1)[other]
            right = order[true[order]][:1]
            before = order[: np.argmax(true[order])] if len(right) else order
            for pair in (*before[:_WRONG], *right):
                measured.append(rows[one[pair], other[pair]])
                same.append(bool(true[pair]))
            if not len(right):
                break
            kept, gone = int(one[right[0]]), int(other[right[0]])
            groups.join(kept, gone)
            talk[kept] += talk[gone]
            talk = np.delete(talk, gone, axis=0)
    m = len(same)
    return Decisions(
        np.array(measured).reshape(m, len(MEASUREMENTS)),
        np.array(same, dtype=np.bool_),
        np.full(m, session.name),
        np.full(m, session.extractor),
    )


def learn_decisions(
    sessions: Sequence[Session], tell: Callable[[], None] = lambda: None
) -> Decisions:
    """Decisions of two passes, of which the weights of the first order the second.

    In the second, sessions in time and the first of each condition are there with a
    constant added, too.

    Parameters
    ----------
    sessions : sequence of Session
        What is learnt from.
    tell : callable, optional
        Called after each session, `n_passes` times in all.
    """

    def each(chosen: Sequence[Session], weights: Weights) -> Decisions:
        found = []
        for session in chosen:
            found.append(decide(session, weights))
            tell()
        return Decisions.join(found)

    first = each(sessions, START)
    weights = fit_weights(first)
    return Decisions.join(
        [first, each(sessions, weights), each(_shifted(sessions), weights)]
    )


def n_passes(sessions: Sequence[Session]) -> int:
    """How many sessions, some of them again, `learn_decisions` looks at."""
    return 2 * len(sessions) + len(_shifted(sessions))


def _shifted(sessions: Sequence[Session]) -> list[Session]:
    return [
        session.shifted(length)
        for length in OFFSETS
        for session in sessions
        if session.segments is not None or session.name.endswith("/0")
    ]


def judge_weights(weights: Weights, decisions: Decisions) -> tuple[float, float]:
    """Log loss, and share of wrong decisions at even odds; sessions count alike."""
    score = decisions.measured @ np.array(weights[:-1]) + weights.constant
    signed = np.where(decisions.same, score, -score)
    share = _shares(decisions.session)
    share /= share.sum()
    return float(share @ np.logaddexp(0.0, -signed)), float(share @ (signed < 0.0))


def _shares(names: AnyArray) -> FloatArray:
    """What makes all sessions count alike."""
    _, place, counts = np.unique(names, return_inverse=True, return_counts=True)
    shares: FloatArray = 1.0 / counts[place]
    return shares


def fit_weights(decisions: Decisions) -> Weights:
    """Logistic regression in which all sessions count alike."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(
        decisions.measured,
        decisions.same,
        logisticregression__sample_weight=_shares(decisions.session),
    )
    scaler, regression = model[0], model[-1]
    slopes = regression.coef_[0] / scaler.scale_
    constant = float(regression.intercept_[0] - slopes @ scaler.mean_)
    return Weights(*(round(float(value), 3) for value in (*slopes, constant)))


def fit_trust(
    sessions: Iterable[Session], tell: Callable[[], None] = lambda: None
) -> tuple[float, float, float]:
    """Weights of the confidence in a label, with the method as it is now."""
    measured, right, shares = [], [], []
    for session in sessions:
        times, row_weight = session.times
        n = len(session.X)
        found = cluster_untrained(
            session.X,
            times,
            row_weight,
            low=1,
            high=n,
            rng=np.random.default_rng(0),
            tell=lambda _: None,
        )
        tell()
        if found.space is None:
            continue
        near = nearness(found.space.project(scale_rows(session.X)), found.labels)
        sure = np.clip(max(found.count_posterior.values()), 0.01, 0.99)
        certain = np.full(n, np.log(sure / (1.0 - sure)))
        measured.append(np.stack([near, certain], axis=1))
        right.append(right_rows(session.speakers, found.labels))
        shares.append(np.full(n, 1.0 / n))
    model = LogisticRegression()
    model.fit(
        np.concatenate(measured),
        np.concatenate(right),
        sample_weight=np.concatenate(shares) * len(shares),
    )
    values = (model.intercept_[0], *model.coef_[0])
    constant, slope, of_number = (round(float(value), 2) for value in values)
    return constant, slope, of_number
