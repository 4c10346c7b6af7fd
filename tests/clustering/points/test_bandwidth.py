"""Bandwidth estimation."""

import numpy as np
import pytest

from sms_diar.clustering import estimate_bandwidth
from sms_diar.errors import InvalidParameterError


def test_is_the_distance_that_completes_the_share():
    # Six points on a line, share one half: the ball holds the point itself and
    # two more. Second neighbours lie at 2, 1, 1, 1, 1, 2: the median is 1.
    assert estimate_bandwidth(np.arange(6.0)[:, None], share=0.5) == 1.0


def test_grows_with_the_share():
    X = np.random.default_rng(0).standard_normal((200, 3))
    values = [estimate_bandwidth(X, share=share) for share in (0.05, 0.2, 0.5, 1.0)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_a_sample_stands_for_a_large_set():
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    small = estimate_bandwidth(X, max_points=1000)
    assert small == pytest.approx(estimate_bandwidth(X, max_points=20_000), rel=0.1)
    assert small == estimate_bandwidth(X, max_points=1000)  # seeded by default


@pytest.mark.parametrize(
    "X", [[[1.0, 2.0]], [[1.0], [1.0], [1.0]]], ids=["one", "equal"]
)
def test_any_value_will_do_for_coinciding_points(X):
    assert estimate_bandwidth(X) == 1.0


def test_distinct_points_decide_among_many_duplicates():
    X = np.array([[0.0]] * 50 + [[1.0], [2.0]])
    assert estimate_bandwidth(X) > 0.0


def test_refuses_a_share_outside_its_range():
    with pytest.raises(InvalidParameterError, match="estimate_bandwidth: share must"):
        estimate_bandwidth([[0.0], [1.0]], share=0)
