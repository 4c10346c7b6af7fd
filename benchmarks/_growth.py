"""Growth of time with the number of points."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHORT = 0.01  # seconds below which a call is mostly overhead and says nothing


def growth_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Slope of the least-squares line through the logarithms of both.

    Parameters
    ----------
    sizes, seconds : sequence of float
        Points, and the time they took; all positive.

    Returns
    -------
    exponent : float or None
        None for fewer than two different sizes.

    Examples
    --------
    >>> growth_exponent([10, 100, 1000], [3.0, 300.0, 30000.0])
    2.0
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(second) for second in seconds]
    if len(set(x)) < 2:
        return None
    middle = sum(x) / len(x)
    spread = sum((value - middle) ** 2 for value in x)
    along = sum((a - middle) * b for a, b in zip(x, y, strict=True))
    return round(along / spread, 12)


def predict_seconds(done: Sequence[tuple[int, float]], n: int) -> float:
    """Guess how long `n` points will take from the sizes already done.

    Growth is that of the last two sizes, but at least linear and at most of the
    power 2.5; quadratic where they were too quick to tell.
    """
    if not done:
        return 0.0
    last_n, last = done[-1]
    power = 2.0
    if len(done) > 1 and done[-2][1] > SHORT and done[-2][0] < last_n:
        before_n, before = done[-2]
        power = math.log(last / before) / math.log(last_n / before_n)
        power = min(max(power, 1.0), 2.5)
    return float(last * (n / last_n) ** power)
