"""What the loops over boxes share: records of points, reasons to stop, a margin."""

from __future__ import annotations

import numpy as np

from sms_diar.types import FloatArray

# Columns of a record after the coordinates: the length of the point's last move, its
# place in the store of the boxes, and its box.
LAST_MOVE, PLACE, BOX = -3, -2, -1
N_EXTRA = 3

# Why a loop stops: draws are used up, a box has no free place and neither has the
# store, enough points rest, the grouping has served long enough.
DONE, FULL, RESTING, EXPIRED = range(4)

MARGIN = 1e-12
"""What counts as surely inside or outside, relative to squared distances.

Those are rounded to ``2**-52``.
"""


def records(coords: FloatArray) -> FloatArray:
    """Records of points whose coordinates are the rows of `coords`."""
    n_dims, n = coords.shape
    points = np.zeros((n, n_dims + N_EXTRA))
    points[:, :n_dims] = coords.T
    return points
