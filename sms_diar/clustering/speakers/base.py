"""Base class of all estimators of speakers."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from sms_diar._validation import check_count, check_rows_finite, check_share
from sms_diar.clustering._found import FoundMixin
from sms_diar.clustering.speakers.rows import RowTimes
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_training import session_backend
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState, Segment


class SpeakerEstimator(
    FoundMixin,
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """Base class with ``fit`` and ``predict``; subclasses label the rows.

    Class attributes say what a subclass can do. `takes_times` is True if ``fit`` has a
    parameter `segments`. `confidence_` and `count_posterior_` stay None if a subclass
    does not estimate them. `without_backend` describes the scores without a back end.
    """

    takes_times: ClassVar[bool] = False
    without_backend: ClassVar[str] = "cosine scores, whitening fitted on the session"
    confidence_: FloatArray | None = None
    count_posterior_: Mapping[int, float] | None = None

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
        """Call `listener` regularly with the share of points at rest.

        The listener is not a parameter: clones do not have it, and it does not affect
        results.
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
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X)

    def _fit(self, X: npt.ArrayLike, **known: Any) -> Self:
        """Check parameters and rows, set ``backend_`` and label the rows.

        One thread is used: the split of a matrix product among threads can change its
        last bit, and labels must not depend on the load of the machine.
        """
        self._check_parameters()
        rows: FloatArray = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=False
        )
        check_rows_finite(self._name, rows)
        if self.backend is not None and self.backend.dim != rows.shape[1]:
            problem = (
                f"must have the {self.backend.dim} dimensions of the back end, got "
                f"{rows.shape[1]}"
            )
            raise InvalidParameterError(problem, owner=self._name, parameter="X")
        self.check_feasible(len(rows))
        with threadpool_limits(limits=1):
            self.backend_ = self.backend or self._default_backend(rows)
            self._fit_rows(rows, **known)
        return self

    def fit_timed(
        self, X: npt.ArrayLike, segments: Sequence[Segment] | None = None
    ) -> Self:
        """Cluster the rows of `X`, with their times if the method takes them."""
        if segments is None or not self.takes_times:
            return self.fit(X)
        return self.fit(X, segments=segments)  # type: ignore[call-arg]

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Assign new segments to the speakers with the highest scores.

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
        """Back end that is used if `backend` is None."""
        return session_backend(X)

    def _assign(self, X: FloatArray) -> IntArray:
        """Assign each row to the speaker of highest mean score."""
        terms = self.backend_.features(self.backend_.prepare(X))
        # Row by row, so that the result does not depend on other rows.
        best = [
            int(np.argmax(self._speakers.U @ u + self._speakers.bias)) for u in terms.U
        ]
        return np.array(best, dtype=np.int64)

    @property
    def n_matrices(self) -> int:
        """Number of matrices of shape (n, n) that ``fit`` holds at a time."""
        return 0

    def long_memory(self, n: int, dim: int) -> int | None:
        """Return the bytes for n rows if ``fit`` processes so many in parts."""
        return None

    def estimates(self) -> dict[str, float]:
        """Return further estimates of ``fit`` by name, for summaries."""
        return {}

    def speaker_bounds(self) -> tuple[int, int | None]:
        """Return the minimum number of speakers, and the maximum if one is set."""
        low = self.num_speakers or self.min_speakers or 1
        return low, self.num_speakers or self.max_speakers

    def _bounds(self, n: int) -> tuple[int, int]:
        """Minimum and maximum number of speakers of n segments."""
        low, high = self.speaker_bounds()
        return low, min(high or n, n)

    def _check_parameters(self) -> None:
        if self.backend is not None and not isinstance(self.backend, BackEnd):
            problem = f"must be a BackEnd or None, got {self.backend!r}"
            raise InvalidParameterError(problem, owner=self._name, parameter="backend")
        self.check_feasible()
        self._check_limits()

    def check_feasible(self, n: float = np.inf) -> None:
        """Raise an error if bounds are contradictory or impossible for n segments."""
        for name in ("num_speakers", "min_speakers", "max_speakers"):
            value = getattr(self, name)
            if value is None:
                continue
            check_count(self._name, name, value)
            if value > n and name != "max_speakers":
                problem = f"must be at most the number of segments ({n}), got {value}"
                raise InvalidParameterError(problem, owner=self._name, parameter=name)
        few, many = self.min_speakers, self.max_speakers
        if self.num_speakers is not None and not few is many is None:
            raise InvalidParameterError(
                "must be given without min_speakers and max_speakers, got all of them",
                owner=self._name,
                parameter="num_speakers",
                mentions=("min_speakers", "max_speakers"),
            )
        if few is not None and many is not None and few > many:
            raise InvalidParameterError(
                f"must be at most max_speakers, got {few} and {many}",
                owner=self._name,
                parameter="min_speakers",
                mentions=("max_speakers",),
            )


class TimedEstimator(SpeakerEstimator):
    """Base class with a weight per row and optional times; see its subclasses."""

    takes_times: ClassVar[bool] = True

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        row_weight: float | Literal["auto"] = "auto",
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.row_weight = row_weight
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    @abstractmethod
    def _fit_in_time(self, X: FloatArray, times: RowTimes | None) -> None:
        """Label the rows, with ``backend_`` and ``row_weight_``."""

    @abstractmethod
    def _estimated_row_weight(self, X: FloatArray) -> float:
        """Estimate the number of observations per row without times."""

    def fit(
        self,
        X: npt.ArrayLike,
        y: Any = None,
        segments: Sequence[Segment] | None = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_segments, n_features)
            Raw embeddings, one per segment; in order of time if they overlap.
        y : Ignored
            Not used, present for API consistency by convention.
        segments : sequence of Segment, optional
            Time of each row. It shows which windows overlap, and consecutive windows
            show how a speaker varies.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, segments=segments)

    def _fit_rows(
        self, X: FloatArray, segments: Sequence[Segment] | None = None
    ) -> None:
        times = None
        if segments is not None:
            if len(segments) != len(X):
                problem = (
                    f"must be one for each of the {len(X)} rows, got {len(segments)}"
                )
                raise InvalidParameterError(
                    problem, owner=self._name, parameter="segments"
                )
            times = RowTimes.of_segments(segments)
        if not isinstance(self.row_weight, str):
            self.row_weight_ = float(self.row_weight)
        elif times is not None:
            self.row_weight_ = times.row_weight()
        else:
            self.row_weight_ = self._estimated_row_weight(X)
        if times is None and self.row_weight_ < 1.0:
            times = RowTimes.of_steps(len(X), self.row_weight_)
        self._fit_in_time(X, times)
        self._tell(1.0)

    def estimates(self) -> dict[str, float]:
        """Return the number of observations per row."""
        return {"row_weight": self.row_weight_}

    def _check_limits(self) -> None:
        if self.row_weight != "auto":
            check_share(self._name, "row_weight", self.row_weight)
