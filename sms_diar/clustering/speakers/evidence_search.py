"""Climbing the joint probability of groups and session model from a start.

Sections 2, 4 and 5 of ``EVIDENCE.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.clustering.speakers._evidence_kernels import merge_groups, move_segments
from sms_diar.scoring.evidence import group_evidence, group_sums
from sms_diar.scoring.session_model import (
    SessionModel,
    SessionPrior,
    adapt_session,
    log_joint,
)
from sms_diar.types import FloatArray, IntArray

_ROUNDS = 4  # of adapting and searching, from one start
_MOST_GROUPS = 200  # of which all pairs are compared once more


@dataclass(frozen=True, eq=False)
class Start:
    """A proposed partition, and the k of the run that made it."""

    labels: IntArray
    k: int


@dataclass(frozen=True, eq=False)
class Found:
    """Where a climb ended."""

    labels: IntArray
    model: SessionModel
    weight: float
    value: float
    k: int

    @property
    def n_groups(self) -> int:
        """Speakers found."""
        return int(self.labels.max()) + 1


class EvidenceSearch:
    """Climbs of the joint probability of groups and model, between bounds."""

    def __init__(
        self, rows: FloatArray, prior: SessionPrior, low: int, high: int
    ) -> None:
        self.rows = rows
        self.prior = prior
        self.low = low
        self.high = high

    def climb(self, start: Start, weight: float, known: Found | None) -> Found:
        """Adapt, merge and move in turn, until that gains little."""
        labels = start.labels
        model = self.prior.start if known is None else known.model
        value = -np.inf
        for number in range(_ROUNDS):
            model = adapt_session(
                self.prior,
                model,
                self.rows,
                labels,
                weight=weight,
                n_iter=3 if number == 0 else 1,
            )
            labels = self._improve(labels, model, weight)
            before, value = value, self._value(model, labels, weight)
            if value - before < 1e-3 * len(labels):
                break
        return Found(labels, model, weight, value, start.k)

    def fixed(self, labels: IntArray, weight: float) -> Found:
        """Adapt the model to groups that stay as they are."""
        model = adapt_session(
            self.prior, self.prior.start, self.rows, labels, weight=weight, n_iter=6
        )
        return Found(labels, model, weight, self._value(model, labels, weight), 0)

    def prefers(self, one: Found, other: Found) -> bool:
        """Whether `one` explains the session better than `other`.

        Each is at rest with its own weight. At both weights the two are compared,
        and log probabilities are put on the scale of whole observations.
        """
        if np.array_equal(one.labels, other.labels):
            return False
        margin = 0.0
        for weight in (one.weight, other.weight):
            values = [self.fixed(it.labels, weight).value for it in (one, other)]
            margin += (values[0] - values[1]) / weight
        return margin > 0.0

    def beats_one_speaker(self, found: Found, margin: float = 1.0) -> bool:
        """Whether several speakers gain what it costs to say who speaks when.

        Between two speakers that is the entropy of the labels. Of more speakers no
        more than 1 nat per segment is asked: in hard sessions much of who speaks
        when stays open, and need not be said. `margin` times as much is asked.
        """
        n = len(self.rows)
        shares = np.bincount(found.labels) / n
        cost = min(1.0, -float(np.sum(shares * np.log(shares))))
        single = self.fixed(np.zeros(n, np.int64), found.weight).value
        gain = self.fixed(found.labels, found.weight).value - single
        return gain > margin * cost * found.weight * n

    def count_posterior(self, found: Found, n_speakers: int) -> dict[int, float]:
        """Probability of the number found and of a few below it.

        The two groups whose union is worth most are joined, three times, and each
        result is compared with what was found at the same weight. Nothing is known
        about higher numbers, which the search has refused, and nothing is said about
        very many speakers.
        """
        if found.n_groups > _MOST_GROUPS:
            return {}
        labels, values = found.labels, [self.fixed(found.labels, found.weight).value]
        # Refinement may have left fewer speakers than groups.
        fewer = min(found.n_groups, n_speakers) - self.low
        for _ in range(min(3, fewer)):
            U = found.model.project(self.rows)
            sizes, sums = group_sums(U, labels)
            psi, w = found.model.psi, found.weight
            alone = group_evidence(sizes, sums, psi, weight=w)
            one, other = np.triu_indices(len(sizes), 1)
            both = group_evidence(
                sizes[one] + sizes[other], sums[one] + sums[other], psi, weight=w
            )
            best = int(np.argmax(both - alone[one] - alone[other]))
            labels = np.where(labels == other[best], one[best], labels)
            labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
            values.append(self.fixed(labels, found.weight).value)
        odds = np.exp(np.clip(np.array(values) - values[0], -700.0, 0.0))
        return {
            n_speakers - step: float(share)
            for step, share in enumerate(odds / odds.sum())
        }

    def _value(self, model: SessionModel, labels: IntArray, weight: float) -> float:
        return log_joint(self.prior, model, self.rows, labels, weight=weight)

    def _improve(
        self, labels: IntArray, model: SessionModel, weight: float
    ) -> IntArray:
        U = np.ascontiguousarray(model.project(self.rows))
        psi = model.psi
        counts = np.arange(len(U) + 1)[:, None]
        log_dets = 0.5 * np.sum(np.log1p(weight * counts * psi), axis=1)
        groups, sums = group_sums(U, labels)
        sizes = groups.astype(np.int64)
        parent = merge_groups(sizes, sums, psi, log_dets, weight, self.low, self.high)
        labels = np.unique(parent[labels], return_inverse=True)[1].astype(np.int64)
        kept = sizes > 0
        move_segments(
            U, labels, sizes[kept], sums[kept], psi, log_dets, weight, self.low, 4
        )
        renamed: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        return renamed
