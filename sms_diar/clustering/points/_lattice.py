"""The lattice on which points live: whole numbers of a fine unit.

Sums of floating-point numbers depend on their order, in the last bits. An index
that adds whole groups of points at once would then end in other states than the
loop that adds one point after the other. So positions are rounded to a lattice
whose unit is a power of two, about ``2**-30`` bandwidths: differences of
neighbours are whole numbers below ``2**30`` units, their sums are exact in any
order, and the mean is rounded once, to the lattice again. This is part of the
definition of the algorithms here, in the reference as in every fast path.

A unit is a millionth of a percent of the bandwidth, a thousandth of the default
tolerance. Data that span more than ``2**22`` bandwidths get a coarser unit,
``2**-52`` of their extent, which is the precision of float64 itself.

Kernels other than the uniform one weigh neighbours by fractions. Their weights
are rounded to multiples of ``2**-16`` (of ``2**-12`` for a million points), again
so that weighted sums are whole numbers: weight, difference and number of points
together need fewer than 63 bits.
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
    """Where the lattice lies, and how data get on it and off it.

    Parameters
    ----------
    unit : float
        One lattice unit in data units: a power of two.
    corner : ndarray of shape (d,)
        Least coordinates of the data, in units, where the lattice begins.
    """

    unit: float
    corner: FloatArray

    @classmethod
    def around(cls, data: FloatArray, bandwidth: float) -> Lattice:
        """Choose the lattice for the rows of `data`."""
        by_coordinate = np.asfortranarray(data)  # NumPy is slow along short rows
        least, most = by_coordinate.min(axis=0), by_coordinate.max(axis=0)
        largest = float(max(most.max(), -least.min()))
        # Halves, because the extent of finite numbers may be infinite.
        half_extent = float((most / 2.0 - least / 2.0).max())
        exponent = max(
            math.frexp(bandwidth)[1] - _FINENESS,
            math.frexp(half_extent)[1] + 1 - _PRECISION if half_extent else -1000,
            math.frexp(largest)[1] - 900,  # beyond, data / unit would overflow
            -1000,
        )
        unit = math.ldexp(1.0, exponent)
        return cls(unit, least / unit)

    def place(self, data: FloatArray) -> FloatArray:
        """Round rows of `data` to the lattice; one row per coordinate comes back."""
        by_coordinate = np.asfortranarray(data)
        return np.ascontiguousarray(np.rint(by_coordinate / self.unit - self.corner).T)

    def restore(self, points: FloatArray) -> FloatArray:
        """Turn lattice points, one per row, into data units."""
        data: FloatArray = (points + self.corner) * self.unit
        return data

    def measure(self, length: float) -> float:
        """Express a length in units; its square neither vanishes nor overflows."""
        return min(max(length / self.unit, 1e-150), 1e150)


def weight_levels(n_points: int) -> float:
    """Into how many steps the weights of `n_points` neighbours are rounded."""
    return math.ldexp(1.0, min(_WEIGHT_DIGITS, 32 - n_points.bit_length()))
