"""The space that is learnt from a session."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.speakers import space as space_module
from sms_diar.clustering.speakers.rows import RowTimes
from sms_diar.clustering.speakers.space import _neighbours, learn_space
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend_plda import plda_of


def session(n_speakers, each, d=60, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), each)
    means = rng.standard_normal((n_speakers, d))
    return means[truth] + noise * rng.standard_normal((len(truth), d)), truth


def pairs_of(rows, k, times):
    one, other = _neighbours(rows, k, times)
    return sorted(zip(one.tolist(), other.tolist(), strict=True))


def slow_pairs(rows, k, times):
    """Pairs of rows and their nearest neighbours that do not overlap, by a loop."""
    pairs = []
    for query in range(len(rows)):
        candidates = []
        for row in range(len(rows)):
            first, last = min(row, query), max(row, query)
            overlap = times is not None and times.end[first] - times.start[last] > 1e-6
            if row != query and not overlap:
                candidates.append((float(np.sum((rows[row] - rows[query]) ** 2)), row))
        pairs += [(query, row) for _, row in sorted(candidates)[:k]]
    return sorted(pairs)


def test_neighbours_on_a_line(monkeypatch):
    rows = np.array([[0.0], [1.0], [3.0], [3.5]])
    assert pairs_of(rows, 1, None) == [(0, 1), (1, 0), (2, 3), (3, 2)]
    # Of four rows, two queries are the first and the last.
    monkeypatch.setattr(space_module, "MAX_QUERIES", 2)
    assert pairs_of(rows, 2, None) == [(0, 1), (0, 2), (3, 1), (3, 2)]


def test_windows_that_overlap_are_not_neighbours():
    rows = np.array([[0.0], [0.1], [1.0], [2.0]])
    times = RowTimes.of_steps(4, 0.5)  # each overlaps the previous and the next one
    # The second row has only the fourth, and the third only the first.
    expected = [(0, 2), (0, 3), (1, 3), (2, 0), (3, 0), (3, 1)]
    assert pairs_of(rows, 2, times) == expected


@given(
    st.integers(2, 14),
    st.integers(1, 5),
    st.sampled_from([None, 1.0, 0.5, 1 / 6]),
    st.integers(0, 1000),
)
def test_neighbours_are_those_of_a_loop(n, k, new_speech, seed):
    rows, k = np.random.default_rng(seed).standard_normal((n, 3)), min(k, n - 1)
    times = None if new_speech is None else RowTimes.of_steps(n, new_speech)
    assert pairs_of(rows, k, times) == slow_pairs(rows, k, times)


@pytest.mark.parametrize("n_speakers", [3, 6, 9])
def test_the_first_axes_span_the_differences_between_a_few_speakers(n_speakers):
    X, truth = session(n_speakers, 100, d=30)
    rows = scale_rows(X)
    space = learn_space(rows, None)
    # Speakers differ along one direction less than there are speakers.
    q = n_speakers - 1
    assert (np.diff(space.psi) <= 0.0).all()
    assert space.psi[q - 1] > 5.0 * space.psi[q]
    places = space.project(rows)
    np.testing.assert_allclose(places.mean(axis=0), 0.0, atol=1e-9)
    # The variance 1 + psi along an axis is multiplied by psi / (1 + psi).
    np.testing.assert_allclose(places.var(axis=0)[:q], space.psi[:q], rtol=1e-6)
    first = places[:, :q]
    means = np.array([first[truth == one].mean(axis=0) for one in range(n_speakers)])
    nearest = np.argmin(np.sum((first[:, None] - means) ** 2, axis=2), axis=1)
    np.testing.assert_array_equal(nearest, truth)


def test_a_crowd_keeps_all_directions():
    # 200 speakers vary along all of 64 axes, so that the median variance is not noise.
    X, truth = session(200, 12, d=64, noise=1.0)
    rows = scale_rows(X)
    space = learn_space(rows, None)
    assert space.axes.shape == (64, 64)
    places = space.project(rows)
    one, other = _neighbours(places, 3, None)
    assert np.mean(truth[one] == truth[other]) > 0.95
    # Within speakers, the variance along the axes is about 1, before their weights.
    means = np.array([rows[truth == s].mean(axis=0) for s in range(200)])
    residuals = (rows - means[truth]) @ space.axes
    assert np.mean(residuals**2) * 12 / 11 == pytest.approx(1.0, rel=0.2)


def test_rotating_the_vectors_does_not_change_the_space():
    X, _ = session(4, 20, d=12)
    rotation = np.linalg.qr(np.random.default_rng(5).standard_normal((12, 12)))[0]
    rows, rotated = scale_rows(X), scale_rows(X @ rotation)
    plain, other = learn_space(rows, None), learn_space(rotated, None)
    np.testing.assert_allclose(plain.psi, other.psi, rtol=1e-6)
    # Axes may have the opposite sign.
    places, rotated_places = plain.project(rows), other.project(rotated)
    np.testing.assert_allclose(np.abs(places), np.abs(rotated_places), atol=1e-6)


def test_the_back_end_scores_by_the_space_whatever_the_length_of_rows():
    X, _ = session(4, 30)
    space = learn_space(scale_rows(X), None)
    backend = space.backend(100)
    assert backend.kind == "plda"
    np.testing.assert_allclose(np.sort(plda_of(backend).psi), np.sort(space.psi))
    terms = [backend.features(backend.prepare(rows)) for rows in (X, 3.0 * X)]
    np.testing.assert_allclose(terms[0].U, terms[1].U, atol=1e-9)


def test_consecutive_windows_reveal_noise_that_misleads_neighbours():
    # Noise along one axis is so strong that neighbours are chosen by it. Consecutive
    # windows differ along it as much as others, so it must not separate.
    rng = np.random.default_rng(0)
    truth = np.repeat(np.tile([0, 1], 10), 8)
    X = 0.1 * rng.standard_normal((160, 20)) + 1.0
    X[:, 0] += np.where(truth == 0, 1.0, -1.0)
    X[:, 1] += rng.choice([-2.0, 2.0], 160)
    rows = scale_rows(X)
    shares = []
    for times in (None, RowTimes.of_steps(160, 1.0)):
        places = learn_space(rows, times).project(rows)
        means = np.stack([places[truth == one].mean(axis=0) for one in (0, 1)])
        between = float(np.sum((means[0] - means[1]) ** 2)) / 4.0
        shares.append(between / float(places.var(axis=0).sum()))
    assert shares[1] > shares[0]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("new_speech", [1.0, 0.1])
def test_a_few_rows_have_a_space_even_if_all_overlap(n, new_speech):
    rows = scale_rows(session(1, n, d=8)[0])
    space = learn_space(rows, RowTimes.of_steps(n, new_speech))
    assert 1 <= space.axes.shape[1] <= max(1, n - 1)
    assert np.isfinite(space.project(rows)).all()


@pytest.mark.parametrize("times", [None, RowTimes.of_steps(24, 0.5)])
def test_few_rows_of_many_dimensions_need_matrices_of_their_number_only(
    times, monkeypatch
):
    rows = scale_rows(session(3, 8, d=600)[0])
    shapes = []
    eigh = np.linalg.eigh

    def recorded(matrix):
        shapes.append(matrix.shape)
        return eigh(matrix)

    monkeypatch.setattr(np.linalg, "eigh", recorded)
    space = learn_space(rows, times)
    assert set(shapes) == {(24, 24)}
    # The variance along an axis is 1 within speakers and psi between them.
    along = (rows - rows.mean(axis=0)) @ space.axes
    np.testing.assert_allclose(np.mean(along**2, axis=0), 1.0 + space.psi, rtol=1e-6)
