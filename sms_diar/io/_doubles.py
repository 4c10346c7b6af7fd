"""Numbers of files in double precision."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar.types import FloatArray


def as_doubles(values: npt.ArrayLike) -> FloatArray:
    """Numbers that a file holds, whatever they are, as a copy.

    NumPy warns of some of them on the way, of signalling NaN and of long doubles beyond
    the range, and of others not. All are refused, in words, where they are looked at.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(values, dtype=np.float64)
