"""What happened along a run, in bounded memory.

A run may take ten steps or ten million, and nobody knows beforehand. The
recorder keeps at most ``limit`` moments: when it is full it forgets every
second one and from then on looks half as often. Moments are therefore evenly
spaced over the whole run, however long it became.
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
        Point moves made before each moment; the first is 0, the last the end.
    objective : ndarray of shape (m,)
        L at each moment.
    states : ndarray of shape (m, n, d) or None
        Where the points were; None unless the estimator was asked for states.
    """

    steps: IntArray
    objective: FloatArray
    states: FloatArray | None


class Recorder:
    """Collects moments for a :class:`History`.

    Parameters
    ----------
    measure : callable
        Objective of a state given as (d, n) coordinates.
    interval : int
        Steps between two moments at first; doubles whenever `limit` is reached.
    limit : int
        Most moments kept, at least 2.
    keep_states : bool
        Whether states are kept beside the objective.
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
        """Steps from `step` to the next moment that will be kept."""
        return self._interval - step % self._interval

    def offer(self, step: int, coords: FloatArray) -> None:
        """Keep this moment if it is due."""
        if step % self._interval:
            return
        if len(self._moments) >= self._limit - 1:  # one place is for the end
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
        """Add the end of the run and hand everything over.

        `restore` turns states, one point per row, into data units.
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
