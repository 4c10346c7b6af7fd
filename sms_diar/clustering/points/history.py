"""History of a run in bounded memory.

The number of steps of a run is not known in advance; it may be ten or ten million. The
recorder keeps at most ``limit`` moments. When it is full it drops every second one and
doubles the interval. Moments are therefore evenly spaced over a run of any length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sms_diar.types import FloatArray, IntArray


@dataclass(frozen=True)
class History:
    """Moments of a run.

    Parameters
    ----------
    steps : ndarray of shape (m,)
        Number of moves before each moment, from 0 to the end of the run.
    objective : ndarray of shape (m,)
        L at each moment.
    states : ndarray of shape (m, n, d) or None
        Positions of the points; None unless ``record="states"``.
    """

    steps: IntArray
    objective: FloatArray
    states: FloatArray | None


class Recorder:
    """Collect moments for a :class:`History`.

    Parameters
    ----------
    measure : callable
        Objective of a state given as (d, n) coordinates.
    interval : int
        Number of steps between two moments; doubled whenever `limit` is reached.
    limit : int
        Maximum number of moments, at least 2.
    keep_states : bool
        True to record states in addition to the objective.
    """

    def __init__(
        self,
        measure: Callable[[FloatArray], float],
        *,
        interval: int,
        limit: int,
        keep_states: bool,
    ) -> None:
        self._measure = measure
        self._interval = interval
        self._limit = limit
        self._keep_states = keep_states
        self._moments: list[tuple[int, float, FloatArray | None]] = []

    def steps_to_next(self, step: int) -> int:
        """Return the number of steps from `step` to the next recorded moment."""
        return self._interval - step % self._interval

    def offer(self, step: int, coords: FloatArray) -> None:
        """Record this moment if it is due."""
        if step % self._interval:
            return
        if len(self._moments) >= self._limit - 1:  # one is for the end
            self._moments = self._moments[::2]
            self._interval *= 2
            if step % self._interval:
                return
        self._keep(step, coords)

    def finish(
        self,
        step: int,
        coords: FloatArray,
        restore: Callable[[FloatArray], FloatArray],
    ) -> History:
        """Add the end of the run and return all moments.

        `restore` converts states, one point per row, into data units.
        """
        if not self._moments or self._moments[-1][0] != step:
            self._keep(step, coords)
        steps, objective, states = zip(*self._moments, strict=True)
        return History(
            np.array(steps, dtype=np.int64),
            np.array(objective),
            restore(np.array(states)) if self._keep_states else None,
        )

    def _keep(self, step: int, coords: FloatArray) -> None:
        state = coords.T.copy() if self._keep_states else None
        self._moments.append((step, self._measure(coords), state))
