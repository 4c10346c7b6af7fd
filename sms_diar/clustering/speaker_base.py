"""What the mean-shift estimators of embeddings share: checks, counts, labels."""

from __future__ import annotations

import math
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from sms_diar._validation import (
    check_choice,
    check_count,
    check_positive,
    check_rows_finite,
    is_real,
)
from sms_diar.clustering._modes import merge_resting_points
from sms_diar.clustering.speaker_bounds import check_bounds, reach_bounds
from sms_diar.clustering.speaker_count import mean_features, merge_clusters
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_training import session_backend
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray


class SpeakerEstimator(ClusterMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Skeleton of ``fit`` and ``predict``; subclasses move the states."""

    backend: BackEnd | None
    k: Any
    gate: float | None
    gate_least: int
    tol: float
    merge: str
    merge_threshold: float | None
    n_speakers: int | None
    min_speakers: int | None
    max_speakers: int | None

    @abstractmethod
    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        """Move until rest: resting states, point moves, longest last move."""

    @abstractmethod
    def _remedy(self) -> str:
        """Name the parameter that ended a run too early."""

    @abstractmethod
    def _check_limits(self) -> None:
        """Check the parameters that only this subclass has."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def listen(self, listener: Callable[[float], None]) -> Self:
        """Have `listener` called with the share of points at rest, now and then.

        It is no parameter: clones do not listen, and results do not change.
        """
        self._listener = listener
        return self

    def _tell(self, share: float) -> None:
        listener: Callable[[float], None] | None = getattr(self, "_listener", None)
        if listener is not None:
            listener(share)

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_segments, n_features)
            Raw embeddings, one per segment.
        y : Ignored
            Present so that the estimator fits scikit-learn pipelines.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
        check_rows_finite(self._name, rows)
        backend = self.backend or session_backend(rows)
        if backend.dim != rows.shape[1]:
            raise InvalidParameterError(
                f"{self._name}: X must have the {backend.dim} dimensions of the back "
                f"end, got {rows.shape[1]}"
            )
        self.backend_ = backend
        self._check_counts(len(rows))
        # One thread: how a matrix product is split among threads can change its
        # last bit, and labels must not depend on the machine's load.
        with threadpool_limits(limits=1):
            self._fit_states(backend.prepare(rows), backend)
        return self

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Give new segments to the speaker with the highest mean score.

        Parameters
        ----------
        X : array-like of shape (n_segments, n_features)
            Raw embeddings.

        Returns
        -------
        labels : ndarray of shape (n_segments,)
            Clusters found by ``fit``.
        """
        check_is_fitted(self)
        rows = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
        check_rows_finite(self._name, rows)
        terms = self.backend_.features(self.backend_.prepare(rows))
        # Row by row, so that the answer does not depend on the company.
        best = [
            int(np.argmax(self._speakers.U @ u + self._speakers.bias)) for u in terms.U
        ]
        return np.array(best, dtype=np.int64)

    def _fit_states(self, states: FloatArray, backend: BackEnd) -> None:
        terms = backend.features(states)
        n = len(states)
        wanted = self.n_speakers or self.min_speakers or 1
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
        most = min(self.n_speakers or self.max_speakers or n, n)
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

    def _check_parameters(self) -> None:
        if self.backend is not None and not isinstance(self.backend, BackEnd):
            raise InvalidParameterError(
                f"{self._name}: backend must be a BackEnd or None, got {self.backend!r}"
            )
        if self.gate is not None and not is_real(self.gate):
            raise InvalidParameterError(
                f"{self._name}: gate must be a finite number or None, got {self.gate!r}"
            )
        check_count(self._name, "gate_least", self.gate_least)
        check_positive(self._name, "tol", self.tol)
        check_choice(self._name, "merge", self.merge, ("distance", "score"))
        if self.merge_threshold is not None:
            if self.merge == "distance":
                check_positive(self._name, "merge_threshold", self.merge_threshold)
            elif not is_real(self.merge_threshold):
                raise InvalidParameterError(
                    f"{self._name}: merge_threshold must be a finite number, "
                    f"got {self.merge_threshold!r}"
                )
        check_bounds(self._name, self.n_speakers, self.min_speakers, self.max_speakers)
        self._check_limits()

    def _check_counts(self, n: int) -> None:
        for name in ("n_speakers", "min_speakers"):
            value = getattr(self, name)
            if value is not None and value > n:
                raise InvalidParameterError(
                    f"{self._name}: {name} must be at most the number of segments "
                    f"({n}), got {value}"
                )


def default_merge_threshold(points: FloatArray) -> float:
    """A fifth of the typical length of a point, which is 0.2 for unit lengths."""
    typical = float(np.median(np.linalg.norm(points, axis=1)))
    return 0.2 * typical if typical > 0.0 else 0.2
