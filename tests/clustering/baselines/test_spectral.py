"""Spectral clustering of a refined affinity: each step by hand, eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering.baselines import SpectralSpeakers
from sms_diar.clustering.baselines.spectral import (
    count_by_ratio,
    leading_vectors,
    refine,
)
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend


def cosine_backend(dim):
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim), in_length=1.0))


def test_refinement_by_hand():
    affinity = np.array([[1.0, 0.8, 0.2], [0.8, 1.0, 0.6], [0.2, 0.6, 1.0]])
    # Diagonal cropped to the largest of the others: 0.8, 0.8, 0.6.
    # Below half of the row maximum: 0.2 in rows 0 and 2, which becomes 0.002.
    cleaned = np.array([[0.8, 0.8, 0.002], [0.8, 0.8, 0.6], [0.002, 0.6, 0.6]])
    np.testing.assert_allclose(refine(affinity, row_share=0.5), cleaned @ cleaned.T)


def test_of_two_thresholds_the_larger_affinity_is_kept():
    # Row 0 suppresses 0.5 (its maximum is 1), row 1 does not (its maximum is 0.5).
    affinity = np.array([[1.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 1.0]])
    cleaned = np.array([[1.0, 0.5, 1.0], [0.5, 0.5, 0.5], [1.0, 0.5, 1.0]])
    np.testing.assert_allclose(refine(affinity, row_share=0.9), cleaned @ cleaned.T)


@given(st.integers(0, 500), st.integers(2, 10))
def test_leading_vectors_are_those_of_the_matrix_with_scaled_rows(seed, n):
    root = np.random.default_rng(seed).random((n, n))
    matrix = root @ root.T
    values, vectors = leading_vectors(matrix, n)
    scaled = matrix / matrix.max(axis=1, keepdims=True)
    np.testing.assert_allclose(scaled @ vectors, vectors * values, atol=1e-9)
    assert (np.diff(values) <= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1.0)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([8.0, 4.0, 3.0, 0.5, 0.4], 3),  # 3 / 0.5 = 6 is the largest ratio
        ([8.0, 1.0, 0.9, 0.8], 1),
        ([1.0, 0.5, 0.009, 1e-9], 2),  # 0.009 is noise: its ratio does not count
        ([0.001, 0.0], 1),
        ([5.0, 5.0, 0.0], 2),
    ],
)
def test_speakers_are_counted_by_ratios(values, count):
    assert count_by_ratio(np.array(values)) == count


def test_blur_joins_neighbours_in_time():
    # Blurring rows and columns mixes affinities of neighbouring windows only.
    affinity = np.eye(9)
    affinity[4, 5] = affinity[5, 4] = 1.0
    sharp, blurred = refine(affinity), refine(affinity, blur=1.0)
    assert sharp[3, 4] == 0.0
    assert blurred[3, 4] > 0.0


def test_agrees_with_the_spectralcluster_package():
    package = pytest.importorskip("spectralcluster")
    names = package.RefinementName
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), 25)
    X = rng.standard_normal((4, 16))[truth] + 0.5 * rng.standard_normal((100, 16))
    options = package.RefinementOptions(
        p_percentile=0.95,
        thresholding_soft_multiplier=0.01,
        refinement_sequence=[
            names.CropDiagonal,
            names.RowWiseThreshold,
            names.Symmetrize,
            names.Diffuse,
            names.RowWiseNormalize,
        ],
    )
    theirs = package.SpectralClusterer(
        max_clusters=20, refinement_options=options, laplacian_type=None
    ).predict(X)
    ours = SpectralSpeakers(backend=cosine_backend(16), random_state=0).fit_predict(X)
    assert adjusted_rand_score(theirs, ours) == 1.0
