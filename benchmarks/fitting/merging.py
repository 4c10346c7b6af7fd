"""Train the probability that two groups of segments are one speaker.

The weights in ``clustering/speakers/same_speaker.py`` and the confidence of labels come
from here (`scripts/fit-merging`). Sessions are those of the comparison without a PLDA
model, as they are and with a constant added to all vectors, because extractors differ
in where their origin is; and cuts of the meeting. In each, fragments are joined twice:
by an oracle, where pairs that the method would join wrongly are examples of two
speakers and those that are joined of one; and by the method itself, with the weights
learnt so far, beyond where it would stop. Only the second shows what groups look like
that were joined wrongly, and that nothing else should be joined to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.clustering.speakers.same_speaker import MEASUREMENTS, Groups, Weights
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.clustering.speakers.untrained import (
    Proposal,
    cluster_untrained,
    nearness,
    propose_fragments,
)

from benchmarks.compare.reliability import right_rows
from sms_diar.preprocessing import scale_rows
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

OFFSETS = (0.7, 1.2)
"""Lengths of the constant that is added to vectors of unit length."""

START = Weights(
    links=1.467,
    apart=-3.291,
    typical=-3.461,
    smaller=-1.564,
    larger=1.152,
    cosine=11.493,
    turns=0.143,
    crowd=0.0,
    wide=0.0,
    more_links=0.0,
    more_apart=0.0,
    more_cosine=0.0,
    more_smaller=0.0,
    constant=-5.991,
)
"""Weights of the first pass, from an earlier fit. They are fixed, so that the result
does not depend on the shipped weights."""

_WRONG = 6  # pairs of two speakers that one step by the oracle gives at most
_SHOWN = 4  # most probable pairs that one step by the method gives
_LEAST_PROBABLE = 0.08  # join at which the method's own way ends
_MIXED = 0.4  # probability that rows of two groups agree, below which the groups do not
_SMALLER = MEASUREMENTS.index("smaller")


@dataclass(frozen=True, eq=False)
class Session:
    """Vectors of known speakers.

    Parameters
    ----------
    name, extractor : str
        Names of the session and of the extractor.
    X : ndarray of shape (n, d)
        Raw vectors.
    speakers : ndarray of shape (n,)
        Speaker of each row.
    segments : sequence of Segment or None
        Times of the rows, if known.
    """

    name: str
    extractor: str
    X: FloatArray
    speakers: AnyArray
    segments: Sequence[Segment] | None = None

    @property
    def times(self) -> tuple[RowTimes | None, float]:
        """Return the times, and the share of new speech per row."""
        if self.segments is None:
            return None, 1.0
        return RowTimes.of_segments(self.segments), row_weight_of(self.segments)

    def shifted(self, length: float) -> Session:
        """Return a copy with a constant added to all vectors."""
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
    measured : ndarray of shape (m, 13)
        Terms, as `Groups.terms` gives them.
    same : ndarray of shape (m,)
        The truth.
    session, extractor : ndarray of shape (m,)
        Source of each decision.
    """

    measured: FloatArray
    same: BoolArray
    session: AnyArray
    extractor: AnyArray

    @classmethod
    def join(cls, parts: Iterable[Decisions]) -> Decisions:
        """Concatenate decisions."""
        every = list(parts)
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in every])
                for name in ("measured", "same", "session", "extractor")
            )
        )

    def of(self, extractor: str) -> Decisions:
        """Return the decisions of one extractor."""
        return self._where(self.extractor == extractor)

    def without(self, extractor: str) -> Decisions:
        """Return the decisions of all other extractors."""
        return self._where(self.extractor != extractor)

    def named(self, what: str) -> Decisions:
        """Return a copy that counts as different sessions."""
        names = np.array([f"{name}, {what}" for name in self.session])
        return replace(self, session=names)

    def _where(self, kept: BoolArray) -> Decisions:
        return Decisions(
            self.measured[kept],
            self.same[kept],
            self.session[kept],
            self.extractor[kept],
        )


@dataclass(frozen=True, eq=False)
class Fragmented:
    """A session with its fragments.

    Parameters
    ----------
    session : Session
        The session.
    proposal : Proposal or None
        Its fragments; None where there is too little to find any.
    """

    session: Session
    proposal: Proposal | None

    @classmethod
    def of(cls, session: Session, seed: int = 0) -> Fragmented:
        """Find fragments as the method does."""
        rng = np.random.default_rng(seed)
        return cls(session, propose_fragments(session.X, *session.times, rng=rng))


def decide(
    fragmented: Fragmented, weights: Weights = START, *, guided: bool = True
) -> Decisions:
    """Merge the fragments of a session, and record the merges.

    Parameters
    ----------
    fragmented : Fragmented
        The session.
    weights : Weights
        Weights that order the merges.
    guided : bool, default=True
        Whether an oracle joins, who passes over pairs of two speakers; else the weights
        alone do.
    """
    measured: list[FloatArray] = []
    same: list[bool] = []
    session, proposal = fragmented.session, fragmented.proposal
    if proposal is not None:
        names = np.unique(session.speakers, return_inverse=True)[1]
        own = names[proposal.chosen.rows]
        groups = Groups.of(proposal.members, proposal.fragments)
        talk = np.zeros((len(groups), int(names.max()) + 1))
        np.add.at(talk, (proposal.fragments, own), 1.0)
        while len(groups) > 1:
            step = _Step.of(groups, talk, weights)
            for pair in step.shown(guided):
                measured.append(step.terms[pair])
                same.append(bool(step.true[pair]))
            chosen = step.next_join(guided)
            if chosen is None:
                break
            kept, gone = int(step.one[chosen]), int(step.other[chosen])
            groups.join(kept, gone)
            talk[kept] += talk[gone]
            talk = np.delete(talk, gone, axis=0)
    m = len(same)
    return Decisions(
        np.array(measured).reshape(m, len(Weights._fields) - 1),
        np.array(same, dtype=np.bool_),
        np.full(m, session.name),
        np.full(m, session.extractor),
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """All pairs of groups before a merge, the most probable first."""

    one: IntArray
    other: IntArray
    terms: FloatArray
    probability: FloatArray
    true: BoolArray

    @classmethod
    def of(cls, groups: Groups, talk: FloatArray, weights: Weights) -> _Step:
        one, other = np.triu_indices(len(groups), 1)
        likely = groups.same(weights)[one, other]
        order = np.argsort(-likely, kind="stable")
        one, other = one[order], other[order]
        terms = np.stack([term[one, other] for term in groups.terms()], axis=-1)
        shares = talk / talk.sum(axis=1, keepdims=True)
        most = talk.argmax(axis=1)
        agree = np.sum(shares[one] * shares[other], axis=1) > _MIXED
        true = (most[one] == most[other]) & agree
        return cls(one, other, terms, likely[order], true)

    def shown(self, guided: bool) -> Iterator[int]:  # noqa: FBT001
        """Return the pairs for training."""
        if not guided:
            yield from range(min(_SHOWN, len(self.one)))
            return
        first = self._first_true()
        yield from range(min(_WRONG, len(self.one) if first is None else first))
        if first is not None:
            yield first

    def next_join(self, guided: bool) -> int | None:  # noqa: FBT001
        """Return the pair to merge, if any."""
        if guided:
            return self._first_true()
        return 0 if self.probability[0] >= _LEAST_PROBABLE else None

    def _first_true(self) -> int | None:
        return int(np.argmax(self.true)) if self.true.any() else None


def learn_decisions(
    sessions: Sequence[Session], tell: Callable[[], None] = lambda: None
) -> Decisions:
    """Decisions by an oracle, and then by the weights that follow from them.

    From the second pass on, the first session of each condition is there with a
    constant added, too.

    Parameters
    ----------
    sessions : sequence of Session
        Training sessions.
    tell : callable, optional
        Called after each session, `n_passes` times in all.
    """

    def each(
        chosen: Sequence[Fragmented], weights: Weights, *, guided: bool
    ) -> Decisions:
        found = []
        for one in chosen:
            found.append(decide(one, weights, guided=guided))
            tell()
        return Decisions.join(found)

    plain = [Fragmented.of(session) for session in sessions]
    weights = fit_weights(each(plain, START, guided=True))
    every = plain + [Fragmented.of(session) for session in _shifted(sessions)]
    guided = each(every, weights, guided=True)
    own = each(every, fit_weights(guided), guided=False)
    return Decisions.join([guided, own.named("its own way")])


def n_passes(sessions: Sequence[Session]) -> int:
    """Return the number of sessions, with repetitions, of `learn_decisions`."""
    every = len(sessions) + len(_shifted(sessions))
    return len(sessions) + 2 * every


def _shifted(sessions: Sequence[Session]) -> list[Session]:
    return [
        session.shifted(length)
        for length in OFFSETS
        for session in sessions
        if session.name.endswith("/0")
    ]


def judge_weights(weights: Weights, decisions: Decisions) -> tuple[float, float]:
    """Return the log loss and the error rate at even odds, weighted as in the fit."""
    score = decisions.measured @ np.array(weights[:-1]) + weights.constant
    signed = np.where(decisions.same, score, -score)
    share = _shares(decisions)
    share /= share.sum()
    return float(share @ np.logaddexp(0.0, -signed)), float(share @ (signed < 0.0))


def _shares(decisions: Decisions) -> FloatArray:
    """Weight sessions equally, and groups of a session by the root of their size.

    A session has many decisions about a few segments and few about many, but these are
    the ones that matter.
    """
    size = np.exp(0.5 * decisions.measured[:, _SMALLER])
    _, place = np.unique(decisions.session, return_inverse=True)
    shares: FloatArray = size / np.bincount(place, size)[place]
    return shares


def fit_weights(decisions: Decisions) -> Weights:
    """Fit a logistic regression with equal weights of all sessions."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
    model.fit(
        decisions.measured,
        decisions.same,
        logisticregression__sample_weight=_shares(decisions),
    )
    scaler, regression = model[0], model[-1]
    slopes = regression.coef_[0] / scaler.scale_
    constant = float(regression.intercept_[0] - slopes @ scaler.mean_)
    return Weights(*(round(float(value), 3) for value in (*slopes, constant)))


def fit_trust(
    sessions: Iterable[Session], tell: Callable[[], None] = lambda: None
) -> tuple[float, float, float]:
    """Fit the weights of the confidence of labels to the current method."""
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
