"""Transforms that are fitted without labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.linalg import sqrtm
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.decomposition import PCA

from sms_diar.preprocessing import (
    Center,
    LengthNorm,
    Pca,
    RecordingPca,
    Whiten,
    scale_rows,
)
from sms_diar.preprocessing.axes import count_for_energy, fix_signs

vectors = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-1e150, 1e150, allow_subnormal=False),
)


def test_unit_length():
    # |(3, 4)| = 5
    got = LengthNorm().transform([[3.0, 4.0], [0.0, -2.0]])
    np.testing.assert_allclose(got, [[0.6, 0.8], [0.0, -1.0]], rtol=1e-15)


def test_length_of_the_root_of_the_dimension():
    # sqrt(4) = 2
    got = LengthNorm(scale="sqrt_dim").transform([[0.0, 9.0, 0.0, 0.0]])
    assert got.tolist() == [[0.0, 2.0, 0.0, 0.0]]


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160, 1e160, 1e300], ids=str)
def test_huge_and_tiny_vectors_keep_their_direction(size):
    got = scale_rows(np.array([[size, -size]]))
    np.testing.assert_allclose(got, [[0.5**0.5, -(0.5**0.5)]], rtol=1e-14)


@given(vectors)
def test_every_vector_but_zero_gets_the_length_and_keeps_its_direction(X):
    scaled = LengthNorm().fit_transform(X)
    norms = np.linalg.norm(scaled, axis=1)
    zero = ~X.any(axis=1)
    np.testing.assert_allclose(norms, np.where(zero, 0.0, 1.0), rtol=1e-14)
    assert (np.sign(scaled) * np.sign(X) >= 0.0).all()
    np.testing.assert_allclose(scale_rows(scaled), scaled, rtol=1e-14)


PAIR = np.array([[1.0, 0.0], [3.0, 6.0]])


def test_the_session_mean_is_drawn_towards_the_prior():
    # n = 2, shrink = 6: w = 2/8; mean = (2, 3)/4 + 3/4 (10, 1) = (8, 1.5)
    model = Center(shrink=6.0, prior_mean=[10.0, 1.0]).fit(PAIR)
    assert model.mean_.tolist() == [8.0, 1.5]


# Along x the values 4, -4, 0, 0, 0, 0; along y 2, -2; along z 1, -1: variances
# 32/6, 8/6 and 2/6, shares 32/42, 8/42 and 2/42 (cumulated .762, .952, 1).
CROSS = np.array(
    [[4, 0, 0], [-4, 0, 0], [0, 2, 0], [0, -2, 0], [0, 0, 1], [0, 0, -1]], dtype=float
)


def test_axes_of_a_cross():
    model = Pca().fit(CROSS + np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(model.components_, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(model.variances_, [32 / 6, 8 / 6, 2 / 6], rtol=1e-14)
    np.testing.assert_allclose(model.mean_, [1.0, 2.0, 3.0], rtol=1e-15)
    assert model.energy_ == 1.0


@pytest.mark.parametrize(
    ("energy", "kept"), [(0.1, 1), (0.76, 1), (0.77, 2), (40 / 42, 2), (0.96, 3)]
)
def test_energy_keeps_as_few_axes_as_reach_it(energy, kept):
    model = Pca(n_components=energy).fit(CROSS)
    assert model.n_components_ == kept
    assert model.energy_ == pytest.approx([32 / 42, 40 / 42, 1.0][kept - 1])


def test_without_centring_the_mean_is_a_direction():
    model = Pca(n_components=1, center=False).fit([[3.0, 4.1], [3.0, 3.9]])
    np.testing.assert_allclose(model.components_, [[0.6, 0.8]], atol=1e-3)
    assert model.mean_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(200, 7), (7, 7), (5, 40)], ids=str)
def test_agrees_with_scikit_learn_up_to_the_signs(shape):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) * np.arange(1, shape[1] + 1)
    model = Pca(n_components=4).fit(X)
    theirs = PCA(n_components=4, svd_solver="full").fit(X)
    np.testing.assert_allclose(
        model.components_, fix_signs(theirs.components_), rtol=1e-9, atol=1e-9
    )
    n = shape[0]
    np.testing.assert_allclose(
        model.variances_, theirs.explained_variance_ * (n - 1) / n, rtol=1e-10
    )


def test_n_vectors_give_at_most_n_minus_one_dimensions():
    X = np.random.default_rng(0).standard_normal((5, 20))
    model = Pca(n_components=10).fit(X)
    assert model.n_components_ == 4
    mapped = model.transform(X)
    np.testing.assert_allclose(
        np.linalg.norm(mapped[0] - mapped[1]), np.linalg.norm(X[0] - X[1]), rtol=1e-13
    )


@given(st.integers(2, 12), st.integers(1, 12), st.integers(0, 10**6))
def test_components_are_orthonormal_and_turned_to_one_side(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    axes = Pca().fit(X).components_
    assert len(axes) == min(n - 1, d)
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-12)
    assert (axes.max(axis=1) >= -axes.min(axis=1)).all()
    np.testing.assert_array_equal(Pca().fit(X.copy()).components_, axes)


# One recording. Kaldi adds axes while the share is at most the target, and then
# keeps one more than it added.


@pytest.mark.parametrize(
    ("target", "needed"), [(0.1, 1), (32 / 42 - 1e-9, 1), (0.8, 2), (0.96, 3)]
)
def test_recording_pca_keeps_kaldis_number_of_axes(target, needed):
    model = RecordingPca(target_energy=target).fit(CROSS)
    assert model.n_components_ == min(3, needed + 1)
    assert (
        RecordingPca(target_energy=target, extra=0).fit(CROSS).n_components_ == needed
    )


def test_recording_pca_matches_the_loop_it_stands_for():
    X = np.random.default_rng(4).standard_normal((60, 10)) * np.arange(10, 0, -1)
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    for target in (0.1, 0.3, 0.5, 0.7, 0.9):
        energy, dim = 0.0, 1
        while energy / eigenvalues.sum() <= target:
            energy += eigenvalues[dim - 1]
            dim += 1
        assert RecordingPca(target_energy=target).fit(X).n_components_ == dim


def test_a_target_of_one_projects_nothing():
    model = RecordingPca(target_energy=1.0).fit(CROSS[:4])
    assert model.components_.tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("X", [np.ones((1, 3)), np.ones((4, 3))], ids=["one", "equal"])
def test_a_recording_without_variation_is_not_projected(X):
    model = RecordingPca(target_energy=0.2).fit(X)
    assert model.components_.tolist() == np.eye(3).tolist()
    assert model.energy_ == 1.0


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_short_recordings_keep_only_directions_they_have(n):
    X = np.random.default_rng(n).standard_normal((n, 100))
    model = RecordingPca(target_energy=0.9, shrinkage="auto").fit(X)
    assert 1 <= model.n_components_ <= n - 1
    assert np.isfinite(model.transform(X)).all()


def test_more_shrinkage_keeps_more_directions_and_turns_none():
    X = np.random.default_rng(1).standard_normal((30, 20)) * 0.7 ** np.arange(20)
    models = [
        RecordingPca(target_energy=0.5, shrinkage=a).fit(X)
        for a in (0.0, 0.4, 0.8, 1.0)
    ]
    counts = [model.n_components_ for model in models]
    # All even: a share above 1/2 of 20 directions is 11, and one extra.
    assert counts == sorted(counts)
    assert counts[-1] == 12
    assert counts[0] < 6
    for model in models:
        np.testing.assert_array_equal(
            model.components_, models[-1].components_[: model.n_components_]
        )


def test_a_share_met_exactly_needs_no_further_axis():
    # cumulated 0.1, 0.3 and so on are not exact in floating point
    assert count_for_energy(np.full(10, 0.1), 0.3) == 3
    assert count_for_energy(np.array([3.0, 1.0]), 0.75) == 1


BOX = np.array([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]])


def covariance(X):
    return np.cov(X.T, bias=True)


def test_half_shrinkage_of_a_box():
    # variances 4 and 1, mean 2.5: half shrunk 3.25 and 1.75
    model = Whiten(shrinkage=0.5).fit(BOX)
    np.testing.assert_allclose(model.variances_, [3.25, 1.75], rtol=1e-14)
    want = np.diag([3.25**-0.5, 1.75**-0.5])
    np.testing.assert_allclose(model.components_, want, rtol=1e-14, atol=1e-15)


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
