"""When the rows of a session were spoken, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar.types import FloatArray, IntArray, Segment

_APART = 1e7  # seconds between recordings: nothing in one overlaps another


@dataclass(frozen=True, eq=False)
class RowTimes:
    """Start and end of each row, on one axis that all recordings lie on.

    Parameters
    ----------
    start, end : ndarray of shape (n,)
        Seconds; recordings follow each other far apart.
    """

    start: FloatArray
    end: FloatArray

    @classmethod
    def of_segments(cls, segments: Sequence[Segment]) -> RowTimes:
        """Times of segments, one for each row."""
        names = [segment.recording for segment in segments]
        first = np.unique(names, return_inverse=True)[1] * _APART
        start = np.array([segment.start for segment in segments]) + first
        end = np.array([segment.end for segment in segments]) + first
        return cls(start, end)

    @classmethod
    def of_steps(cls, n: int, row_weight: float) -> RowTimes:
        """Times of n windows of length 1 that each bring `row_weight` of new speech."""
        start = row_weight * np.arange(n, dtype=np.float64)
        return cls(start, start + 1.0)

    def take(self, rows: IntArray) -> RowTimes:
        """Times of some rows."""
        return RowTimes(self.start[rows], self.end[rows])

    def successors(self, gap: float) -> tuple[IntArray, IntArray]:
        """Pairs of rows of which the second is the first to begin after the other.

        Parameters
        ----------
        gap : float
            Seconds that may lie between them.

        Returns
        -------
        before, after : ndarray of shape (m,)
            Rows that follow each other and do not overlap.
        """
        order = np.argsort(self.start, kind="stable")
        place = np.searchsorted(self.start[order], self.end - 1e-6)
        before = np.flatnonzero(place < len(order))
        after = order[place[before]]
        near = self.start[after] - self.end[before] < gap
        return before[near], after[near]

    def overlapping(self) -> tuple[IntArray, IntArray]:
        """Pairs of rows next to each other in time that overlap, or touch."""
        order = np.argsort(self.start, kind="stable")
        before, after = order[:-1], order[1:]
        meet = self.start[after] < self.end[before] + 0.05
        return before[meet], after[meet]
