"""Simulated i-vector sessions."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import equal_error_rate
from sms_diar.scoring import covariances, pair_coefficients, project
from sms_diar.synthetic import PldaWorld


@pytest.mark.parametrize(("dim", "eer"), [(20, 0.02), (20, 0.2), (100, 0.08)])
def test_fresh_draws_have_the_stated_error_rate(dim, eer):
    world = PldaWorld(dim=dim, eer=eer)
    # Independent pairs: 30,000 of either kind leave a standard error of at most
    # sqrt(.2 * .8 / 60,000) = .0016; pairs within a session vary together.
    session = world.draw_training(30_000, 2, random_state=dim)
    u = project(world.model, session.X).reshape(30_000, 2, dim)
    same, different = llr(world, u[:, 0], u[:, 1]), llr(world, u[1:, 0], u[:-1, 1])
    kinds = np.repeat([True, False], [len(same), len(different)])
    found = equal_error_rate(np.concatenate([same, different]), kinds)
    assert found == pytest.approx(eer, abs=0.005)


def llr(world, u, v):
    """Log-likelihood ratios of rows in the space where the model is diagonal."""
    terms = pair_coefficients(world.psi)
    return (u * v) @ terms.cross + u**2 @ terms.enrol + v**2 @ terms.test


def test_variances_between_speakers_fall_geometrically():
    psi = PldaWorld(dim=5, decay=0.1).psi
    np.testing.assert_allclose(psi[1:] / psi[:-1], 0.1**0.25)
    assert psi[-1] / psi[0] == pytest.approx(0.1)


def test_lengths_and_counts_follow_the_papers_laws():
    session = PldaWorld(dim=2).draw_session(2000, random_state=0)
    counts = np.bincount(session.speakers)
    # Six standard errors: 6 / sqrt(2000) of the mean, 6 / sqrt(4000) of the spread.
    assert counts.mean() == pytest.approx(34.0, abs=6 * 6 / 2000**0.5)
    assert counts.std() == pytest.approx(6.0, abs=6 * 6 / 4000**0.5)
    assert session.durations.min() >= 0.7
    n = len(session.durations)
    assert session.durations.mean() == pytest.approx(2.5, abs=6 * 1.8 / n**0.5)
    assert session.X.shape == (n, 2)


def test_residual_variance_falls_with_length_and_is_one_on_average():
    world = PldaWorld(dim=2, duration_share=0.7)
    lengths = world.draw_durations(400_000, random_state=0)
    variance = world.residual_variance(lengths)
    assert variance.mean() == pytest.approx(1.0, abs=0.005)
    assert (np.diff(world.residual_variance(np.array([0.7, 1.0, 3.0, 20.0]))) < 0).all()
    # What is left of very long segments is the part that is not due to shortness.
    assert world.residual_variance(np.array([1e9]))[0] == pytest.approx(0.3)
    flat = PldaWorld(dim=2, duration_share=0.0).residual_variance(lengths)
    assert (flat == 1.0).all()


def test_draws_have_the_covariances_of_the_model():
    world = PldaWorld(dim=3, eer=0.1, duration_share=0.5)
    session = world.draw_training(20_000, 2, random_state=0)
    pairs = session.X.reshape(20_000, 2, 3)
    within, between = covariances(world.model)
    difference = pairs[:, 0] - pairs[:, 1]
    # Entries of a covariance of 20,000 draws: standard error below 2 % of the largest.
    np.testing.assert_allclose(
        difference.T @ difference / 40_000, within, atol=0.06 * within.max()
    )
    cross = pairs[:, 0].T @ pairs[:, 1] / 20_000
    scale = within.max() + between.max()
    np.testing.assert_allclose((cross + cross.T) / 2, between, atol=0.06 * scale)


def test_a_seed_gives_the_same_session():
    world = PldaWorld(dim=4)
    first, again = world.draw_session(3, 1), world.draw_session(3, 1)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X[:5], world.draw_session(3, 2).X[:5])
    turned = PldaWorld(dim=4, seed=1).draw_session(3, 1)
    assert not np.allclose(first.X, turned.X)
    # Only the axes differ: lengths of the vectors are the same.
    np.testing.assert_allclose(
        np.linalg.norm(first.X, axis=1), np.linalg.norm(turned.X, axis=1)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 0),
        ("eer", 0.5),
        ("decay", 0.0),
        ("duration_share", 1.5),
        ("mean_extra", 0.0),
    ],
)
def test_wrong_parameters_are_named(name, value):
    with pytest.raises(InvalidParameterError, match=f"^PldaWorld: {name} must be"):
        PldaWorld(**{name: value})
