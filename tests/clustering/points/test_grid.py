"""Groups of points change no result: states equal the reference to the last bit."""

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone

from sms_diar.clustering import (
    KERNELS,
    BinnedStochasticMeanShift,
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.clustering.points import _grid, _reference
from sms_diar.clustering.points._grid import Grid
from sms_diar.clustering.points._kernels import move_plainly
from sms_diar.clustering.points._lattice import Lattice, weight_levels
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.gaussians import PAPER_MEANS, draw_gaussians

pytestmark = pytest.mark.compiled

seeds = st.integers(0, 2**32 - 1)
KINDS = ["spread", "clumps", "equal", "borders", "line", "outliers", "diagonal"]


@st.composite
def problems(draw, max_dims=3):
    """Lattice points, a bandwidth and a generator; many kinds of data and scales."""
    d = draw(st.integers(1, max_dims))
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(KINDS))
    h = draw(st.sampled_from([1e-3, 0.3, 1.0, 3.0, 50.0]))
    X = rng.standard_normal((n, d))
    if kind == "clumps":
        X = 3.0 * X[rng.integers(n, size=n) // 8] + 10.0 ** rng.uniform(-8, -1) * X
    elif kind == "equal":
        X = X[rng.integers(n, size=n) // 4]
    elif kind == "borders":  # multiples of the side of the finest cells, some negative
        X = rng.integers(-20, 21, size=(n, d)) * (h / 8.0)
    elif kind == "line":
        X[:, 1:] = 0.0
    elif kind == "outliers":
        X[rng.random(n) < 0.2] *= 10.0 ** rng.uniform(2, 12)
    elif kind == "diagonal":
        X = np.repeat(h * 0.4 * np.arange(n)[:, None], d, axis=1)
    scale = draw(st.sampled_from([1e-200, 1.0, 1e200]))
    lattice = Lattice.around(X * scale, h * scale)
    return lattice.place(X * scale), lattice.measure(h * scale), rng


def walk(coords, h, draws, bandwidths, weights=None, plain=False):
    """Walk along the draws; return the state, the steps and the last moves."""
    state = coords.copy()
    n = state.shape[1]
    weights = np.ones(n) if weights is None else weights
    lengths = np.full(n, np.inf)
    rest = (draws, bandwidths)
    if plain:
        rest = (state, weights, *rest, 0, 1.0)
        steps, resting = move_plainly(state, *rest, 1e-6 * h, lengths, 0, n)
    else:
        grid = Grid(state, weights, h)
        steps, resting = grid.move(state, *rest, 1e-6 * h, lengths, 0, n)
    assert resting == np.count_nonzero(lengths < 1e-6 * h)
    return state, steps, lengths


@given(problems(), st.floats(1.0, 2.5))
def test_stochastic_states_are_those_of_the_reference(problem, longest):
    coords, h, rng = problem
    n = coords.shape[1]
    draws = rng.integers(n, size=200)
    bandwidths = rng.uniform(h, longest * h, 200)
    want, want_steps = _reference.stochastic_mean_shift(
        coords.T, draws, bandwidths, "uniform", 1e-6 * h, n
    )
    for plain in (False, True):
        state, steps, _ = walk(coords, h, draws, bandwidths, plain=plain)
        np.testing.assert_array_equal(state.T, want)
        assert steps == want_steps


@given(problems())
def test_one_move_of_all_points_is_that_of_the_reference(problem):
    coords, h, _ = problem
    n = coords.shape[1]
    moves = [_reference.move(x, coords.T, h, "uniform") for x in coords.T]
    state, lengths = coords.copy(), np.zeros(n)
    grid = Grid(coords, np.ones(n), h)
    grid.move(state, np.arange(n), np.full(n, h), 0.0, lengths, 0, 1)
    np.testing.assert_array_equal(state.T, coords.T + moves)
    np.testing.assert_array_equal(lengths, [_reference.length(m) for m in moves])


@given(problems(), st.floats(-4.0, 4.0))
def test_queries_anywhere_move_as_in_the_reference(problem, offset):
    coords, h, rng = problem
    n = coords.shape[1]
    queries = np.rint(coords + offset * h * rng.standard_normal(coords.shape))
    want = [x + _reference.move(x, coords.T, h, "uniform") for x in queries.T]
    grid = Grid(coords, np.ones(n), h)
    grid.move(queries, np.arange(n), np.full(n, h), 0.0, np.zeros(n), 0, 1)
    np.testing.assert_array_equal(queries.T, want)


@given(problems(max_dims=5), st.sampled_from(KERNELS))
def test_a_weight_is_a_number_of_equal_points(problem, kernel):
    coords, h, rng = problem
    n = coords.shape[1]
    weights = rng.integers(1, 4, size=n)
    repeated = np.repeat(coords.T, weights, axis=0)
    code, levels = KERNELS.index(kernel), weight_levels(len(repeated))
    moves = [_reference.move(x, repeated, h, kernel) for x in coords.T]
    state, lengths = coords.copy(), np.zeros(n)
    rest = (np.arange(n), np.full(n, h))
    data = (coords, weights.astype(float))
    move_plainly(state, *data, *rest, code, levels, 0.0, lengths, 0, 1)
    np.testing.assert_array_equal(state.T, coords.T + moves)
    if code == 0 and len(coords) <= 3:
        state = coords.copy()
        Grid(*data, h).move(state, *rest, 0.0, lengths, 0, 1)
        np.testing.assert_array_equal(state.T, coords.T + moves)


@example(seed=0, d=2)
@example(seed=1, d=3)
@given(seed=seeds, d=st.integers(1, 3))
def test_many_points_move_through_groups_as_in_the_plain_loop(seed, d):
    # Enough points for several sortings, full groups, loose points and new cells.
    n = 40 if numba.config.DISABLE_JIT else 700
    rng = np.random.default_rng(seed)
    X = 10.0 ** rng.uniform(-5.0, 0.3, (n, 1)) * rng.standard_normal((n, d))
    lattice = Lattice.around(X, 1.0)
    coords, h = lattice.place(X), lattice.measure(1.0)
    draws = rng.integers(n, size=8 * n)
    bandwidths = rng.uniform(0.8 * h, h, size=8 * n)
    weights = rng.integers(1, 5, size=n).astype(float)
    args = (coords, 0.8 * h, draws, bandwidths, weights)
    for one, other in zip(walk(*args), walk(*args, plain=True), strict=True):
        np.testing.assert_array_equal(one, other)


def groups_of(grid):
    """Points of each group, and its box and tally, as the arrays say."""
    g = grid._groups
    for number in range(grid._n_groups):
        members = np.flatnonzero(g.group == number)
        yield members, g.box[:, number], g.tally[number]


@given(problems())
def test_groups_describe_their_points_before_and_after_moves(problem):
    coords, h, rng = problem
    n_dims, n = coords.shape
    state = coords.copy()
    grid = Grid(state, np.ones(n), h)
    draws = rng.integers(n, size=100)
    for chunk in np.split(draws, 4):
        for members, box, tally in groups_of(grid):
            inside = state[:, members]
            assert tally[0] == len(members)
            sums = inside.astype(np.int64).sum(axis=1)  # exact, unlike a sum of floats
            np.testing.assert_array_equal(tally[1 : 1 + n_dims], sums)
            assert np.all(inside >= box[:n_dims, None])
            assert np.all(inside <= box[3 : 3 + n_dims, None])
        bandwidths = np.full(len(chunk), h)
        grid.move(state, chunk, bandwidths, 0.0, np.zeros(n), 0, 1)
        store = grid._groups.store
        np.testing.assert_array_equal(store[:n_dims, grid._groups.place], state)
        assert np.sum(store[3]) == n


wraps = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
"""Sums of integers wrap around; NumPy warns of it where loops are interpreted."""


@wraps
def test_sums_of_coordinates_may_overflow():
    # The sum of 3,000 coordinates of 2**52 exceeds 2**63; the moves are small.
    points = np.full((3000, 2), 2.0**52 + 2.0**25)
    points += np.rint(2.0**15 * np.random.default_rng(0).standard_normal((3000, 2)))
    points[0] = 0.0
    coords = np.ascontiguousarray(points.T)
    queries = coords[:, :20].copy()
    grid = Grid(coords, np.ones(3000), 2.0**29)
    assert np.any(grid._groups.tally[: grid._n_groups, 1] < 0)
    rest = (np.arange(20), np.full(20, 2.0**29))
    grid.move(queries, *rest, 0.0, np.zeros(20), 0, 1)
    for x, moved in zip(points, queries.T, strict=False):
        want = x + _reference.move(x, points, 2.0**29, "uniform")
        np.testing.assert_array_equal(moved, want)


@wraps
@pytest.mark.parametrize("extent", [1.0, 1e3, 1e6, 1e9, 1e15])
def test_memory_does_not_grow_with_the_extent_of_the_data(extent):
    rng = np.random.default_rng(0)
    coords = np.rint(extent * rng.uniform(0.0, 2.0**10, size=(3, 400)))
    grid = Grid(coords, np.ones(400), 2.0**10)
    assert 1 <= grid._n_groups <= 3 * 20
    assert sum(array.nbytes for array in grid._groups) < 1000 * 400


def test_cells_grow_only_until_there_are_few_enough_groups():
    coords = np.rint(np.random.default_rng(0).uniform(0.0, 2.0**30, size=(2, 400)))
    grid = Grid(coords, np.ones(400), 2.0**28)
    assert 20 < grid._n_groups <= 60
    near = Grid(np.rint(coords / 2**10), np.ones(400), 2.0**28)
    assert near._side == 2.0**28 / _grid._FINENESS


ESTIMATORS = [
    MeanShift(),
    BlurringMeanShift(),
    StochasticMeanShift(random_state=3),
    DoublyStochasticMeanShift(random_state=3),
]
family = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)


@family
@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_estimators_do_not_depend_on_the_algorithm(model, dim):
    rng = np.random.default_rng(dim)
    centres = 2.0 * rng.standard_normal((3, dim))
    n = 60 if numba.config.DISABLE_JIT else 400
    X = centres[rng.integers(3, size=n)] + 0.6 * rng.standard_normal((n, dim))
    model = clone(model).set_params(bandwidth=0.8 * np.sqrt(dim))
    results = []
    for name in ("plain", "indexed", "auto"):
        model.set_params(algorithm=name).fit(X)
        results.append((model.resting_points_, model.n_steps_))
    for points, n_steps in results[1:]:
        np.testing.assert_array_equal(points, results[0][0])
        assert n_steps == results[0][1]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", ESTIMATORS[:2], ids=lambda m: type(m).__name__)
def test_joining_equal_points_changes_no_state_of_the_run(model, kernel):
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((60, 2)), 1)[rng.integers(60, size=90)]
    model = clone(model).set_params(kernel=kernel, bandwidth=1.3, record="states")
    plain = model.set_params(algorithm="plain").fit(X)
    states, steps = plain.history_.states, plain.n_steps_
    points, iterations = plain.resting_points_, plain.n_iter_
    model.set_params(algorithm="auto").fit(X)
    np.testing.assert_array_equal(model.resting_points_, points)
    np.testing.assert_array_equal(model.history_.states, states)
    assert (model.n_steps_, model.n_iter_) == (steps, iterations)
    model.set_params(record=None)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_each_loop_is_compiled_once_for_all_estimators_and_dimensions():
    loops = (_grid._sort, _grid._move, move_plainly)
    for loop in loops:
        loop._reset_overloads()
    for dim in (1, 2, 3, 5):
        X = np.random.default_rng(dim).standard_normal((30, dim))
        for model in [*ESTIMATORS, BinnedStochasticMeanShift(random_state=3)]:
            for name in ("auto", "plain"):
                model.set_params(bandwidth=1.0)
                if "algorithm" in model.get_params():
                    model.set_params(algorithm=name)
                model.fit(X).predict(X[:3])
    for loop in loops:
        assert len(loop.signatures) == 1


@pytest.mark.soak
def test_thirty_thousand_points_end_in_the_same_states():
    X, _ = draw_gaussians(PAPER_MEANS, (10_000,) * 3, 0.8, 1)
    fast = StochasticMeanShift(bandwidth=1.0, random_state=0).fit(X)
    plain = StochasticMeanShift(bandwidth=1.0, random_state=0, algorithm="plain").fit(X)
    np.testing.assert_array_equal(fast.resting_points_, plain.resting_points_)
    assert fast.n_steps_ == plain.n_steps_


def plain_float64(X, h, seed, max_sweeps=400):
    """Run SMS on the numbers as they are, without a lattice."""
    rng = np.random.default_rng(seed)
    state = X.copy()
    last_move = np.full(len(X), np.inf)
    for i in rng.integers(len(X), size=max_sweeps * len(X)):
        gaps = state - state[i]
        near = np.einsum("ij,ij->i", gaps, gaps) < h * h
        move = gaps[near].mean(axis=0)
        state[i] += move
        last_move[i] = np.linalg.norm(move)
        if np.all(last_move < 1e-6 * h):
            break
    return _reference.merge(state, h / 3)


def test_partitions_are_those_of_plain_float64_arithmetic():
    for seed in range(10):
        X, _ = draw_gaussians(PAPER_MEANS, (20, 20, 20), 0.6, seed)
        model = StochasticMeanShift(bandwidth=0.9, random_state=seed).fit(X)
        np.testing.assert_array_equal(model.labels_, plain_float64(X, 0.9, seed))


def test_wrong_algorithms_are_named():
    with pytest.raises(InvalidParameterError, match="algorithm must be one of"):
        StochasticMeanShift(algorithm="fast").fit([[0.0], [1.0]])


@family
def test_only_the_uniform_kernel_can_be_indexed(model):
    model.set_params(kernel="biweight", algorithm="indexed", bandwidth=1.0)
    with pytest.raises(InvalidParameterError, match="algorithm must be 'auto' or"):
        model.fit([[0.0], [1.0]])
    model.set_params(algorithm="auto").fit([[0.0], [1.0]])
    model.set_params(kernel="uniform")
