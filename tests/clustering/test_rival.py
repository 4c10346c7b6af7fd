"""A cheap rival contradicts collapsed partitions, and hardly ever right ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import silhouette_score

from sms_diar.clustering.rival import find_rival, silhouette


def speakers_of(n_speakers, n_rows, noise, seed, dim=64):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_speakers), n_rows)
    means = rng.standard_normal((n_speakers, dim))
    return means[labels] + noise * rng.standard_normal((len(labels), dim)), labels


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_the_silhouette_is_scikit_learns(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 5))
    labels = np.append(
        rng.integers(n_clusters, size=40 - n_clusters), range(n_clusters)
    )
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    want = silhouette_score(distances, labels, metric="precomputed")
    assert silhouette(distances, labels) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("n_speakers", [30, 130, 200])
def test_a_giant_cluster_of_many_speakers_is_contradicted(n_speakers):
    X, speakers = speakers_of(n_speakers, 12, 0.4, seed=0)
    rival = find_rival(X, np.minimum(speakers, 8))
    assert rival is not None
    assert 0.8 * n_speakers < rival.n_clusters < 1.25 * n_speakers
    assert rival.silhouette > rival.answer_silhouette + 0.5


@pytest.mark.parametrize("n_speakers", [2, 5, 30, 200])
def test_the_true_partition_is_not_contradicted(n_speakers):
    X, speakers = speakers_of(n_speakers, 12, 0.4, seed=1)
    assert find_rival(X, speakers) is None


@pytest.mark.parametrize("n_rows", [10, 100, 1000])
def test_one_speaker_is_not_contradicted_by_noise_or_outliers(n_rows):
    X, speakers = speakers_of(1, n_rows, 1.0, seed=2)
    X[0] *= -1.0
    assert find_rival(X, speakers) is None


def test_several_speakers_found_as_one_are_contradicted():
    X, speakers = speakers_of(4, 15, 0.6, seed=3)
    rival = find_rival(X, np.zeros_like(speakers))
    assert rival is not None
    assert rival.n_clusters == 4


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_few_rows_have_no_rival(n_rows):
    X, _ = speakers_of(n_rows, 1, 0.1, seed=4)
    assert find_rival(X, np.zeros(n_rows, dtype=np.int64)) is None


def test_equal_rows_have_no_rival():
    assert find_rival(np.ones((20, 3)), np.zeros(20, dtype=np.int64)) is None
