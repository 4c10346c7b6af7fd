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
)
from sms_diar.clustering.points import _kernels, _reference
from sms_diar.clustering.points._lattice import Lattice, weight_levels

pytestmark = pytest.mark.compiled

SHAPES = [(1, 1), (2, 1), (60, 1), (60, 2), (40, 3), (30, 9), (20, 17)]


def whole(shape, seed):
    """Points on a lattice of a thousand million units for each standard deviation."""
    rng = np.random.default_rng(seed)
    return np.rint(2.0**30 * rng.standard_normal(shape))


def transposed(points):
    return np.array(points.T, order="C")


def shift_points(queries, data, bandwidth, kernel, lengths):
    """Move all queries once, in place; the data stay where they are."""
    m, n = queries.shape[1], data.shape[1]
    _kernels.move_plainly(
        queries,
        data,
        np.ones(n),
        np.arange(m),
        np.full(m, bandwidth),
        KERNELS.index(kernel),
        weight_levels(n),
        0.0,
        lengths,
        0,
        1,
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_move_equals_the_reference(kernel, shape):
    points = whole(shape, 7)
    bandwidth = 2.0**30 * np.sqrt(shape[1])
    queries = transposed(points)
    lengths = np.zeros(shape[0])
    shift_points(queries, transposed(points), bandwidth, kernel, lengths)
    moves = [_reference.move(x, points, bandwidth, kernel) for x in points]
    np.testing.assert_array_equal(queries.T, points + moves)
    np.testing.assert_array_equal(lengths, [_reference.length(m) for m in moves])


def test_a_move_by_hand():
    # Neighbours of 0 within 100: 0, 30 and 60, not 100; their mean is 30.
    points = np.array([[0.0], [30.0], [60.0], [100.0]])
    assert _reference.move(points[0], points, 100.0, "uniform").tolist() == [30.0]
    # Biweight: 1, 1 - .09 and 1 - .36 in steps of 2**-16: 65536, 59638, 41943. The
    # mean (59638 * 30 + 41943 * 60) / 167117 = 25.76... is rounded to the lattice.
    assert _reference.move(points[0], points, 100.0, "biweight").tolist() == [26.0]


def test_a_query_without_neighbours_stays():
    queries = np.array([[5.0]])
    lengths = np.ones(1)
    shift_points(queries, np.zeros((1, 3)), 1.0, "uniform", lengths)
    assert (queries[0, 0], lengths[0]) == (5.0, 0.0)
    assert _reference.move(np.array([5.0]), np.zeros((3, 1)), 1.0, "uniform") == 0.0


def test_neighbours_whose_weights_round_to_nothing_do_not_pull():
    # At 99999 of 100000 the biweight is 2e-5 of its peak, the quadweight 8e-15.
    points = np.array([[99999.0]])
    x = np.zeros(1)
    assert _reference.move(x, points, 1e5, "biweight").tolist() == [99999.0]
    assert _reference.move(x, points, 1e5, "quadweight").tolist() == [0.0]
    lengths = np.ones(1)
    queries = np.zeros((1, 1))
    shift_points(queries, points, 1e5, "quadweight", lengths)
    assert (queries[0, 0], lengths[0]) == (0.0, 0.0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_stochastic_states_equal_the_reference(kernel, shape):
    points = whole(shape, 11)
    rng = np.random.default_rng(11)
    draws = rng.integers(shape[0], size=300)
    bandwidths = 2.0**30 * rng.uniform(0.5, 1.5, 300) * np.sqrt(shape[1])
    coords = transposed(points)
    steps, resting = _kernels.move_plainly(
        coords,
        coords,
        np.ones(shape[0]),
        draws,
        bandwidths,
        KERNELS.index(kernel),
        weight_levels(shape[0]),
        1e3,
        last_move := np.full(shape[0], np.inf),
        0,
        shape[0],
    )
    state, want_steps = _reference.stochastic_mean_shift(
        points, draws, bandwidths, kernel, 1e3, shape[0]
    )
    np.testing.assert_array_equal(coords.T, state)
    assert steps == want_steps
    assert resting == np.count_nonzero(last_move < 1e3)


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
    from sms_diar.clustering.points.profiles import SLOPE

    t = np.linspace(0.01, 0.98, 50)
    slope = (
        _reference.profile(kernel, t + 1e-6) - _reference.profile(kernel, t - 1e-6)
    ) / 2e-6
    weight = SLOPE[kernel] * _reference.weight(kernel, t)
    np.testing.assert_allclose(weight, -slope, rtol=1e-6, atol=1e-8)
    assert _reference.profile(kernel, np.array([1.0, 2.0])).tolist() == [0.0, 0.0]


def on_lattice(X, bandwidth):
    lattice = Lattice.around(X, bandwidth)
    points = lattice.place(X).T
    return points, lattice.measure(bandwidth), lattice


def resting(points, start, lattice, X):
    """Data units, points that never moved being where they were."""
    restored = lattice.restore(points)
    stayed = np.all(points == start, axis=1)
    restored[stayed] = X[stayed]
    return restored


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [0.3, 0.9, 5.0])
def test_estimators_end_where_the_reference_ends(kernel, bandwidth):
    X = np.random.default_rng(17).standard_normal((25, 2))
    points, h, lattice = on_lattice(X, bandwidth)
    ms = MeanShift(bandwidth=bandwidth, kernel=kernel).fit(X)
    want = _reference.mean_shift(points, h, kernel, 1e-6 * h, 1000)
    np.testing.assert_array_equal(ms.resting_points_, resting(want, points, lattice, X))
    bms = BlurringMeanShift(bandwidth=bandwidth, kernel=kernel).fit(X)
    want = _reference.blurring_mean_shift(points, h, kernel, 1e-6 * h, 1000)
    np.testing.assert_array_equal(
        bms.resting_points_, resting(want, points, lattice, X)
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_seed_defines_the_stochastic_states(kernel):
    X = np.random.default_rng(19).standard_normal((25, 2))
    sms = StochasticMeanShift(bandwidth=0.9, kernel=kernel, random_state=4).fit(X)
    draws = np.random.default_rng(4).integers(25, size=sms.n_steps_ + 100)
    points, h, lattice = on_lattice(X, 0.9)
    want, steps = _reference.stochastic_mean_shift(
        points, draws, np.full(len(draws), h), kernel, 1e-6 * h, 25
    )
    assert sms.n_steps_ == steps
    np.testing.assert_array_equal(
        sms.resting_points_, resting(want, points, lattice, X)
    )


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
