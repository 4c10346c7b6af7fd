"""How far a figure can be trusted: resampling recordings.

Recordings are the unit: errors within one are far from independent. A sample is
a vector of weights, how often each recording is drawn, so that thousands of
samples are one matrix product with the sums of the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from sms_diar._random import as_generator
from sms_diar._validation import check_choice, check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.diarization.evaluation import Evaluation
from sms_diar.metrics.diarization.rates import RATES, rates
from sms_diar.types import FloatArray, IntArray, RandomState

IntervalMethod: TypeAlias = Literal["percentile", "bca"]
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""From weights of shape (n_samples, n) to values of shape (n_samples,)."""

INTERVAL_METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca")
_EXACT = 14  # recordings whose exchanges between two systems are all tried
_AT_ONCE = 1 << 22  # weights in memory: a moment's work, after which Ctrl-C is heard


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a figure.

    Parameters
    ----------
    estimate : float
        The figure of all recordings.
    low, high : float
        Ends of the interval.
    level : float
        Nominal coverage.
    method : str
        How the ends were found.
    n_samples : int
        Samples behind them.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n_samples: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same recordings.

    Parameters
    ----------
    measure : str
        What was compared.
    first, second : float
        Pooled figures.
    difference : Interval
        First minus second, by paired bootstrap.
    p_value : float
        Two-sided, of the hypothesis that it does not matter which system made
        which result of a recording (permutation test).
    """

    measure: str
    first: float
    second: float
    difference: Interval
    p_value: float


def bootstrap(
    statistic: Statistic,
    n: int,
    *,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
    n_samples: int = 2000,
    random_state: RandomState = 0,
) -> Interval:
    """Confidence interval of a statistic of n recordings.

    Parameters
    ----------
    statistic : callable
        From weights of shape (n_samples, n) to values of shape (n_samples,).
    n : int
        Recordings, at least 2.
    method : {"percentile", "bca"}
        Percentiles of the samples' values, or percentiles corrected for bias and
        skewness (Efron 1987). Both are widened for small n (Hesterberg 2015). In
        simulations with 40 recordings, percentiles at 95 % covered 92 to 94 % of
        the time, BCa 91 to 93 % for one system but only 89 to 91 % for a
        difference of two, where what it corrects is hard to estimate.
    level : float, default=0.95
        Nominal coverage.
    n_samples : int, default=2000
        Samples to be drawn.
    random_state : int, Generator or RandomState, default=0
        Seed.
    """
    check_count("bootstrap", "n", n, least=2)
    check_count("bootstrap", "n_samples", n_samples, least=10)
    check_choice("bootstrap", "method", method, INTERVAL_METHODS)
    if not 0.0 < level < 1.0:
        raise InvalidParameterError(
            f"bootstrap: level must be a number in (0, 1), got {level!r}"
        )
    rng = as_generator(random_state)
    even = np.full(n, 1.0 / n)
    values = _values(
        statistic,
        (rng.multinomial(n, even, size=len(rows)) for rows in _blocks(n_samples, n)),
    )
    values = np.sort(values[np.isfinite(values)])
    estimate = float(statistic(np.ones((1, n)))[0])
    if not len(values) or not np.isfinite(estimate):
        return Interval(estimate, np.nan, np.nan, level, method, n_samples)
    z = _expanded((1.0 - level) / 2.0, n)
    tails = (NormalDist().cdf(z), NormalDist().cdf(-z))
    if method == "bca":
        without_one = (1 - (np.arange(n) == rows[:, None]) for rows in _blocks(n, n))
        tails = _corrected(z, values, estimate, _values(statistic, without_one))
    low, high = np.quantile(values, tails)
    return Interval(estimate, float(low), float(high), level, method, n_samples)


def _blocks(count: int, n: int) -> Iterator[IntArray]:
    """Numbers of samples of n recordings, as many at a time as memory is given to."""
    size = max(1, _AT_ONCE // n)
    for first in range(0, count, size):
        yield np.arange(first, min(first + size, count))


def _values(statistic: Statistic, samples: Iterable[IntArray]) -> FloatArray:
    """Values of all samples, which come in blocks."""
    found = [statistic(block.astype(np.float64)) for block in samples]
    return np.concatenate(found)


def _expanded(tail: float, n: int) -> float:
    """Normal quantile of the lower tail for a small number of recordings.

    Samples of n vary less than fresh recordings would, by the factor
    ``(n - 1) / n`` of the variance, and as much as a normal instead of a t
    distribution; Hesterberg (2015) widens percentiles by both.
    """
    normal, freedom = NormalDist(), n - 1
    z = normal.inv_cdf(tail)
    # Quantile of t by its expansion around that of the normal distribution.
    t = z + (z**3 + z) / (4 * freedom)
    t += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return t * math.sqrt(n / (n - 1))


def _corrected(
    quantile: float, values: FloatArray, estimate: float, left_out: FloatArray
) -> tuple[float, float]:
    """Tail probabilities corrected for bias and acceleration.

    Few recordings ask for quantiles of such tails that their probability is zero as a
    number, so quantiles are what is handed over.
    """
    normal = NormalDist()
    below = np.mean(values < estimate) + 0.5 * np.mean(values == estimate)
    half = 0.5 / len(values)
    bias = normal.inv_cdf(float(np.clip(below, half, 1.0 - half)))
    gap = np.nanmean(left_out) - left_out[np.isfinite(left_out)]
    spread = float(np.sum(gap**2)) ** 1.5
    skew = float(np.sum(gap**3)) / (6.0 * spread) if spread > 0.0 else 0.0

    def corrected(z: float) -> float:
        stretch = 1.0 - skew * z
        if stretch <= 0.0:  # beyond the pole: all samples are on one side
            return 0.0 if z < 0.0 else 1.0
        return normal.cdf(bias + z / stretch)

    return corrected(bias + quantile), corrected(bias - quantile)


def confidence_interval(
    evaluation: Evaluation,
    measure: str = "der",
    *,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
    n_samples: int = 2000,
    random_state: RandomState = 0,
) -> Interval:
    """Confidence interval of a pooled figure over recordings."""
    check_choice("confidence_interval", "measure", measure, RATES)
    return bootstrap(
        lambda weights: evaluation.resampled(weights, measure),
        len(evaluation.names),
        method=method,
        level=level,
        n_samples=n_samples,
        random_state=random_state,
    )


def compare(
    first: Evaluation,
    second: Evaluation,
    measure: str = "der",
    *,
    method: IntervalMethod = "percentile",
    level: float = 0.95,
    n_samples: int = 2000,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare two systems that were scored on the same reference.

    Parameters
    ----------
    first, second : Evaluation
        Results under the same settings. A recording that only one of them has
        (one without reference) counts as empty for the other.
    measure : str, default="der"
        One of `RATES`.
    method, level, n_samples, random_state
        As for `bootstrap`.
    """
    check_choice("compare", "measure", measure, RATES)
    if first.settings != second.settings:
        raise InvalidParameterError(
            "compare: first and second must be scored under the same settings"
        )
    names = sorted({*first.names, *second.names})
    tables = [_aligned(result, names) for result in (first, second)]
    convention = first.settings.convention

    def values(weights: list[FloatArray]) -> FloatArray:
        sums = {
            name: weights[0] @ tables[0][name] + weights[1] @ tables[1][name]
            for name in tables[0]
        }
        return rates(sums, convention)[measure]

    def difference(weights: FloatArray) -> FloatArray:
        nothing = np.zeros_like(weights)
        return values([weights, nothing]) - values([nothing, weights])

    def exchanged(swaps: FloatArray) -> FloatArray:
        return values([1.0 - swaps, swaps]) - values([swaps, 1.0 - swaps])

    rng = as_generator(random_state)
    everything, nothing = np.ones((1, len(names))), np.zeros((1, len(names)))
    return Comparison(
        measure,
        float(values([everything, nothing])[0]),
        float(values([nothing, everything])[0]),
        bootstrap(
            difference,
            len(names),
            method=method,
            level=level,
            n_samples=n_samples,
            random_state=rng,
        ),
        permutation_test(exchanged, len(names), n_samples=n_samples, random_state=rng),
    )


def permutation_test(
    statistic: Statistic,
    n: int,
    *,
    n_samples: int = 2000,
    random_state: RandomState = 0,
) -> float:
    """Two-sided p-value of a difference under exchanges of paired results.

    Parameters
    ----------
    statistic : callable
        From exchanges (1 where the pair is swapped) of shape (n_samples, n) to
        differences of shape (n_samples,).
    n : int
        Pairs. Up to 14, all exchanges are tried and the test is exact.
    n_samples : int
        Exchanges to be drawn otherwise.
    random_state : int, Generator or RandomState
        Seed.
    """
    observed = float(statistic(np.zeros((1, n)))[0])
    if not np.isfinite(observed):
        return float("nan")
    swaps: Iterable[IntArray]
    if n <= _EXACT:
        swaps = (rows[:, None] >> np.arange(n) & 1 for rows in _blocks(2**n, n))
        extra = 0
    else:
        rng = as_generator(random_state)
        blocks = _blocks(n_samples, n)
        swaps = (rng.integers(0, 2, size=(len(rows), n)) for rows in blocks)
        extra = 1  # the observed arrangement is one of those possible
    values = _values(statistic, swaps)
    # Sums in another order differ in the last bits; ties must stay ties.
    at_least = np.abs(values) >= abs(observed) - 1e-12
    return float((np.count_nonzero(at_least) + extra) / (len(values) + extra))


def _aligned(result: Evaluation, names: list[str]) -> dict[str, FloatArray]:
    """Columns of a result for all of `names`, 0 where it lacks one."""
    place = {name: at for at, name in enumerate(names)}
    rows = [place[name] for name in result.names]
    table = {}
    for name, column in result.columns.items():
        table[name] = np.zeros(len(names))
        table[name][rows] = column
    return table
