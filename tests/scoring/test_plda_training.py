"""Training: the likelihood, its maximum, and Kaldi's iterates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring import (
    Plda,
    PldaScorer,
    _reference,
    adapt_plda,
    covariances,
    fit_plda,
    plda_from_covariances,
    plda_log_likelihood,
    project,
)
from sms_diar.types import PldaModel

MEAN = np.array([1.0, -2.0, 0.5])
WITHIN = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.8]])
BETWEEN = np.array([[2.0, -0.5, 0.3], [-0.5, 1.5, 0.0], [0.3, 0.0, 1.0]])


def draw(counts, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(counts)), counts)
    speakers = rng.multivariate_normal(MEAN, BETWEEN, len(counts))
    residuals = rng.multivariate_normal(np.zeros(3), WITHIN, len(labels))
    return speakers[labels] + residuals, labels


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 10**6))
def test_the_likelihood_is_that_of_the_stacked_gaussian(counts, seed):
    X, labels = draw(counts, seed)
    model = plda_from_covariances(MEAN, WITHIN, BETWEEN)
    got = plda_log_likelihood(model, X, labels)
    want = _reference.log_likelihood(X, labels, MEAN, WITHIN, BETWEEN)
    assert got == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_likelihood_of_two_numbers_by_hand():
    # x = (1, -1) of one speaker, within 1, between 1: covariance [[2, 1], [1, 2]],
    # determinant 3; (1, -1) is its eigenvector of value 1, so the quadratic form is 2
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    got = plda_log_likelihood(model, [[1.0], [-1.0]], [0, 0])
    assert got == pytest.approx(-np.log(2 * np.pi) - np.log(3) / 2 - 1, abs=1e-14)


@pytest.mark.parametrize("estimation", ["ml", "kaldi"])
@given(st.lists(st.integers(1, 6), min_size=4, max_size=20), st.integers(0, 10**6))
def test_the_likelihood_never_falls(estimation, counts, seed):
    X, labels = draw([3, 3, *counts], seed)
    fit = fit_plda(X, labels, n_iter=15, estimation=estimation)
    gains = np.diff(fit.log_likelihoods)
    assert (gains >= -1e-9 * np.abs(fit.log_likelihoods[:-1])).all()
    assert fit.n_iter == 15


def test_the_trace_ends_at_the_likelihood_of_the_model():
    X, labels = draw([1, 2, 3, 4, 5, 9], 5)
    fit = fit_plda(X, labels, n_iter=4)
    last = plda_log_likelihood(fit.model, X, labels)
    assert fit.log_likelihoods[-1] == pytest.approx(last, rel=1e-12)
    brute = _reference.log_likelihood(
        X, labels, fit.model.mean, fit.within, fit.between
    )
    assert last == pytest.approx(brute, rel=1e-10)


@pytest.mark.parametrize("estimation", ["ml", "kaldi"])
def test_balanced_data_converge_to_the_closed_form(estimation):
    S, n = 60, 5
    X, labels = draw([n] * S, 6)
    means = X.reshape(S, n, 3).mean(axis=1)
    deviations = (X.reshape(S, n, 3) - means[:, None]).reshape(-1, 3)
    within = deviations.T @ deviations / (S * n - S)
    between = np.cov(means.T, bias=True) - within / n
    assert np.linalg.eigvalsh(between)[0] > 0.0  # or it would not be the maximum
    fit = fit_plda(X, labels, n_iter=300, estimation=estimation)
    np.testing.assert_allclose(fit.within, within, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.between, between, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.model.mean, X.mean(axis=0), rtol=1e-10)


def test_unbalanced_data_end_at_a_point_no_nudge_improves():
    X, labels = draw([1, 2, 3, 5, 8, 13, 2, 4, 6, 7, 9, 3, 1, 1, 5], 7)
    fit = fit_plda(X, labels, n_iter=2000)
    best = fit.log_likelihoods[-1]
    rng = np.random.default_rng(0)
    for _ in range(30):
        nudge = 1e-3 * rng.standard_normal((2, 3, 3))
        shift = 1e-3 * rng.standard_normal(3)
        near = plda_from_covariances(
            fit.model.mean + shift,
            fit.within + nudge[0] + nudge[0].T,
            fit.between + nudge[1] + nudge[1].T,
        )
        assert plda_log_likelihood(near, X, labels) < best


@pytest.mark.parametrize("counts", [[4] * 7, [1, 2, 3, 5, 8, 2, 2]], ids=str)
def test_kaldi_estimation_gives_kaldis_iterates(counts):
    X, labels = draw(counts, 9)
    history = _reference.kaldi_iterations(X, labels, 10)
    for n_iter in (1, 2, 10):
        fit = fit_plda(X, labels, n_iter=n_iter, estimation="kaldi")
        within, between = history[n_iter - 1]
        np.testing.assert_allclose(fit.within, within, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fit.between, between, rtol=1e-9, atol=1e-12)
        got = covariances(fit.model)
        np.testing.assert_allclose(got.within, within, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(got.between, between, rtol=1e-8, atol=1e-10)
    centre = np.mean([X[labels == s].mean(axis=0) for s in range(7)], axis=0)
    np.testing.assert_allclose(fit.model.mean, centre, rtol=1e-14)


def test_kaldi_estimation_takes_fewer_vectors_than_dimensions():
    rng = np.random.default_rng(2)
    X, labels = rng.standard_normal((9, 20)), np.repeat([0, 1, 2], 3)
    fit = fit_plda(X, labels, n_iter=3, estimation="kaldi")
    history = _reference.kaldi_iterations(X, labels, 3)
    np.testing.assert_allclose(fit.within, history[-1][0], rtol=1e-8, atol=1e-10)


def test_order_and_names_of_speakers_do_not_matter():
    X, labels = draw([3, 1, 4, 2, 6], 3)
    order = np.random.default_rng(0).permutation(len(X))
    named = np.array([f"s{9 - label}" for label in labels])
    a, b = fit_plda(X, labels), fit_plda(X[order], named[order])
    np.testing.assert_allclose(a.within, b.within, rtol=1e-10)
    np.testing.assert_allclose(a.log_likelihoods, b.log_likelihoods, rtol=1e-12)


def test_fewer_speakers_than_dimensions_give_a_usable_model():
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1], 30)
    X = 3.0 * rng.standard_normal((2, 10))[labels] + rng.standard_normal((60, 10))
    fit = fit_plda(X, labels, n_iter=50)
    scores = PldaScorer(fit.model).score_matrix(X)
    same = labels[:, None] == labels
    assert scores[same].min() > scores[~same].max()


def test_a_tolerance_stops_the_run_early():
    X, labels = draw([5] * 30, 1)
    fit = fit_plda(X, labels, n_iter=500, tol=1e-6)
    gains = np.diff(fit.log_likelihoods) / len(X)
    assert 1 < fit.n_iter < 500
    assert gains[-1] < 1e-6 <= gains[:-1].min()


@pytest.mark.parametrize(
    ("X", "labels", "options", "message"),
    [
        (np.eye(4), [0, 0, 1, 1], {}, "X must vary within speakers in all 4"),
        (np.eye(4), [0, 0, 1], {}, "labels must be one for each of the 4 vectors (at"),
        (np.eye(2), [0, 0], {}, "labels must name at least two speakers"),
        (np.eye(2), [0, 1], {}, "labels must name some speaker twice"),
        (np.ones(3), [0, 0, 1], {}, "X must be of shape (n, 1), got (3,)"),
        (np.eye(2), [0, 1], {"n_iter": -1}, "n_iter must be a whole number >= 0"),
        (np.eye(2), [0, 1], {"estimation": "vb"}, "estimation must be one of 'ml',"),
    ],
)
def test_what_cannot_be_trained_is_named(X, labels, options, message):
    with pytest.raises(InvalidParameterError) as caught:
        fit_plda(X, labels, **options)
    assert str(caught.value).startswith(f"fit_plda: {message}")


def test_the_estimator_wraps_training_projection_and_scores():
    X, labels = draw([4] * 20, 12)
    plda = Plda(n_iter=7, normalize_length=True).fit(X, labels)
    fit = fit_plda(X, labels, n_iter=7)
    np.testing.assert_array_equal(plda.model_.transform, fit.model.transform)
    np.testing.assert_array_equal(plda.log_likelihoods_, fit.log_likelihoods)
    np.testing.assert_array_equal(
        plda.transform(X), project(fit.model, X, normalize_length=True)
    )
    np.testing.assert_array_equal(
        plda.score_matrix(X[:3], X),
        PldaScorer(fit.model, normalize_length=True).score_matrix(X[:3], X),
    )


def test_adaptation_of_one_dimension_by_hand():
    # within 1, between 1, total 2, mean 0; data 1 and 5: mean 3, variance 4, plus
    # the squared difference of means 9 makes 13 = 6.5 totals. The excess 13 - 2 = 11
    # goes to within by 0.3 and to between by 0.7.
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    adapted = adapt_plda(model, [[1.0], [5.0]])
    assert adapted.mean.tolist() == [3.0]
    within, between = covariances(adapted)
    np.testing.assert_allclose(within, [[1 + 0.3 * 11]], rtol=1e-13)
    np.testing.assert_allclose(between, [[1 + 0.7 * 11]], rtol=1e-13)


def test_without_the_difference_of_means_only_the_spread_counts():
    # variance 4 is an excess of 2
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    within, between = covariances(
        adapt_plda(model, [[1.0], [5.0]], mean_diff_scale=0.0)
    )
    np.testing.assert_allclose([within, between], [[[1.6]], [[2.4]]], rtol=1e-13)


def test_less_variance_than_expected_moves_the_mean_only():
    model = plda_from_covariances([0.0, 0.0], 4 * np.eye(2), np.diag([5.0, 9.0]))
    adapted = adapt_plda(model, [[0.5, 1.0], [-0.5, 1.0]])
    assert adapted.mean.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(covariances(adapted).within, 4 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(adapted.psi, model.psi, rtol=1e-12)


@given(
    st.integers(1, 6),
    st.integers(1, 30),
    st.tuples(*[st.floats(0.0, 1.0)] * 3),
    st.integers(0, 10**6),
)
def test_equals_the_steps_of_kaldi(d, n, scales, seed):
    rng = np.random.default_rng(seed)
    model = PldaModel(
        rng.standard_normal(d),
        rng.standard_normal((d, d)) + 2 * np.eye(d),
        np.sort(rng.uniform(0.0, 5.0, d))[::-1],
    )
    X = 3.0 * rng.standard_normal((n, d)) + 1.0
    got = adapt_plda(
        model,
        X,
        within_covar_scale=scales[0],
        between_covar_scale=scales[1],
        mean_diff_scale=scales[2],
    )
    within, between = _reference.kaldi_adaptation(model, X, *scales)
    size = np.abs(within).max() + np.abs(between).max()
    np.testing.assert_allclose(covariances(got).within, within, atol=1e-7 * size)
    np.testing.assert_allclose(covariances(got).between, between, atol=1e-7 * size)
    np.testing.assert_allclose(got.mean, X.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.empty((0, 1)), {}, "X must contain vectors, got none"),
        ([[1.0, 2.0]], {}, "X must be of shape (n, 1), got (1, 2)"),
        ([[1.0]], {"within_covar_scale": -0.1}, "within_covar_scale must be a finite"),
    ],
)
def test_wrong_input_is_named(X, options, message):
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    with pytest.raises(InvalidParameterError) as caught:
        adapt_plda(model, X, **options)
    assert str(caught.value).startswith(f"adapt_plda: {message}")
