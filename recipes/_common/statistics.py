"""Means and spread over repetitions, and contests between two methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import binomtest

Figures = dict[str, float]
"""Measures of one method in one repetition, by name."""


def summarise(
    repetitions: Sequence[Mapping[str, Figures]],
) -> dict[str, dict[str, dict[str, float]]]:
    """Return mean, deviation and quantiles of every measure of every method."""
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for name in repetitions[0]:
        summary[name] = {}
        for measure in repetitions[0][name]:
            values = np.array([run[name][measure] for run in repetitions])
            low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
            summary[name][measure] = {
                "mean": float(values.mean()),
                "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                "low": float(low),
                "median": float(median),
                "high": float(high),
            }
    return summary


def count_wins(
    repetitions: Sequence[Mapping[str, Figures]],
    one: str,
    other: str,
    measure: str = "k",
) -> dict[str, int]:
    """Count the sessions in which `one` is above, equal to or below `other`."""
    gaps = np.array([run[one][measure] - run[other][measure] for run in repetitions])
    tied = np.abs(gaps) < 1e-12  # the same partition up to rounding
    return {
        "wins": int(np.count_nonzero(~tied & (gaps > 0.0))),
        "ties": int(np.count_nonzero(tied)),
        "losses": int(np.count_nonzero(~tied & (gaps < 0.0))),
    }


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of a sign test without the ties."""
    if wins + losses == 0:
        return 1.0
    return float(binomtest(wins, wins + losses).pvalue)
