"""How long work will still take, as far as that can be known."""

from __future__ import annotations


class Estimate:
    """Counts what is done and when, and says what is left.

    Items take as long as those before them. If nothing has been finished for longer
    than that, the estimate was wrong: what has taken a while will take as long again,
    so the time left never falls below the time since the last item.

    Parameters
    ----------
    total : int
        Items there are.
    done : int
        Items that were finished before.
    now : float
        Seconds on any clock that does not go back.
    """

    def __init__(self, total: int, done: int, now: float) -> None:
        self.total = total
        self.done = done
        self._before = done
        self._start = self._last = now

    def advance(self, now: float) -> None:
        """Count an item."""
        self.done += 1
        self._last = now

    def elapsed(self, now: float) -> float:
        """Seconds since the work began."""
        return now - self._start

    def remaining(self, now: float) -> float | None:
        """Seconds that are left; None before the first item."""
        counted = self.done - self._before
        if counted == 0:
            return None
        rate = (self._last - self._start) / counted
        return max(rate * max(self.total - self.done, 0), now - self._last)

    def line(self, label: str, now: float) -> str:
        """All of it in words, for a log."""
        left = self.remaining(now)
        told = (
            "time left not known yet" if left is None else f"about {clock(left)} left"
        )
        return (
            f"{label}: {self.done} of {self.total} after {clock(self.elapsed(now))}, "
            f"{told}"
        )


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    Examples
    --------
    >>> clock(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
