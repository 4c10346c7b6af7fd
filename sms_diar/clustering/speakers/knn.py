"""Base class of the kNN mean-shift estimators: neighbourhoods, rest and merging."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._validation import check_choice, check_count, check_positive, is_real
from sms_diar.clustering._modes import merge_resting_points
from sms_diar.clustering.speakers.agglomerate import mean_features, merge_clusters
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray


class KnnMeanShift(SpeakerEstimator):
    """Base class of kNN mean shift; subclasses move the states."""

    k: Any
    gate: float | None
    gate_least: int
    tol: float
    merge: str
    merge_threshold: float | None

    @abstractmethod
    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        """Move until rest: resting states, point moves, longest last move."""

    @abstractmethod
    def _remedy(self) -> str:
        """Name the parameter that ended a run too early."""

    def _fit_rows(self, X: FloatArray) -> None:
        backend = self.backend_
        states = backend.prepare(X)
        terms = backend.features(states)
        n = len(states)
        wanted, most = self._bounds(n)
        k = min(self._largest_k(), n)
        if n <= self._largest_k():
            k = max(1, math.ceil(n / 2))
        self.n_steps_ = 0
        while True:
            resting, n_steps, longest = self._move(states.copy(), terms, backend, k)
            self.n_steps_ += n_steps
            labels = self._merge(resting, backend)
            if int(labels.max()) + 1 >= wanted or k == 1:
                break
            k = max(1, k // 2)  # smaller neighbourhoods keep more groups apart
        labels = reach_bounds(terms, labels, wanted, most)
        self.k_ = k
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.resting_points_ = resting
        self.converged_ = longest < self.tol
        self._speakers = mean_features(terms, labels)
        if not self.converged_:
            warnings.warn(
                f"{self._name}: the longest last move is still {longest:.2g} after "
                f"{n_steps} point moves (tol={self.tol:g}); {self._remedy()}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _merge(self, resting: FloatArray, backend: BackEnd) -> IntArray:
        """Labels of resting states."""
        # Their directions: that is all the back end sees of them.
        points = scale_rows(resting) if backend.normalize_state else resting
        if self.merge == "distance":
            threshold = self.merge_threshold
            if threshold is None:
                threshold = default_merge_threshold(points)
            return merge_resting_points(points, threshold)
        # Points at one place belong together anyway; places are merged by score.
        labels = merge_resting_points(points, default_merge_threshold(points) / 10)
        threshold = 0.0 if self.merge_threshold is None else self.merge_threshold
        return merge_clusters(backend.features(resting), labels, threshold=threshold)

    def _gate(self, n: int) -> tuple[float, int]:
        """Share and least number of the gate; without one, all n pass."""
        return (0.0, n) if self.gate is None else (float(self.gate), self.gate_least)

    def _largest_k(self) -> int:
        return int(np.max(self.k))

    def _check_limits(self) -> None:
        if self.gate is not None and not is_real(self.gate):
            raise InvalidParameterError(
                f"must be a finite number or None, got {self.gate!r}",
                owner=self._name,
                parameter="gate",
            )
        check_count(self._name, "gate_least", self.gate_least)
        check_positive(self._name, "tol", self.tol)
        check_choice(self._name, "merge", self.merge, ("distance", "score"))
        if self.merge_threshold is not None:
            if self.merge == "distance":
                check_positive(self._name, "merge_threshold", self.merge_threshold)
            elif not is_real(self.merge_threshold):
                raise InvalidParameterError(
                    f"must be a finite number, got {self.merge_threshold!r}",
                    owner=self._name,
                    parameter="merge_threshold",
                )


def default_merge_threshold(points: FloatArray) -> float:
    """A fifth of the typical length of a point, which is 0.2 for unit lengths."""
    typical = float(np.median(np.linalg.norm(points, axis=1)))
    return 0.2 * typical if typical > 0.0 else 0.2
