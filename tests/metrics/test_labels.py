"""Purities, first by hand; counts of clusters and speakers; labels matched by id."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import (
    ClusterSizes,
    DetectedSpeakers,
    Purity,
    contingency_table,
    score_clustering,
    score_labels,
)


def test_a_small_table_by_hand():
    #          label a  label b
    # cluster 0      3        1
    # cluster 1      0        2
    scores = score_clustering(list("aaabbb"), [0, 0, 0, 0, 1, 1])
    # ACP = ((9 + 1) / 16 + 1) / 2 = 0.8125; ALP = (1 + (1 + 4) / 9) / 2 = 7/9
    assert scores.purity.acp == pytest.approx(0.8125)
    assert scores.purity.alp == pytest.approx(7 / 9)
    assert scores.purity.k == pytest.approx(math.sqrt(0.8125 * 7 / 9))
    # weighted: ACP = (10 / 4 + 4 / 2) / 6 = 0.75; ALP = (9 / 3 + 5 / 3) / 6 = 7/9
    assert scores.weighted.weighted_acp == pytest.approx(0.75)
    assert scores.weighted.weighted_alp == pytest.approx(7 / 9)
    # majorities: clusters 3 + 2 of 6, labels 3 + 2 of 6
    assert scores.majority.pur_cd == pytest.approx(5 / 6)
    assert scores.majority.pur_dc == pytest.approx(5 / 6)
    assert scores.majority.g == pytest.approx(5 / 6)


def test_crumbs_flatter_k_but_not_the_majority_purity():
    # 4500 points of three equal labels: one cluster of 4491 and five crumbs.
    truth = np.repeat([0, 1, 2], 1500)
    clusters = np.zeros(4500, dtype=int)
    clusters[[0, 1, 1500, 1501, 3000, 3001, 3002, 2, 3]] = [1, 1, 2, 2, 3, 3, 3, 4, 5]
    scores = score_clustering(truth, clusters)
    assert scores.purity.k > 0.9
    assert scores.majority.pur_cd < 0.34
    assert (scores.sizes.n_clusters, scores.sizes.n_major) == (6, 1)


def test_adding_recordings_pools_clusters_not_ratios():
    mixed = Purity.of(contingency_table([0, 1], [0, 0]))
    clean = Purity.of(contingency_table([0, 0, 1], [0, 0, 1]))
    total = sum([mixed, clean])
    assert total.acp == pytest.approx((0.5 + 1 + 1) / 3)
    assert isinstance(total, Purity)
    assert mixed == Purity.of(contingency_table([0, 1], [0, 0]))  # unchanged


def b_cubed(truth, clusters):
    """Precision and recall by their own definition, point by point."""
    truth, clusters = np.asarray(truth), np.asarray(clusters)
    precision = [np.mean(truth[clusters == c] == t) for t, c in zip(truth, clusters)]  # noqa: B905
    recall = [np.mean(clusters[truth == t] == c) for t, c in zip(truth, clusters)]  # noqa: B905
    return np.mean(precision), np.mean(recall)


labellings = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(-1, 5), min_size=n, max_size=n),
    )
)


@given(labellings)
def test_weighted_purity_is_b_cubed(pair):
    weighted = score_clustering(*pair).weighted
    precision, recall = b_cubed(*pair)
    assert weighted.weighted_acp == pytest.approx(precision)
    assert weighted.weighted_alp == pytest.approx(recall)


@given(labellings, st.permutations(range(-1, 6)), st.permutations(range(5)))
def test_names_of_clusters_and_labels_do_not_matter(pair, new_clusters, new_labels):
    truth, clusters = pair
    renamed = score_clustering(
        [f"speaker {new_labels[t]}" for t in truth],
        [new_clusters[c + 1] for c in clusters],
    )
    assert renamed.as_dict() == pytest.approx(score_clustering(*pair).as_dict())


@given(labellings)
def test_exchanging_truth_and_clusters_exchanges_the_purities(pair):
    here, there = score_clustering(*pair), score_clustering(*pair[::-1])
    assert here.purity.acp == pytest.approx(there.purity.alp)
    assert here.weighted.weighted_acp == pytest.approx(there.weighted.weighted_alp)
    assert here.majority.pur_cd == there.majority.pur_dc
    assert here.purity.k == pytest.approx(there.purity.k)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_the_truth_itself_is_perfect(truth):
    figures = score_clustering(truth, truth).as_dict()
    assert {figures[name] for name in ("acp", "alp", "k", "g", "weighted_k")} == {1.0}


def test_table_keeps_only_what_is_there():
    n = 50_000
    table = contingency_table(np.arange(n), np.arange(n)[::-1])
    assert len(table.count) == n
    assert Purity.of(table).k == 1.0


@pytest.mark.parametrize(
    ("truth", "clusters", "message"),
    [
        ([1], [1, 2], "truth and clusters must be two lists of equal length"),
        ([[1]], [[1]], "truth and clusters must be two lists of equal length"),
        ([], [], "truth must have at least one point"),
        ([0.0, np.nan], [0, 0], "truth must be labels, got NaN at position 1"),
    ],
    ids=["lengths", "shape", "empty", "nan"],
)
def test_refuses_what_is_not_a_pair_of_labellings(truth, clusters, message):
    with pytest.raises(InvalidParameterError, match=f"^contingency_table: {message}"):
        score_clustering(truth, clusters)


def test_sizes_of_a_small_labelling():
    clusters = [0] * 60 + [1] * 34 + [2] * 5 + [3]
    sizes = ClusterSizes.of(contingency_table([0] * 100, clusters))
    assert (sizes.n_clusters, sizes.n_major, sizes.n_singletons) == (4, 3, 1)
    assert (sizes.smallest, sizes.median, sizes.largest) == (1, 19.5, 60)


def test_average_number_of_detected_speakers():
    counts = DetectedSpeakers.of([3, 5, 4], [3, 3, 3])
    assert counts.ands == 4.0
    assert counts.mean_absolute_error == 1.0
    assert counts.share_exact == pytest.approx(1 / 3)


@pytest.mark.parametrize(("found", "true"), [([], []), ([1], [1, 2])])
def test_needs_as_many_found_as_true(found, true):
    with pytest.raises(InvalidParameterError, match="two lists of equal length"):
        DetectedSpeakers.of(found, true)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"b": "x", "c": "x"}, "truth and labels must share ids, got 1 and 2 ids"),
        ("found.csv", "labels must be a mapping from id to speaker, got 'found.csv'"),
    ],
)
def test_tables_that_cannot_be_matched_are_refused(labels, message):
    with pytest.raises(InvalidParameterError, match=f"^score_labels: {message}"):
        score_labels({"a": "x"}, labels)
