"""Voices for people whom neither clustering nor the segmenter has found.

Whoever says how many speak knows of people that the recording hardly shows: they say a
word or two. To cut the clearest voice in two would be the wrong place to look for them;
the windows that no voice fits are the better one.
"""

from __future__ import annotations

import numpy as np

from sms_diar.types import FloatArray


def with_odd_windows(rows: FloatArray, centres: FloatArray, fewest: int) -> FloatArray:
    """Voices, and as many more as are wanted: the windows that fit them worst.

    Parameters
    ----------
    rows : ndarray of shape (n_windows, d)
        Vectors of windows, of unit length.
    centres : ndarray of shape (n_voices, d)
        Voices, of unit length.
    fewest : int
        Voices that there shall be, as far as windows go.

    Returns
    -------
    centres : ndarray of shape (n, d)
        One window after another that is farthest from all voices before it.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> with_odd_windows(rows, rows[:1], 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    found = list(centres)
    nearest = (rows @ centres.T).max(axis=1)
    while len(found) < min(fewest, len(rows)):
        odd = rows[int(np.argmin(nearest))]
        found.append(odd)
        nearest = np.maximum(nearest, rows @ odd)
    return np.array(found)
