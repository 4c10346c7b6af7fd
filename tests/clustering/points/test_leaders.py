"""One point moves for all that are at its place."""

import numpy as np
import pytest

from sms_diar.clustering import KERNELS, BlurringMeanShift, MeanShift
from sms_diar.clustering.points._leaders import Leaders


def test_points_at_one_place_have_one_leader():
    leaders = Leaders(5)
    coords = np.array([[0.0, 1.0, 0.0, 2.0, 1.0], [0.0, 5.0, 0.0, 5.0, 6.0]])
    moving = leaders.join(coords, np.arange(5))
    assert moving.tolist() == [0, 1, 3, 4]  # the third is where the first is
    assert leaders.n_led(moving) == 5
    assert leaders.n_led(np.array([0])) == 2
    coords[:, [0, 1]] = 7.0
    coords[:, 2] = -9.0  # is not looked at: the first moves for the third
    assert leaders.join(coords, moving).tolist() == [0, 3, 4]
    assert leaders.spread(coords).tolist() == [[7, 7, 7, 2, 1], [7, 7, 7, 5, 6]]


def test_those_that_rest_are_not_joined_by_those_that_move():
    leaders = Leaders(3)
    coords = np.zeros((1, 3))
    assert leaders.join(coords, np.array([1, 2])).tolist() == [1]
    assert leaders.spread(np.array([4.0, 5.0, 6.0])).tolist() == [4.0, 5.0, 5.0]
    assert leaders.n_led(np.array([1])) == 2


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", [MeanShift(), BlurringMeanShift()], ids=str)
def test_runs_are_those_in_which_every_point_moves(model, kernel):
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((60, 2)), 1)[rng.integers(60, size=90)]
    model.set_params(kernel=kernel, bandwidth=1.3, record="states")
    plain = model.set_params(algorithm="plain").fit(X)
    states, steps = plain.history_.states, plain.n_steps_
    points, iterations = plain.resting_points_, plain.n_iter_
    model.set_params(algorithm="auto").fit(X)
    np.testing.assert_array_equal(model.resting_points_, points)
    np.testing.assert_array_equal(model.history_.states, states)
    assert (model.n_steps_, model.n_iter_) == (steps, iterations)
