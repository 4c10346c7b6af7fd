"""The space that a session teaches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sms_diar.clustering.speakers.neighbour_space import (
    distance_blocks,
    learn_space,
    neighbour_count,
    neighbours_of,
)
from sms_diar.clustering.speakers.times import RowTimes

from sms_diar.clustering.speakers import neighbour_space
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend_plda import plda_of


def voices(n_speakers, each, d=60, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), each)
    means = rng.standard_normal((n_speakers, d))
    return means[truth] + noise * rng.standard_normal((len(truth), d)), truth


def brute_neighbours(rows, k, times, query):
    """Nearest rows by a loop, those that overlap passed over."""
    found = []
    for row in range(len(rows)):
        if row == query:
            continue
        if times is not None:
            begins = max(times.start[row], times.start[query])
            if min(times.end[row], times.end[query]) - begins > 1e-6:
                continue
        found.append((float(np.sum((rows[row] - rows[query]) ** 2)), row))
    return [row for _, row in sorted(found)[:k]]


def test_neighbours_on_a_line_are_found():
    rows = np.array([[0.0], [1.0], [3.0], [3.5]])
    near, exists = neighbours_of(rows, 2, None, np.array([0, 2]))
    assert near.tolist() == [[1, 2], [3, 1]]
    assert exists.all()


def test_rows_that_overlap_in_time_are_no_neighbours():
    rows = np.array([[0.0], [0.1], [1.0], [2.0]])
    times = RowTimes.of_steps(4, 0.5)  # each overlaps the one before and behind it
    near, exists = neighbours_of(rows, 2, times, np.arange(4))
    assert near[0].tolist() == [2, 3]
    assert near[3].tolist() == [1, 0]
    # The second has the fourth only, the third the first only.
    assert exists.tolist() == [[True, True], [True, False], [True, False], [True, True]]
    assert (near[1, 0], near[2, 0]) == (3, 0)


@given(
    st.integers(2, 14),
    st.integers(1, 5),
    st.sampled_from([None, 1.0, 0.5, 1 / 6]),
    st.integers(0, 1000),
)
def test_neighbours_are_those_that_a_loop_finds(n, k, new_speech, seed):
    rng = np.random.default_rng(seed)
    rows, k = rng.standard_normal((n, 3)), min(k, n - 1)
    times = None if new_speech is None else RowTimes.of_steps(n, new_speech)
    near, exists = neighbours_of(rows, k, times, np.arange(n))
    for row in range(n):
        want = brute_neighbours(rows, k, times, row)
        assert near[row][exists[row]].tolist() == want
        assert exists[row].tolist() == [place < len(want) for place in range(k)]


def test_blocks_hold_all_queries_and_their_distances(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((11, 3))
    queries = np.array([0, 3, 4, 8, 10])
    monkeypatch.setattr(neighbour_space, "_BLOCK", 2)
    blocks = list(distance_blocks(rows, None, queries))
    assert [first for first, _ in blocks] == [0, 2, 4]
    found = np.concatenate([distances for _, distances in blocks])
    want = np.sum((rows[queries][:, None] - rows) ** 2, axis=2)
    want[np.arange(5), queries] = np.inf
    np.testing.assert_allclose(found, want, atol=1e-12)
    # Of a session of 11 rows, 33 distances are those of three queries.
    monkeypatch.setattr(neighbour_space, "_BLOCK", 512)
    monkeypatch.setattr(neighbour_space, "_MOST_DISTANCES", 33)
    assert [first for first, _ in distance_blocks(rows, None, queries)] == [0, 3]


def test_a_share_of_a_long_session_are_neighbours():
    assert [neighbour_count(n, 2) for n in (2, 3, 100, 300, 1000)] == [1, 2, 2, 3, 10]
    assert neighbour_count(4, 5) == 3


@pytest.mark.parametrize("n_speakers", [3, 6, 9])
def test_as_many_axes_stand_out_as_separate_the_speakers(n_speakers):
    X, truth = voices(n_speakers, 100, d=30)  # so many that noise is even
    rows = scale_rows(X)
    space = learn_space(rows, None)
    assert space.axes.shape == (30, n_speakers - 1)
    assert (np.diff(space.variances) <= 0.0).all()
    places = space.project(rows)
    np.testing.assert_allclose(places.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(places.var(axis=0), space.variances, rtol=1e-6)
    own = np.array([places[truth == one].mean(axis=0) for one in range(n_speakers)])
    nearest = np.argmin(np.sum((places[:, None] - own) ** 2, axis=2), axis=1)
    np.testing.assert_array_equal(nearest, truth)


def test_rotating_the_vectors_changes_nothing():
    X, _ = voices(4, 20, d=12)
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((12, 12)))[0]
    one, other = (learn_space(scale_rows(rows), None) for rows in (X, X @ turn))
    np.testing.assert_allclose(one.variances, other.variances, rtol=1e-6)
    places = one.project(scale_rows(X))
    turned = other.project(scale_rows(X @ turn))
    # Axes may point the other way.
    np.testing.assert_allclose(np.abs(places), np.abs(turned), atol=1e-6)


def test_times_teach_what_neighbours_cannot():
    # Noise along one axis is so strong that neighbours are chosen by it. Windows that
    # follow each other differ along it as strangers do, so it must not stand out.
    rng = np.random.default_rng(0)
    truth = np.repeat(np.tile([0, 1], 10), 8)
    X = 0.1 * rng.standard_normal((160, 20)) + 1.0
    X[:, 0] += np.where(truth == 0, 1.0, -1.0)
    X[:, 1] += rng.choice([-2.0, 2.0], 160)
    rows = scale_rows(X)
    shares = []
    for times in (None, RowTimes.of_steps(160, 1.0)):
        space = learn_space(rows, times)
        places = space.project(rows)
        moved = np.stack([places[truth == one].mean(axis=0) for one in (0, 1)])
        between = float(np.sum((moved[0] - moved[1]) ** 2)) / 4.0
        shares.append(between / float(places.var(axis=0).sum()))
    assert shares[1] > shares[0]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_few_rows_have_a_space(n):
    X, _ = voices(1, n, d=8)
    space = learn_space(scale_rows(X), RowTimes.of_steps(n, 1.0))
    assert np.isfinite(space.axes).all()
    assert space.axes.shape[1] <= max(1, n - 1)


def test_windows_of_which_all_overlap_have_a_space():
    X, _ = voices(1, 5, d=8)
    space = learn_space(scale_rows(X), RowTimes.of_steps(5, 0.1))
    assert np.isfinite(space.project(scale_rows(X))).all()


def test_the_back_end_knows_the_variances_of_the_space():
    X, _ = voices(4, 30)
    space = learn_space(scale_rows(X), None)
    backend = space.backend()
    assert backend.kind == "plda"
    want = np.sort(np.maximum(space.variances - 1.0, 0.1))
    np.testing.assert_allclose(np.sort(plda_of(backend).psi), want, rtol=1e-9)
    # Lengths of raw rows do not matter.
    terms = [backend.features(backend.prepare(rows)) for rows in (X, 3.0 * X)]
    np.testing.assert_allclose(terms[0].U, terms[1].U, atol=1e-9)


@pytest.mark.parametrize("times", [None, RowTimes.of_steps(24, 0.5)])
def test_few_rows_of_many_dimensions_need_matrices_of_their_number_only(
    times, monkeypatch
):
    X, _ = voices(3, 8, d=600)
    rows = scale_rows(X)
    monkeypatch.setattr(neighbour_space, "_WIDE", 1000)
    want = learn_space(rows, times)
    monkeypatch.undo()
    sizes = []
    eigh = np.linalg.eigh

    def recorded(matrix):
        sizes.append(matrix.shape)
        return eigh(matrix)

    monkeypatch.setattr(np.linalg, "eigh", recorded)
    space = learn_space(rows, times)
    assert set(sizes) == {(24, 24)}
    np.testing.assert_allclose(space.variances, want.variances, rtol=1e-6)
    places, reference = space.project(rows), want.project(rows)
    np.testing.assert_allclose(np.abs(places), np.abs(reference), atol=1e-6)
