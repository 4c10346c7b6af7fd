"""Points at one place move alike, so one of them can move for all."""

from __future__ import annotations

import numpy as np

from sms_diar.clustering._modes import distinct_rows
from sms_diar.types import FloatArray, IntArray


class Leaders:
    """Which point moves for which others: each has a leader, at first itself.

    Parameters
    ----------
    n_points : int
        Number of points.
    """

    def __init__(self, n_points: int) -> None:
        self._leader_of = np.arange(n_points)

    def join(self, coords: FloatArray, moving: IntArray) -> IntArray:
        """Let points at one place have one leader.

        Parameters
        ----------
        coords : ndarray of shape (d, n_points)
            Where the points are.
        moving : ndarray of shape (m,)
            Leaders that are still to move. Other leaders keep their points.

        Returns
        -------
        moving : ndarray of shape (at most m,)
            Those of them that still lead.
        """
        numbers, firsts = distinct_rows(np.take(coords, moving, axis=1).T)
        if len(firsts) == len(moving):
            return moving
        remaining: IntArray = moving[firsts]
        leader_of = np.arange(len(self._leader_of))
        leader_of[moving] = remaining[numbers]
        self._leader_of = leader_of[self._leader_of]
        return remaining

    def n_led(self, leaders: IntArray) -> int:
        """How many points some leaders move, including themselves."""
        counts = np.bincount(self._leader_of, minlength=len(self._leader_of))
        return int(np.sum(counts[leaders]))

    def spread(self, values: FloatArray) -> FloatArray:
        """Give every point the value of its leader, along the last axis."""
        return np.take(values, self._leader_of, axis=-1)
