"""Points that move one at a time, each move seen by the next."""

from __future__ import annotations

import numpy as np

from sms_diar.clustering.points import _kernels
from sms_diar.clustering.points._index.boxes import Boxes
from sms_diar.clustering.points._index.costs import Costs
from sms_diar.clustering.points._index.records import LAST_MOVE, records
from sms_diar.clustering.points._index.steps import step_through_boxes
from sms_diar.types import FloatArray, IntArray

# How many times the cost of grouping steps may cost before points are grouped anew,
# finer or coarser, or, after plain steps, before boxes are tried again.
_PERIODS = {"boxes": 8.0, "plain": 6.0}
_TRIAL = 192  # plain steps' worth of time that tells what boxes cost


class MovingPoints:
    """The state of a stochastic run.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points where they start.
    costs : Costs
        What steps cost; updated along the run.
    code : int
        Kernel.
    levels : float
        Steps into which weights are rounded.
    tol : float
        A point rests while its last move was shorter than this.
    n_at_rest : int
        Points that have to rest.
    """

    def __init__(
        self,
        coords: FloatArray,
        costs: Costs,
        *,
        code: int,
        levels: float,
        tol: float,
        n_at_rest: int,
    ) -> None:
        self._costs = costs
        self._code = code
        self._levels = levels
        self._tol = tol
        self._n_at_rest = n_at_rest
        # Plain loops keep points in rows of coordinates, loops over boxes in records.
        self._coords = coords.copy()
        self._last_move = np.full(coords.shape[1], np.inf)
        self._points = records(coords)
        self._points[:, LAST_MOVE] = np.inf
        self._boxes: Boxes | None = None
        self._resting = 0
        self._begin(with_boxes=costs.prefers_boxes())

    @property
    def is_over(self) -> bool:
        """Whether enough points rest."""
        return self._resting >= self._n_at_rest

    @property
    def coords(self) -> FloatArray:
        """Where the points are, one row for each coordinate."""
        if self._boxes is not None:
            self._coords[:] = self._points[:, :LAST_MOVE].T
        return self._coords

    @property
    def last_move(self) -> FloatArray:
        """Length of the last move of each point; infinite before the first."""
        if self._boxes is not None:
            self._last_move[:] = self._points[:, LAST_MOVE]
        return self._last_move

    def advance(self, draws: IntArray, bandwidths: FloatArray) -> int:
        """Make steps until draws are used up or points rest; return how many."""
        step = 0
        while step < len(draws) and not self.is_over:
            if self._boxes is None:
                step = self._advance_plainly(draws, bandwidths, step)
            else:
                step = self._advance_through(self._boxes, draws, bandwidths, step)
            if step < len(draws) and not self.is_over:
                self._reconsider()
        return step

    def _advance_through(
        self, boxes: Boxes, draws: IntArray, bandwidths: FloatArray, step: int
    ) -> int:
        step, self._resting, _ = step_through_boxes(
            self._points,
            draws,
            step,
            bandwidths,
            boxes,
            self._tol,
            self._resting,
            self._n_at_rest,
            self._costs.prices(boxes),
            self._budget,
            self._work,
        )
        return step

    def _advance_plainly(
        self, draws: IntArray, bandwidths: FloatArray, step: int
    ) -> int:
        some = slice(step, len(draws))
        if self._costs.has_boxes:
            left = int(self._budget / self._costs.plain) - int(self._work[0])
            some = slice(step, step + max(left, 1))
        done, self._resting = _kernels.stochastic_steps(
            self._coords,
            draws[some],
            bandwidths[some],
            self._code,
            self._levels,
            self._tol,
            self._last_move,
            self._resting,
            self._n_at_rest,
        )
        self._work[0] += done
        return step + done

    def _begin(self, *, with_boxes: bool, is_trial: bool = False) -> None:
        """Begin a period with boxes or without."""
        if self._boxes is None:
            self._points[:, :LAST_MOVE] = self._coords.T
            self._points[:, LAST_MOVE] = self._last_move
        elif not with_boxes:
            self._coords[:] = self._points[:, :LAST_MOVE].T
            self._last_move[:] = self._points[:, LAST_MOVE]
        self._work = np.zeros(4, dtype=np.int64)
        period = _PERIODS["boxes" if with_boxes else "plain"]
        self._budget = period * self._costs.grouping
        self._is_trial = is_trial
        if is_trial:
            self._budget = _TRIAL * self._costs.plain
        self._boxes = self._costs.group(self._points) if with_boxes else None

    def _reconsider(self) -> None:
        """End a period: go on with what is cheaper, or see whether boxes are."""
        was_plain = self._boxes is None
        if self._boxes is not None:
            self._costs.learn(self._boxes, self._work)
        if self._costs.prefers_boxes():
            self._begin(with_boxes=True)
        elif was_plain:
            self._begin(with_boxes=True, is_trial=True)
        else:
            self._begin(with_boxes=False)
