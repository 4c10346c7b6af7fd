"""Error rates of scored pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import (
    NIST_COSTS,
    DetectionCost,
    all_pairs,
    det_curve,
    equal_error_rate,
    log_likelihood_ratio_cost,
)


def test_every_threshold_of_four_pairs_by_hand():
    # same: 2, 4; different: 1, 3. Threshold 1 accepts all, 2 rejects the 1, ...
    curve = det_curve([4.0, 1.0, 3.0, 2.0], [True, False, False, True])
    assert curve.thresholds.tolist() == [1.0, 2.0, 3.0, 4.0, np.inf]
    assert curve.miss.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0]
    assert curve.false_alarm.tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]
    assert curve.eer == 0.5


@pytest.mark.parametrize(
    ("same", "different", "eer"),
    [
        ([3, 4], [1, 2], 0.0),  # a threshold between 2 and 3 makes no error
        ([1, 2], [3, 4], 1.0),  # upside down
        ([5, 5], [5], 0.5),  # equal scores: a coin
        # From (miss 0, fa 1) over (0, 2/3), (1/4, 2/3), (1/4, 1/3) to (1/2, 1/3):
        # the last step crosses at miss = fa = 1/3.
        ([2, 4, 5, 6], [1, 3, 4.5], 1 / 3),
        # At 3 two pairs of either kind tie: (miss 0, fa 1/2) -> (1/2, 0). On that
        # line miss = fa at 1/4, in whatever order the tied pairs are listed.
        ([3, 4], [3, 1], 0.25),
    ],
    ids=["separable", "reversed", "constant", "steps", "tie"],
)
def test_equal_error_rate_by_hand(same, different, eer):
    scores = np.array([*same, *different], dtype=float)
    target = np.array([True] * len(same) + [False] * len(different))
    assert equal_error_rate(scores, target) == pytest.approx(eer, abs=1e-15)
    assert equal_error_rate(scores[::-1], target[::-1]) == pytest.approx(eer, abs=1e-15)


def test_two_gaussians_have_the_rate_of_the_normal_law():
    # Means 2 apart, unit variance: the rates meet halfway, at P(z > 1) = .158655.
    z = np.linspace(0.5 / 20_000, 1 - 0.5 / 20_000, 20_000)
    from scipy.stats import norm

    quantiles = norm.ppf(z)
    scores = np.concatenate([quantiles + 2.0, quantiles])
    same = np.repeat([True, False], 20_000)
    assert equal_error_rate(scores, same) == pytest.approx(norm.sf(1.0), abs=1 / 20_000)


pairs = st.lists(
    st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=40
).filter(lambda rows: len({same for _, same in rows}) == 2)


@given(pairs)
def test_rates_are_monotone_and_meet_at_the_eer(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    curve = det_curve(scores, same)
    assert (np.diff(curve.miss) >= 0.0).all()
    assert (np.diff(curve.false_alarm) <= 0.0).all()
    assert (curve.miss[0], curve.false_alarm[0]) == (0.0, 1.0)
    assert (curve.miss[-1], curve.false_alarm[-1]) == (1.0, 0.0)
    gap = curve.miss - curve.false_alarm
    below, above = curve.miss[gap <= 0].max(), curve.miss[gap >= 0].min()
    assert below - 1e-12 <= curve.eer <= above + 1e-12


@given(pairs)
def test_only_the_order_of_scores_matters(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    rate = equal_error_rate(scores, same)
    assert equal_error_rate(np.exp(scores / 3.0), same) == rate
    # Turning the scores and the kinds over changes nothing either.
    assert equal_error_rate(-scores, ~same) == pytest.approx(rate, abs=1e-12)


def test_each_two_segments_are_paired_once():
    matrix = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    scores, same = all_pairs(matrix, ["ann", "bob", "ann"])
    assert scores.tolist() == [1.0, 2.0, 3.0]
    assert same.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("scores", "same", "message"),
    [
        ([1.0], [True, False], "scores and same must be two lists of equal length"),
        ([1.0, 2.0], [True, True], "same must hold pairs of both kinds, got 2 of one"),
        ([1.0, np.nan], [True, False], "scores must be finite, got nan at position 1"),
        ([1.0, 2.0], [2, 0], "same must be true or false for each pair"),
    ],
    ids=["lengths", "one kind", "nan", "not boolean"],
)
def test_wrong_arguments_are_named(scores, same, message):
    with pytest.raises(InvalidParameterError, match=f"^det_curve: {message}"):
        det_curve(scores, same)


def slow_rates(scores, same, threshold):
    """Misses and false alarms at a threshold, by counting."""
    accepted = [score >= threshold for score in scores]
    kinds = list(zip(accepted, same, strict=True))
    miss = kinds.count((False, True)) / sum(same)
    return miss, kinds.count((True, False)) / (len(same) - sum(same))


def slow_min_cost(scores, same, prior, c_miss, c_fa):
    """Minimum cost by its definition: the cost at each threshold."""
    costs = []
    for threshold in [*scores, math.inf]:
        miss, false_alarm = slow_rates(scores, same, threshold)
        costs.append(c_miss * prior * miss + c_fa * (1 - prior) * false_alarm)
    return min(costs) / min(c_miss * prior, c_fa * (1 - prior))


def slow_actual_cost(scores, same, prior, c_miss, c_fa):
    """Cost of decisions with minimum expected cost, trial by trial."""
    misses = false_alarms = 0
    for score, target in zip(scores, same, strict=True):
        odds = math.exp(score) * prior / (1 - prior)
        accepts = c_fa <= c_miss * odds
        misses += target and not accepts
        false_alarms += accepts and not target
    n_same = sum(same)
    cost = c_miss * prior * misses / n_same
    cost += c_fa * (1 - prior) * false_alarms / (len(same) - n_same)
    return cost / min(c_miss * prior, c_fa * (1 - prior))


def slow_hull_eer(scores, same):
    """Largest minimum over priors: the hull touches the diagonal at this rate.

    For a prior p the least of p * miss + (1 - p) * false_alarm is attained on the
    hull; the equal error rate is its maximum over p (minimax).
    """
    points = [slow_rates(scores, same, t) for t in [*scores, math.inf]]

    def least(p):
        return min(p * miss + (1 - p) * fa for miss, fa in points)

    low, high = 0.0, 1.0  # ternary search of a concave function
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if least(left) < least(right):
            low = left
        else:
            high = right
    return least((low + high) / 2)


def slow_min_cllr(scores, same):
    """Pool adjacent violators, then add up the bits trial by trial."""
    pools = []
    for score in sorted(set(scores)):
        counts = [0, 0]
        for other, target in zip(scores, same, strict=True):
            counts[target] += other == score
        pools.append(counts)
        # Shares of targets a / (a + b) must rise.
        while len(pools) > 1 and (
            pools[-2][1] * sum(pools[-1]) >= pools[-1][1] * sum(pools[-2])
        ):
            last = pools.pop()
            pools[-1] = [pools[-1][0] + last[0], pools[-1][1] + last[1]]
    n_same = sum(same)
    n_other = len(same) - n_same
    bits = 0.0
    for others, targets in pools:
        if targets:
            ratio = (targets / n_same) / (others / n_other) if others else math.inf
            bits += targets / n_same * math.log2(1 + 1 / ratio)
        if others:
            ratio = (targets / n_same) / (others / n_other)
            bits += others / n_other * math.log2(1 + ratio)
    return bits / 2


@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("seed", range(4))
def test_metrics_agree_with_their_definitions(seed, digits):
    rng = np.random.default_rng(seed)
    same = rng.random(120) < 0.3
    scores = rng.standard_normal(120) * 2.0 + 2.5 * same
    scores = scores if digits is None else np.round(scores, digits)
    values, kinds = scores.tolist(), same.tolist()
    costs = [*NIST_COSTS.values(), DetectionCost((0.3, 0.7), 2.0, 5.0)]
    curve = det_curve(scores, same)
    for cost in costs:
        expected = [
            slow(values, kinds, prior, cost.c_miss, cost.c_fa)
            for slow in (slow_min_cost, slow_actual_cost)
            for prior in cost.p_target
        ]
        n = len(cost.p_target)
        got = cost.min_of(curve), cost.actual_of(curve)
        means = sum(expected[:n]) / n, sum(expected[n:]) / n
        assert got == pytest.approx(means, abs=1e-9)
    assert curve.hull.eer == pytest.approx(slow_hull_eer(values, kinds), abs=1e-9)
    assert curve.min_cllr == pytest.approx(slow_min_cllr(values, kinds), abs=1e-9)
    bits = [
        math.log2(1 + math.exp(-s if target else s)) / kinds.count(target)
        for s, target in zip(values, kinds, strict=True)
    ]
    cllr = log_likelihood_ratio_cost(scores, same)
    assert cllr == pytest.approx(sum(bits) / 2, abs=1e-9)


def test_nist_costs_by_hand():
    # Targets 1 and 3, non-targets 0 and 2. In 2008 a miss costs .1 and a false alarm
    # .99, divided by .1. Threshold 3 misses one of two: .5. Threshold 1 accepts one of
    # two non-targets: 9.9 * .5 = 4.95.
    curve = det_curve([1.0, 3.0, 0.0, 2.0], [True, True, False, False])
    cost = NIST_COSTS["sre08"]
    assert cost.thresholds == pytest.approx([math.log(9.9)])  # 2.29
    assert cost.min_of(curve) == pytest.approx(0.5)
    assert cost.actual_of(curve) == pytest.approx(0.5)
    assert DetectionCost((0.5,)).thresholds == (0.0,)
    # At threshold 0 all are accepted: miss 0, false alarm 1.
    assert DetectionCost((0.5,)).actual_of(curve) == pytest.approx(1.0)
    assert NIST_COSTS["sre10"].thresholds == pytest.approx([math.log(999)])
    assert NIST_COSTS["sre16"].thresholds == pytest.approx(
        [math.log(99), math.log(199)]
    )


def test_the_hull_drops_points_above_its_edges():
    # (fa, miss): (1, 0), (1/2, 0), (1/2, 1/2), (0, 1/2), (0, 1). The corner (1/2, 1/2)
    # is above the edge from (1/2, 0) to (0, 1/2), which the diagonal meets at 1/4.
    curve = det_curve([4.0, 1.0, 3.0, 2.0], [True, False, False, True])
    hull = curve.hull
    assert hull.false_alarm.tolist() == [1.0, 0.5, 0.0, 0.0]
    assert hull.miss.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert hull.thresholds.tolist() == [1.0, 2.0, 4.0, np.inf]
    assert (curve.eer, hull.eer) == (0.5, 0.25)
    # Pools {1}, {2, 3}, {4}; only the middle one costs: half of each kind, one bit.
    assert curve.min_cllr == pytest.approx(0.5)


def test_groups_weigh_the_same_however_many_pairs_they_have():
    # Group a: its target is rejected at 1; b: all three are accepted: (1 + 0) / 2.
    scores = [0.0, 2.0, 2.0, 2.0, 1.5, 0.5, 0.5]
    same = [True, True, True, True, False, False, False]
    groups = ["a", "b", "b", "b", "a", "b", "b"]
    curve = det_curve(scores, same, groups)
    point = int(np.searchsorted(curve.thresholds, 1.0))
    assert (curve.miss[point], curve.false_alarm[point]) == (0.5, 0.5)
    # Cllr is then the mean of those of the groups.
    per_group = [
        log_likelihood_ratio_cost(np.array(scores)[rows], np.array(same)[rows])
        for rows in ([0, 4], [1, 2, 3, 5, 6])
    ]
    together = log_likelihood_ratio_cost(scores, same, groups)
    assert together == pytest.approx(np.mean(per_group), abs=1e-12)
    with pytest.raises(InvalidParameterError) as caught:
        det_curve(scores, same, ["a"])
    assert caught.value.parameter == "groups"


@given(pairs)
def test_one_group_changes_nothing(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    plain, grouped = det_curve(scores, same), det_curve(scores, same, ["g"] * len(same))
    assert grouped.miss == pytest.approx(plain.miss, abs=1e-12)
    assert grouped.false_alarm == pytest.approx(plain.false_alarm, abs=1e-12)


@given(pairs)
def test_minima_are_below_actual_values_and_below_no_system(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    curve, cllr = det_curve(scores, same), log_likelihood_ratio_cost(scores, same)
    assert -1e-12 <= curve.min_cllr <= min(cllr, 1.0) + 1e-12
    assert curve.hull.eer <= min(curve.eer, 0.5) + 1e-12
    for cost in NIST_COSTS.values():
        actual = cost.actual_of(curve)
        assert -1e-12 <= cost.min_of(curve) <= min(actual, 1.0) + 1e-12


@given(pairs)
def test_minima_do_not_change_under_increasing_maps(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    before = det_curve(scores, same)
    after = det_curve(np.exp(scores / 3.0) - 7.0, same)
    assert (after.eer, after.hull.eer) == (before.eer, before.hull.eer)
    assert after.min_cllr == before.min_cllr
    for cost in NIST_COSTS.values():
        assert cost.min_of(after) == cost.min_of(before)


@given(pairs)
def test_the_hull_is_convex_and_below_the_curve(rows):
    scores, same = (np.array(column) for column in zip(*rows, strict=True))
    curve = det_curve(scores, same)
    hull = curve.hull
    below = np.interp(curve.false_alarm, hull.false_alarm[::-1], hull.miss[::-1])
    at_hull = np.isin(curve.thresholds, hull.thresholds)
    # On vertical edges there are several misses for one rate of false alarms.
    assert (below[~at_hull] <= curve.miss[~at_hull] + 1e-12).all()
    right, up = -np.diff(hull.false_alarm), np.diff(hull.miss)
    turns = right[:-1] * up[1:] - up[:-1] * right[1:]
    assert (turns >= -1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [(((),), "p_target"), (((0.0,),), "p_target"), (((0.5,), -1.0), "c_miss")],
)
def test_impossible_costs_are_refused(arguments, parameter):
    with pytest.raises(InvalidParameterError) as caught:
        DetectionCost(*arguments)
    assert caught.value.parameter == parameter
