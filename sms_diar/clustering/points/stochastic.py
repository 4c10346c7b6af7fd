"""Stochastic mean shift: one randomly drawn point moves at a time.

Blurring mean shift computes all moves from the same state, which is out of date after
the first of them. Here every move is computed from the current state. The price is an
inner loop that is serial by definition and labels that depend on a seed. The doubly
stochastic variant also draws the bandwidth.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from sms_diar._random import as_generator
from sms_diar._validation import check_count, check_positive, check_share
from sms_diar.clustering.points._base import (
    Algorithm,
    Bandwidth,
    MeanShiftEstimator,
    Record,
    Run,
    Setup,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, RandomState

_CHUNK = 4096  # minimum and maximum number of draws at a time; states do not change
_LONG_CHUNK = 65536


class StochasticMeanShift(MeanShiftEstimator):
    """Cluster by moving one randomly drawn point at a time.

    At each step an index is drawn uniformly from all points, with replacement,
    and that point moves to the weighted mean of its neighbours in the current
    state.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Points strictly closer than this are neighbours; "auto" estimates it
        with :func:`~sms_diar.clustering.estimate_bandwidth`.
    kernel : str, default="uniform"
        One of "uniform" (Epanechnikov density), "biweight", "triweight",
        "quadweight" and "gaussian" (truncated at three standard deviations).
    tol : float, default=1e-6
        A point is at rest while its last move was shorter than ``tol`` bandwidths.
    rest_share : float, default=1.0
        The run ends when this share of the points is at rest.
    max_steps : int or None, default=None
        Maximum number of moves; None means ten million, or a thousand for each
        point if that is more. A warning is issued if the limit is reached.
    merge_threshold : float or None, default=None
        Resting points closer than this, in units of the data, form one cluster;
        None means a third of the bandwidth.
    random_state : int, Generator, RandomState or None, default=None
        Random generator or its seed. An int makes the labels reproducible.
    record : {"objective", "states"} or None, default=None
        Values to record in ``history_`` during the run.
    max_records : int, default=200
        Maximum number of moments in ``history_``.
    algorithm : {"auto", "plain", "indexed"}, default="auto"
        Search for neighbours; the choice does not change any result. "plain" compares
        all points. "indexed" sorts points into groups and adds whole groups (uniform
        kernel only; with more than three features it compares all points). "auto"
        uses groups wherever "indexed" does, and compares all points otherwise.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered from 0 by first appearance.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Mean of the resting points of each cluster.
    resting_points_ : ndarray of shape (n_samples, n_features)
        Resting position of each point.
    n_clusters_ : int
        Number of clusters.
    n_steps_ : int
        Number of moves of single points.
    converged_ : bool
        True if the required share of the points came to rest.
    objective_ : float
        L of the resting points; a step never lowers it.
    bandwidth_ : float
        Bandwidth of the run.
    history_ : History
        Recorded moments of the run, if `record` is set.
    n_features_in_ : int
        Number of columns of the data.

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
        bandwidth: Bandwidth = "auto",
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

    def _check_limits(self) -> None:
        check_share(self._name, "rest_share", self.rest_share)
        if self.max_steps is not None:
            check_count(self._name, "max_steps", self.max_steps)

    def _remedy(self) -> str:
        return "raise max_steps or tol, or lower rest_share"

    def _record_interval(self, n_points: int) -> int:
        return max(1, n_points // 10)

    def _draw_bandwidths(
        self, setup: Setup, rng: np.random.Generator, size: int
    ) -> FloatArray:
        """Return the bandwidths of the next steps, which are all equal here."""
        return np.full(size, setup.bandwidth)

    def _run(self, setup: Setup) -> Run:
        rng = as_generator(self.random_state)
        # A separate stream, so that SMS and DSMS draw the same indices.
        bandwidth_rng = rng.spawn(1)[0]
        coords = setup.coords.copy()
        n = coords.shape[1]
        move = setup.mover(coords)
        last_move = np.full(n, np.inf)
        n_at_rest = math.ceil(self.rest_share * n)
        limit = self.max_steps or max(10_000_000, 1000 * n)
        chunk = min(max(_CHUNK, 8 * n), _LONG_CHUNK)
        if isinstance(self.random_state, np.random.Generator | np.random.BitGenerator):
            chunk = _CHUNK  # the caller may rely on how far the generator advances
        has_one_bandwidth = setup.shortest == setup.longest
        if has_one_bandwidth:
            bandwidths = self._draw_bandwidths(setup, bandwidth_rng, min(chunk, limit))
        recorder = setup.recorder
        step = resting = 0
        while step < limit and resting < n_at_rest:
            size = min(chunk, limit - step)
            if recorder is not None:
                recorder.offer(step, coords)
                size = min(size, recorder.steps_to_next(step))
            draws = rng.integers(n, size=size)
            if not has_one_bandwidth:
                bandwidths = self._draw_bandwidths(setup, bandwidth_rng, size)
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

    def __init__(
        self,
        *,
        bandwidth: tuple[float, float] | float | Literal["auto"] = "auto",
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
        super().__init__(
            bandwidth=bandwidth,  # type: ignore[arg-type]
            kernel=kernel,
            tol=tol,
            rest_share=rest_share,
            max_steps=max_steps,
            merge_threshold=merge_threshold,
            random_state=random_state,
            record=record,
            max_records=max_records,
            algorithm=algorithm,
        )

    def _resolve_bandwidth(self, data: FloatArray) -> Any:
        given = self.bandwidth
        if isinstance(given, str):
            central = super()._resolve_bandwidth(data)
            return 0.5 * central, 1.5 * central
        if not isinstance(given, (tuple, list, np.ndarray)):
            only = check_positive(self._name, "bandwidth", given)
            return only, only
        if len(given) != 2:
            raise InvalidParameterError(
                f"must be a number, a pair (low, high) or 'auto', got {given!r}",
                owner=self._name,
                parameter="bandwidth",
            )
        low = check_positive(self._name, "bandwidth[0]", given[0])
        high = check_positive(self._name, "bandwidth[1]", given[1])
        if low > high:
            raise InvalidParameterError(
                f"must be a pair with low <= high, got {given!r}",
                owner=self._name,
                parameter="bandwidth",
            )
        return low, high

    def _central_bandwidth(self) -> float:
        low, high = self.bandwidth_
        return float(low + (high - low) / 2.0)

    def _bandwidth_range(self) -> tuple[float, float]:
        low, high = self.bandwidth_
        return low, high

    def _draw_bandwidths(
        self, setup: Setup, rng: np.random.Generator, size: int
    ) -> FloatArray:
        return rng.uniform(setup.shortest, setup.longest, size)
