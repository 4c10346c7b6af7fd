"""Quality of two competitors over the same run seeds, compared."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks._records import Measurement


class Gap(NamedTuple):
    """Means of two competitors over run seeds, and how far apart they are."""

    first: float
    second: float
    difference: float  # of the means, second less first
    error: float  # standard error of the difference
    seeds: tuple[int, ...]


def mean_gap(
    first: Sequence[float], second: Sequence[float], seeds: Sequence[int]
) -> Gap:
    """Difference of means over seeds, and its standard error.

    The error is that of the mean of differences seed by seed, which is right whether
    or not a seed does the same to both.

    Parameters
    ----------
    first, second : sequence of float
        A value for each seed; two at least.
    seeds : sequence of int
        Run seeds, the same ones for both.

    Examples
    --------
    >>> gap = mean_gap([0.5, 0.7, 0.6], [0.6, 0.7, 0.5], [0, 1, 2])
    >>> round(gap.first, 3), round(gap.difference, 3), round(gap.error, 4)
    (0.6, 0.0, 0.0577)
    """
    differences = [b - a for a, b in zip(first, second, strict=True)]
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    means = statistics.fmean(first), statistics.fmean(second)
    return Gap(*means, statistics.fmean(differences), error, tuple(seeds))


def gap_of_g(first: Measurement | None, second: Measurement | None) -> Gap | None:
    """Difference of mean G, where both were run with the same seeds."""
    if first is None or second is None:
        return None
    seeds = first.facts.get("seeds")
    if not seeds or second.facts.get("seeds") != seeds:
        return None
    return mean_gap(first.facts["g_of_seeds"], second.facts["g_of_seeds"], seeds)


def named(seeds: Sequence[int]) -> str:
    """Return seeds as text, as a range if it is complete."""
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
