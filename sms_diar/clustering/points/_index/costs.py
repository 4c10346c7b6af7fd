"""What a step costs, by comparing all points and by boxes, and how fine to group.

Both ways lead to the same states, bit by bit (``_kernels``, ``ball``), so which one is
taken is a question of time only, and can be asked again and again while points draw
together. Loops over boxes count what they do; counts are turned into nanoseconds of a
machine of 2023, where only their ratios matter.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from sms_diar.clustering.points._index.boxes import LEVELS, Boxes, group_points
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.types import FloatArray, IntArray

ALGORITHMS: Final = ("auto", "plain", "indexed")
"""How neighbours are found; "indexed" never compares all points with all."""

_SMALLEST = 400  # points; below, grouping saves less than it takes
_CROSSED = 0.1  # boxes that meet a sphere, per step, for which parts pay

# Nanoseconds of a step, a box that meets the sphere, a pack of points for each
# dimension (in the plane, and elsewhere, where distances and sums are two loops), and a
# look at the groups: at all, and for each dimension and group.
_STEP, _BOX, _PLANAR_PACK, _PACK, _LOOK, _GROUP = 20.0, 16.0, 1.3, 2.0, 100.0, 0.5


class Costs:
    """Nanoseconds of a step, and the side of the cells that makes it cheap.

    Parameters
    ----------
    shape : pair of ints
        Dimensions and points.
    shortest, longest : float
        Range of the bandwidths, in lattice units.
    code : int
        Kernel; whole boxes can be added for the uniform one only.
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
        self._buffers = Buffers()
        self._side = shortest / 4.0
        self._levels = LEVELS
        self.has_boxes = code == 0 and algorithm != "plain"
        if algorithm == "auto" and self.n_points < _SMALLEST:
            self.has_boxes = False
        self.has_plain = not self.has_boxes or algorithm == "auto"
        self.plain = 20.0 + 0.2 * self.n_dims * self.n_points
        # A guess, until they are used: points that a sphere meets.
        met = math.pow(self.n_points, 1.0 - 1.0 / self.n_dims)
        self.boxes = (150.0 + 6.5 * met) * self.n_dims

    @property
    def grouping(self) -> float:
        """What it takes to group the points, in nanoseconds."""
        return 50.0 * self.n_points + 100_000.0

    def prefers_boxes(self, *, steps: float = math.inf) -> bool:
        """Whether boxes that are yet to be made are cheaper for this many steps."""
        if not (self.has_boxes and self.has_plain):
            return self.has_boxes
        return self.boxes + self.grouping / steps < self.plain

    def group(self, points: FloatArray) -> Boxes:
        """Group points, given by their records."""
        boxes, self._side = group_points(
            points,
            self._side,
            self.shortest,
            self.longest,
            self._buffers,
            self._levels,
        )
        return boxes

    def prices(self, boxes: Boxes) -> tuple[float, float, float, float]:
        """Nanoseconds of a step, a box that meets the sphere, a pack and a look."""
        pack = _PLANAR_PACK if self.n_dims == 2 else _PACK
        look = _LOOK + _GROUP * self.n_dims * boxes.n_groups
        return _STEP, _BOX, pack * self.n_dims, look

    def learn(self, boxes: Boxes, work: IntArray) -> None:
        """Take note of what boxes cost; balance looking at them and comparing points.

        `work` counts steps, boxes that met a sphere, packs and looks.
        """
        if not work[0]:
            return
        spent = work * np.array(self.prices(boxes))
        self.boxes = float(np.sum(spent)) / float(work[0])
        # With cells of side s there are some s**-d groups, s**(1 - d) of which meet a
        # sphere, and s points to compare: time is least where these are in balance.
        groups = _GROUP * self.n_dims * boxes.n_groups * float(work[3])
        growing = self.n_dims * groups + (self.n_dims - 1) * float(spent[1])
        ratio = (growing + 1.0) / (float(spent[2]) + 1.0)
        factor = float(np.clip(np.sqrt(ratio), 0.5, 1.4))
        least, most = self.shortest / 256.0, self.shortest / 2.0
        self._side = min(max(self._side * factor, least), most)
        # Parts are for boxes that meet spheres.
        self._levels = LEVELS if work[1] > _CROSSED * work[0] else 0
