"""Evidence of partitions and the session's own model, against plain Gaussians."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.evidence import partition_evidence
from sms_diar.scoring.session_model import (
    SessionModel,
    SessionPrior,
    adapt_session,
    log_joint,
)

PSI = np.array([4.0, 1.0, 0.25])


def stacked_log_density(rows, labels, within, between):
    """All vectors as one Gaussian: groups share a speaker, others do not."""
    same = labels[:, None] == labels[None, :]
    covariance = np.kron(np.eye(len(rows)), within) + np.kron(same, between)
    return multivariate_normal(cov=covariance).logpdf(rows.ravel())


def test_two_numbers_of_one_speaker_by_hand():
    # n = 2, s = 3, psi = 1: 9 / (2 * 3) - log(3) / 2
    found = partition_evidence([[1.0], [2.0]], [0, 0], [1.0])
    assert found == pytest.approx(1.5 - math.log(3.0) / 2.0, abs=1e-15)


def test_a_weight_counts_segments_in_part_by_hand():
    # w = 1/2: n = 1, s = 3/2: 2.25 / (2 * 2) - log(2) / 2
    found = partition_evidence([[1.0], [2.0]], [0, 0], [1.0], weight=0.5)
    assert found == pytest.approx(0.5625 - math.log(2.0) / 2.0, abs=1e-15)


@pytest.mark.parametrize("labels", [[0] * 6, [0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 1, 0]])
def test_evidence_is_the_marginal_likelihood_of_one_big_gaussian(labels):
    rows = np.random.default_rng(1).standard_normal((6, 3)) * 2.0
    names = np.array(labels)
    expected = stacked_log_density(rows, names, np.eye(3), np.diag(PSI))
    alone = multivariate_normal(cov=np.eye(3)).logpdf(rows).sum()
    found = partition_evidence(rows, names, PSI)
    assert found == pytest.approx(expected - alone, abs=1e-9)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.randoms())
def test_order_and_names_do_not_matter(labels, random):
    rows = np.random.default_rng(2).standard_normal((len(labels), 3))
    order = list(range(len(labels)))
    random.shuffle(order)
    names = [f"speaker {label}" for label in labels]
    shuffled = partition_evidence(rows[order], [names[i] for i in order], PSI)
    assert shuffled == pytest.approx(partition_evidence(rows, labels, PSI), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [0], [-1.0]), "partition_evidence: psi must be non-negative"),
        (([[1.0]], [0, 1], [1.0]), "partition_evidence: labels must be one for each"),
        (([[np.nan]], [0], [1.0]), "partition_evidence: U must be finite"),
    ],
)
def test_what_makes_no_sense_is_named(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        partition_evidence(*arguments)


def test_a_weight_above_one_is_refused():
    message = r"partition_evidence: weight must be a number in \(0, 1\], got 2.0"
    with pytest.raises(InvalidParameterError, match=message):
        partition_evidence([[1.0]], [0], [1.0], weight=2.0)


def drawn(seed=0, sizes=(12, 9, 7, 5)):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    speakers = np.sqrt(PSI) * rng.standard_normal((len(sizes), 3))
    return speakers[labels] + rng.standard_normal((len(labels), 3)), labels


def test_the_joint_probability_is_that_of_one_big_gaussian_and_the_prior():
    rows, labels = drawn()
    prior = SessionPrior(PSI)
    between = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
    within = np.array([[0.8, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.1]])
    mean = np.array([0.3, -0.2, 0.1])
    model = SessionModel(mean, within, between)
    likelihood = stacked_log_density(rows - mean, labels, within, between)
    # Only a constant of the number of numbers is left out.
    constant = -0.5 * rows.size * math.log(2.0 * math.pi)
    found = log_joint(prior, model, rows, labels, weight=1.0)
    expected = likelihood - constant + model.log_prior(prior)
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_prior_of_the_trained_model_costs_nothing():
    assert SessionPrior(PSI).start.log_prior(SessionPrior(PSI)) == pytest.approx(0.0)


def test_adaptation_raises_the_joint_probability():
    rows, labels = drawn()
    rows = 1.5 * rows + [1.0, 0.0, 0.0]  # another channel, noisier
    prior = SessionPrior(PSI)
    models = [prior.start]
    for _ in range(5):
        models.append(adapt_session(prior, models[-1], rows, labels, weight=0.7))
    values = [log_joint(prior, m, rows, labels, weight=0.7) for m in models]
    assert np.all(np.diff(values) > 0.0)


def test_the_scale_within_speakers_follows_the_session():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(40), 25)
    speakers = np.sqrt(PSI) * rng.standard_normal((40, 3))
    rows = speakers[labels] + math.sqrt(0.5) * rng.standard_normal((1000, 3))
    prior = SessionPrior(PSI)
    model = adapt_session(prior, prior.start, rows, labels, weight=1.0, n_iter=10)
    # The scale is held to 1 by 10 segments of 1,000: (10 + 500) / 1010.
    assert model.scale_within == pytest.approx(0.505, abs=0.02)
    np.testing.assert_allclose(np.diag(model.within), 0.5, atol=0.05)


def test_one_segment_hardly_moves_the_model():
    prior = SessionPrior(PSI)
    rows = np.array([[1.0, 1.0, 0.5]])
    model = adapt_session(prior, prior.start, rows, np.zeros(1, np.int64), weight=1.0)
    assert abs(model.scale_within - 1.0) < 0.1
    np.testing.assert_allclose(model.within, np.eye(3), atol=0.1)
    np.testing.assert_allclose(model.psi, PSI, rtol=0.2)
