"""Indexed sums change nothing: states equal those of the reference, bit by bit."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from sms_diar.clustering import (
    KERNELS,
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.clustering.points import _reference
from sms_diar.clustering.points._index import moving as moving_module
from sms_diar.clustering.points._index.costs import Costs
from sms_diar.clustering.points._index.moving import MovingPoints
from sms_diar.clustering.points._index.standing import StandingPoints
from sms_diar.clustering.points._lattice import Lattice, weight_levels
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.gaussians import PAPER_MEANS, draw_gaussians

pytestmark = pytest.mark.compiled

DIMENSIONS = [1, 2, 3, 4, 5, 6, 12]
seeds = st.integers(0, 2**32 - 1)


@st.composite
def problems(draw, dims=DIMENSIONS):
    """Points of many kinds on the lattice: clumps, duplicates, ties, far outliers."""
    d = draw(st.sampled_from(dims))
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(["spread", "clumps", "grid", "line", "outliers"]))
    X = rng.standard_normal((n, d))
    if kind == "clumps":
        X = 3.0 * X[rng.integers(n, size=n) // 8] + 10.0 ** rng.uniform(-8, -1) * X
    elif kind == "grid":
        X = rng.integers(-2, 3, size=(n, d)) * 0.5
    elif kind == "line":
        X[:, 1:] = 0.0
    elif kind == "outliers":
        X[rng.random(n) < 0.2] *= 1e4
    h = draw(st.floats(0.3, 3.0)) * np.sqrt(d)
    lattice = Lattice.around(X, h)
    return lattice.place(X), lattice.measure(h), rng


def costs_of(coords, h, algorithm, code=0, longest=None):
    return Costs(
        coords.shape,
        shortest=h,
        longest=longest or h,
        code=code,
        algorithm=algorithm,
    )


def walk(coords, h, algorithm, draws, bandwidths, code=0, longest=None):
    """Walk along the draws; return the state and the steps made."""
    points = MovingPoints(
        coords,
        costs_of(coords, h, algorithm, code, longest),
        code=code,
        levels=weight_levels(coords.shape[1]),
        tol=1e-6 * h,
        n_at_rest=coords.shape[1],
    )
    steps = points.advance(draws, bandwidths)
    return points.coords, steps


def reference(coords, h, draws, bandwidths, kernel="uniform"):
    state, steps = _reference.stochastic_mean_shift(
        coords.T, draws, bandwidths, kernel, 1e-6 * h, coords.shape[1]
    )
    return state.T, steps


@given(problems())
def test_stochastic_states_are_those_of_the_reference(problem):
    coords, h, rng = problem
    draws = rng.integers(coords.shape[1], size=200)
    bandwidths = np.full(200, h)
    state, steps = reference(coords, h, draws, bandwidths)
    for algorithm in ("plain", "indexed"):
        got, made = walk(coords, h, algorithm, draws, bandwidths)
        np.testing.assert_array_equal(got, state)
        assert made == steps


@given(problems(), st.floats(1.0, 2.5))
def test_drawn_bandwidths_give_the_states_of_the_reference(problem, range_of_h):
    coords, h, rng = problem
    draws = rng.integers(coords.shape[1], size=200)
    bandwidths = rng.uniform(h, range_of_h * h, 200)
    state, _ = reference(coords, h, draws, bandwidths)
    got, _ = walk(coords, h, "indexed", draws, bandwidths, longest=range_of_h * h)
    np.testing.assert_array_equal(got, state)


@given(problems(), st.sampled_from(KERNELS))
def test_all_kernels_give_the_states_of_the_reference(problem, kernel):
    coords, h, rng = problem
    code = KERNELS.index(kernel)
    draws = rng.integers(coords.shape[1], size=120)
    bandwidths = np.full(120, h)
    state, steps = reference(coords, h, draws, bandwidths, kernel)
    got, made = walk(coords, h, "auto", draws, bandwidths, code)
    np.testing.assert_array_equal(got, state)
    assert made == steps


@given(problems())
def test_points_move_past_standing_ones_as_in_the_reference(problem):
    coords, h, _ = problem
    n = coords.shape[1]
    want = coords.T + [_reference.move(x, coords.T, h, "uniform") for x in coords.T]
    for algorithm in ("plain", "indexed"):
        costs = costs_of(coords, h, algorithm)
        queries = coords.copy()
        lengths = np.zeros(n)
        standing = StandingPoints(coords, costs, code=0, levels=1.0)
        standing.move(queries, np.arange(n), lengths)
        np.testing.assert_array_equal(queries.T, want)
        np.testing.assert_array_equal(
            lengths, [_reference.length(row) for row in want - coords.T]
        )


ESTIMATORS = [
    MeanShift(),
    BlurringMeanShift(),
    StochasticMeanShift(random_state=3),
    DoublyStochasticMeanShift(random_state=3),
]
family = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)


@family
@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_estimators_do_not_depend_on_the_algorithm(model, dim, monkeypatch):
    # Short periods, so that points are grouped anew and boxes are tried often.
    short = dict.fromkeys(moving_module._PERIODS, 0.2)
    monkeypatch.setattr(moving_module, "_PERIODS", short)
    rng = np.random.default_rng(dim)
    centres = 2.0 * rng.standard_normal((3, dim))
    n = 60 if numba.config.DISABLE_JIT else 400
    X = centres[rng.integers(3, size=n)] + 0.6 * rng.standard_normal((n, dim))
    model = model.set_params(bandwidth=0.8 * np.sqrt(dim))
    results = [
        model.set_params(algorithm=name).fit(X).resting_points_
        for name in ("plain", "indexed", "auto")
    ]
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.soak
def test_thirty_thousand_points_end_in_the_same_states():
    X, _ = draw_gaussians(PAPER_MEANS, (10_000,) * 3, 0.8, 1)
    fast = StochasticMeanShift(bandwidth=1.0, random_state=0).fit(X)
    plain = StochasticMeanShift(bandwidth=1.0, random_state=0, algorithm="plain").fit(X)
    np.testing.assert_array_equal(fast.resting_points_, plain.resting_points_)
    assert fast.n_steps_ == plain.n_steps_
    # The plain loop is the reference's, for as many steps as that can make.
    lattice = Lattice.around(X, 1.0)
    coords, h = lattice.place(X), lattice.measure(1.0)
    draws = np.random.default_rng(0).integers(30_000, size=600)
    state, _ = reference(coords, h, draws, np.full(600, h))
    for algorithm in ("plain", "indexed"):
        got, _ = walk(coords, h, algorithm, draws, np.full(600, h))
        np.testing.assert_array_equal(got, state)


def plain_float64(X, h, seed, max_sweeps=400):
    """SMS on the numbers as they are, with no lattice."""
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
    same = 0
    for seed in range(50):
        X, _ = draw_gaussians(PAPER_MEANS, (20, 20, 20), 0.6, seed)
        model = StochasticMeanShift(bandwidth=0.9, random_state=seed).fit(X)
        same += np.array_equal(model.labels_, plain_float64(X, 0.9, seed))
    assert same == 50


def test_wrong_algorithms_are_named():
    with pytest.raises(InvalidParameterError, match="algorithm must be one of"):
        StochasticMeanShift(algorithm="fast").fit([[0.0], [1.0]])


@family
def test_only_the_uniform_kernel_can_be_indexed(model):
    model = clone(model).set_params(kernel="biweight", algorithm="indexed")
    expected = (
        f"{type(model).__name__}: algorithm must be 'auto' or 'plain' with "
        "kernel='biweight', got 'indexed'; only the uniform kernel has an index"
    )
    with pytest.raises(InvalidParameterError) as caught:
        model.fit([[0.0], [1.0]])
    assert str(caught.value) == expected
    model.set_params(bandwidth=1.0, algorithm="auto").fit([[0.0], [1.0]])


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_boxes_with_parts_of_parts_give_the_states_of_plain_steps(dim):
    # So dense a place that its box is cut several times, as in ``test_ball``, and so
    # many others that groups are marked in several chunks.
    n = 200 if numba.config.DISABLE_JIT else 4000
    rng = np.random.default_rng(dim)
    X = 10.0 ** rng.uniform(-5.0, -1.0, (n, 1)) * rng.standard_normal((n, dim))
    X[: n // 4] = rng.uniform(-2.0, 2.0, size=(n // 4, dim))
    lattice = Lattice.around(X, 1.0)
    coords, h = lattice.place(X), lattice.measure(1.0)
    draws = rng.integers(n, size=2 * n)
    bandwidths = rng.uniform(0.8 * h, h, size=2 * n)
    states = [
        walk(coords, 0.8 * h, algorithm, draws, bandwidths, longest=h)[0]
        for algorithm in ("plain", "indexed")
    ]
    np.testing.assert_array_equal(states[1], states[0])
