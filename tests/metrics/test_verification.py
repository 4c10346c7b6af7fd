"""Error rates of scored pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import all_pairs, det_curve, equal_error_rate


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
