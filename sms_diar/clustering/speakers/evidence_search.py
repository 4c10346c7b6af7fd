"""Search for the partition and session model of highest joint probability.

See sections 2, 4 and 5 of ``EVIDENCE.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.clustering.speakers._evidence_kernels import merge_groups, move_segments
from sms_diar.scoring.evidence import group_sums
from sms_diar.scoring.session_model import (
    SessionModel,
    SessionPrior,
    adapt_session,
    log_joint,
)
from sms_diar.types import FloatArray, IntArray

_ROUNDS = 4  # of adaptation and search from one start


@dataclass(frozen=True, eq=False)
class Found:
    """Partition, and the model of the session given this partition."""

    labels: IntArray
    model: SessionModel
    weight: float
    value: float

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

    def climb(self, labels: IntArray, weight: float, known: Found | None) -> Found:
        """Adapt, merge and move in turn, until the gain is small."""
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
        return Found(labels, model, weight, value)

    def fixed(self, labels: IntArray, weight: float) -> Found:
        """Adapt the model to a fixed partition."""
        model = adapt_session(
            self.prior, self.prior.start, self.rows, labels, weight=weight, n_iter=6
        )
        return Found(labels, model, weight, self._value(model, labels, weight))

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
        the same weight. Higher numbers were rejected by the search.
        """
        labels, values = found.labels, [self.fixed(found.labels, found.weight).value]
        U = found.model.project(self.rows)
        # Refinement may have left fewer speakers than clusters.
        fewer = min(found.n_groups, n_speakers) - self.low
        for n_groups in range(
            found.n_groups - 1, found.n_groups - 1 - min(3, fewer), -1
        ):
            labels = _merged(
                U, labels, found.model.psi, found.weight, n_groups, n_groups
            )
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
        U, psi = np.ascontiguousarray(model.project(self.rows)), model.psi
        labels = _merged(U, labels, psi, weight, self.low, self.high)
        groups, sums = group_sums(U, labels)
        sizes = groups.astype(np.int64)
        log_dets = _log_dets(len(U), psi, weight)
        move_segments(U, labels, sizes, sums, psi, log_dets, weight, self.low, 4)
        return _renumbered(labels)


def _merged(
    U: FloatArray, labels: IntArray, psi: FloatArray, weight: float, low: int, high: int
) -> IntArray:
    """Merge the pairs of clusters with the highest gains, within bounds."""
    sizes, sums = group_sums(U, labels)
    log_dets = _log_dets(len(U), psi, weight)
    parent = merge_groups(
        sizes.astype(np.int64), sums, psi, log_dets, weight, low, high
    )
    return _renumbered(parent[labels])


def _log_dets(n: int, psi: FloatArray, weight: float) -> FloatArray:
    """Return the part of the evidence of clusters of 0 to n rows without their sums."""
    counts = np.arange(n + 1)[:, None]
    log_dets: FloatArray = 0.5 * np.sum(np.log1p(weight * counts * psi), axis=1)
    return log_dets


def _renumbered(labels: IntArray) -> IntArray:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
