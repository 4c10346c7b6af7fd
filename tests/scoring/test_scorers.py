"""Scores of pairs: PLDA, cosine and what they share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring import (
    CosineScorer,
    PldaScorer,
    _reference,
    plda_from_covariances,
    recording_scorer,
    transform_plda,
)


def random_world(d, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((d, d + 2))
    b = rng.standard_normal((d, d))
    return rng.standard_normal(d), a @ a.T / d, b @ b.T


WORLD = random_world(6, 11)
MODEL = plda_from_covariances(*WORLD)
SCORERS = [
    PldaScorer(MODEL),
    PldaScorer(MODEL, normalize_length=True),
    PldaScorer(MODEL, normalize_length=True, simple_length_norm=True),
    PldaScorer(MODEL, projection=np.random.default_rng(0).standard_normal((3, 6))),
    CosineScorer(6),
]
scorers = pytest.mark.parametrize(
    "scorer", SCORERS, ids=["plda", "kaldi", "simple", "projected", "cosine"]
)


@pytest.fixture(name="X")
def vectors():
    return np.random.default_rng(1).standard_normal((25, 6)) * 2.0


def test_plda_score_by_hand():
    # psi = 4, u = 1.5, v = 1: cross 4/9 * 1.5 = 2/3, squares 16/90 * 3.25, and
    # log 5 - log(9)/2 = log(5/3)
    scorer = PldaScorer(plda_from_covariances([0.0], [[1.0]], [[4.0]]))
    want = 2 / 3 - 16 / 90 * 3.25 + np.log(5 / 3)
    assert scorer.score([1.5], [1.0]) == pytest.approx(want, abs=1e-14)


def test_cosine_by_hand():
    scorer = CosineScorer(2)
    assert scorer.score([3.0, 4.0], [5.0, 0.0]) == pytest.approx(0.6, abs=1e-15)
    assert scorer.score([0.0, 0.0], [5.0, 0.0]) == 0.0
    # the mean of (1, 0) and (0, 1) is half way between them
    got = scorer.score([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    assert got == pytest.approx(0.5**0.5, abs=1e-15)


@given(st.integers(1, 7), st.integers(0, 10**6))
def test_plda_equals_the_ratio_of_joint_gaussians(d, seed):
    world = random_world(d, seed)
    a, b = np.random.default_rng(seed).standard_normal((2, d))
    got = PldaScorer(plda_from_covariances(*world)).score(a, b)
    want = _reference.log_likelihood_ratio(a, b, *world)
    assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_several_enrolment_vectors_equal_the_ratio_of_joint_gaussians(n, X):
    got = PldaScorer(MODEL).score(X[:n], X[20])
    want = _reference.log_likelihood_ratio(X[:n], X[20], *WORLD)
    assert got == pytest.approx(want, abs=1e-9)


def test_rows_of_different_counts_are_scored_each_by_its_own(X):
    scorer = PldaScorer(MODEL)
    groups = [X[:1], X[1:4], X[4:6], X[6:9]]
    means = np.array([group.mean(axis=0) for group in groups])
    got = scorer.score_matrix(means, X[10:], n_enroll=[1, 3, 2, 3])
    want = [[scorer.score(group, test) for test in X[10:]] for group in groups]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_enrolment_counts_reach_kaldis_length_normalisation(X):
    scorer = PldaScorer(MODEL, normalize_length=True)
    u = MODEL.transform @ (X[:5].mean(axis=0) - MODEL.mean)
    v = MODEL.transform @ (X[9] - MODEL.mean)
    u = u * np.sqrt(6 / np.sum(u**2 / (MODEL.psi + 1 / 5)))
    v = v * np.sqrt(6 / np.sum(v**2 / (MODEL.psi + 1)))
    mean = 5 * MODEL.psi / (5 * MODEL.psi + 1) * u
    variance = 1 + MODEL.psi / (5 * MODEL.psi + 1)
    given_class = np.sum(np.log(variance) + (v - mean) ** 2 / variance)
    without = np.sum(np.log(1 + MODEL.psi) + v**2 / (1 + MODEL.psi))
    want = -0.5 * (given_class - without)
    assert scorer.score(X[:5], X[9]) == pytest.approx(want, abs=1e-12)


@scorers
def test_the_matrix_holds_the_scores_of_pairs(scorer, X):
    scores = scorer.score_matrix(X[:4], X[4:9])
    want = [[scorer.score(a, b) for b in X[4:9]] for a in X[:4]]
    np.testing.assert_allclose(scores, want, rtol=1e-12, atol=1e-12)


@scorers
def test_scores_of_a_set_with_itself_are_symmetric_to_the_last_bit(scorer, X):
    scores = scorer.score_matrix(X)
    np.testing.assert_array_equal(scores, scores.T)
    np.testing.assert_allclose(
        scores, scorer.score_matrix(X, X.copy()), rtol=1e-12, atol=1e-12
    )


@scorers
def test_the_factored_form_is_one_product_per_query(scorer, X):
    terms = scorer.pairwise_terms(scorer.prepare(X))
    scores = scorer.score_matrix(X)
    by_hand = terms.U @ terms.U.T + terms.bias[:, None] + terms.bias + terms.constant
    np.testing.assert_allclose(by_hand, scores, rtol=1e-12, atol=1e-12)
    for i in (0, 7):
        np.testing.assert_allclose(terms.row(i), scores[i], rtol=1e-12, atol=1e-12)
    assert len(terms) == 25


@given(st.integers(0, 10**6))
def test_plda_scores_do_not_change_under_an_invertible_map(seed):
    rng = np.random.default_rng(seed)
    matrix = np.linalg.qr(rng.standard_normal((6, 6)))[0] * rng.uniform(0.5, 2.0, 6)
    X = rng.standard_normal((5, 6))
    got = PldaScorer(transform_plda(MODEL, matrix)).score_matrix(X @ matrix.T)
    np.testing.assert_allclose(got, PldaScorer(MODEL).score_matrix(X), atol=1e-9)


def test_a_projection_scores_projected_vectors_with_the_projected_model(X):
    matrix = np.random.default_rng(4).standard_normal((2, 6))
    mean, within, between = (
        matrix @ WORLD[0],
        matrix @ WORLD[1] @ matrix.T,
        matrix @ WORLD[2] @ matrix.T,
    )
    got = PldaScorer(MODEL, projection=matrix).score(X[0], X[1])
    want = _reference.log_likelihood_ratio(
        matrix @ X[0], matrix @ X[1], mean, within, between
    )
    assert got == pytest.approx(want, abs=1e-9)


def test_recording_scores_follow_kaldis_steps(X):
    # covariance -> eigenvectors -> loop over the energy -> project all -> score
    values, axes = np.linalg.eigh(np.cov(X.T, bias=True))
    values, axes = values[::-1], axes[:, ::-1]
    energy, dim = 0.0, 1
    while energy / values.sum() <= 0.3:
        energy += values[dim - 1]
        dim += 1
    matrix = axes[:, :dim].T
    projected = plda_from_covariances(
        matrix @ WORLD[0], matrix @ WORLD[1] @ matrix.T, matrix @ WORLD[2] @ matrix.T
    )
    want = PldaScorer(projected, normalize_length=True).score_matrix(X @ matrix.T)
    scorer = recording_scorer(MODEL, X, target_energy=0.3)
    assert scorer.model.dim == dim < 6
    np.testing.assert_allclose(scorer.score_matrix(X), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PldaScorer(MODEL).score_matrix(np.zeros((2, 5))), "PldaScorer: A"),
        (
            lambda: PldaScorer(MODEL).score_matrix(np.zeros((2, 6)), n_enroll=[1, 0]),
            "PldaScorer: n_enroll must be a whole number >= 1, or 2 of them, got "
            "[1, 0]",
        ),
        (
            lambda: CosineScorer(6).score_matrix(np.full((2, 6), np.nan)),
            "CosineScorer: X must be finite, got NaN or infinity",
        ),
        (lambda: CosineScorer(6).score(np.zeros(6), np.zeros((1, 6))), "CosineScorer:"),
        (lambda: CosineScorer(0), "CosineScorer: dim must be a whole number >= 1"),
        (lambda: recording_scorer(MODEL, np.zeros((2, 5))), "recording_scorer: X must"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(InvalidParameterError) as caught:
        call()
    assert str(caught.value).startswith(message)
