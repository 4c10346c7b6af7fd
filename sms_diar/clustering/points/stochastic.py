"""Stochastic mean shift: one randomly drawn point moves at a time.

Blurring mean shift computes all moves from the same state, which is out of date after
the first of them. Here every move is computed from the current state. The price is an
inner loop that is serial by definition and labels that depend on a seed. The doubly
stochastic variant also draws the bandwidth. `BinnedStochasticMeanShift` is an
approximation for millions of points.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from sms_diar._random import as_generator
from sms_diar._validation import check_count, check_positive, check_share
from sms_diar.clustering._modes import number_rows
from sms_diar.clustering.points._base import (
    Algorithm,
    Bandwidth,
    MeanShiftEstimator,
    Mover,
    Record,
    Run,
    Setup,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray, RandomState

_CHUNK = 4096  # minimum and maximum number of draws at a time; states do not change
_LONG_CHUNK = 65536


class _Drawn(MeanShiftEstimator):
    """Run of the algorithms that move one drawn point at a time."""

    rest_share: float
    max_steps: int | None

    def _check_limits(self) -> None:
        check_share(self._name, "rest_share", self.rest_share)
        if self.max_steps is not None:
            check_count(self._name, "max_steps", self.max_steps)

    def _remedy(self) -> str:
        return "raise max_steps or tol, or lower rest_share"

    def _move_drawn(
        self,
        setup: Setup,
        coords: FloatArray,
        move: Mover,
        rng: np.random.Generator,
        bandwidth_rng: np.random.Generator,
        chunk: int,
    ) -> Run:
        """Move `coords`, of shape (d, n), in place; make `chunk` draws at a time."""
        n = coords.shape[1]
        last_move = np.full(n, np.inf)
        n_at_rest = math.ceil(self.rest_share * n)
        limit = self.max_steps or max(10_000_000, 1000 * n)
        has_one_bandwidth = setup.shortest == setup.longest
        bandwidths = np.full(min(chunk, limit), setup.bandwidth)
        recorder = setup.recorder
        step = resting = 0
        while step < limit and resting < n_at_rest:
            size = min(chunk, limit - step)
            if recorder is not None:
                recorder.offer(step, coords)
                size = min(size, recorder.steps_to_next(step))
            draws = rng.integers(n, size=size)
            if not has_one_bandwidth:
                bandwidths = bandwidth_rng.uniform(setup.shortest, setup.longest, size)
            done, resting = move(
                coords,
                draws,
                bandwidths[:size],
                setup.tol,
                last_move,
                resting,
                n_at_rest,
            )
            step += done
        return Run(coords, step, float(np.max(last_move)), resting >= n_at_rest)


class StochasticMeanShift(_Drawn):
    """Cluster by moving one randomly drawn point at a time.

    At each step an index is drawn uniformly from all points, with replacement,
    and that point moves to the weighted mean of its neighbours in the current
    state.

    Parameters
    ----------
    bandwidth, kernel, merge_threshold, record, max_records, algorithm
        As for `MeanShift`.
    tol : float, default=1e-6
        A point is at rest while its last move was shorter than ``tol`` bandwidths.
    rest_share : float, default=1.0
        The run ends when this share of the points is at rest.
    max_steps : int or None, default=None
        Maximum number of moves; None means ten million, or a thousand for each
        point if that is more. A warning is issued if the limit is reached.
    random_state : int, Generator, RandomState or None, default=None
        Random generator or its seed. An int makes the labels reproducible.

    Attributes
    ----------
    n_steps_ : int
        Number of moves of single points.
    converged_ : bool
        True if the required share of the points came to rest.
    objective_ : float
        L of the resting points; a step never lowers it.
    labels_, cluster_centers_, resting_points_, n_clusters_
        As for `MeanShift`.
    bandwidth_, history_, n_features_in_
        As for `MeanShift`.

    See Also
    --------
    BlurringMeanShift : All points move at the same time.
    DoublyStochasticMeanShift : The bandwidth is also drawn at each step.

    Notes
    -----
    Data and means are rounded to a lattice of about ``2**-30`` bandwidths. Sums over
    neighbours are then exact in any order, so that groups of points can be added at
    once without changing the result. Runs of 15 to 50 steps per point are typical.
    With the uniform kernel and up to three features a step costs about
    O(sqrt(n_samples)) while points are spread out in the plane, and very little
    after they have contracted; otherwise it costs O(n_samples * n_features).

    Examples
    --------
    >>> from sms_diar.clustering import StochasticMeanShift
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1]]
    >>> StochasticMeanShift(bandwidth=1.0, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        *,
        bandwidth: Bandwidth | tuple[float, float] = "auto",
        kernel: str = "uniform",
        tol: float = 1e-6,
        rest_share: float = 1.0,
        max_steps: int | None = None,
        merge_threshold: float | None = None,
        random_state: RandomState = None,
        record: Record = None,
        max_records: int = 200,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.tol = tol
        self.rest_share = rest_share
        self.max_steps = max_steps
        self.merge_threshold = merge_threshold
        self.random_state = random_state
        self.record = record
        self.max_records = max_records
        self.algorithm = algorithm

    def _record_interval(self, n_points: int) -> int:
        return max(1, n_points // 10)

    def _run(self, setup: Setup) -> Run:
        rng = as_generator(self.random_state)
        # A separate stream, so that SMS and DSMS draw the same indices.
        bandwidth_rng = rng.spawn(1)[0]
        coords = setup.coords.copy()
        chunk = min(max(_CHUNK, 8 * coords.shape[1]), _LONG_CHUNK)
        if isinstance(self.random_state, np.random.Generator | np.random.BitGenerator):
            chunk = _CHUNK  # the caller may rely on how far the generator advances
        move = setup.mover(coords)
        return self._move_drawn(setup, coords, move, rng, bandwidth_rng, chunk)


class DoublyStochasticMeanShift(StochasticMeanShift):
    """Cluster by stochastic mean shift with a bandwidth that is drawn at each step.

    Parameters
    ----------
    bandwidth : pair of floats, float or "auto", default="auto"
        Range from which the bandwidth is drawn uniformly. A single number is a
        constant bandwidth, as in `StochasticMeanShift`; "auto" means 0.5 to 1.5 times
        the result of :func:`~sms_diar.clustering.estimate_bandwidth`.
    kernel, tol, rest_share, max_steps, random_state, record, max_records, algorithm
        As for `StochasticMeanShift`; the unit of `tol` is the mean bandwidth.
    merge_threshold : float or None, default=None
        As for `StochasticMeanShift`; None means a third of the mean bandwidth.

    Attributes
    ----------
    bandwidth_ : tuple of two floats
        Range of bandwidths.
    objective_ : float
        L of the resting points at the mean bandwidth.
    labels_, cluster_centers_, resting_points_, n_clusters_, n_steps_
        As for `StochasticMeanShift`.
    converged_, history_, n_features_in_
        As for `StochasticMeanShift`.

    Examples
    --------
    >>> from sms_diar.clustering import DoublyStochasticMeanShift
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1]]
    >>> model = DoublyStochasticMeanShift(bandwidth=(0.5, 1.5), random_state=0)
    >>> model.fit_predict(X)
    array([0, 0, 1, 1])
    """

    def _resolve_bandwidth(self, data: FloatArray) -> Any:
        given = self.bandwidth
        if isinstance(given, str):
            central = super()._resolve_bandwidth(data)
            return 0.5 * central, 1.5 * central
        if not isinstance(given, (tuple, list, np.ndarray)):
            only = check_positive(self._name, "bandwidth", given)
            return only, only
        if len(given) != 2:
            problem = f"must be a number, a pair (low, high) or 'auto', got {given!r}"
            raise InvalidParameterError(
                problem, owner=self._name, parameter="bandwidth"
            )
        low = check_positive(self._name, "bandwidth[0]", given[0])
        high = check_positive(self._name, "bandwidth[1]", given[1])
        if low > high:
            problem = f"must be a pair with low <= high, got {given!r}"
            raise InvalidParameterError(
                problem, owner=self._name, parameter="bandwidth"
            )
        return low, high

    def _central_bandwidth(self) -> float:
        low, high = self.bandwidth_
        return float(low + (high - low) / 2.0)

    def _bandwidth_range(self) -> tuple[float, float]:
        low, high = self.bandwidth_
        return low, high


class BinnedStochasticMeanShift(_Drawn):
    """Cluster by moving bins of points, one randomly drawn bin at a time.

    Points in one cell of a grid are replaced by their mean, with their number as its
    weight. This is an approximation of stochastic mean shift: points of one bin
    always end in one cluster, and every bin is drawn equally often, independent of
    its number of points. With bins so small that no two points share one, it is
    stochastic mean shift.

    Parameters
    ----------
    bins : int, default=12
        Number of grid cells per bandwidth along each axis.
    bandwidth, tol, rest_share, max_steps, merge_threshold, random_state
        As for `StochasticMeanShift`, with bins instead of points.

    Attributes
    ----------
    n_bins_ : int
        Number of bins that contain points.
    resting_points_ : ndarray of shape (n_samples, n_features)
        Resting position of the bin of each point.
    n_steps_ : int
        Number of moves of single bins.
    labels_, cluster_centers_, n_clusters_, converged_, bandwidth_, n_features_in_
        As for `StochasticMeanShift`.

    See Also
    --------
    StochasticMeanShift : The exact algorithm.

    Notes
    -----
    In the plane the number of bins is bounded for any number of points. In more than
    three dimensions there are soon as many bins as points, so that nothing is saved.

    On three clusters of 10,000 points each, G differs from stochastic mean shift by
    0.006 on average. Near the bandwidth at which clusters begin to merge, single runs
    differ by a whole cluster (``benchmarks/RESULTS.md``).
    """

    kernel = "uniform"
    record: Record = None
    max_records = 3
    algorithm: Algorithm = "auto"

    def __init__(
        self,
        *,
        bandwidth: Bandwidth = "auto",
        bins: int = 12,
        tol: float = 1e-6,
        rest_share: float = 1.0,
        max_steps: int | None = None,
        merge_threshold: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.bins = bins
        self.tol = tol
        self.rest_share = rest_share
        self.max_steps = max_steps
        self.merge_threshold = merge_threshold
        self.random_state = random_state

    def _check_limits(self) -> None:
        check_count(self._name, "bins", self.bins)
        super()._check_limits()

    def _run(self, setup: Setup) -> Run:
        rng = as_generator(self.random_state)
        side = setup.bandwidth / self.bins
        bin_of = number_rows(np.floor(setup.coords.T / side))  # shape: (n,)
        state, weights = _bin_means(setup.coords, bin_of)
        self.n_bins_ = len(weights)
        move = setup.mover(state, weights)
        run = self._move_drawn(setup, state, move, rng, rng, _CHUNK)
        return replace(run, coords=np.ascontiguousarray(state[:, bin_of]))


def _bin_means(coords: FloatArray, bin_of: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the means of the bins, of shape (d, n_bins), and their sizes."""
    weights = np.bincount(bin_of).astype(np.float64)
    # Offsets from one member are small, so that their sums are exact.
    anchors = coords[:, np.unique(bin_of, return_index=True)[1]]
    means = [
        anchor + np.rint(np.bincount(bin_of, row - anchor[bin_of]) / weights)
        for row, anchor in zip(coords, anchors, strict=True)
    ]
    return np.array(means), weights
