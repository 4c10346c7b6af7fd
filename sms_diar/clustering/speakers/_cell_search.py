"""Cells of the search for neighbours, and when to group the points again."""

from __future__ import annotations

import numpy as np

from sms_diar.clustering.speakers._cell_kernels import MARGIN, ScoreCells, group_cells
from sms_diar.types import AnyArray, FloatArray, IntArray


class CellSearch:
    """Cells of scoring vectors `U`, which the kernel moves, and their renewal.

    Nothing here changes results, only speed.
    """

    def __init__(self, U: FloatArray, bias: FloatArray) -> None:
        n, r = U.shape
        self.U, self.bias = U, bias
        norms = np.linalg.norm(U, axis=1)
        # Outside this range single precision would lose more than digits.
        top = max(float(norms.max()) ** 2, float(np.abs(bias).max()))
        dtype = np.float32 if 1e-12 < top < 1e12 else np.float64
        # u_i . u_c + b_c is a sum of r + 1 terms of rounded numbers. In any order,
        # it is off by at most (r + 4) eps/2 times |u_i| |u_c| + |b_c|. So is the
        # kernel's own sum, and the lengths in its bounds: eight times is plenty.
        self.precision = 4 * (r + 8) * float(np.finfo(dtype).eps)
        self.cells = ScoreCells(
            centers=np.empty((n, r), dtype),
            center_bias=np.empty(n, dtype),
            reach=np.empty(n),
            spread=np.empty(n),
            start=np.empty(n, dtype=np.int64),
            sizes=np.empty(n, dtype=np.int64),
            order=np.empty(n, dtype=np.int64),
            position=np.empty(n, dtype=np.int64),
            cell=np.empty(n, dtype=np.int64),
            outside=np.empty(n, dtype=np.int64),
            tally=np.zeros(2, dtype=np.int64),
            top=np.zeros(2),
        )
        self.friends = np.arange(n)
        self.radius = 0.0
        # Share of the typical length; values from 0.15 to 0.5 are about as fast.
        self._wide = 0.3 * float(np.sqrt(np.mean(norms**2)))
        self._age = 0

    @property
    def grouped(self) -> bool:
        """True if cells contain more than one point."""
        return self.radius > 0.0

    def snapshot(self, draws: IntArray) -> AnyArray:
        """Scores of drawn points with the centres of all cells."""
        if self._is_due():
            self._age = 0
            self.radius = self._wide
            most = min(256 + len(self.U) // 8, len(self.U) // 2)
            if not group_cells(
                self.U, self.bias, self.radius, most, self.friends, self.cells
            ):
                self.radius = 0.0
        if not self.grouped:
            self._separate()
        m = int(self.cells.tally[0])
        drawn = self.U[draws].astype(self.cells.centers.dtype)
        scores: AnyArray = drawn @ self.cells.centers[:m].T
        scores += self.cells.center_bias[:m]
        return scores

    def _separate(self) -> None:
        """Make a cell of every point that does not have one; its ball has no width."""
        n = len(self.U)
        cells = self.cells
        stale = cells.outside[: cells.tally[1]] if cells.tally[0] == n else np.arange(n)
        for index in (cells.cell, cells.start, cells.order, cells.position):
            index[stale] = stale
        cells.sizes[stale] = 1
        U, bias = self.U[stale], self.bias[stale]
        cells.centers[stale] = U
        cells.center_bias[stale] = bias
        cells.reach[stale] = cells.spread[stale] = 0.0
        length = np.sqrt(np.square(U).sum(axis=1).max(initial=0.0))
        largest = np.abs(bias).max(initial=0.0)
        np.maximum(cells.top, [MARGIN * length, MARGIN * largest], out=cells.top)
        cells.tally[:] = n, 0

    def _is_due(self) -> bool:
        n = len(self.U)
        if self.grouped:
            return self._age >= n or int(self.cells.tally[1]) > 64 + n // 200
        return self._wide > 0.0 and self._age >= n // 4

    def learn(self, steps: int, scored: int) -> None:
        """Count the steps of a batch; give up cells that did not save much."""
        self._age += steps
        if scored > steps * len(self.U) / 6:
            self.radius = 0.0
