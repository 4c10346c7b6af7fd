"""The theorems of the paper, as properties of the code.

States are checked along runs of the reference, step by step; the estimators are
held to the reference in ``test_kernels.py``.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull, Delaunay
from scipy.spatial.distance import pdist

from sms_diar.clustering import (
    KERNELS,
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.clustering._modes import average_clusters, merge_resting_points
from sms_diar.clustering.points import _reference
from sms_diar.clustering.points._kernels import move_plainly
from sms_diar.clustering.points._lattice import Lattice, weight_levels
from sms_diar.clustering.points.profiles import SLOPE

pytestmark = pytest.mark.compiled

kernels = st.sampled_from(KERNELS)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def samples(draw, min_dim=1, max_dim=4, min_points=1, max_points=25):
    """Points in a small box, some on a lattice so that ties and duplicates occur."""
    n = draw(st.integers(min_points, max_points))
    d = draw(st.integers(min_dim, max_dim))
    on_lattice = draw(st.booleans())
    if on_lattice:
        return draw(arrays(np.int64, (n, d), elements=st.integers(-3, 3))).astype(float)
    elements = st.floats(-3, 3, allow_nan=False, width=32)
    return draw(arrays(np.float64, (n, d), elements=elements))


def steps_of(X, bandwidth, kernel, seed, n_steps):
    """Yield the state before and after each step, and the move, in bandwidths."""
    rng = np.random.default_rng(seed)
    lattice = Lattice.around(X, bandwidth)
    points, h = lattice.place(X).T, lattice.measure(bandwidth)
    state = points.copy()
    for i in rng.integers(len(points), size=n_steps):
        move = _reference.move(state[i], state, h, kernel)
        before = state.copy()
        state[i] += move
        yield before / h, state / h, move / h


@given(samples(), st.floats(0.1, 4.0), kernels, seeds)
def test_each_step_raises_the_objective_by_what_the_theory_says(X, h, kernel, seed):
    for before, after, move in steps_of(X, h, kernel, seed, 40):
        gain = _reference.objective(after, 1.0, kernel) - _reference.objective(
            before, 1.0, kernel
        )
        promised = 2.0 * SLOPE[kernel] * float(move @ move)
        # Weights are rounded to 2**-16: a mean that is off by as much costs no more
        # than its square for each pair; the mean itself is rounded far below that.
        rounding = 1e-12 * len(X) ** 2
        if kernel != "uniform":
            rounding += len(X) * 8.0 * 2.0**-32
        assert gain >= promised - rounding


@given(samples(min_dim=2, max_dim=3, min_points=8), st.floats(0.3, 3.0), kernels, seeds)
def test_the_convex_hull_never_grows(X, h, kernel, seed):
    X = X - X.min(axis=0)  # the lattice begins at the corner
    assume(np.linalg.matrix_rank(X - X[0]) == X.shape[1])
    hull = ConvexHull(X)
    normals, offsets = hull.equations[:, :-1], hull.equations[:, -1]
    for _, after, _ in steps_of(X, h, kernel, seed, 60):
        assert np.max(h * after @ normals.T + offsets) <= 1e-7  # a few units
    assert Delaunay(X).find_simplex(h * after.mean(axis=0)) >= 0


@given(samples(), st.floats(0.3, 3.0), kernels, seeds)
def test_at_rest_points_coincide_or_are_a_bandwidth_apart(X, h, kernel, seed):
    model = StochasticMeanShift(bandwidth=h, kernel=kernel, tol=1e-9, random_state=seed)
    resting = model.fit(X).resting_points_
    assume(model.converged_)
    distances = pdist(resting)
    # A move below tol bounds how far the mean of the neighbours may lie, not one
    # neighbour: with n of them, and weights that vanish at the edge, tau is larger.
    tau = 1e-9 * h * 10 * len(X)
    if kernel == "uniform":
        assert np.all((distances < tau) | (distances > h - tau))
    else:
        slack = (1e-9 * 10 * len(X)) ** 0.25  # weight (1 - t)**3 of an edge point
        assert np.all((distances < h * slack) | (distances > h * (1 - slack)))


@given(samples(min_points=2), kernels, seeds)
def test_a_sample_narrower_than_the_bandwidth_is_one_cluster(X, kernel, seed):
    diameter = float(np.max(pdist(X)))
    assume(diameter > 1e-3)
    h = 1.05 * diameter
    for model in (
        MeanShift(bandwidth=h, kernel=kernel),
        BlurringMeanShift(bandwidth=h, kernel=kernel),
        StochasticMeanShift(bandwidth=h, kernel=kernel, random_state=seed),
        DoublyStochasticMeanShift(
            bandwidth=(h, 2 * h), kernel=kernel, random_state=seed
        ),
    ):
        if isinstance(model, MeanShift) and kernel != "uniform":
            continue  # the theorem is about data that move; MS may keep two modes
        model.fit(X)
        assert model.n_clusters_ == 1, model


def same_partition(a, b):
    return np.array_equal(a[:, None] == a, b[:, None] == b)


def well_defined(X, h):
    """Whether no distance is so close to h that rounding could decide it."""
    return np.all(np.abs(pdist(X) - h) > 1e-6 * h) if len(X) > 1 else True


FAMILY = [
    MeanShift(),
    BlurringMeanShift(),
    StochasticMeanShift(random_state=3),
    DoublyStochasticMeanShift(random_state=3),
]
family = pytest.mark.parametrize("model", FAMILY, ids=lambda m: type(m).__name__)


def continuous(seed, n=40, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


@family
@given(seed=seeds, h=st.floats(0.5, 3.0), shift=st.floats(-1e4, 1e4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_translation_moves_the_result_along(model, seed, h, shift):
    X = continuous(seed)
    model.set_params(bandwidth=h)
    here = model.fit(X).resting_points_
    there = model.fit(X + shift).resting_points_
    np.testing.assert_allclose(there - shift, here, atol=1e-7)


@family
@given(seed=seeds, h=st.floats(0.5, 3.0))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rotation_turns_the_result_along(model, seed, h):
    X = continuous(seed)
    rotation = np.linalg.qr(continuous(seed + 1, 3, 3))[0]
    model.set_params(bandwidth=h)
    here = model.fit(X).resting_points_
    there = model.fit(X @ rotation).resting_points_
    np.testing.assert_allclose(there, here @ rotation, atol=1e-7)


@family
@given(seed=seeds, h=st.floats(0.5, 3.0), scale=st.floats(1e-6, 1e6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scaling_data_and_bandwidth_scales_the_result(model, seed, h, scale):
    X = continuous(seed)
    labels = model.set_params(bandwidth=h).fit(X).labels_
    here = model.resting_points_
    model.set_params(bandwidth=h * scale).fit(X * scale)
    np.testing.assert_allclose(model.resting_points_ / scale, here, atol=1e-7)
    assert same_partition(model.labels_, labels)


@given(samples(min_points=2, max_points=25), st.floats(0.3, 3.0), kernels, seeds)
def test_permuting_rows_and_draws_alike_permutes_the_states(X, h, kernel, seed):
    rng = np.random.default_rng(seed)
    n = len(X)
    draws = rng.integers(n, size=30)
    order = rng.permutation(n)  # row r of the permuted data is row order[r] of X
    moved_to = np.argsort(order)
    lattice = Lattice.around(X, h)
    states = []
    for points, indices in ((X, draws), (X[order], moved_to[draws])):
        coords = lattice.place(points)
        move_plainly(
            coords,
            coords,
            np.ones(n),
            indices,
            np.full(30, lattice.measure(h)),
            KERNELS.index(kernel),
            weight_levels(n),
            1e-12,
            np.full(n, np.inf),
            0,
            n + 1,
        )
        states.append(coords.T)
    # Sums are exact in any order, so that not a single bit differs.
    np.testing.assert_array_equal(states[1], states[0][order])


@pytest.mark.parametrize("model", FAMILY[:2], ids=lambda m: type(m).__name__)
@given(seed=seeds, h=st.floats(0.5, 3.0))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_permuting_rows_permutes_deterministic_results(model, seed, h):
    X = continuous(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    model.set_params(bandwidth=h)
    here = model.fit(X).resting_points_
    there = model.fit(X[order]).resting_points_
    np.testing.assert_allclose(there, here[order], atol=1e-7)


@given(samples(max_points=40, max_dim=3), st.floats(0.05, 4.0))
def test_merging_equals_the_plain_connected_components(X, threshold):
    labels = merge_resting_points(X, threshold)
    np.testing.assert_array_equal(labels, _reference.merge(X, threshold))
    for label, center in enumerate(average_clusters(X, labels)):
        np.testing.assert_allclose(center, X[labels == label].mean(axis=0), atol=1e-12)
