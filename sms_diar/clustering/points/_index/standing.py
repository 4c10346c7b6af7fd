"""Points that stay where they are while others move past them."""

from __future__ import annotations

import math

import numpy as np

from sms_diar.clustering.points import _kernels
from sms_diar.clustering.points._index.boxes import Boxes
from sms_diar.clustering.points._index.costs import Costs
from sms_diar.clustering.points._index.records import records
from sms_diar.clustering.points._index.steps import move_past_boxes
from sms_diar.types import FloatArray, IntArray

_TRIAL = 96  # moves that tell what boxes cost
_WORTH = 4.0  # groupings that the plain moves must cost before boxes are tried


class StandingPoints:
    """Points that stay where they are while others move past them.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points.
    costs : Costs
        What moves cost. What is learnt here is of use to the next iteration.
    code : int
        Kernel.
    levels : float
        Steps into which weights are rounded.
    """

    def __init__(
        self, coords: FloatArray, costs: Costs, *, code: int, levels: float
    ) -> None:
        self._coords = coords
        self._costs = costs
        self._code = code
        self._levels = levels
        self._boxes: Boxes | None = None

    def move(
        self,
        queries: FloatArray,
        moving: IntArray,
        lengths: FloatArray,
        *,
        is_trial: bool = True,
    ) -> None:
        """Move the queries named in `moving` once, in place.

        If `is_trial`, boxes may be tried where they are expected to be slower.
        """
        if self._prefers_boxes(moving):
            self._move_past_boxes(queries, moving, lengths)
            return
        expected = len(moving) * self._costs.plain
        is_worth_it = expected > _WORTH * self._costs.grouping
        if is_trial and self._costs.has_boxes and is_worth_it:
            self._move_past_boxes(queries, moving[:_TRIAL], lengths)
            moving = moving[_TRIAL:]
            if self._prefers_boxes(moving):
                self._move_past_boxes(queries, moving, lengths)
                return
        _kernels.shift_points(
            queries,
            moving,
            self._coords,
            self._costs.shortest,
            self._code,
            self._levels,
            lengths,
        )

    def _prefers_boxes(self, moving: IntArray) -> bool:
        is_grouped = self._boxes is not None
        steps = math.inf if is_grouped else max(len(moving), 1)
        return self._costs.prefers_boxes(steps=steps)

    def _move_past_boxes(
        self, queries: FloatArray, moving: IntArray, lengths: FloatArray
    ) -> None:
        if self._boxes is None:
            self._boxes = self._costs.group(records(self._coords))
        work = np.zeros(4, dtype=np.int64)
        bandwidth = self._costs.shortest
        move_past_boxes(queries, moving, bandwidth, self._boxes, lengths, work)
        self._costs.learn(self._boxes, work)
