"""Search for the partition and session model of highest joint probability.

See sections 2, 4 and 5 of ``EVIDENCE.md``.
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

_ROUNDS = 4  # of adaptation and search from one start
_MOST_GROUPS = 200  # maximum number of clusters of which all pairs are compared


@dataclass(frozen=True, eq=False)
class Start:
    """Initial partition, and the k of the run that gave it."""

    labels: IntArray
    k: int


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search from one start."""

    labels: IntArray
    model: SessionModel
    weight: float
    value: float
    k: int

    @property
    def n_groups(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


class EvidenceSearch:
    """Search for the partition and model of highest probability within bounds."""

    def __init__(
        self, rows: FloatArray, prior: SessionPrior, low: int, high: int
    ) -> None:
        self.rows = rows
        self.prior = prior
        self.low = low
        self.high = high

    def climb(self, start: Start, weight: float, known: Found | None) -> Found:
        """Adapt, merge and move in turn, until the gain is small."""
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
        """Adapt the model to a fixed partition."""
        model = adapt_session(
            self.prior, self.prior.start, self.rows, labels, weight=weight, n_iter=6
        )
        return Found(labels, model, weight, self._value(model, labels, weight), 0)

    def prefers(self, one: Found, other: Found) -> bool:
        """Return whether `one` explains the session better than `other`.

        Both are compared at the weights of both, with log probabilities per whole
        observation.
        """
        if np.array_equal(one.labels, other.labels):
            return False
        margin = 0.0
        for weight in (one.weight, other.weight):
            values = [self.fixed(found.labels, weight).value for found in (one, other)]
            margin += (values[0] - values[1]) / weight
        return margin > 0.0

    def beats_one_speaker(self, found: Found, margin: float = 1.0) -> bool:
        """Return whether several speakers gain more than the cost of the labels.

        The cost is the entropy of the labels, at most 1 nat per segment: in hard
        sessions much of the labelling remains uncertain. It is multiplied by `margin`.
        """
        n = len(self.rows)
        shares = np.bincount(found.labels) / n
        cost = min(1.0, -float(np.sum(shares * np.log(shares))))
        single = self.fixed(np.zeros(n, np.int64), found.weight).value
        gain = self.fixed(found.labels, found.weight).value - single
        return gain > margin * cost * found.weight * n

    def count_posterior(self, found: Found, n_speakers: int) -> dict[int, float]:
        """Return the probabilities of the number found and of lower numbers.

        The best pair of clusters is merged three times, and each result is compared at
        the same weight. Higher numbers were rejected by the search. Empty for very many
        speakers.
        """
        if found.n_groups > _MOST_GROUPS:
            return {}
        labels, values = found.labels, [self.fixed(found.labels, found.weight).value]
        # Refinement may have left fewer speakers than clusters.
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
