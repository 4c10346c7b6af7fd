"""Choosing how the sums over neighbours are found: by comparing all, or indexed.

Three ways lead to the same states, bit by bit (``_kernels``, ``_strips``, ``_boxes``),
so which one is taken is a question of time only, and can be asked again and again
while points draw together. Each way counts what it does; counts are turned into
nanoseconds of a machine of 2023, where only their ratios matter. When an arrangement
has cost several times what it takes to make one, it is made anew, finer or coarser,
and now and then another way is tried for a moment.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sms_diar.clustering.points import _kernels
from sms_diar.clustering.points._index.box_walk import box_moves, box_steps
from sms_diar.clustering.points._index.boxes import LEVELS, Boxes, enclose
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.clustering.points._index.records import (
    DONE,
    LAST_MOVE,
    RESTING,
    WEARY,
    records,
)
from sms_diar.clustering.points._index.strip_walk import strip_moves, strip_steps
from sms_diar.clustering.points._index.strips import Strips, arrange, n_cells_needed
from sms_diar.types import FloatArray, IntArray

ALGORITHMS: Final = ("auto", "plain", "indexed")
"""How neighbours are found; "indexed" never compares all points with all."""

PLAIN, STRIPS, BOXES = "plain", "strips", "boxes"

_SMALLEST = 400  # points; below, an index saves less than it takes to make
_SOME = 1000  # points; below, strips do
# An arrangement serves for one move of each point, but at least and at most until it
# has cost so many times its making.
_PERIODS = {PLAIN: (6.0, 6.0), STRIPS: (6.0, 24.0), BOXES: (8.0, 8.0)}
_TRIAL = 96  # steps that tell what a way costs
_WORTH = 16.0  # arrangements that an iteration must cost before others are tried
_CROSSED = 0.1  # boxes that meet a sphere, per step, for which parts pay
_AGAIN = 2  # arrangements after which another way is tried, at least ...
_SELDOM = 16  # ... and at most


# Nanoseconds of a step, a strip (and more for tables that outgrow the caches, by the
# square root of the number of points) and a block of points.
STRIP_PRICES = (60.0, 11.0, 0.09, 2.6)
# Nanoseconds of a step, a box that meets the sphere, a block of points and a look at
# the groups; blocks for each dimension, looks for each dimension and group as well.
BOX_PRICES = (33.0, 16.0, 1.25, 35.0, 0.6)


class Ways:
    """The ways that are open, what each costs, and how fine it should be.

    Parameters
    ----------
    shape : pair of ints
        Dimensions and points.
    shortest, longest : float
        Range of the bandwidths, in lattice units.
    code : int
        Kernel; whole groups can be added for the uniform one only.
    algorithm : str
        One of `ALGORITHMS`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        shortest: float,
        longest: float,
        code: int,
        algorithm: str,
    ) -> None:
        self.n_dims, self.n_points = shape
        self._buffers = Buffers()
        self.shortest = shortest
        self.longest = longest
        self.height = shortest * float(
            np.clip(10.0 / np.sqrt(self.n_points), 0.03, 0.5)
        )
        self.side = shortest / 4.0
        self.levels = LEVELS
        is_indexed = code == 0 and algorithm != PLAIN
        if algorithm == "auto" and self.n_points < _SMALLEST:
            is_indexed = False
        self.costs: dict[str, float] = {}
        if not is_indexed or algorithm == "auto":
            self.costs[PLAIN] = 20.0 + 0.2 * self.n_dims * self.n_points
        if is_indexed:
            # Guesses, until a trial tells: strips are good while points are spread
            # out, boxes once they have drawn together and seldom before.
            self.costs[BOXES] = 150.0 * self.n_dims + 0.4 * self.n_dims * self.n_points
            is_many = self.n_points >= _SOME or algorithm != "auto"
            if self.n_dims == 2 and shortest == longest and is_many:
                self.costs[STRIPS] = 140.0 + 8.5 * float(np.sqrt(self.n_points))

    def best(self) -> str:
        """Cheapest way, as far as is known."""
        return min(self.costs, key=self.costs.__getitem__)

    def others(self, way: str) -> list[str]:
        """Indexed ways other than this one."""
        return [other for other in self.costs if other not in (way, PLAIN)]

    def making(self) -> float:
        """What it takes to arrange the points, in nanoseconds."""
        return 50.0 * self.n_points + 100_000.0

    def patience(self, way: str) -> float:
        """How long an arrangement serves, in nanoseconds."""
        least, most = _PERIODS[way]
        making = self.making()
        sweep = self.n_points * self.costs[way]
        return min(max(sweep, least * making), most * making)

    def make_strips(self, points: FloatArray) -> Strips | None:
        """Arrange strips, unless the data are so spread out that cells are empty."""
        while n_cells_needed(points, self.height) > 16.0 * self.n_points + 4096.0:
            self.height *= 1.5
            if self.height > self.shortest:
                del self.costs[STRIPS]
                return None
        return arrange(points, self.shortest, self.height, self._buffers)

    def make_boxes(self, points: FloatArray) -> Boxes:
        """Group the points."""
        found, self.side = enclose(
            points,
            self.side,
            self.shortest,
            self.longest,
            self._buffers,
            self.levels,
        )
        return found

    def prices(self, way: str, n_groups: int) -> tuple[float, float, float, float]:
        """Nanoseconds of each thing that a way counts."""
        if way == PLAIN:
            return self.costs[PLAIN], 0.0, 0.0, 0.0
        if way == STRIPS:
            step, strip, further, block = STRIP_PRICES
            return step, strip + further * float(np.sqrt(self.n_points)), block, 0.0
        step, box, block, look, group = BOX_PRICES
        return step, box, block * self.n_dims, look + group * self.n_dims * n_groups

    def _parts(self, way: str, work: IntArray, n_groups: int) -> tuple[float, float]:
        """Nanoseconds that grow, and those that fall, when cells are made smaller."""
        spent = work * np.array(self.prices(way, n_groups))
        if way == STRIPS:
            return float(spent[0] + spent[1]), float(spent[2])
        return float(spent[0] + spent[3]), float(spent[1] + spent[2])

    def learn(self, way: str, work: IntArray, n_groups: int) -> None:
        """Take note of what a way costs; balance looking up and comparing."""
        if way == PLAIN or not work[0]:
            return
        looking, comparing = self._parts(way, work, n_groups)
        self.costs[way] = (looking + comparing) / float(work[0])
        factor = float(np.clip(np.sqrt((looking + 1.0) / (comparing + 1.0)), 0.5, 1.4))
        if way == STRIPS:
            least, most = self.shortest / 64.0, self.shortest / 2.0
            self.height = min(max(self.height * factor, least), most)
        else:
            least, most = self.shortest / 256.0, self.shortest / 2.0
            self.side = min(max(self.side * factor, least), most)
            # Parts are for boxes that meet spheres.
            self.levels = LEVELS if work[1] > _CROSSED * work[0] else 0


class Walk:
    """The state of a stochastic run.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points where they start.
    ways : Ways
        What may be used.
    code : int
        Kernel.
    levels : float
        Steps into which weights are rounded.
    tol : float
        A move below this is rest.
    n_at_rest : int
        Points that have to rest.
    """

    def __init__(
        self,
        coords: FloatArray,
        ways: Ways,
        *,
        code: int,
        levels: float,
        tol: float,
        n_at_rest: int,
    ) -> None:
        self._ways = ways
        self._code = code
        self._levels = levels
        self._tol = tol
        self._n_at_rest = n_at_rest
        self._coords = coords.copy()
        self._last_move = np.full(coords.shape[1], np.inf)
        self._points = records(coords)
        self._points[:, LAST_MOVE] = np.inf
        self._way = PLAIN
        self.resting = 0
        self._n_periods = 0
        self._n_trials = 0
        self._again = _AGAIN
        self._is_trial = False
        self._begin(ways.best())

    @property
    def is_over(self) -> bool:
        """Whether enough points rest."""
        return self.resting >= self._n_at_rest

    @property
    def coords(self) -> FloatArray:
        """Where the points are, one row for each coordinate."""
        if self._way != PLAIN:
            self._coords[:] = self._points[:, :LAST_MOVE].T
        return self._coords

    @property
    def last_move(self) -> FloatArray:
        """Length of the last move of each point; infinite before the first."""
        if self._way != PLAIN:
            self._last_move[:] = self._points[:, LAST_MOVE]
        return self._last_move

    def advance(self, draws: IntArray, bandwidths: FloatArray) -> int:
        """Make steps until draws are used up or points rest; return how many."""
        step = 0
        while step < len(draws) and not self.is_over:
            step, status = self._advance(draws, bandwidths, step)
            if status not in (DONE, RESTING):
                self._reconsider()
        return step

    def _advance(
        self, draws: IntArray, bandwidths: FloatArray, step: int
    ) -> tuple[int, int]:
        if self._strips is not None:
            step, self.resting, status = strip_steps(
                self._points,
                draws,
                step,
                self._ways.shortest,
                self._strips,
                self._tol,
                self.resting,
                self._n_at_rest,
                self._prices,
                self._patience,
                self._work,
            )
            return step, status
        if self._boxes is not None:
            step, self.resting, status = box_steps(
                self._points,
                draws,
                step,
                bandwidths,
                self._boxes,
                self._tol,
                self.resting,
                self._n_at_rest,
                self._prices,
                self._patience,
                self._work,
            )
            return step, status
        price = self._prices[0]
        most = max(1, int(self._patience / price) - int(self._work[0]))
        if not self._ways.others(PLAIN):
            most = len(draws)
        some = slice(step, step + most)
        done, self.resting = _kernels.stochastic_steps(
            self._coords,
            draws[some],
            bandwidths[some],
            self._code,
            self._levels,
            self._tol,
            self._last_move,
            self.resting,
            self._n_at_rest,
        )
        self._work[0] += done
        is_weary = done == most and most < len(draws)
        return step + done, WEARY if is_weary else DONE

    def _begin(self, way: str, *, trial: bool = False) -> None:
        """Arrange the points for a way."""
        # Plain loops keep points in rows of coordinates, the others in records.
        if self._way == PLAIN:
            self._points[:, :LAST_MOVE] = self._coords.T
            self._points[:, LAST_MOVE] = self._last_move
        elif way == PLAIN:
            self._coords[:] = self._points[:, :LAST_MOVE].T
            self._last_move[:] = self._points[:, LAST_MOVE]
        self._strips: Strips | None = None
        self._boxes: Boxes | None = None
        self._work = np.zeros(4, dtype=np.int64)
        self._is_trial = trial
        self._patience = self._ways.patience(way)
        if trial:
            self._patience = 2.0 * _TRIAL * min(self._ways.costs.values())
        if way == STRIPS:
            self._strips = self._ways.make_strips(self._points)
            if self._strips is None:
                way = self._ways.best()
        self._n_groups = 0
        if way == BOXES:
            self._boxes = self._ways.make_boxes(self._points)
            self._n_groups = self._boxes.n_groups
        self._way = way
        self._prices = self._ways.prices(way, self._n_groups)

    def _reconsider(self) -> None:
        """End a period: go on with what is cheapest, or try something else."""
        ways = self._ways
        ways.learn(self._way, self._work, self._n_groups)
        best = ways.best()
        if self._is_trial:
            # The worse it did, the later it is tried again.
            ratio = ways.costs[self._way] / ways.costs[best]
            self._again = round(min(max(4.0 * ratio - 3.0, 1.0), _SELDOM))
            self._n_periods = 0
        self._n_periods += 1
        others = ways.others(best)
        is_due = best == PLAIN or self._n_periods >= self._again
        if others and is_due and not self._is_trial:
            self._n_trials += 1
            self._begin(others[self._n_trials % len(others)], trial=True)
        else:
            self._begin(best)


class Survey:
    """Points that stay where they are while others move past them.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points.
    ways : Ways
        What may be used. Its knowledge outlives the survey.
    code : int
        Kernel.
    levels : float
        Steps into which weights are rounded.
    """

    def __init__(
        self, coords: FloatArray, ways: Ways, *, code: int, levels: float
    ) -> None:
        self._coords = coords
        self._ways = ways
        self._code = code
        self._levels = levels
        self._strips: Strips | None = None
        self._boxes: Boxes | None = None

    def move(
        self,
        queries: FloatArray,
        moving: IntArray,
        lengths: FloatArray,
        *,
        is_trial: bool = True,
    ) -> None:
        """Move the queries named in `moving` once, in place."""
        best = self._ways.best()
        # A trial has to pay for an arrangement.
        expected = len(moving) * self._ways.costs[best]
        if is_trial and expected > _WORTH * self._ways.making():
            for way in self._ways.others(best):
                some, moving = moving[:_TRIAL], moving[_TRIAL:]
                self._move(way, queries, some, lengths)
        self._move(self._ways.best(), queries, moving, lengths)

    def _move(
        self, way: str, queries: FloatArray, moving: IntArray, lengths: FloatArray
    ) -> None:
        work = np.zeros(4, dtype=np.int64)
        bandwidth = self._ways.shortest
        n_groups = 0
        if way == STRIPS and self._strips is None:
            self._strips = self._ways.make_strips(records(self._coords))
            if self._strips is None:
                way = self._ways.best()
        if way == STRIPS and self._strips is not None:
            strip_moves(queries, moving, bandwidth, self._strips, lengths, work)
        elif way == BOXES:
            if self._boxes is None:
                self._boxes = self._ways.make_boxes(records(self._coords))
            n_groups = self._boxes.n_groups
            box_moves(queries, moving, bandwidth, self._boxes, lengths, work)
        else:
            _kernels.shift_points(
                queries,
                moving,
                self._coords,
                bandwidth,
                self._code,
                self._levels,
                lengths,
            )
        self._ways.learn(way, work, n_groups)
