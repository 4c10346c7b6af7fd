"""What all indexed walks share: records of points, reasons to stop, a margin."""

from __future__ import annotations

import numpy as np

from sms_diar.types import FloatArray

# Columns of a record, after the coordinates: the length of the last move, and the
# place where an arrangement stores the point. All of a point is in one cache line.
LAST_MOVE, PLACE = -2, -1

# Why a walk stops: draws are used up, there is no room left, enough points rest, the
# arrangement has served long enough.
DONE, FULL, RESTING, WEARY = range(4)

CHECKED = 32  # steps after which a walk asks whether it has served long enough

MARGIN = 1e-12
"""What counts as surely inside or outside, relative to squared distances.

Those are rounded to ``2**-52``.
"""


def records(coords: FloatArray) -> FloatArray:
    """Records of points whose coordinates are the rows of `coords`."""
    n_dims, n = coords.shape
    points = np.zeros((n, n_dims + 2))
    points[:, :n_dims] = coords.T
    return points
