"""Whitening and its shrinkage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from sklearn.covariance import ledoit_wolf_shrinkage

from sms_diar.preprocessing import Whiten

BOX = np.array([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]])


def covariance(X):
    return np.cov(X.T, bias=True)


def test_half_shrinkage_of_a_box():
    # variances 4 and 1, mean 2.5: half shrunk 3.25 and 1.75
    model = Whiten(shrinkage=0.5).fit(BOX)
    np.testing.assert_allclose(model.variances_, [3.25, 1.75], rtol=1e-14)
    want = np.diag([3.25**-0.5, 1.75**-0.5])
    np.testing.assert_allclose(model.components_, want, rtol=1e-14, atol=1e-15)


def test_full_shrinkage_only_scales():
    model = Whiten(shrinkage=1.0).fit(BOX)
    np.testing.assert_allclose(
        model.components_, np.eye(2) / 2.5**0.5, rtol=1e-14, atol=1e-15
    )


@pytest.mark.parametrize("method", ["pca", "zca"])
def test_without_shrinkage_the_covariance_becomes_the_identity(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6)) @ rng.standard_normal((6, 6)) + 5.0
    white = Whiten(shrinkage=0.0, method=method).fit_transform(X)
    np.testing.assert_allclose(covariance(white), np.eye(6), atol=1e-12)
    np.testing.assert_allclose(white.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_zca_is_the_symmetric_inverse_root(shrinkage):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4))
    C = covariance(X)
    C = (1 - shrinkage) * C + shrinkage * np.trace(C) / 4 * np.eye(4)
    model = Whiten(shrinkage=shrinkage, method="zca").fit(X)
    np.testing.assert_allclose(model.components_, np.linalg.inv(sqrtm(C)), rtol=1e-9)


@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 10**6))
def test_pca_and_zca_whitening_agree_on_distances(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    a = Whiten(shrinkage=0.2, method="pca").fit_transform(X)
    b = Whiten(shrinkage=0.2, method="zca").fit_transform(X)
    np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["pca", "zca"])
def test_directions_without_variance_are_mapped_to_zero(method):
    X = np.random.default_rng(2).standard_normal((4, 10))
    model = Whiten(shrinkage=0.0, method=method).fit(X)
    white = model.transform(X)
    # four centred points whiten to a regular simplex: |x|^2 = n - 1 for each
    np.testing.assert_allclose(np.sum(white**2, axis=1), 3.0, rtol=1e-10)
    unseen = np.linalg.svd(X - X.mean(axis=0))[2][3:]
    moved = model.transform(X + 100.0 * unseen[0])
    np.testing.assert_allclose(moved, white, atol=1e-10)


@pytest.mark.parametrize("shape", [(500, 5), (20, 20), (8, 60), (30, 1)], ids=str)
def test_auto_shrinkage_is_that_of_ledoit_and_wolf(shape):
    rng = np.random.default_rng(7)
    X = rng.standard_normal(shape) * np.linspace(1.0, 3.0, shape[1])
    got = Whiten().fit(X).shrinkage_
    assert got == pytest.approx(ledoit_wolf_shrinkage(X), rel=1e-9, abs=1e-14)
