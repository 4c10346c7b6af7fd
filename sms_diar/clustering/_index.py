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

from sms_diar.clustering import _kernels
from sms_diar.clustering._box_walk import box_moves, box_steps
from sms_diar.clustering._boxes import Boxes, enclose
from sms_diar.clustering._strips import (
    DONE,
    RESTING,
    Strips,
    arrange,
    n_cells_needed,
    strip_steps,
)
from sms_diar.types import FloatArray, IntArray

ALGORITHMS: Final = ("auto", "plain", "indexed")
"""How neighbours are found; "indexed" never compares all points with all."""

PLAIN, STRIPS, BOXES = "plain", "strips", "boxes"

_SMALLEST = 500  # points; below, an index saves less than it takes to make
_PERIOD = 12.0  # an arrangement serves until it has cost so many of its making
_TRIAL = 96  # steps that tell what a way costs
_WORTH = 16.0  # arrangements that an iteration must cost before others are tried
_AGAIN = 2  # arrangements after which another way is tried


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
        self.shortest = shortest
        self.longest = longest
        self.height = shortest * float(
            np.clip(10.0 / np.sqrt(self.n_points), 0.03, 0.5)
        )
        self.side = shortest / 4.0
        is_indexed = code == 0 and algorithm != PLAIN
        if algorithm == "auto" and self.n_points < _SMALLEST:
            is_indexed = False
        self.costs: dict[str, float] = {}
        if not is_indexed or algorithm == "auto":
            self.costs[PLAIN] = 20.0 + 0.18 * self.n_dims * self.n_points
        if is_indexed:
            # Guesses, until a trial tells: strips are good while points are spread
            # out, boxes once they have drawn together and seldom before.
            self.costs[BOXES] = 150.0 * self.n_dims + 0.4 * self.n_dims * self.n_points
            if self.n_dims == 2 and shortest == longest:
                self.costs[STRIPS] = 250.0 + 7.0 * float(np.sqrt(self.n_points))

    def best(self) -> str:
        """Cheapest way, as far as is known."""
        return min(self.costs, key=self.costs.__getitem__)

    def others(self, way: str) -> list[str]:
        """Indexed ways other than this one."""
        return [other for other in self.costs if other not in (way, PLAIN)]

    def making(self) -> float:
        """What it takes to arrange the points, in nanoseconds."""
        return 25.0 * self.n_points + 80_000.0

    def make_strips(self, coords: FloatArray) -> Strips | None:
        """Arrange strips, unless the data are so spread out that cells are empty."""
        while n_cells_needed(coords, self.height) > 16.0 * self.n_points + 4096.0:
            self.height *= 1.5
            if self.height > self.shortest:
                del self.costs[STRIPS]
                return None
        return arrange(coords, self.shortest, self.height)

    def make_boxes(self, coords: FloatArray) -> Boxes:
        """Group the points."""
        found, self.side = enclose(coords, self.side, self.shortest, self.longest)
        return found

    def spent(self, way: str, work: IntArray, n_groups: int) -> float:
        """Turn counts into nanoseconds."""
        return sum(self._parts(way, work, n_groups))

    def _parts(self, way: str, work: IntArray, n_groups: int) -> tuple[float, float]:
        """Nanoseconds that grow, and those that fall, when cells are made smaller."""
        if way == PLAIN:
            return self.costs[PLAIN] * float(work[0]), 0.0
        if way == STRIPS:
            return 60.0 * work[0] + 35.0 * work[1], 0.35 * work[2]
        looking = 20.0 * work[0] + (30.0 + 1.1 * self.n_dims * n_groups) * work[3]
        return looking, 45.0 * work[1] + 0.3 * self.n_dims * work[2]

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


class Walk:
    """The state of a stochastic run.

    Parameters
    ----------
    coords : ndarray of shape (d, n)
        Lattice points, moved in place.
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
        self._coords = coords
        self._ways = ways
        self._code = code
        self._levels = levels
        self._tol = tol
        self._n_at_rest = n_at_rest
        self.last_move = np.full(coords.shape[1], np.inf)
        self.resting = 0
        self._n_periods = 0
        self._n_trials = 0
        self._is_trial = False
        self._begin(ways.best())

    @property
    def is_over(self) -> bool:
        """Whether enough points rest."""
        return self.resting >= self._n_at_rest

    def advance(self, draws: IntArray, bandwidths: FloatArray) -> int:
        """Make steps until draws are used up or points rest; return how many."""
        step = 0
        while step < len(draws) and not self.is_over:
            patience = self._patience - self._ways.spent(
                self._way, self._work, self._n_groups
            )
            step, status = self._advance(draws, bandwidths, step, patience)
            if status not in (DONE, RESTING):
                self._reconsider()
        return step

    def _advance(
        self, draws: IntArray, bandwidths: FloatArray, step: int, patience: float
    ) -> tuple[int, int]:
        if self._strips is not None:
            step, self.resting, status = strip_steps(
                self._coords,
                draws,
                step,
                self._ways.shortest,
                self._strips,
                self._tol,
                self.last_move,
                self.resting,
                self._n_at_rest,
                patience,
                self._work,
                True,  # noqa: FBT003 - compiled code takes no keywords
            )
            return step, status
        if self._boxes is not None:
            step, self.resting, status = box_steps(
                self._coords,
                draws,
                step,
                bandwidths,
                self._boxes,
                self._tol,
                self.last_move,
                self.resting,
                self._n_at_rest,
                patience,
                self._work,
            )
            return step, status
        most = max(1, int(patience / self._ways.costs.get(PLAIN, 1.0)))
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
            self.last_move,
            self.resting,
            self._n_at_rest,
        )
        self._work[0] += done
        is_weary = done == most and most < len(draws)
        return step + done, -1 if is_weary else DONE

    def _begin(self, way: str, *, trial: bool = False) -> None:
        """Arrange the points for a way."""
        self._strips: Strips | None = None
        self._boxes: Boxes | None = None
        self._n_groups = 0
        self._work = np.zeros(4, dtype=np.int64)
        self._is_trial = trial
        self._patience = _PERIOD * self._ways.making()
        if trial:
            self._patience = 2.0 * _TRIAL * min(self._ways.costs.values())
        if way == STRIPS:
            self._strips = self._ways.make_strips(self._coords)
            if self._strips is None:
                way = self._ways.best()
        if way == BOXES:
            self._boxes = self._ways.make_boxes(self._coords)
            self._n_groups = self._boxes.n_groups
        self._way = way

    def _reconsider(self) -> None:
        """End a period: go on with what is cheapest, or try something else."""
        self._ways.learn(self._way, self._work, self._n_groups)
        self._n_periods += 1
        best = self._ways.best()
        others = self._ways.others(best)
        is_due = best == PLAIN or self._n_periods >= _AGAIN
        if others and is_due and not self._is_trial:
            self._n_periods = 0
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
            self._strips = self._ways.make_strips(self._coords)
            if self._strips is None:
                way = self._ways.best()
        if way == STRIPS and self._strips is not None:
            nobody, ever = len(moving) + 1, np.inf
            strip_steps(
                queries,
                moving,
                0,
                bandwidth,
                self._strips,
                0.0,
                lengths,
                0,
                nobody,
                ever,
                work,
                False,  # noqa: FBT003
            )
        elif way == BOXES:
            if self._boxes is None:
                self._boxes = self._ways.make_boxes(self._coords)
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
