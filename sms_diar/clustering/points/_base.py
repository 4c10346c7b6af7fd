"""Common part of the mean-shift estimators: checks, units, labels and prediction.

Points move on a lattice whose unit is a power of two far below the bandwidth
(``_lattice``), so that sums are exact, and squares neither overflow nor vanish for any
scale of the data.
"""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from sms_diar._validation import (
    check_choice,
    check_count,
    check_positive,
    check_rows_finite,
)
from sms_diar.clustering._found import FoundMixin
from sms_diar.clustering._modes import (
    average_clusters,
    distinct_rows,
    merge_resting_points,
)
from sms_diar.clustering.points._grid import MAX_DIMS, Grid
from sms_diar.clustering.points._kernels import move_plainly, objective
from sms_diar.clustering.points._lattice import Lattice, weight_levels
from sms_diar.clustering.points.bandwidth import estimate_bandwidth
from sms_diar.clustering.points.profiles import KERNELS
from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, FloatArray, IntArray

Mover = Callable[..., tuple[int, int]]
Bandwidth = float | Literal["auto"]
Record = Literal["objective", "states"] | None
Algorithm = Literal["auto", "plain", "indexed"]

ALGORITHMS: Final = ("auto", "plain", "indexed")
"""Names accepted as ``algorithm``; "plain" compares all points."""

_JOIN_EVERY = 4  # iterations; looking for equal points costs as much as some moves


@dataclass(frozen=True)
class Run:
    """End of a run, in lattice units."""

    coords: FloatArray  # shape: (d, n), resting points
    n_steps: int  # moves of single points
    longest_move: float  # the longest last move among all points
    converged: bool


@dataclass(frozen=True)
class Setup:
    """Data and parameters of a run, in lattice units."""

    coords: FloatArray  # shape: (d, n), never written to
    lattice: Lattice
    bandwidth: float
    shortest: float  # ends of the range of bandwidths
    longest: float
    code: int  # position of the kernel in KERNELS
    levels: float  # number of steps to which weights are rounded
    tol: float
    recorder: Recorder | None
    algorithm: str

    def mover(self, data: FloatArray, weights: FloatArray | None = None) -> Mover:
        """Return a function that moves points to the means of their neighbours.

        The points of `data`, of shape (d, n), attract with `weights` of shape (n,), or
        with equal weights if None. The result is called as
        ``move(coords, moving, bandwidths, tol, lengths, resting, n_at_rest)`` with
        arguments and result as of ``_kernels.move_plainly``. If `coords` is the array
        `data`, every later move is computed from the changed state.
        """
        if weights is None:
            weights = np.ones(data.shape[1])
        is_plain = self.algorithm == "plain" or self.code != 0
        if not is_plain and len(data) <= MAX_DIMS:
            return Grid(data, weights, self.shortest).move

        def move(
            coords: FloatArray, moving: IntArray, bandwidths: FloatArray, *rest: Any
        ) -> tuple[int, int]:
            kernel = (self.code, self.levels)
            return move_plainly(
                coords, data, weights, moving, bandwidths, *kernel, *rest
            )

        return move

    def joins_after(self, iteration: int) -> bool:
        """Return whether to look now for points at one position, to move them once."""
        return self.algorithm != "plain" and iteration % _JOIN_EVERY == _JOIN_EVERY - 1


class MeanShiftEstimator(FoundMixin, ClusterMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Implement ``fit`` and ``predict``; subclasses implement the run."""

    # Constructor arguments of every subclass.
    bandwidth: Any
    kernel: str
    tol: float
    merge_threshold: float | None
    record: Record
    max_records: int
    algorithm: Algorithm

    @abstractmethod
    def _run(self, setup: Setup) -> Run:
        """Move the points until they rest or the limit is reached."""

    @abstractmethod
    def _remedy(self) -> str:
        """Return advice for the warning that a run did not converge."""

    @abstractmethod
    def _check_limits(self) -> None:
        """Check the parameters that only this subclass has."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One point per row. All computations are in float64; for float32 input the
            centres are converted to float32.
        y : Ignored
            For compatibility with scikit-learn pipelines.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_choice(self._name, "kernel", self.kernel, KERNELS)
        check_positive(self._name, "tol", self.tol)
        check_count(self._name, "max_records", self.max_records, least=3)
        check_choice(self._name, "algorithm", self.algorithm, ALGORITHMS)
        if self.algorithm == "indexed" and self.kernel != "uniform":
            raise InvalidParameterError(
                f"must be 'auto' or 'plain' with kernel={self.kernel!r}, got "
                f"'indexed'; only the uniform kernel has an index",
                owner=self._name,
                parameter="algorithm",
            )
        if self.record is not None:
            check_choice(self._name, "record", self.record, ("objective", "states"))
        if self.merge_threshold is not None:
            check_positive(self._name, "merge_threshold", self.merge_threshold)
        self._check_limits()
        given = self._take(X)
        if not np.isfinite(given).all():  # faster than a search for the first row
            check_rows_finite(self._name, given)
        data = np.asarray(given, dtype=np.float64)
        self.bandwidth_ = self._resolve_bandwidth(data)

        setup = self._setup(data)
        run = self._run(setup)
        self._store(run, setup, data, given.dtype)
        if not self.converged_:
            warnings.warn(
                f"{self._name}: the longest last move is still "
                f"{run.longest_move / setup.bandwidth:.2g} bandwidths after "
                f"{run.n_steps} point moves (tol={self.tol:g}); {self._remedy()}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Assign new points to clusters.

        A new point climbs the density of the points of ``fit``, which do not move,
        and takes the label of the resting point nearest to its final position. This
        is exactly how `MeanShift` labels the points of ``fit``. The other estimators
        move the data, so this is an approximation of their ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index into ``cluster_centers_``.
        """
        check_is_fitted(self)
        given = validate_data(
            self,
            X,
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            reset=False,
        )
        check_rows_finite(self._name, given)
        setup = self._setup(self._fit_X)
        queries = setup.lattice.place(np.asarray(given, dtype=np.float64))
        climb(queries, setup, max_iter=10_000)
        nearest = cKDTree(self._resting).query(queries.T)[1]
        labels: IntArray = self.labels_[nearest]
        return labels

    def _take(self, X: npt.ArrayLike) -> AnyArray:
        """Convert the argument of ``fit`` to an array and store its columns."""
        # The conversion costs as much as clustering fifty points, and an array of
        # floats does not need it.
        if (
            type(X) is np.ndarray
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2
            and X.size > 0
            and not hasattr(self, "feature_names_in_")
        ):
            self.n_features_in_ = X.shape[1]
            return X
        given: AnyArray = validate_data(
            self, X, dtype=(np.float64, np.float32), ensure_all_finite=False
        )
        return given

    def _resolve_bandwidth(self, data: FloatArray) -> Any:
        if isinstance(self.bandwidth, str):
            check_choice(self._name, "bandwidth", self.bandwidth, ("auto",))
            return estimate_bandwidth(data)
        return check_positive(self._name, "bandwidth", self.bandwidth)

    def _central_bandwidth(self) -> float:
        """Return the bandwidth, or the middle of the range of bandwidths."""
        return float(self.bandwidth_)

    def _bandwidth_range(self) -> tuple[float, float]:
        """Return the shortest and longest bandwidth of the run."""
        return self._central_bandwidth(), self._central_bandwidth()

    def _setup(self, data: FloatArray) -> Setup:
        lattice = Lattice.around(data, self._central_bandwidth())
        bandwidth = lattice.measure(self._central_bandwidth())
        shortest, longest = map(lattice.measure, self._bandwidth_range())
        code = KERNELS.index(self.kernel)
        recorder = None
        if self.record is not None:
            recorder = Recorder(
                lambda coords: objective(coords, bandwidth, code),
                interval=self._record_interval(len(data)),
                limit=self.max_records,
                keep_states=self.record == "states",
            )
        return Setup(
            coords=lattice.place(data),
            lattice=lattice,
            bandwidth=bandwidth,
            shortest=shortest,
            longest=longest,
            code=code,
            levels=weight_levels(len(data)),
            tol=self.tol * bandwidth,
            recorder=recorder,
            algorithm=self.algorithm,
        )

    def _record_interval(self, n_points: int) -> int:
        """Return the initial number of steps between recorded moments."""
        return n_points

    def _store(
        self, run: Run, setup: Setup, data: FloatArray, dtype: np.dtype[Any]
    ) -> None:
        lattice = setup.lattice
        threshold = setup.bandwidth / 3.0
        if self.merge_threshold is not None:
            threshold = lattice.measure(float(self.merge_threshold))
        self._resting = np.ascontiguousarray(run.coords.T)
        self._fit_X = data
        self.labels_ = merge_resting_points(self._resting, threshold)
        # Points that did not move keep their exact position.
        resting = np.ascontiguousarray(lattice.restore(run.coords.T))
        has_stayed = np.all(run.coords == setup.coords, axis=0)
        resting[has_stayed] = data[has_stayed]
        centers = average_clusters(resting, self.labels_)
        self.cluster_centers_ = centers.astype(dtype, copy=False)
        self.resting_points_ = resting.astype(dtype, copy=False)
        self.n_clusters_ = len(centers)
        self.n_steps_ = run.n_steps
        self.converged_ = run.converged
        self._objective: float | None = None
        if setup.recorder is not None:
            self.history_ = setup.recorder.finish(
                run.n_steps, run.coords, lattice.restore
            )

    @property
    def objective_(self) -> float:
        """L of the resting points, computed at first use by comparing all pairs."""
        check_is_fitted(self)
        if self._objective is None:
            coords = np.ascontiguousarray(self._resting.T)
            setup = self._setup(self._fit_X)
            self._objective = objective(coords, setup.bandwidth, setup.code)
        return self._objective


def climb(
    queries: FloatArray, setup: Setup, max_iter: int
) -> tuple[int, int, FloatArray]:
    """Iterate the mean-shift operator on `queries`, in place, against fixed data.

    Each query stops at its first move below the tolerance. Returns the largest number
    of moves of a query, the number of all moves, and the length of the last move of
    each query, of shape (n_queries,).
    """
    n = queries.shape[1]
    lengths = np.full(n, np.inf)
    bandwidths = np.full(n, setup.bandwidth)
    move = setup.mover(setup.coords)
    leader = np.arange(n)  # shape: (n,), the query that moves for each query
    moving = leader
    n_steps = 0
    for iteration in range(max_iter):
        if setup.recorder is not None:
            setup.recorder.offer(iteration * n, queries[:, leader])
        move(queries, moving, bandwidths[: len(moving)], 0.0, lengths, 0, 1)
        n_steps += int(np.sum(np.bincount(leader, minlength=n)[moving]))
        moving = moving[lengths[moving] >= setup.tol]
        if not len(moving):
            break
        if setup.joins_after(iteration):
            numbers, firsts = distinct_rows(queries[:, moving].T)
            joined = np.arange(n)
            joined[moving] = moving[firsts[numbers]]
            leader = joined[leader]
            moving = moving[firsts]
    queries[:] = queries[:, leader]
    return iteration + 1, n_steps, lengths[leader]


@dataclass(frozen=True)
class History:
    """Moments of a run.

    Parameters
    ----------
    steps : ndarray of shape (m,)
        Number of moves before each moment, from 0 to the end of the run.
    objective : ndarray of shape (m,)
        L at each moment.
    states : ndarray of shape (m, n, d) or None
        Positions of the points; None unless ``record="states"``.
    """

    steps: IntArray
    objective: FloatArray
    states: FloatArray | None


class Recorder:
    """Collect moments for a :class:`History` in bounded memory.

    The number of steps of a run is not known in advance. When there are `limit`
    moments (at least 2), every second one is dropped and the `interval` of steps
    between two moments is doubled, so that moments are evenly spaced over a run of any
    length. `measure` returns the objective of a state given as (d, n) coordinates.
    """

    def __init__(
        self,
        measure: Callable[[FloatArray], float],
        *,
        interval: int,
        limit: int,
        keep_states: bool,
    ) -> None:
        self._measure = measure
        self._interval = interval
        self._limit = limit
        self._keep_states = keep_states
        self._moments: list[tuple[int, float, FloatArray | None]] = []

    def steps_to_next(self, step: int) -> int:
        """Return the number of steps from `step` to the next recorded moment."""
        return self._interval - step % self._interval

    def offer(self, step: int, coords: FloatArray) -> None:
        """Record this moment if it is due."""
        if step % self._interval:
            return
        if len(self._moments) >= self._limit - 1:  # one is for the end
            self._moments = self._moments[::2]
            self._interval *= 2
            if step % self._interval:
                return
        self._keep(step, coords)

    def finish(
        self,
        step: int,
        coords: FloatArray,
        restore: Callable[[FloatArray], FloatArray],
    ) -> History:
        """Add the end of the run and return all moments.

        `restore` converts states, one point per row, into data units.
        """
        if not self._moments or self._moments[-1][0] != step:
            self._keep(step, coords)
        steps, objective, states = zip(*self._moments, strict=True)
        return History(
            np.array(steps, dtype=np.int64),
            np.array(objective),
            restore(np.array(states)) if self._keep_states else None,
        )

    def _keep(self, step: int, coords: FloatArray) -> None:
        state = coords.T.copy() if self._keep_states else None
        self._moments.append((step, self._measure(coords), state))
