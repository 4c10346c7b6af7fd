"""Algebra of the PLDA model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring import (
    covariances,
    pair_coefficients,
    plda_from_covariances,
    project,
    transform_plda,
)
from sms_diar.types import PldaModel


def random_world(d, seed, rank=None):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((d, d + 2))
    b = rng.standard_normal((d, d if rank is None else rank))
    return rng.standard_normal(d), a @ a.T / d, b @ b.T


def test_diagonal_covariances_by_hand():
    # within (4, 1), between (8, 3): psi = (2, 3), falling: (3, 2); the transform
    # divides by the standard deviations within: 1 for the second, 2 for the first.
    model = plda_from_covariances([5.0, 6.0], np.diag([4.0, 1.0]), np.diag([8.0, 3.0]))
    assert model.psi.tolist() == [3.0, 2.0]
    assert model.transform.tolist() == [[0.0, 1.0], [0.5, 0.0]]
    assert model.mean.tolist() == [5.0, 6.0]


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_covariances_come_back(d, seed):
    mean, within, between = random_world(d, seed)
    model = plda_from_covariances(mean, within, between)
    got = covariances(model)
    np.testing.assert_allclose(got.within, within, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(got.between, between, rtol=1e-8, atol=1e-8)
    assert (np.diff(model.psi) <= 0.0).all()


def test_a_between_covariance_may_lack_directions():
    mean, within, between = random_world(6, 2, rank=2)
    model = plda_from_covariances(mean, within, between)
    assert (model.psi >= 0.0).all()
    np.testing.assert_allclose(model.psi[2:], 0.0, atol=1e-10)
    np.testing.assert_allclose(covariances(model).between, between, atol=1e-9)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_projecting_the_model_projects_its_covariances(k):
    mean, within, between = random_world(5, 3)
    matrix = np.random.default_rng(0).standard_normal((k, 5))
    model = transform_plda(plda_from_covariances(mean, within, between), matrix)
    np.testing.assert_allclose(model.mean, matrix @ mean, rtol=1e-12)
    np.testing.assert_allclose(
        covariances(model).within, matrix @ within @ matrix.T, rtol=1e-9
    )
    np.testing.assert_allclose(
        covariances(model).between, matrix @ between @ matrix.T, rtol=1e-9
    )


# mean (1, 0), transform diag(2, 1), psi (3, 1): x = (2, 4) goes to (2, 4).
HAND = PldaModel(np.array([1.0, 0.0]), np.diag([2.0, 1.0]), np.array([3.0, 1.0]))


@pytest.mark.parametrize(
    ("n", "energy"),
    # 4/(3+1) + 16/(1+1) = 9; 4/(3+1/2) + 16/(1+1/2) = 8/7 + 32/3
    [(1, 9.0), (2, 8 / 7 + 32 / 3)],
)
def test_kaldis_length_normalisation_by_hand(n, energy):
    got = project(HAND, [[2.0, 4.0]], normalize_length=True, n_examples=n)
    want = np.array([[2.0, 4.0]]) * np.sqrt(2 / energy)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_counts_may_differ_between_rows():
    X = [[2.0, 4.0], [2.0, 4.0]]
    got = project(HAND, X, normalize_length=True, n_examples=[1, 2])
    for row, n in enumerate((1, 2)):
        one = project(HAND, X[:1], normalize_length=True, n_examples=n)
        np.testing.assert_array_equal(got[row], one[0])


def test_simple_length_normalisation_gives_the_root_of_the_dimension():
    got = project(
        HAND, [[2.0, 4.0]], normalize_length=True, simple_length_norm=True, n_examples=7
    )
    np.testing.assert_allclose(np.linalg.norm(got), np.sqrt(2.0), rtol=1e-15)
    np.testing.assert_allclose(got[0, 1] / got[0, 0], 2.0, rtol=1e-15)


@pytest.mark.parametrize("simple", [True, False])
def test_the_mean_itself_stays_at_zero(simple):
    got = project(HAND, [[1.0, 0.0]], normalize_length=True, simple_length_norm=simple)
    assert got.tolist() == [[0.0, 0.0]]


@given(st.integers(1, 30), st.integers(0, 10**6))
def test_normalised_vectors_have_their_expected_energy(n, seed):
    model = plda_from_covariances(*random_world(4, seed))
    X = np.random.default_rng(seed).standard_normal((5, 4)) * 10
    u = project(model, X, normalize_length=True, n_examples=n)
    np.testing.assert_allclose(np.sum(u**2 / (model.psi + 1 / n), axis=1), 4.0)


def test_coefficients_by_hand():
    # psi = 1, n = 2: 1 + 3 psi = 4, 1 + 2 psi = 3, 1 + psi = 2: cross 2/4,
    # u^2: -4/(2*3*4), v^2: -2/(2*2*4), constant log(2*3/4)/2
    weights = pair_coefficients(np.array([1.0]), 2)
    assert weights.cross.tolist() == [0.5]
    np.testing.assert_allclose(weights.enrol, [-1 / 6], rtol=1e-15)
    np.testing.assert_allclose(weights.test, [-1 / 8], rtol=1e-15)
    assert weights.constant == pytest.approx(0.5 * np.log(1.5), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [[0.0]], [[1.0]]), "within must be positive definite"),
        (([0.0], [[2.0]], [[-1.0]]), "between must not have negative variances"),
        (([0.0, 0.0], [[2.0]], [[1.0]]), "within must be of shape (2, 2), got (1, 1)"),
        (([0.0, 0.0], [[2.0, 1.0], [0.0, 2.0]], np.eye(2)), "within must be symmetric"),
        (([np.nan], [[2.0]], [[1.0]]), "mean must be finite, got NaN or infinity"),
        (([[0.0]], [[2.0]], [[1.0]]), "mean must be of shape (d,), got (1, 1)"),
    ],
)
def test_impossible_covariances_are_named(arguments, message):
    with pytest.raises(InvalidParameterError) as caught:
        plda_from_covariances(*arguments)
    assert str(caught.value).startswith(f"plda_from_covariances: {message}")


def test_wrong_shapes_and_counts_are_named():
    with pytest.raises(InvalidParameterError, match="project: X must be of shape"):
        project(HAND, [[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidParameterError, match="project: n_examples must be a"):
        project(HAND, [[1.0, 2.0]], n_examples=0)
    with pytest.raises(InvalidParameterError, match="transform_plda: matrix must"):
        transform_plda(HAND, [[1.0, 2.0], [2.0, 4.0]])
