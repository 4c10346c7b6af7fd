"""Bootstrap confidence intervals and permutation tests over recordings.

Recordings are resampled as a whole, because errors within a recording are not
independent. A sample is a vector of weights (how often each recording is drawn), so
thousands of samples are one matrix product with the sums of the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from sms_diar._random import as_generator
from sms_diar._validation import check_choice, check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics.diarization.evaluation import Evaluation
from sms_diar.metrics.diarization.rates import RATES, rates
from sms_diar.types import FloatArray, IntArray, RandomState

IntervalMethod: TypeAlias = Literal["percentile", "bca"]
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""Function of weights of shape (n_samples, n) that returns shape (n_samples,)."""

INTERVAL_METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca")
_EXACT = 14  # maximum number of recordings for which all exchanges are tried
_AT_ONCE = 1 << 22  # weights in memory at a time; few enough to react to Ctrl-C


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a metric.

    Parameters
    ----------
    estimate : float
        Value of the metric on all recordings.
    low, high : float
        Lower and upper bound of the interval.
    level : float
        Nominal coverage of the interval, in (0, 1).
    method : str
        Method by which the bounds were computed.
    n_samples : int
        Number of bootstrap samples that were drawn.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n_samples: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two systems on the same recordings.

    Parameters
    ----------
    measure : str
        Name of the compared metric, one of `RATES`.
    first, second : float
        Pooled metric of each system.
    difference : Interval
        Metric of the first system minus that of the second, by paired bootstrap.
    p_value : float
        Two-sided p-value of a permutation test. Under the null hypothesis, the results
        of the two systems on a recording can be exchanged.
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
    """Compute a confidence interval of a statistic of n recordings, at least 2.

    `method` is "percentile" for percentiles of the values of the samples, or "bca" for
    percentiles corrected for bias and skewness (Efron 1987). Both are widened for small
    n (Hesterberg 2015). In simulations with 40 recordings at a level of 95 %, the
    coverage of percentiles was 92 to 94 %. The coverage of BCa was 91 to 93 % for one
    system, but only 89 to 91 % for a difference, for which its corrections are hard to
    estimate.
    """
    check_count("bootstrap", "n", n, least=2)
    check_count("bootstrap", "n_samples", n_samples, least=10)
    check_choice("bootstrap", "method", method, INTERVAL_METHODS)
    if not 0.0 < level < 1.0:
        problem = f"must be a number in (0, 1), got {level!r}"
        raise InvalidParameterError(problem, owner="bootstrap", parameter="level")
    rng = as_generator(random_state)
    even = np.full(n, 1.0 / n)
    values = _values(  # shape: (n_samples,)
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
    """Indices of samples of n recordings, in blocks of limited memory."""
    size = max(1, _AT_ONCE // n)
    for first in range(0, count, size):
        yield np.arange(first, min(first + size, count))


def _values(statistic: Statistic, samples: Iterable[IntArray]) -> FloatArray:
    """Evaluate the statistic on blocks of samples."""
    return np.concatenate([statistic(block.astype(np.float64)) for block in samples])


def _expanded(tail: float, n: int) -> float:
    """Widen the normal quantile of the lower tail for a small number of recordings.

    The variance of bootstrap samples is too small by the factor ``(n - 1) / n``, and
    quantiles of the normal distribution are smaller than quantiles of Student's t
    distribution. Hesterberg (2015) corrects percentiles for both.
    """
    normal, freedom = NormalDist(), n - 1
    z = normal.inv_cdf(tail)
    # Expand the quantile of t around the quantile of the normal distribution.
    t = z + (z**3 + z) / (4 * freedom)
    t += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return t * math.sqrt(n / (n - 1))


def _corrected(
    quantile: float, values: FloatArray, estimate: float, jackknife: FloatArray
) -> tuple[float, float]:
    """Correct tail probabilities for bias and acceleration.

    With few recordings the probability of the tail may underflow, so its quantile is
    passed instead.
    """
    normal = NormalDist()
    below = np.mean(values < estimate) + 0.5 * np.mean(values == estimate)
    half = 0.5 / len(values)
    bias = normal.inv_cdf(float(np.clip(below, half, 1.0 - half)))
    gap = np.nanmean(jackknife) - jackknife[np.isfinite(jackknife)]
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
    """Compute a confidence interval of a pooled metric by resampling recordings.

    Parameters
    ----------
    evaluation : Evaluation
        Scores of at least two recordings.
    measure : str, default="der"
        Name of the metric, one of `RATES`.
    method : {"percentile", "bca"}, default="percentile"
        Percentiles of the samples, or percentiles corrected for bias and skewness.
    level : float, default=0.95
        Nominal coverage of the interval, in (0, 1).
    n_samples : int, default=2000
        Number of bootstrap samples, at least 10.
    random_state : int, Generator or RandomState, default=0
        Seed or generator of the samples.
    """
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
        Results under the same settings. A recording without reference that only one
        of them has counts as empty for the other.
    measure : str, default="der"
        Name of the metric, one of `RATES`.
    method, level, n_samples, random_state
        Options of the interval of the difference, see `confidence_interval`.
    """
    check_choice("compare", "measure", measure, RATES)
    if first.settings != second.settings:
        problem = "first and second must be scored under the same settings"
        raise InvalidParameterError(problem, owner="compare")
    names = sorted({*first.names, *second.names})
    tables = [_aligned(result, names) for result in (first, second)]
    convention = first.settings.convention

    def values(weights: list[FloatArray]) -> FloatArray:
        # shape: (n_samples, n_recordings) @ (n_recordings,)
        sums = {
            name: weights[0] @ tables[0][name] + weights[1] @ tables[1][name]
            for name in tables[0]
        }
        return rates(sums, convention)[measure]

    return compare_values(
        values,
        len(names),
        measure,
        method=method,
        level=level,
        n_samples=n_samples,
        random_state=random_state,
    )


def compare_values(
    values: Callable[[list[FloatArray]], FloatArray],
    n: int,
    measure: str,
    *,
    n_samples: int = 2000,
    random_state: RandomState = 0,
    **options: Any,
) -> Comparison:
    """Compare two systems by a pooled metric of n recordings.

    `values` takes the weights of the recordings of each system, two arrays of shape
    (n_samples, n), and returns the metric of each sample, shape (n_samples,). The
    options are those of `bootstrap`.
    """

    def difference(weights: FloatArray) -> FloatArray:
        nothing = np.zeros_like(weights)
        return values([weights, nothing]) - values([nothing, weights])

    def exchanged(swaps: FloatArray) -> FloatArray:
        return values([1.0 - swaps, swaps]) - values([swaps, 1.0 - swaps])

    rng = as_generator(random_state)
    everything, nothing = np.ones((1, n)), np.zeros((1, n))
    return Comparison(
        measure,
        float(values([everything, nothing])[0]),
        float(values([nothing, everything])[0]),
        bootstrap(difference, n, n_samples=n_samples, random_state=rng, **options),
        permutation_test(exchanged, n, n_samples=n_samples, random_state=rng),
    )


def permutation_test(
    statistic: Statistic,
    n: int,
    *,
    n_samples: int = 2000,
    random_state: RandomState = 0,
) -> float:
    """Compute the two-sided p-value of a difference by exchanging paired results.

    `statistic` takes exchanges of shape (n_samples, n), 1 where the pair is swapped,
    and returns differences of shape (n_samples,). Up to 14 pairs, all exchanges are
    tried and the test is exact; otherwise `n_samples` random ones are.
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
        extra = 1  # the observed arrangement is also possible
    values = _values(statistic, swaps)
    # The tolerance keeps ties although sums in another order differ in the last bits.
    at_least = np.abs(values) >= abs(observed) - 1e-12
    return float((np.count_nonzero(at_least) + extra) / (len(values) + extra))


def _aligned(result: Evaluation, names: list[str]) -> dict[str, FloatArray]:
    """Align the columns of a result with `names`; missing recordings are 0."""
    row_of = {name: row for row, name in enumerate(names)}
    rows = [row_of[name] for name in result.names]
    table = {}
    for name, column in result.columns.items():
        table[name] = np.zeros(len(names))
        table[name][rows] = column
    return table
