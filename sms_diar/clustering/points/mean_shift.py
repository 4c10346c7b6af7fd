"""Mean shift, in which the data stay, and blurring mean shift, in which they move."""

from __future__ import annotations

import numpy as np

from sms_diar._validation import check_count
from sms_diar.clustering._modes import distinct_rows
from sms_diar.clustering.points._base import (
    Algorithm,
    Bandwidth,
    MeanShiftEstimator,
    Record,
    Run,
    Setup,
    climb,
)


class _Iterated(MeanShiftEstimator):
    """Parameters of the algorithms that move all points in every iteration."""

    def __init__(
        self,
        *,
        bandwidth: Bandwidth = "auto",
        kernel: str = "uniform",
        tol: float = 1e-6,
        max_iter: int = 1000,
        merge_threshold: float | None = None,
        record: Record = None,
        max_records: int = 200,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter
        self.merge_threshold = merge_threshold
        self.record = record
        self.max_records = max_records
        self.algorithm = algorithm

    def _check_limits(self) -> None:
        check_count(self._name, "max_iter", self.max_iter)

    def _remedy(self) -> str:
        return f"raise max_iter (now {self.max_iter}) or tol"


class MeanShift(_Iterated):
    """Cluster by letting each point climb to a mode of the density estimate.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Points strictly closer than this are neighbours; "auto" estimates it
        with :func:`~sms_diar.clustering.estimate_bandwidth`.
    kernel : str, default="uniform"
        One of "uniform" (Epanechnikov density), "biweight", "triweight",
        "quadweight" and "gaussian" (truncated at three standard deviations).
    tol : float, default=1e-6
        A point is at rest after a move shorter than ``tol`` bandwidths.
    max_iter : int, default=1000
        Maximum number of moves per point; a warning is issued if points still move.
    merge_threshold : float or None, default=None
        Resting points closer than this, in units of the data, form one cluster;
        None means a third of the bandwidth.
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
    n_iter_ : int
        Largest number of moves of a point.
    n_steps_ : int
        Total number of moves of single points.
    converged_ : bool
        True if all points came to rest.
    objective_ : float
        L of the resting points, the sum of K over all pairs i <= j.
    bandwidth_ : float
        Bandwidth of the run.
    history_ : History
        Recorded moments of the run, if `record` is set.
    n_features_in_ : int
        Number of columns of the data.

    See Also
    --------
    StochasticMeanShift : One point moves at a time, and the data with it.

    Notes
    -----
    Data and means are rounded to a lattice of about ``2**-30`` bandwidths, so that
    sums are exact in any order. An iteration that compares all points costs
    O(n_samples**2 * n_features) time; with groups (uniform kernel) about
    O(n_samples**1.5) in the plane. Points at the same position are moved together
    unless `algorithm` is "plain". Memory is O(n_samples * n_features).

    Examples
    --------
    >>> from sms_diar.clustering import MeanShift
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1]]
    >>> model = MeanShift(bandwidth=1.0).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1])
    >>> model.predict([[4.5, 4.5]])
    array([1])
    """

    def _run(self, setup: Setup) -> Run:
        climbing = setup.coords.copy()
        self.n_iter_, n_steps, lengths = climb(climbing, setup, self.max_iter)
        longest = float(np.max(lengths))
        return Run(climbing, n_steps, longest, longest < setup.tol)


class BlurringMeanShift(_Iterated):
    """Cluster by moving all points at once to the means of their neighbours.

    Parameters
    ----------
    bandwidth, kernel, merge_threshold, record, max_records, algorithm
        As for `MeanShift`.
    tol : float, default=1e-6
        The run ends when the longest move is shorter than ``tol`` bandwidths.
    max_iter : int, default=1000
        Maximum number of iterations; a warning is issued if points still move.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.
    objective_ : float
        L of the resting points; an iteration never lowers it.
    labels_, cluster_centers_, resting_points_, n_clusters_, n_steps_
        As for `MeanShift`.
    converged_, bandwidth_, history_, n_features_in_
        As for `MeanShift`.

    See Also
    --------
    StochasticMeanShift : One point moves at a time.

    Notes
    -----
    The costs are equal to those of `MeanShift`.
    """

    def _run(self, setup: Setup) -> Run:
        n = setup.coords.shape[1]
        state, weights = setup.coords.copy(), np.ones(n)
        member = np.arange(n)  # shape: (n,), column of `state` for each point
        lengths = np.full(n, np.inf)
        bandwidths = np.full(n, setup.bandwidth)
        for iteration in range(self.max_iter):
            if setup.recorder is not None:
                setup.recorder.offer(iteration * n, state[:, member])
            move = setup.mover(state.copy(), weights)
            m = len(weights)
            move(state, np.arange(m), bandwidths[:m], 0.0, lengths, 0, 1)
            longest = float(np.max(lengths[:m]))
            if longest < setup.tol:
                break
            if setup.joins_after(iteration):
                numbers, firsts = distinct_rows(state.T)
                member = numbers[member]
                weights = np.asarray(np.bincount(numbers, weights), dtype=np.float64)
                state = np.ascontiguousarray(state[:, firsts])
        self.n_iter_ = iteration + 1
        return Run(state[:, member], self.n_iter_ * n, longest, longest < setup.tol)
