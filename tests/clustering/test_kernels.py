"""Compiled loops against the NumPy reference, to the last bit where promised."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sms_diar.clustering import (
    KERNELS,
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
    _kernels,
    _reference,
)
from sms_diar.clustering import stochastic as stochastic_module

SHAPES = [(1, 1), (2, 1), (60, 1), (60, 2), (40, 3), (30, 9), (20, 17)]


def agree(kernel, got, want):
    if kernel == "gaussian":  # exp comes from two libraries
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_move_equals_the_reference(kernel, shape):
    points = np.random.default_rng(7).standard_normal(shape)
    bandwidth = np.sqrt(shape[1])
    queries = np.array(points.T, order="C")
    lengths = np.zeros(shape[0])
    _kernels.shift_points(
        queries,
        np.arange(shape[0]),
        np.array(points.T, order="C"),
        bandwidth,
        KERNELS.index(kernel),
        lengths,
    )
    moves = [_reference.move(x, points, bandwidth, kernel) for x in points]
    agree(kernel, queries.T, points + moves)
    agree(kernel, lengths, [_reference.length(m) for m in moves])


def test_a_query_without_neighbours_stays():
    queries = np.array([[5.0]])
    lengths = np.ones(1)
    _kernels.shift_points(queries, np.arange(1), np.zeros((1, 3)), 1.0, 0, lengths)
    assert (queries[0, 0], lengths[0]) == (5.0, 0.0)
    assert _reference.move(np.array([5.0]), np.zeros((3, 1)), 1.0, "uniform") == 0.0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_stochastic_states_equal_the_reference(kernel, shape):
    rng = np.random.default_rng(11)
    points = rng.standard_normal(shape)
    draws = rng.integers(shape[0], size=300)
    bandwidths = rng.uniform(0.5, 1.5, 300) * np.sqrt(shape[1])
    coords = np.array(points.T, order="C")
    last_move = np.full(shape[0], np.inf)
    steps = _kernels.stochastic_steps(
        coords, draws, bandwidths, KERNELS.index(kernel), 1e-6, last_move, shape[0]
    )
    state, want_steps = _reference.stochastic_mean_shift(
        points, draws, bandwidths, kernel, 1e-6, shape[0]
    )
    agree(kernel, coords.T, state)
    assert steps == want_steps


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_objective_equals_the_reference(kernel, shape):
    points = np.random.default_rng(13).standard_normal(shape)
    coords = np.array(points.T, order="C")
    got = _kernels.objective(coords, 1.3, KERNELS.index(kernel))
    want = _reference.objective(points, 1.3, kernel)
    assert got == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_are_minus_the_slope_of_the_profile(kernel):
    from sms_diar.clustering.profiles import SLOPE

    t = np.linspace(0.01, 0.98, 50)
    slope = (
        _reference.profile(kernel, t + 1e-6) - _reference.profile(kernel, t - 1e-6)
    ) / 2e-6
    weight = SLOPE[kernel] * _reference.weight(kernel, t)
    np.testing.assert_allclose(weight, -slope, rtol=1e-6, atol=1e-8)
    assert _reference.profile(kernel, np.array([1.0, 2.0])).tolist() == [0.0, 0.0]


# The estimators scale by a power of two, which changes no digit: their states
# are those of the reference on the data as they are.
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [0.3, 0.9, 5.0])
def test_estimators_end_where_the_reference_ends(kernel, bandwidth):
    X = np.random.default_rng(17).standard_normal((25, 2))
    ms = MeanShift(bandwidth=bandwidth, kernel=kernel).fit(X)
    want = _reference.mean_shift(X, bandwidth, kernel, 1e-6 * bandwidth, 1000)
    agree(kernel, ms.resting_points_, want)
    bms = BlurringMeanShift(bandwidth=bandwidth, kernel=kernel).fit(X)
    want = _reference.blurring_mean_shift(X, bandwidth, kernel, 1e-6 * bandwidth, 1000)
    agree(kernel, bms.resting_points_, want)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_seed_defines_the_stochastic_states(kernel):
    X = np.random.default_rng(19).standard_normal((25, 2))
    sms = StochasticMeanShift(bandwidth=0.9, kernel=kernel, random_state=4).fit(X)
    draws = np.random.default_rng(4).integers(25, size=sms.n_steps_ + 100)
    want, steps = _reference.stochastic_mean_shift(
        X, draws, np.full(len(draws), 0.9), kernel, 0.9e-6, 25
    )
    assert sms.n_steps_ == steps
    agree(kernel, sms.resting_points_, want)


def test_states_do_not_depend_on_how_draws_are_chunked(monkeypatch):
    X = np.random.default_rng(23).standard_normal((50, 2))
    whole = StochasticMeanShift(bandwidth=0.9, random_state=1).fit(X)
    doubly = DoublyStochasticMeanShift(bandwidth=(0.6, 1.2), random_state=1).fit(X)
    monkeypatch.setattr(stochastic_module, "_CHUNK", 7)
    chunked = StochasticMeanShift(bandwidth=0.9, random_state=1).fit(X)
    np.testing.assert_array_equal(whole.resting_points_, chunked.resting_points_)
    chunked = DoublyStochasticMeanShift(bandwidth=(0.6, 1.2), random_state=1).fit(X)
    np.testing.assert_array_equal(doubly.resting_points_, chunked.resting_points_)


def test_doubly_stochastic_with_one_bandwidth_is_stochastic():
    X = np.random.default_rng(29).standard_normal((50, 2))
    sms = StochasticMeanShift(bandwidth=0.9, random_state=1).fit(X)
    for bandwidth in (0.9, (0.9, 0.9), [0.9, 0.9]):
        dsms = DoublyStochasticMeanShift(bandwidth=bandwidth, random_state=1).fit(X)
        np.testing.assert_array_equal(sms.resting_points_, dsms.resting_points_)


def test_indices_are_drawn_with_replacement():
    # A shuffled sweep would visit all ten points in ten steps; ten draws with
    # replacement do so with probability 10!/10**10 = 0.0004 only.
    X = np.arange(10.0)[:, None] * 10
    model = StochasticMeanShift(bandwidth=1.0, max_steps=10)
    rested = []
    for seed in range(200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rested.append(model.set_params(random_state=seed).fit(X).converged_)
    assert np.mean(rested) < 0.02
