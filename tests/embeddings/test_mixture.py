"""Gaussian mixtures: densities and posteriors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.embeddings import GaussianMixture, _reference
from sms_diar.errors import InvalidParameterError


def draw_mixture(c, d, seed, *, full=False):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, c)
    covariances = rng.uniform(0.2, 3.0, (c, d))
    if full:
        factors = np.eye(d) + 0.3 * rng.standard_normal((c, d, d))
        covariances = factors @ factors.transpose(0, 2, 1)
    return GaussianMixture(
        weights / weights.sum(), rng.standard_normal((c, d)), covariances
    )


def test_posteriors_by_hand():
    # Two unit Gaussians at 0 and 2, equally heavy. At 1 both are as likely; at 0 the
    # densities are as 1 to exp(-2).
    mixture = GaussianMixture(
        np.array([0.5, 0.5]), np.array([[0.0], [2.0]]), np.ones((2, 1))
    )
    posteriors, likelihoods = mixture.posteriors(np.array([[1.0], [0.0]]))
    share = 1.0 / (1.0 + math.exp(-2.0))
    np.testing.assert_allclose(posteriors, [[0.5, 0.5], [share, 1 - share]], rtol=1e-14)
    normal = -0.5 * math.log(2 * math.pi)
    want = [normal - 0.5, normal + math.log(0.5 * (1 + math.exp(-2.0)))]
    np.testing.assert_allclose(likelihoods, want, rtol=1e-14)


@given(st.booleans(), st.integers(1, 5), st.integers(1, 6), st.integers(0, 10**6))
def test_densities_are_those_of_explicit_gaussians(full, c, d, seed):
    mixture = draw_mixture(c, d, seed, full=full)
    X = np.random.default_rng(seed + 1).standard_normal((7, d)) * 3
    want = _reference.log_densities(
        X, mixture.weights, mixture.means, mixture.covariances
    )
    np.testing.assert_allclose(mixture.log_densities(X), want, rtol=1e-9, atol=1e-9)


def test_a_large_offset_of_all_frames_costs_no_digits():
    near = draw_mixture(4, 3, 0)
    far = GaussianMixture(near.weights, near.means + 1e6, near.covariances)
    X = np.random.default_rng(1).standard_normal((50, 3))
    np.testing.assert_allclose(
        far.posteriors(X + 1e6)[0], near.posteriors(X)[0], rtol=1e-8, atol=1e-10
    )


def test_frames_far_from_everything_still_have_posteriors():
    mixture = draw_mixture(3, 2, 4)
    posteriors, likelihoods = mixture.posteriors(np.array([[1e4, -1e4]]))
    assert posteriors.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(likelihoods).all()


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_pruning_keeps_the_likeliest_components_and_the_sum(top, seed):
    mixture = draw_mixture(6, 3, seed)
    X = np.random.default_rng(seed).standard_normal((9, 3))
    whole, likelihoods = mixture.posteriors(X)
    pruned, same = mixture.posteriors(X, top=top)
    np.testing.assert_array_equal(same, likelihoods)
    np.testing.assert_allclose(pruned.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.count_nonzero(pruned, axis=1) == min(top, 6)).all()
    kept = np.sort(np.where(pruned > 0, whole, 0.0), axis=1)[:, -min(top, 6) :]
    np.testing.assert_array_equal(kept, np.sort(whole, axis=1)[:, -min(top, 6) :])


@pytest.mark.parametrize(
    ("weights", "means", "covariances", "message"),
    [
        ([1.0], [0.0, 1.0], [[1.0]], "GaussianMixture: weights, means and covariances"),
        ([0.7, 0.7], [[0.0], [1.0]], [[1.0], [1.0]], "GaussianMixture: weights must"),
        ([1.0], [[math.nan]], [[1.0]], "GaussianMixture: means must be finite"),
        ([1.0], [[0.0, 0.0]], [[1.0, 0.0]], "GaussianMixture: variances must be"),
    ],
    ids=["shapes", "weights", "nan", "variances"],
)
def test_nonsense_is_refused(weights, means, covariances, message):
    with pytest.raises(InvalidParameterError) as caught:
        GaussianMixture(np.array(weights), np.array(means), np.array(covariances))
    assert str(caught.value).startswith(message)


def test_a_covariance_that_is_none_is_refused():
    mixture = GaussianMixture(
        np.ones(1), np.zeros((1, 2)), np.array([[[1.0, 2.0], [2.0, 1.0]]])
    )
    with pytest.raises(InvalidParameterError, match="must be positive definite"):
        mixture.posteriors(np.zeros((1, 2)))
