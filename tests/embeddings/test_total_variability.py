"""I-vectors: the posterior, its likelihood, and training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sms_diar.embeddings import (
    GaussianMixture,
    Statistics,
    TotalVariability,
    _reference,
    train_total_variability,
)
from sms_diar.embeddings.total_variability_training import _expect, _maximise
from sms_diar.errors import InvalidParameterError


def draw_mixture(c, d, rng, *, full):
    covariances = rng.uniform(0.3, 2.0, (c, d))
    if full:
        factors = np.eye(d) + 0.3 * rng.standard_normal((c, d, d))
        covariances = factors @ factors.transpose(0, 2, 1)
    return GaussianMixture(
        np.full(c, 1.0 / c), rng.standard_normal((c, d)), covariances
    )


def draw_model(c, d, r, seed, *, full=False):
    rng = np.random.default_rng(seed)
    mixture = draw_mixture(c, d, rng, full=full)
    means = mixture.means + 0.3 * rng.standard_normal((c, d))
    return TotalVariability(rng.standard_normal((c, d, r)), means, mixture)


def draw_aligned(model, lengths, seed):
    """Frames of segments with the component of each, and their statistics."""
    rng = np.random.default_rng(seed)
    c, d = model.means.shape
    segments, zeroth, first = [], [], []
    for length in lengths:
        components = rng.integers(0, c, length)
        X = rng.standard_normal((length, d)) + model.means[components]
        chosen = np.eye(c)[components]
        segments.append((X, components))
        zeroth.append(chosen.sum(axis=0))
        first.append(chosen.T @ X)
    ids = tuple(f"s{i}" for i in range(len(lengths)))
    statistics = Statistics(
        ids, np.array(zeroth).reshape(-1, c), np.array(first).reshape(-1, c, d)
    )
    return segments, statistics


def soft_statistics(c, d, n, seed):
    rng = np.random.default_rng(seed)
    zeroth = rng.gamma(1.0, 5.0, (n, c))
    offsets = rng.standard_normal((n, 1, 2)) @ rng.standard_normal((1, 2, c * d))
    first = zeroth[:, :, None] * offsets.reshape(n, c, d)
    first += np.sqrt(zeroth)[:, :, None] * rng.standard_normal((n, c, d))
    return Statistics(tuple(map(str, range(n))), zeroth, first)


def test_one_number_by_hand():
    # m = 1, T = 2, S = 4, three frames with the sum 9: the whitened T is 1, the
    # precision 1 + 3 = 4, b = 2 (9 - 3) / 4 = 3, so w = 3/4 with the variance 1/4.
    # The likelihood is b'w/2 - log(4)/2 + F m / S - N m m / 2 S
    # = 9/8 - log 2 + 9/4 - 3/8 = 3 - log 2.
    mixture = GaussianMixture(np.ones(1), np.array([[1.0]]), np.array([[4.0]]))
    model = TotalVariability(np.array([[[2.0]]]), mixture.means, mixture)
    statistics = Statistics(("a",), np.array([[3.0]]), np.array([[[9.0]]]))
    found = model.posterior(statistics)
    assert found.means.item() == pytest.approx(0.75, abs=1e-15)
    assert found.covariances.item() == pytest.approx(0.25, abs=1e-15)
    assert found.log_likelihoods.item() == pytest.approx(3 - np.log(2), abs=1e-14)


@given(
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 10**6),
)
def test_posterior_and_likelihood_are_those_of_the_stacked_gaussian(
    full, c, d, r, seed
):
    model = draw_model(c, d, r, seed, full=full)
    segments, statistics = draw_aligned(model, [1, 4, 9], seed)
    found = model.posterior(statistics)
    given_model = (model.means, model.mixture.covariances, model.matrix)
    for row, (X, components) in enumerate(segments):
        mean, covariance = _reference.posterior(X, components, *given_model)
        np.testing.assert_allclose(found.means[row], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            found.covariances[row], covariance, rtol=1e-9, atol=1e-9
        )
        want = _reference.log_likelihood(X, components, *given_model)
        assert found.log_likelihoods[row] == pytest.approx(want, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("full", [False, True], ids=["diagonal", "full"])
def test_an_iteration_is_that_of_the_definition(full):
    model = draw_model(3, 2, 2, 5, full=full)
    statistics = soft_statistics(3, 2, 90, 6)  # more than one batch
    sums = _expect(model, statistics, workers=1)
    new = _maximise(model, sums, 90, minimum_divergence=True)
    matrix, means = _reference.em_step(
        statistics.zeroth,
        statistics.first,
        model.means,
        model.mixture.covariances,
        model.matrix,
    )
    np.testing.assert_allclose(new.matrix, matrix, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(new.means, means, rtol=1e-9, atol=1e-9)


@given(
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 10**6),
)
@settings(max_examples=10)
def test_the_likelihood_never_falls(full, divergence, c, d, r, seed):
    mixture = draw_mixture(c, d, np.random.default_rng(seed), full=full)
    fit = train_total_variability(
        soft_statistics(c, d, 40, seed),
        mixture,
        min(r, c * d),
        n_iter=8,
        minimum_divergence=divergence,
        seed=seed,
    )
    gains = np.diff(fit.log_likelihoods)
    assert (gains >= -1e-10 * (1 + np.abs(fit.log_likelihoods[:-1]))).all()
    assert len(fit.log_likelihoods) == 9


def test_minimum_divergence_makes_the_training_vectors_standard():
    mixture = draw_mixture(3, 4, np.random.default_rng(0), full=False)
    statistics = soft_statistics(3, 4, 200, 1)
    fit = train_total_variability(statistics, mixture, 2, n_iter=60)
    found = fit.model.posterior(statistics)
    spread = np.cov(found.means.T, bias=True) + found.covariances.mean(axis=0)
    np.testing.assert_allclose(found.means.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(spread, np.eye(2), atol=1e-6)
    plain = train_total_variability(
        statistics, mixture, 2, n_iter=60, minimum_divergence=False
    )
    np.testing.assert_array_equal(plain.model.means, mixture.means)
    assert fit.log_likelihoods[-1] > plain.log_likelihoods[-1]


def test_a_planted_subspace_is_found():
    rng = np.random.default_rng(2)
    mixture = draw_mixture(4, 5, rng, full=False)
    planted = rng.standard_normal((4, 5, 2))
    zeroth = np.full((400, 4), 200.0)
    w = rng.standard_normal((400, 2))
    noise = rng.standard_normal((400, 4, 5)) * np.sqrt(mixture.covariances / 200.0)
    first = 200.0 * (mixture.means + np.einsum("cdr,nr->ncd", planted, w) + noise)
    statistics = Statistics(tuple(map(str, range(400))), zeroth, first)
    model = train_total_variability(statistics, mixture, 2).model
    # Same space: regression on the extracted vectors leaves next to nothing of w.
    vectors = model.extract(statistics)
    rest = w - w.mean(axis=0)
    rest = rest - vectors @ np.linalg.lstsq(vectors, rest, rcond=None)[0]
    assert rest.var() < 2e-3


def test_segments_without_frames_are_at_the_prior_and_train_nothing():
    model = draw_model(2, 3, 2, 1)
    statistics = soft_statistics(2, 3, 30, 2)
    empty = Statistics(("none",), np.zeros((1, 2)), np.zeros((1, 2, 3)))
    found = model.posterior(empty)
    assert not found.means.any()
    np.testing.assert_array_equal(found.covariances[0], np.eye(2))
    joined = Statistics(
        (*statistics.ids, "none"),
        np.concatenate([statistics.zeroth, empty.zeroth]),
        np.concatenate([statistics.first, empty.first]),
    )
    with_it = train_total_variability(joined, model.mixture, 2, n_iter=3)
    without = train_total_variability(statistics, model.mixture, 2, n_iter=3)
    np.testing.assert_array_equal(with_it.model.matrix, without.model.matrix)


def test_a_component_without_frames_keeps_its_start():
    mixture = draw_mixture(3, 2, np.random.default_rng(0), full=False)
    full = soft_statistics(3, 2, 30, 1)
    zeroth, first = full.zeroth.copy(), full.first.copy()
    zeroth[:, 1], first[:, 1] = 0.0, 0.0
    fit = train_total_variability(Statistics(full.ids, zeroth, first), mixture, 1)
    assert np.isfinite(fit.model.matrix).all()
    assert (np.diff(fit.log_likelihoods) >= -1e-10).all()


@pytest.mark.parametrize(
    ("rank", "n", "message"),
    [
        (7, 30, "train_total_variability: rank must be at most 6, the total dimension"),
        (5, 5, "train_total_variability: statistics must have more segments than the"),
    ],
)
def test_too_large_a_rank_is_refused(rank, n, message):
    mixture = draw_mixture(3, 2, np.random.default_rng(0), full=False)
    with pytest.raises(InvalidParameterError) as caught:
        train_total_variability(soft_statistics(3, 2, n, 1), mixture, rank)
    assert str(caught.value).startswith(message)


def test_statistics_of_another_mixture_are_refused():
    model = draw_model(3, 2, 1, 0)
    with pytest.raises(InvalidParameterError, match="TotalVariability: statistics"):
        model.extract(soft_statistics(4, 2, 3, 0))
