"""Compiled loops of clustering across many recordings, against plain NumPy."""

import numpy as np
import pytest

from sms_diar.clustering.many._kernels import (
    pair_gains,
    root_of,
    score_neighbours,
    shift_rows,
    unite_resting,
)
from sms_diar.clustering.many._reference import pair_gain, scores_of_all, shift
from sms_diar.scoring.plda import pair_coefficients

pytestmark = pytest.mark.compiled

PSI = np.array([4.0, 2.0, 1.0, 0.5, 0.25])


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    voices = np.sqrt(PSI) * rng.standard_normal((4, 5))
    speakers = np.repeat(np.arange(4), 6)
    return (voices[speakers] + rng.standard_normal((24, 5))).astype(np.float32)


@pytest.fixture
def near(rows):
    scores = scores_of_all(rows, PSI)
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1)[:, :6].astype(np.int32)


def test_scores_of_proposals_are_the_log_likelihood_ratios(rows):
    proposed = np.array([[5, 2, 0], [1, 9, -1]])
    weights = pair_coefficients(PSI)
    out = np.empty((2, 3))
    score_neighbours(
        rows, proposed, weights.cross, weights.test, weights.constant, 2, 4, out
    )
    wanted = scores_of_all(rows, PSI)
    # Row 2 with itself and a missing proposal have no score.
    expected = [
        [wanted[2, 5], -np.inf, wanted[2, 0]],
        [wanted[3, 1], wanted[3, 9], -np.inf],
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_moves_end_where_the_definition_ends(rows, near):
    weights = pair_coefficients(PSI)
    expected = 1.0 / (1.0 + PSI)
    states = rows.copy()
    biases = states.astype(np.float64) ** 2 @ weights.test
    order = np.random.default_rng(0).permutation(24)
    wanted = shift(states, near, order, PSI, 1.0)
    moved = shift_rows(
        states,
        biases,
        near,
        order,
        weights.cross,
        weights.test,
        expected,
        weights.constant,
        1.0,
        1e-3,
    )
    np.testing.assert_allclose(states, wanted, rtol=1e-4, atol=1e-5)
    # Biases stay those of the states, which are single precision.
    np.testing.assert_allclose(
        biases, states.astype(np.float64) ** 2 @ weights.test, rtol=1e-5
    )
    assert 0 < moved <= 24


def test_no_neighbour_passes_a_gate_that_is_too_high(rows, near):
    weights = pair_coefficients(PSI)
    states = rows.copy()
    biases = states.astype(np.float64) ** 2 @ weights.test
    moved = shift_rows(
        states,
        biases,
        near,
        np.arange(24),
        weights.cross,
        weights.test,
        1.0 / (1.0 + PSI),
        weights.constant,
        1e9,
        1e-3,
    )
    assert moved == 0
    np.testing.assert_array_equal(states, rows)


def test_rows_at_one_place_are_united_with_their_neighbours_only():
    states = np.array([[1.0, 0], [1, 0.01], [1, 0], [0, 1]], dtype=np.float32)
    near = np.array([[1], [0], [3], [-1]], dtype=np.int32)
    parent = np.arange(4)
    unite_resting(states, near, 0.01, 0, 4, parent)
    # Row 2 rests beside 0, but 0 is no neighbour of it; 3 rests elsewhere.
    assert [root_of(parent, i) for i in range(4)] == [0, 0, 2, 3]


def test_gains_are_differences_of_evidence():
    rng = np.random.default_rng(1)
    means, counts = rng.standard_normal((4, 5)), np.array([1.0, 2.5, 7.0, 10.9])
    one, other = np.array([0, 1, 0, 2]), np.array([1, 2, 3, 3])
    out = np.empty(4)
    pair_gains(means, counts, PSI, one, other, out)
    wanted = [
        pair_gain(means[g], means[h], counts[g], counts[h], PSI)
        for g, h in zip(one, other, strict=True)
    ]
    np.testing.assert_allclose(out, wanted, rtol=1e-10)


def test_gain_of_two_single_rows_is_their_score(rows):
    out = np.empty(1)
    means = rows[:2].astype(np.float64)
    pair_gains(means, np.ones(2), PSI, np.array([0]), np.array([1]), out)
    assert out[0] == pytest.approx(scores_of_all(rows[:2], PSI)[0, 1])
