"""Spectral clustering: refinement, eigengaps, and the search for p."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering.baselines import NmeSpectralSpeakers, SpectralSpeakers
from sms_diar.clustering.baselines.spectral import (
    count_by_ratio,
    find_gap,
    is_whole,
    laplacian,
    leading_vectors,
    ranking,
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


def blocks(n_speakers, per_speaker, spread, seed=0, dim=20):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    X = np.eye(dim)[truth] + spread * rng.standard_normal((len(truth), dim))
    return X, truth


def test_partners_are_ranked_with_the_segment_itself_first():
    # A PLDA score with itself need not be the highest; ties go to lower numbers.
    scores = np.array([[0.0, 5.0, 5.0], [5.0, 1.0, 2.0], [5.0, 2.0, 9.0]])
    assert ranking(scores).tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]


def test_a_graph_by_hand():
    # With p = 2: 0 names 1, 1 names 0, 2 names 0. So 0-1 weighs 1 and 0-2 1/2.
    order = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    want = [[1.5, -1.0, -0.5], [-1.0, 1.0, 0.0], [-0.5, 0.0, 0.5]]
    np.testing.assert_array_equal(laplacian(order, 2), want)


def test_the_gap_of_two_triangles_by_hand():
    # A triangle has the eigenvalues 0, 3, 3; two of them 0, 0, 3, 3, 3, 3.
    # The largest gap, 3, follows the second; in units of the largest it is 1.
    triangle = 3.0 * np.eye(3) - np.ones((3, 3))
    graph = np.kron(np.eye(2), triangle)
    gap = find_gap(graph, 5)
    assert gap.n_clusters == 2
    assert gap.size == pytest.approx(1.0)
    assert gap.ratio(0.25) == pytest.approx(0.25)
    # With no more than one cluster allowed, the gap from 0 to 0 remains.
    assert find_gap(graph, 1).n_clusters == 1
    assert find_gap(graph, 1).size == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 500), st.integers(2, 12))
def test_laplacians_are_symmetric_with_rows_that_sum_to_zero(seed, p):
    scores = np.random.default_rng(seed).standard_normal((12, 12))
    graph = laplacian(ranking(scores + scores.T), p)
    np.testing.assert_array_equal(graph, graph.T)
    np.testing.assert_allclose(graph.sum(axis=1), 0.0, atol=1e-12)
    assert np.linalg.eigvalsh(graph).min() > -1e-12


@pytest.mark.parametrize("n_speakers", [1, 2, 5, 8])
def test_counts_and_finds_speakers(n_speakers):
    X, truth = blocks(n_speakers, 20, 0.08)
    model = NmeSpectralSpeakers(backend=cosine_backend(20), random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, truth)


def test_the_p_taken_has_the_smallest_ratio_of_all():
    X, _ = blocks(3, 25, 0.25)
    model = NmeSpectralSpeakers(
        backend=cosine_backend(20), n_trials=8, connected=False, random_state=0
    ).fit(X)
    # 75 segments: p up to int(75 / 4) = 18, spaced evenly from 1 (taken as 2)
    grid = [2, 3, 5, 8, 10, 13, 15, 18]
    order = ranking(cosine_backend(20).score_matrix(X))
    every = [find_gap(laplacian(order, p), 15).ratio(p / 75) for p in grid]
    assert model.k_ == grid[np.argmin(every)]
    tried = len(model.trials_)
    assert model.trials_.tolist() == grid[:tried]
    np.testing.assert_allclose(model.ratios_, every[:tried])
    # What was not tried could not have won.
    assert all(p / 75 >= min(every) for p in grid[tried:])


@given(st.integers(0, 300), st.floats(0.05, 0.6), st.integers(1, 4))
def test_the_search_ends_early_without_missing_the_best(seed, spread, n_speakers):
    X, _ = blocks(n_speakers, 12, spread, seed)
    n, backend = len(X), cosine_backend(20)
    model = NmeSpectralSpeakers(backend=backend, connected=False, random_state=0)
    model.fit(X)
    order = ranking(backend.score_matrix(X))
    largest, most = max(2, n // 4), max(1, n // 5)
    ratios = {
        p: find_gap(laplacian(order, p), most).ratio(p / n)
        for p in range(2, largest + 1)
    }
    assert model.k_ == min(ratios, key=ratios.get)


def test_a_graph_in_parts_is_left_for_the_next_one_that_is_whole():
    # Twelve segments each: neighbourhoods of twelve never leave their speaker.
    X, truth = blocks(5, 12, 0.1)
    model = NmeSpectralSpeakers(backend=cosine_backend(20), random_state=0)
    loose = model.set_params(connected=False).fit(X).k_
    whole = model.set_params(connected=True).fit(X).k_
    order = ranking(cosine_backend(20).score_matrix(X))
    assert (loose, whole) == (12, 13)
    assert not is_whole(order, 12)
    assert is_whole(order, 13)
    np.testing.assert_array_equal(model.labels_, truth)


def test_a_graph_that_stays_in_parts_is_taken_as_it_is():
    # A quarter of 24 segments is 6, less than the twelve of each speaker.
    X, truth = blocks(2, 12, 0.05)
    model = NmeSpectralSpeakers(backend=cosine_backend(20), random_state=0).fit(X)
    assert model.k_ == 6
    np.testing.assert_array_equal(model.labels_, truth)


def test_only_the_ranks_of_scores_matter():
    X, _ = blocks(4, 15, 0.3)
    backend = cosine_backend(20)
    scores = backend.score_matrix(X)
    np.testing.assert_array_equal(ranking(scores.copy()), ranking(np.exp(5.0 * scores)))


def test_no_more_than_a_fifth_of_the_segments_are_sought():
    X = np.random.default_rng(0).standard_normal((40, 30))
    model = NmeSpectralSpeakers(backend=cosine_backend(30), random_state=0)
    assert model.fit(X).n_clusters_ <= 8
