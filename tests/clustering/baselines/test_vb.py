"""Variational Bayes: by hand, against a brute-force chain, and its rising bound."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from sms_diar.clustering.baselines.vb import _chain, _mixture, soften, vb_mixture


def case(seed, n=12, n_speakers=3, dim=4, spread=2.0):
    """Segments of random speakers, and responsibilities drawn at random."""
    rng = np.random.default_rng(seed)
    psi = np.sort(rng.gamma(1.0, 3.0, dim))[::-1]
    speakers = np.sqrt(psi) * rng.standard_normal((n_speakers, dim))
    F = speakers[rng.integers(n_speakers, size=n)] + rng.standard_normal((n, dim))
    gamma = rng.dirichlet(np.full(n_speakers + 2, 1.0 / spread), size=n)
    return F, psi, gamma


def brute_chain(density, pi, loop):
    """Posteriors, likelihood and draws of speakers by summing over all paths."""
    n, n_speakers = density.shape
    gamma, draws, total = np.zeros((n, n_speakers)), np.zeros(n_speakers), 0.0
    # At every step a path either stays, or draws a speaker (the same one, too).
    for path in itertools.product(range(n_speakers), repeat=n):
        for stays in itertools.product([False, True], repeat=n - 1):
            p = pi[path[0]] * np.exp(density[0, path[0]])
            drawn = np.zeros(n_speakers)
            drawn[path[0]] += 1.0
            for t, stay in enumerate(stays, start=1):
                if stay:
                    p *= loop * (path[t] == path[t - 1])
                else:
                    p *= (1.0 - loop) * pi[path[t]]
                    drawn[path[t]] += 1.0
                p *= np.exp(density[t, path[t]])
            gamma[np.arange(n), path] += p
            draws += p * drawn
            total += p
    return gamma / total, draws / draws.sum(), np.log(total)


def test_one_speaker_and_one_segment_by_hand():
    # psi = 3, F = 2, gamma = 1: variance = 1 / (1 + 3) = 1/4 and
    # alpha = 1/4 * sqrt(3) * 2 = sqrt(3) / 2. Expected log density:
    #   sqrt(3)*2 * sqrt(3)/2 - (1/4 + 3/4) * 3 / 2 - (4 + log 2 pi) / 2
    #   = 3 - 3/2 - 2 - log(2 pi) / 2 = -1/2 - log(2 pi) / 2
    # Divergence: (1/4 + 3/4 - 1 - log(1/4)) / 2 = log 2.
    result = vb_mixture([[2.0]], [3.0], [[1.0]])
    assert result.variance.tolist() == [[0.25]]
    assert result.alpha[0, 0] == pytest.approx(np.sqrt(3.0) / 2.0)
    bound = -0.5 - 0.5 * np.log(2.0 * np.pi) - np.log(2.0)
    np.testing.assert_allclose(result.elbo, bound)
    assert result.gamma.tolist() == [[1.0]]
    assert result.converged


def test_one_speaker_reaches_the_exact_evidence():
    # With one speaker the posterior is Gaussian, so the bound is tight: all
    # segments are jointly normal with covariance I + psi in each dimension.
    F, psi, _ = case(3, n=5)
    result = vb_mixture(F, psi, np.ones((5, 1)))
    evidence = 0.0
    for d, variance in enumerate(psi):
        covariance = np.eye(5) + variance
        inverse = np.linalg.inv(covariance)
        evidence += -0.5 * (
            F[:, d] @ inverse @ F[:, d] + np.linalg.slogdet(2.0 * np.pi * covariance)[1]
        )
    assert result.elbo[-1] == pytest.approx(evidence, rel=1e-12)


def test_a_mixture_is_bayes_rule():
    density = norm.logpdf(np.array([[0.0, 1.0], [3.0, -1.0]]))
    pi = np.array([0.25, 0.75])
    step = _mixture(density, pi)
    joint = np.exp(density) * pi
    np.testing.assert_allclose(step.gamma, joint / joint.sum(axis=1, keepdims=True))
    assert step.log_likelihood == pytest.approx(np.log(joint.sum(axis=1)).sum())
    np.testing.assert_allclose(step.pi, step.gamma.mean(axis=0))


@pytest.mark.parametrize("loop", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_chain_equals_a_sum_over_all_paths(seed, loop):
    rng = np.random.default_rng(seed)
    density, pi = 3.0 * rng.standard_normal((4, 3)), rng.dirichlet(np.ones(3))
    gamma, priors, likelihood = brute_chain(density, pi, loop)
    step = _chain(density, pi, loop)
    np.testing.assert_allclose(step.gamma, gamma, rtol=1e-10)
    np.testing.assert_allclose(step.pi, priors, rtol=1e-10)
    assert step.log_likelihood == pytest.approx(likelihood, rel=1e-12)


def test_a_chain_that_never_stays_is_the_mixture():
    F, psi, gamma = case(5)
    mixture = vb_mixture(F, psi, gamma, tol=0.0)
    chain = vb_mixture(F, psi, gamma, loop_probability=0.0, tol=0.0)
    np.testing.assert_array_equal(mixture.gamma, chain.gamma)
    nearly = vb_mixture(F, psi, gamma, loop_probability=1e-13, tol=0.0)
    np.testing.assert_allclose(nearly.gamma, mixture.gamma, atol=1e-9)


cases = st.tuples(
    st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 5), st.integers(1, 6)
)
weights = st.sampled_from([0.1, 0.3, 1.0, 3.0, 17.0])
loops = st.sampled_from([None, 0.2, 0.9, 0.999])


@given(cases, weights, weights, loops)
def test_the_bound_never_falls(drawn, Fa, Fb, loop):
    seed, n, n_speakers, dim = drawn
    F, psi, gamma = case(seed, n, n_speakers, dim)
    result = vb_mixture(
        F, psi, gamma, Fa=Fa, Fb=Fb, loop_probability=loop, max_iter=30, tol=0.0
    )
    assert np.isfinite(result.elbo).all()
    scale = np.abs(result.elbo).max()
    assert np.diff(result.elbo).min(initial=0.0) >= -1e-12 * scale
    np.testing.assert_allclose(result.gamma.sum(axis=1), 1.0, rtol=1e-9)
    assert result.pi.sum() == pytest.approx(1.0)


@given(st.integers(0, 1000), loops)
def test_renaming_speakers_renames_the_result(seed, loop):
    F, psi, gamma = case(seed)
    order = np.random.default_rng(seed).permutation(gamma.shape[1])
    here = vb_mixture(F, psi, gamma, loop_probability=loop, max_iter=5)
    there = vb_mixture(F, psi, gamma[:, order], loop_probability=loop, max_iter=5)
    np.testing.assert_allclose(here.gamma[:, order], there.gamma, atol=1e-9)
    np.testing.assert_allclose(here.pi[order], there.pi, atol=1e-9)


@given(st.integers(0, 1000))
def test_a_mixture_does_not_see_the_order_of_segments(seed):
    F, psi, gamma = case(seed)
    order = np.random.default_rng(seed).permutation(len(F))
    here = vb_mixture(F, psi, gamma, max_iter=5)
    there = vb_mixture(F[order], psi, gamma[order], max_iter=5)
    np.testing.assert_allclose(here.gamma[order], there.gamma, atol=1e-9)


def test_speakers_that_are_not_needed_lose_their_prior():
    rng = np.random.default_rng(0)
    psi = np.full(10, 5.0)
    truth = np.repeat([0, 1], 30)
    F = np.sqrt(5.0) * rng.standard_normal((2, 10))[truth]
    F += rng.standard_normal((60, 10))
    start = soften(truth * 3 + np.tile([0, 1, 2], 20))
    result = vb_mixture(F, psi, start, Fb=5.0, max_iter=200, tol=1e-8)
    assert np.count_nonzero(result.pi > 1e-7) == 2
    labels = result.gamma.argmax(axis=1)
    assert len(set(labels[:30])) == len(set(labels[30:])) == 1


def test_a_speaker_without_prior_stays_without():
    F, psi, gamma = case(1)
    pi = np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    for loop in (None, 0.9):
        result = vb_mixture(F, psi, gamma, pi=pi, loop_probability=loop)
        assert (result.pi[2:] == 0.0).all()
        assert (result.gamma[:, 2:] == 0.0).all()


def test_a_chain_keeps_single_windows_with_their_neighbours():
    # The middle window looks a little more like the other speaker.
    F = np.array([[2.0]] * 10 + [[-0.3]] + [[2.0]] * 10 + [[-2.0]] * 20)
    start = soften((F[:, 0] < 0.0).astype(np.int64))
    alone = vb_mixture(F, [4.0], start).gamma.argmax(axis=1)
    chained = vb_mixture(F, [4.0], start, loop_probability=0.99).gamma.argmax(axis=1)
    assert alone[10] == 1
    assert chained[10] == 0


def test_far_outliers_do_not_underflow():
    F = np.array([[0.0], [1e3], [-1e3], [1e3]])
    for loop in (None, 0.99):
        result = vb_mixture(F, [2.0], soften(np.array([0, 1, 2, 1])),
                            loop_probability=loop)  # fmt: skip
        assert np.isfinite(result.elbo).all()
        assert result.gamma.argmax(axis=1).tolist() == [0, 1, 2, 1]


def test_soft_labels_have_the_log_odds_asked_for():
    gamma = soften(np.array([0, 2, 1]), 3.0)
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0)
    assert np.log(gamma[1, 2] / gamma[1, 0]) == pytest.approx(3.0)
    assert logsumexp(np.log(gamma[0])) == pytest.approx(0.0, abs=1e-12)
