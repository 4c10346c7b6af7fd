"""The search for neighbours: cells and bounds find what scoring everybody finds."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from benchmarks.speakers import plain_numpy_loop
from sms_diar._numba import kernel
from sms_diar.clustering import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers import _cell_kernels as cell_kernels
from sms_diar.clustering.speakers import _kernels as kernels
from sms_diar.clustering.speakers import _reference
from sms_diar.clustering.speakers import mean_shift as speaker_module
from sms_diar.clustering.speakers._cell_kernels import CellSearch
from sms_diar.clustering.speakers._reference import Gate
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import PldaModel

pytestmark = pytest.mark.compiled

nearest, leave, widen = map(
    kernel, (kernels._nearest, cell_kernels.leave, cell_kernels.widen)
)


def session(seed=0, n_speakers=4, per_speaker=25, dim=12, spread=0.8):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


def plda(dim=12):
    X, truth = session(100, n_speakers=60, per_speaker=10, dim=dim)
    return train_backend(X, truth, n_components=dim - 2)


def linear_backend(dim=3):
    """PLDA of vectors as they are: states are not scaled."""
    rng = np.random.default_rng(1)
    model = PldaModel(np.zeros(dim), rng.standard_normal((dim, dim)), np.ones(dim))
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim)), model)


def find(i, k, row, U, bias, search):
    """The k best of i by the kernel, from scores with the centres."""
    n, m = len(U), int(search.cells.tally[0])
    room = kernels.Scratch(
        np.empty(m),
        np.empty(m),
        np.empty(max(k, m) + 1),
        np.empty(m + 1, dtype=np.int64),
        np.empty(n),
        np.empty(k, dtype=np.int64),
    )
    cells = search.cells
    size, _ = nearest(i, k, row, search.precision, U, bias, cells, room)
    return room.best[:size].tolist()


def search_rows(search, n):
    m = int(search.cells.tally[0])
    dtype = search.cells.centers.dtype
    rows = search.U.astype(dtype) @ search.cells.centers[:m].T
    return rows + search.cells.center_bias[:m]


def want(i, k, U, bias):
    scores = U @ U[i] + bias
    scores[i] = np.inf
    return np.sort(np.argsort(-scores, kind="stable")[:k]).tolist()


# Small whole numbers: sums are exact in any order, and ties are many.
vectors = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)),
    min_size=1,
    max_size=40,
)


@pytest.mark.compiled
@given(vectors, st.integers(1, 40), st.sampled_from([0.0, 0.5, 1.5, 9.0]))
def test_cells_of_any_width_find_the_same_neighbours(rows, k, radius):
    table = np.array(rows, dtype=float)
    U, bias = table[:, :2].copy(), table[:, 2].copy()
    n = len(U)
    k = min(k, n)
    search = CellSearch(U, bias)
    search.snapshot(np.arange(n))
    if radius:
        assert cell_kernels.group_cells(
            U, bias, radius, n, search.friends, search.cells
        )
    rows_of_scores = search_rows(search, n)
    for i in range(n):
        assert find(i, k, rows_of_scores[i], U, bias, search) == want(i, k, U, bias)


@pytest.mark.compiled
@given(vectors, st.integers(1, 9), st.integers(0, 99))
def test_points_that_moved_are_found_where_they_are(rows, k, seed):
    table = np.array(rows, dtype=float)
    U, bias = table[:, :2].copy(), table[:, 2].copy()
    n = len(U)
    k = min(k, n)
    rng = np.random.default_rng(seed)
    search = CellSearch(U, bias)
    cells = search.cells
    assert cell_kernels.group_cells(U, bias, 1.5, n, search.friends, cells)
    for j in rng.permutation(n)[: n // 2]:
        U[j] = rng.integers(-2, 3, size=2)
        bias[j] = rng.integers(-3, 4)
        if rng.random() < 0.5:
            leave(j, cells)
        else:
            widen(cells.cell[j], j, U, bias, cells)
    rows_of_scores = search_rows(search, n)
    for i in range(n):
        assert find(i, k, rows_of_scores[i], U, bias, search) == want(i, k, U, bias)


@pytest.mark.compiled
@given(vectors)
def test_grouping_leaves_every_point_in_one_cell_that_reaches_it(rows):
    table = np.array(rows, dtype=float)
    U, bias = table[:, :2].copy(), table[:, 2].copy()
    n = len(U)
    search = CellSearch(U, bias)
    cells = search.cells
    assert cell_kernels.group_cells(U, bias, 1.0, n, search.friends, cells)
    m = int(cells.tally[0])
    assert sorted(cells.order.tolist()) == list(range(n))
    assert int(cells.sizes[:m].sum()) == n
    for j in range(n):
        c = cells.cell[j]
        assert cells.order[cells.position[j]] == j
        assert cells.start[c] <= cells.position[j] < cells.start[c] + cells.sizes[c]
        assert np.linalg.norm(U[j] - cells.centers[c]) <= cells.reach[c] <= 1.0
        assert abs(bias[j] - cells.center_bias[c]) <= cells.spread[c]


@pytest.mark.compiled
def test_grouping_gives_up_when_there_would_be_too_many_cells():
    U, bias = np.arange(10.0)[:, None], np.zeros(10)
    search = CellSearch(U, bias)
    assert cell_kernels.group_cells(U, bias, 0.5, 10, search.friends, search.cells)
    assert not cell_kernels.group_cells(U, bias, 0.5, 9, search.friends, search.cells)
    assert search.snapshot(np.arange(3)).shape == (3, 10)


@pytest.mark.compiled
@given(st.integers(0, 10**6), st.sampled_from([1e-30, 1e-3, 1.0, 1e5, 1e30]))
def test_single_precision_never_hides_a_neighbour(seed, scale):
    rng = np.random.default_rng(seed)
    # Scores that single precision cannot tell apart, and vectors next to nothing.
    U = np.ones((60, 5)) + 1e-8 * rng.standard_normal((60, 5))
    U[:5] *= 1e-40
    U *= np.sqrt(scale)
    bias = 1e-8 * scale * rng.standard_normal(60)
    search = CellSearch(U, bias)
    rows = search.snapshot(np.arange(60))
    for i in range(60):
        scores = np.array([cell_kernels.dot(U[j], U[i]) + bias[j] for j in range(60)])
        scores[i] = np.inf
        near = np.sort(np.argsort(-scores, kind="stable")[:7]).tolist()
        assert find(i, 7, rows[i], U, bias, search) == near


def test_runs_with_and_without_groups_are_equal_to_the_last_bit(monkeypatch):
    X, _ = session(n_speakers=3, per_speaker=60)
    grouped = []
    original = speaker_module.CellSearch.learn

    def learn(self, steps, scored):
        grouped.append(self.grouped)
        original(self, steps, scored)

    monkeypatch.setattr(speaker_module.CellSearch, "learn", learn)
    model = SpeakerStochasticMeanShift(backend=plda(), k=9, tol=1e-5, random_state=1)
    model.fit(X)
    resting, steps = model.resting_points_, model.n_steps_
    assert any(grouped)
    assert not grouped[0]
    monkeypatch.setattr(speaker_module.CellSearch, "_is_due", lambda self: False)
    model.fit(X)
    np.testing.assert_array_equal(model.resting_points_, resting)
    assert model.n_steps_ == steps


@pytest.mark.compiled
def test_precision_of_the_search_does_not_show():
    # Powers of two change no digit, but the larger scores leave single precision.
    X, _ = session(n_speakers=3, per_speaker=40, dim=3, spread=0.3)
    no_bias = np.zeros(len(X))
    assert CellSearch(X, no_bias).cells.centers.dtype == np.float32
    assert CellSearch(X * 2.0**40, no_bias).cells.centers.dtype == np.float64
    near = SpeakerStochasticMeanShift(
        backend=linear_backend(), k=9, tol=1e-6, random_state=0
    ).fit(X)
    far = SpeakerStochasticMeanShift(
        backend=linear_backend(), k=9, tol=1e-6 * 2.0**40, random_state=0
    ).fit(X * 2.0**40)
    np.testing.assert_array_equal(far.resting_points_, near.resting_points_ * 2.0**40)
    np.testing.assert_array_equal(far.labels_, near.labels_)
    assert far.n_steps_ == near.n_steps_


runs = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 1000),
        "n_speakers": st.integers(1, 5),
        "per_speaker": st.integers(1, 12),
        "spread": st.sampled_from([0.0, 0.3, 0.8]),
        "copies": st.integers(1, 2),
    }
)
gates = st.none() | st.builds(Gate, st.sampled_from([0.3, 0.8]), st.integers(1, 6))
backends = {"plda": plda(), "linear": linear_backend(12)}


@pytest.mark.compiled
@given(
    runs,
    st.sampled_from([(1, 1), (4, 4), (2, 9), (70, 70)]),
    gates,
    st.sampled_from(sorted(backends)),
)
def test_runs_equal_the_reference(run, ks, gate, name):
    X, _ = session(
        run["seed"], run["n_speakers"], run["per_speaker"], spread=run["spread"]
    )
    X = np.repeat(X, run["copies"], axis=0)
    backend = backends[name]
    n, seed = len(X), run["seed"]
    model = SpeakerStochasticMeanShift(
        backend=backend,
        k=ks,
        gate=None if gate is None else gate.share,
        gate_least=5 if gate is None else gate.least,
        max_steps=4 * n + 20,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    rng = np.random.default_rng(seed)
    k_rng = rng.spawn(1)[0]
    steps = 4 * n + 20
    low = int(ks[0] * model.k_ / ks[1]) or 1
    states, made = _reference.stochastic(
        backend.prepare(X),
        backend,
        rng.integers(n, size=steps),
        k_rng.integers(low, model.k_ + 1, size=steps),
        1e-3,
        n,
        gate,
    )
    np.testing.assert_allclose(model.resting_points_, states, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, model._merge(states, backend))
    assert model.n_steps_ == made


def test_the_plain_loop_of_the_benchmark_is_the_reference():
    X, _ = session(n_speakers=3, per_speaker=15)
    backend = plda()
    rest = plain_numpy_loop(backend.prepare(X), backend, 7, 1e-3, 4)
    n = len(X)
    draws = np.random.default_rng(4).integers(n, size=200 * n)
    states, steps = _reference.stochastic(
        backend.prepare(X), backend, draws, np.full(len(draws), 7), 1e-3, n
    )
    assert rest.n_steps == steps
    np.testing.assert_allclose(rest.states, states, atol=1e-9)


@pytest.mark.soak
def test_a_session_of_sixty_speakers_equals_the_plain_loop():
    world = PldaWorld(dim=100, eer=0.08)
    training = world.draw_training(300, 10, 1)
    backend = train_backend(training.X, training.speakers, n_components=100)
    X = world.draw_session(62, 2).X[:2013]
    model = SpeakerStochasticMeanShift(backend=backend, tol=1e-2, random_state=7)
    model.fit(X)
    rest = plain_numpy_loop(backend.prepare(X), backend, 17, 1e-2, 7)
    assert model.n_steps_ == rest.n_steps
    np.testing.assert_allclose(model.resting_points_, rest.states, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, model._merge(rest.states, backend))
