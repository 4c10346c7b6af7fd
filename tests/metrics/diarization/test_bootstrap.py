"""Intervals and tests over recordings, and whether they keep their promise."""

import numpy as np
import pytest
from scipy import stats

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import compare, confidence_interval, score_diarization
from sms_diar.metrics.diarization import bootstrap as bootstrap_module
from sms_diar.metrics.diarization.bootstrap import (
    INTERVAL_METHODS,
    bootstrap,
    permutation_test,
)
from sms_diar.types import Segment, Turn


def ratio(errors, scored):
    return lambda weights: (weights @ errors) / (weights @ scored)


def system(shares, length=100.0):
    """One speaker per recording, of whom a share is missed."""
    ref, hyp = [], []
    for number, share in enumerate(shares):
        name = f"r{number:02d}"
        ref.append(Turn(Segment(name, 0.0, length), "A"))
        hyp.append(Turn(Segment(name, 0.0, round(length * (1 - share), 3)), "x"))
    return ref, hyp


def test_equal_recordings_give_an_interval_of_no_width():
    result = score_diarization(*system([0.2] * 6))
    for method in INTERVAL_METHODS:
        found = confidence_interval(result, method=method)
        assert found.low == pytest.approx(0.2)
        assert found.high == pytest.approx(0.2)


def test_percentiles_of_two_recordings_worked_by_hand():
    # DER 0 and 1, equal lengths: samples give 0, 1/2, 1 with chances 1/4, 1/2, 1/4
    errors, scored = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    found = bootstrap(ratio(errors, scored), 2, method="percentile", level=0.9)
    assert (found.estimate, found.low, found.high) == (0.5, 0.0, 1.0)
    narrow = bootstrap(ratio(errors, scored), 2, method="percentile", level=0.1)
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_the_seed_decides():
    result = score_diarization(*system(np.linspace(0.0, 0.5, 12)))
    first = confidence_interval(result, random_state=3)
    assert confidence_interval(result, random_state=3) == first
    assert confidence_interval(result, random_state=4) != first


def test_a_pooled_figure_of_weights_is_that_of_the_sample():
    ref, hyp = system([0.1, 0.4, 0.7])
    result = score_diarization(ref, hyp)
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
    # (0.4 + 0.4 + 0.7) / 3
    assert result.resampled(weights, "der") == pytest.approx([0.4, 0.5])


def test_exact_permutation_of_three_pairs_worked_by_hand():
    # differences 1, 2, 3: sum 6; of 8 sign patterns only +++ and --- reach it
    gaps = np.array([1.0, 2.0, 3.0])
    p = permutation_test(lambda swaps: (1.0 - 2.0 * swaps) @ gaps, 3)
    assert p == 2 / 8


def test_drawn_permutations_count_what_was_observed():
    gaps = np.ones(20)
    p = permutation_test(lambda swaps: (1.0 - 2.0 * swaps) @ gaps, 20, n_samples=999)
    assert p == 1 / 1000


def test_comparing_a_system_with_itself():
    result = score_diarization(*system([0.1, 0.2, 0.3]))
    found = compare(result, result)
    assert (found.difference.estimate, found.p_value) == (0.0, 1.0)


def test_different_settings_cannot_be_compared():
    ref, hyp = system([0.1, 0.2])
    one, other = score_diarization(ref, hyp), score_diarization(ref, hyp, collar=0.25)
    with pytest.raises(InvalidParameterError, match="under the same settings"):
        compare(one, other)


@pytest.mark.parametrize(
    ("shares", "options", "message"),
    [
        ([0.1, 0.2], {"measure": "wer"}, "measure must be one of"),
        ([0.1, 0.2], {"level": 95}, r"level must be a number in \(0"),
        ([0.1], {}, "n must be a whole number >= 2"),
    ],
)
def test_wrong_options_are_refused(shares, options, message):
    result = score_diarization(*system(shares))
    with pytest.raises(InvalidParameterError, match=message):
        confidence_interval(result, **options)


def coverage(population, n, trials, method, seed):
    """Share of samples whose interval holds the difference of the population."""
    first, second, scored = population
    truth = (first.sum() - second.sum()) / scored.sum()
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(trials):
        drawn = rng.integers(0, len(scored), size=n)
        statistic = ratio(first[drawn] - second[drawn], scored[drawn])
        found = bootstrap(statistic, n, method=method, n_samples=600, random_state=rng)
        hits += found.low <= truth <= found.high
    return hits / trials


def skewed_population():
    """Recordings of lognormal length with skewed, related error rates."""
    rng = np.random.default_rng(1)
    scored = rng.lognormal(6.0, 0.6, 4000)
    hardness = rng.beta(2.0, 10.0, 4000)
    first = scored * np.clip(hardness * rng.lognormal(0.0, 0.4, 4000), 0, 1)
    second = scored * np.clip(hardness * rng.lognormal(0.1, 0.4, 4000), 0, 1)
    return first, second, scored


def test_intervals_of_a_difference_cover_as_often_as_they_say():
    share = coverage(skewed_population(), 40, 600, "percentile", seed=2)
    assert 0.90 <= share <= 0.97


@pytest.mark.parametrize("method", INTERVAL_METHODS)
def test_intervals_of_one_system_cover_as_often_as_they_say(method):
    first, second, scored = skewed_population()
    share = coverage((first, 0.0 * second, scored), 40, 600, method, seed=2)
    assert 0.90 <= share <= 0.97


def test_bca_agrees_with_scipy(monkeypatch):
    # Without our widening for small n, and but for the draws.
    plain = lambda tail, n: stats.norm.ppf(tail)  # noqa: E731
    monkeypatch.setattr(bootstrap_module, "_expanded", plain)
    rng = np.random.default_rng(0)
    errors, scored = rng.lognormal(0.0, 1.0, 40), rng.lognormal(1.0, 0.5, 40)
    ours = bootstrap(ratio(errors, scored), 40, method="bca", n_samples=20000)
    theirs = stats.bootstrap(
        (errors, scored),
        lambda e, s, axis=-1: e.sum(axis) / s.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=20000,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


@pytest.mark.parametrize("n", [3, 9, 20])
def test_the_size_of_blocks_does_not_change_what_is_drawn(monkeypatch, n):
    rng = np.random.default_rng(n)
    errors, scored = rng.integers(1, 50, n) * 1.0, rng.integers(50, 90, n) * 1.0
    statistic = ratio(errors, scored)  # sums of whole numbers, exact in any order

    def swapped(swaps):
        return (1.0 - 2.0 * swaps) @ (errors - errors.mean().round())

    found = []
    for at_once in (1 << 22, 7 * n, 1):
        monkeypatch.setattr(bootstrap_module, "_AT_ONCE", at_once)
        intervals = [bootstrap(statistic, n, method=one) for one in INTERVAL_METHODS]
        p_value = bootstrap_module.permutation_test(swapped, n)
        found.append((intervals, p_value))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("rates", [[0.1, 0.2], [0.2, 0.1], [0.3, 0.3], [0.1, 0.1, 0.9]])
def test_the_widest_bca_intervals_of_few_recordings_are_those_of_the_samples(
    rates, level
):
    result = score_diarization(*system(rates))
    found = confidence_interval(result, method="bca", level=level)
    assert min(rates) - 1e-9 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= max(rates) + 1e-9
    if len(rates) == 2:
        assert (found.low, found.high) == pytest.approx((min(rates), max(rates)))
