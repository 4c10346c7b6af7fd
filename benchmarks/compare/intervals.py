"""Intervals of means over conditions of means over sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, t

from sms_diar.types import FloatArray

LEVEL = 0.95
N_SAMPLES = 2000


def stratified_interval(
    gaps: Sequence[FloatArray], seed: int, *, n_samples: int = N_SAMPLES
) -> dict[str, float]:
    """Mean over conditions of the mean over sessions, with a bootstrap interval.

    Sessions are drawn again within each condition; conditions are what they are.
    Few sessions vary more than draws of them do: deviations are stretched by the
    root of n / (n - 1), and as a t distribution is wider than the normal one, with
    the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    gaps : sequence of ndarray
        Differences of the sessions of each condition.
    seed : int
        Random seed.
    n_samples : int
        Number of draws.
    """
    rng = np.random.default_rng(seed)
    deviation = np.zeros(n_samples)
    for values in gaps:
        n = len(values)
        if n > 1:
            weights = rng.multinomial(n, np.full(n, 1.0 / n), size=n_samples)
            drawn = weights @ values / n - values.mean()
            deviation += np.sqrt(n / (n - 1)) * drawn
    tail = 0.5 * (1.0 - LEVEL)
    wider = t.ppf(tail, _freedom(gaps)) / norm.ppf(tail)
    estimate = float(np.mean([values.mean() for values in gaps]))
    low, high = np.quantile(wider * deviation / len(gaps), [tail, 1.0 - tail])
    return {
        "estimate": estimate,
        "low": estimate + float(low),
        "high": estimate + float(high),
        "conditions": len(gaps),
    }


def _freedom(gaps: Sequence[FloatArray]) -> float:
    """Degrees of freedom of the variance of a sum of means."""
    several = [values for values in gaps if len(values) > 1 and np.ptp(values) > 0.0]
    if not several:
        return np.inf
    spreads = np.array([values.var(ddof=1) / len(values) for values in several])
    own = np.array([len(values) - 1 for values in several])
    return float(spreads.sum() ** 2 / np.sum(spreads**2 / own))
