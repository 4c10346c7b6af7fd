"""Lattice of positions: whole numbers of a fine unit.

The last bits of a sum of floating-point numbers depend on its order, so a loop that
adds whole groups of points would give different states than a loop that adds single
points. Therefore positions are rounded to a lattice whose unit is a power of two, about
``2**-30`` bandwidths. Differences of neighbours are then whole numbers below ``2**30``,
their sums are exact in any order, and the mean is rounded once, again to the lattice.
This is part of the definition of the algorithms, in the reference and in all compiled
loops.

A unit is about a thousandth of the default tolerance. Data that span more than
``2**22`` bandwidths get a coarser unit, ``2**-52`` of their extent, which is the
precision of float64.

Weights of other kernels than the uniform one are fractions. They are rounded to
multiples of ``2**-16`` (``2**-12`` for a million points), so that weighted sums are
also whole numbers, and fit in 63 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sms_diar.types import FloatArray

_FINENESS = 30  # binary digits of a bandwidth
_PRECISION = 52  # binary digits of the extent of the data
_WEIGHT_DIGITS = 16


@dataclass(frozen=True, eq=False)
class Lattice:
    """Conversion of data to lattice points and back.

    `unit` is a power of two, in data units; `corner` of shape (d,) is the minimum of
    the data along each axis, in units.
    """

    unit: float
    corner: FloatArray

    @classmethod
    def around(cls, data: FloatArray, bandwidth: float) -> Lattice:
        """Choose the lattice for the rows of `data`."""
        by_coordinate = np.asfortranarray(data)  # NumPy is slow along short rows
        least, most = by_coordinate.min(axis=0), by_coordinate.max(axis=0)
        largest = float(max(most.max(), -least.min()))
        # Halves, because the extent of finite numbers may overflow.
        half_extent = float((most / 2.0 - least / 2.0).max())
        exponent = max(
            math.frexp(bandwidth)[1] - _FINENESS,
            math.frexp(half_extent)[1] + 1 - _PRECISION if half_extent else -1000,
            math.frexp(largest)[1] - 900,  # below this, data / unit would overflow
            -1000,
        )
        unit = math.ldexp(1.0, exponent)
        return cls(unit, least / unit)

    def place(self, data: FloatArray) -> FloatArray:
        """Round `data` of shape (n, d) to lattice points of shape (d, n)."""
        by_coordinate = np.asfortranarray(data)
        return np.ascontiguousarray(np.rint(by_coordinate / self.unit - self.corner).T)

    def restore(self, points: FloatArray) -> FloatArray:
        """Convert lattice points, one per row, to data units."""
        data: FloatArray = (points + self.corner) * self.unit
        return data

    def measure(self, length: float) -> float:
        """Convert a length to units; its square neither vanishes nor overflows."""
        return min(max(length / self.unit, 1e-150), 1e150)


def weight_levels(n_points: int) -> float:
    """Return the number of steps to which weights are rounded for `n_points`."""
    return math.ldexp(1.0, min(_WEIGHT_DIGITS, 32 - n_points.bit_length()))
