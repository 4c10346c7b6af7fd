"""Kernels of the mean-shift family and their constants.

A kernel is ``K(u) = k(|u|**2)`` with a decreasing, convex profile ``k`` on [0, 1] that
ends in zero; the mean-shift operator gives a neighbour the weight ``G = -k'``. Only the
ratio of weights matters to a move, so weights are used without their constant factor,
which is ``slope`` below.

============  =========================  ===============  ==========
name          k(t), 0 <= t < 1           weight           slope G(0)
============  =========================  ===============  ==========
uniform       1 - t (Epanechnikov)       1                1
biweight      (1 - t)**2                 1 - t            2
triweight     (1 - t)**3                 (1 - t)**2       3
quadweight    (1 - t)**4                 (1 - t)**3       4
gaussian      exp(-a t) - exp(-a)        exp(-a t)        a = 4.5
============  =========================  ===============  ==========

The Gaussian is truncated at three standard deviations (``h = 3 sigma`` makes
``a = 4.5``) and lowered so that it also ends in zero.
"""

from __future__ import annotations

from typing import Final

KERNELS: Final = ("uniform", "biweight", "triweight", "quadweight", "gaussian")
"""Names accepted as ``kernel``; the position is the code the compiled loops use."""

GAUSSIAN_RATE: Final = 4.5
"""Half of three standard deviations squared."""

GAUSSIAN_TERMS: Final = 11
"""Number of terms of the power series of the Gaussian; its error is ``1e-13``."""

SLOPE: Final = {
    "uniform": 1.0,
    "biweight": 2.0,
    "triweight": 3.0,
    "quadweight": 4.0,
    "gaussian": GAUSSIAN_RATE,
}
"""``G(0)``: each step of SMS raises L by at least ``2 G(0) |move|**2 / h**2``."""
