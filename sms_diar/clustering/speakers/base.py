"""What all estimators of speakers share: embeddings in, bounds kept, labels out."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from sms_diar._validation import check_rows_finite
from sms_diar.clustering._found import FoundMixin
from sms_diar.clustering.speakers.bounds import check_bounds
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_training import session_backend
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray


class SpeakerEstimator(
    FoundMixin,
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """Skeleton of ``fit`` and ``predict``; subclasses label the rows."""

    backend: BackEnd | None
    num_speakers: int | None
    min_speakers: int | None
    max_speakers: int | None
    backend_: BackEnd
    _speakers: PairwiseTerms  # mean scoring vector of each speaker found

    @abstractmethod
    def _fit_rows(self, X: FloatArray) -> None:
        """Label the rows, with ``backend_``; set all other attributes."""

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
            Raw embeddings, one per segment; in order of time if they overlap.
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
        if self.backend is not None and self.backend.dim != rows.shape[1]:
            raise InvalidParameterError(
                f"{self._name}: X must have the {self.backend.dim} dimensions of the "
                f"back end, got {rows.shape[1]}"
            )
        self._check_counts(len(rows))
        # One thread: how a matrix product is split among threads can change its
        # last bit, and labels must not depend on the machine's load.
        with threadpool_limits(limits=1):
            self.backend_ = self.backend or self._default_backend(rows)
            self._fit_rows(rows)
        return self

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Give new segments to the speakers that suit them best.

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
        return self._assign(rows)

    def _default_backend(self, X: FloatArray) -> BackEnd:
        """What scores where no back end was given."""
        return session_backend(X)

    def _assign(self, X: FloatArray) -> IntArray:
        """Speaker of highest mean score."""
        terms = self.backend_.features(self.backend_.prepare(X))
        # Row by row, so that the answer does not depend on the other rows.
        best = [
            int(np.argmax(self._speakers.U @ u + self._speakers.bias)) for u in terms.U
        ]
        return np.array(best, dtype=np.int64)

    def _bounds(self, n: int) -> tuple[int, int]:
        """Fewest and most speakers of n segments."""
        low = self.num_speakers or self.min_speakers or 1
        return low, min(self.num_speakers or self.max_speakers or n, n)

    def _check_parameters(self) -> None:
        if self.backend is not None and not isinstance(self.backend, BackEnd):
            raise InvalidParameterError(
                f"{self._name}: backend must be a BackEnd or None, got {self.backend!r}"
            )
        check_bounds(
            self._name, self.num_speakers, self.min_speakers, self.max_speakers
        )
        self._check_limits()

    def check_feasible(self, n: int) -> None:
        """Refuse bounds that contradict each other or that n segments cannot meet."""
        check_bounds(
            self._name, self.num_speakers, self.min_speakers, self.max_speakers
        )
        self._check_counts(n)

    def _check_counts(self, n: int) -> None:
        for name in ("num_speakers", "min_speakers"):
            value = getattr(self, name)
            if value is not None and value > n:
                raise InvalidParameterError(
                    f"{self._name}: {name} must be at most the number of segments "
                    f"({n}), got {value}"
                )
