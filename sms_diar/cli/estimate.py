"""Estimate of the remaining time of a task."""

from __future__ import annotations


class Estimate:
    """Estimate of the remaining time from the number of finished items.

    Items are assumed to take as long as the previous ones. The remaining time is never
    less than the time since the last item was finished.

    Parameters
    ----------
    total : int
        Number of items.
    done : int
        Number of items that are already finished.
    now : float
        Current time of a monotonic clock, in seconds.
    """

    def __init__(self, total: int, done: int, now: float) -> None:
        self.total = total
        self.done = done
        self._before = done
        self._start = self._last = now

    def advance(self, now: float) -> None:
        """Count a finished item."""
        self.done += 1
        self._last = now

    def elapsed(self, now: float) -> float:
        """Return the seconds since the start."""
        return now - self._start

    def remaining(self, now: float) -> float | None:
        """Return the remaining seconds, or None before the first item."""
        counted = self.done - self._before
        if counted == 0:
            return None
        rate = (self._last - self._start) / counted
        return max(rate * max(self.total - self.done, 0), now - self._last)

    def line(self, label: str, now: float) -> str:
        """Format the state as a log line."""
        left = self.remaining(now)
        remaining = (
            "time left not known yet" if left is None else f"about {clock(left)} left"
        )
        return (
            f"{label}: {self.done} of {self.total} after {clock(self.elapsed(now))}, "
            f"{remaining}"
        )


def clock(seconds: float) -> str:
    """Format seconds as hours, minutes and seconds.

    Examples
    --------
    >>> clock(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
