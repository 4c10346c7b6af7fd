"""Fragments are merged while two of them are probably one speaker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from sms_diar.clustering import SpeakerFragmentMeanShift
from sms_diar.clustering.speakers import merging
from sms_diar.clustering.speakers.merging import (
    MEASUREMENTS,
    UNDECIDED,
    WEIGHTS,
    Clusters,
    Weights,
    _common_variance,
    ambiguity,
    merge_fragments,
)
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import scale_rows

SUMS = ("sizes", "means", "raw_means", "spreads", "raw_spreads")


def random_rows(seed=0, n_clusters=4, n=20, q=3, d=5):
    """Places, directions and labels in which each cluster has a row."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n)])
    places = rng.standard_normal((len(labels), q)) + 3.0 * labels[:, None] % 4
    directions = rng.standard_normal((len(labels), d)) + labels[:, None]
    return places, scale_rows(directions), labels


def separated(n_speakers=3, each=12, seed=0, q=6):
    """Places, directions and speakers of rows in blocks of speakers."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), each)
    means = 8.0 * rng.standard_normal((n_speakers, q))
    places = means[truth] + rng.standard_normal((len(truth), q))
    return places, scale_rows(places), truth


def merged_labels(labels, kept, gone):
    union = np.where(labels == gone, kept, labels)
    return union - (union > gone)


# --- measurements


def test_the_common_variance_limits_the_weight_of_a_large_cluster():
    # Clusters of one size: the pooled variance.
    spreads, sizes = np.array([2.0, 8.0, 5.0]), np.full(3, 6.0)
    assert _common_variance(spreads, sizes) == pytest.approx(15.0 / 15)
    # Fifty clusters of four rows with variance 1, and a large one with variance 9: it
    # counts like fewer than `POOLED_ROWS` degrees of freedom, however large it is.
    small = np.ones(50), np.full(50, 4.0)
    found = [
        _common_variance(np.append(3.0 * small[0], 9.0 * n), np.append(small[1], n + 1))
        for n in (100.0, 10_000.0)
    ]
    limit = (50 * 3 * 10 / 13 + 9 * 10) / (50 * 3 * 10 / 13 + 10)
    assert found[0] < found[1] < limit < 1.7
    assert _common_variance(np.zeros(2), np.ones(2)) == 0.0


def test_no_cluster_absorbs_a_crowd():
    # 200 speakers with three segments, and a mean that all vectors share. Clusters that
    # grew beyond limits were nearest to everyone: one speaker was found.
    rng = np.random.default_rng(0)
    speakers = np.repeat(np.arange(200), 3)
    voices = 0.6 * rng.standard_normal((200, 192))
    X = 0.5 + voices[speakers] + rng.standard_normal((600, 192))
    labels = SpeakerFragmentMeanShift(random_state=0).fit_predict(X)
    assert 100 <= len(np.unique(labels)) <= 300
    assert np.bincount(labels).max() < 200
    assert score_clustering(speakers, labels).weighted.weighted_k > 0.5


def test_two_clusters_measured_by_hand():
    # Rows 0 and 2 | 10, 12 and 14 on a line: means 1 and 12, squares around them 2 and
    # 8. With 1 and 2 degrees of freedom the weights of the clusters are 10/11 and
    # 10/12, so the noise is (20/11 + 80/12) / (10/11 + 20/12) = 56/17. With ten rows of
    # it, the variances are (2 + 560/17) / 11 and (8 + 560/17) / 12; sampling adds them,
    # divided by 2 and 3 rows, to the squared distance 121.
    places = np.array([[0.0], [2.0], [10.0], [12.0], [14.0]])
    directions = np.array([[1.0, 0.0]] * 2 + [[0.6, 0.8]] * 3)
    clusters = Clusters.of(places, directions, np.array([0, 0, 1, 1, 1]))
    variances = np.array([(2.0 + 560.0 / 17) / 11, (8.0 + 560.0 / 17) / 12])
    sampling = variances / [2.0, 3.0]
    # The mean of all rows is 7.6, from which the means differ by -6.6 and 4.4.
    lengths = np.array([6.6**2, 4.4**2]) - sampling
    expected = {
        "distance": np.log(np.sqrt((121.0 - sampling.sum()) / (56.0 / 17)) + 0.1),
        "similarity": 0.6,  # directions in a cluster are equal: nothing to correct
        "direction": max(-6.6 * 4.4 / np.sqrt(lengths.prod()), -1.0),
        "smaller": np.log(2.0),
        "larger": np.log(3.0),
        # The wider cluster has weight sqrt(3) against sqrt(2): it is the median.
        "width": 0.0,
    }
    measured = clusters.measurements()
    assert {name: measured[name][0, 1] for name in measured} == pytest.approx(expected)
    score = WEIGHTS.constant + sum(
        getattr(WEIGHTS, name) * value for name, value in expected.items()
    )
    odds = clusters.log_odds()
    assert odds[0, 1] == pytest.approx(score)
    assert (np.diag(odds) == -np.inf).all()


def test_the_width_is_that_of_the_wider_cluster_against_the_median():
    # Three clusters of two rows on a line, with squares around their means of 2, 8 and
    # 32: noise 42 / (6 - 3) = 14, variances (s + 140) / 11, of which 148 / 11 is the
    # median.
    places = np.array([[0.0], [2.0], [50.0], [54.0], [90.0], [98.0]])
    clusters = Clusters.of(places, np.ones((6, 1)), np.repeat(np.arange(3), 2))
    width = clusters.measurements()["width"]
    assert width[0, 1] == pytest.approx(0.0)
    assert width[0, 2] == width[1, 2] == pytest.approx(np.log(172.0 / 148.0))


def test_all_measurements_have_a_weight():
    assert Weights._fields == (*MEASUREMENTS, "constant", "ambiguity")
    assert tuple(Clusters.of(*random_rows()).measurements()) == MEASUREMENTS
    # Similarity speaks for one speaker, and distance against.
    assert WEIGHTS.similarity > 0.0 > WEIGHTS.distance
    # The wider a cluster is, the less likely, and ambiguity demands higher odds.
    assert WEIGHTS.width < 0.0 < WEIGHTS.ambiguity


@given(st.integers(0, 10_000), st.integers(2, 6), st.data())
def test_merging_two_clusters_gives_the_sums_of_their_union(seed, n_clusters, data):
    places, directions, labels = random_rows(seed, n_clusters)
    gone = data.draw(st.integers(1, n_clusters - 1))
    kept = data.draw(st.integers(0, gone - 1))
    clusters = Clusters.of(places, directions, labels)
    numbers = clusters.merge(np.array([kept]), np.array([gone]))
    np.testing.assert_array_equal(
        numbers, merged_labels(np.arange(n_clusters), kept, gone)
    )
    union = Clusters.of(places, directions, merged_labels(labels, kept, gone))
    assert len(clusters) == n_clusters - 1
    for name in SUMS:
        np.testing.assert_allclose(
            getattr(clusters, name), getattr(union, name), atol=1e-9, err_msg=name
        )


@given(st.integers(0, 10_000), st.data())
def test_a_row_with_a_weight_of_three_counts_as_three_rows(seed, data):
    rows = random_rows(seed)
    size = len(rows[2])
    repeats = data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    weighted = Clusters.of(*rows, np.array(repeats, dtype=float))
    repeated = Clusters.of(*(np.repeat(part, repeats, axis=0) for part in rows))
    for name in SUMS:
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), atol=1e-9, err_msg=name
        )


@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_log_odds_are_symmetric_and_follow_the_numbers_of_the_clusters(seed, order):
    places, directions, labels = random_rows(seed)
    order = np.array(order)
    odds = Clusters.of(places, directions, labels).log_odds()
    np.testing.assert_array_equal(odds, odds.T)  # or mutually best pairs could miss
    renamed = Clusters.of(places, directions, order[labels]).log_odds()
    np.testing.assert_allclose(renamed[np.ix_(order, order)], odds, atol=1e-9)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_neither_the_order_of_rows_nor_rotations_change_the_log_odds(seed, other):
    places, directions, labels = random_rows(seed)
    rng = np.random.default_rng(other)
    order = rng.permutation(len(labels))
    turn, raw_turn = (np.linalg.qr(rng.standard_normal((k, k)))[0] for k in (3, 5))
    rotated = Clusters.of(
        (places @ turn)[order], (directions @ raw_turn)[order], labels[order]
    )
    expected = Clusters.of(places, directions, labels).log_odds()
    np.testing.assert_allclose(rotated.log_odds(), expected, atol=1e-8)


def test_the_unit_of_the_session_space_does_not_matter():
    places, directions, labels = separated()
    small, large = (
        Clusters.of(scale * places, directions, labels).log_odds()
        for scale in (1.0, 7.0)
    )
    np.testing.assert_allclose(small, large, atol=1e-6)


def test_nearer_clusters_are_more_likely_one_speaker():
    places, directions, labels = random_rows(1)
    far = places + 5.0 * (labels == 3)[:, None]
    near_odds = Clusters.of(places, directions, labels).log_odds()[:3, 3]
    far_odds = Clusters.of(far, directions, labels).log_odds()[:3, 3]
    assert far_odds.max() < near_odds.max()


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 2, 3]])
def test_clusters_of_equal_or_single_rows_have_finite_log_odds(labels):
    directions = np.tile([1.0, 0.0], (4, 1))
    odds = Clusters.of(np.zeros((4, 2)), directions, np.array(labels)).log_odds()
    assert np.isfinite(odds[~np.eye(len(odds), dtype=bool)]).all()


# --- merging


def even_odds(odds):
    """Log odds of even chances: the weighted mean of x partners / (1 + x)."""
    partners = expit(odds).sum(axis=1)
    return WEIGHTS.ambiguity * np.mean(1.0 - 1.0 / (1.0 + partners))


def slow_merge(places, directions, labels, low, high):
    """Merge one pair at a time, and compute all sums again."""

    def best_merge(labels):
        odds = Clusters.of(places, directions, labels).log_odds()
        kept, gone = sorted(np.unravel_index(np.argmax(odds), odds.shape))
        probability = expit(odds[kept, gone] - even_odds(odds))
        return merged_labels(labels, kept, gone), probability

    taken = []
    while labels.max() + 1 > low:
        union, probability = best_merge(labels)
        if probability <= 0.5 and labels.max() + 1 <= high:
            break
        labels = union
        taken.append(probability)
    tried, undecided = labels, []
    while tried.max() + 1 > low:
        union, probability = best_merge(tried)
        if probability <= UNDECIDED:
            gap = probability < UNDECIDED / 2
            if gap and tried.max() + 1 >= (labels.max() + 1) // 2:
                return tried, taken + undecided
            break
        tried = union
        undecided.append(probability)
    return labels, taken


def merged_rows(places, directions, pieces, low, high, *progress):
    """Merge fragments, and return the result with labels of rows."""
    clusters = Clusters.of(places, directions, pieces)
    merged = merge_fragments(clusters, low, high, *progress)
    return merged._replace(labels=merged.labels[pieces])


def test_pieces_of_speakers_are_merged_until_the_odds_are_even():
    places, directions, truth = separated()
    merged = merged_rows(places, directions, np.arange(36) // 4, 1, 36)
    np.testing.assert_array_equal(merged.labels, truth)
    assert merged.weakest > 0.5 >= merged.refused
    # The best remaining pair has the refused probability.
    odds = Clusters.of(places, directions, merged.labels).log_odds()
    assert merged.refused == pytest.approx(expit(odds.max() - even_odds(odds)))


@pytest.mark.parametrize(
    ("undecided", "expected"), [(0.5, 6), (0.4, 4), (0.03, 6), (0.0, 6)]
)
def test_undecided_merges_are_made_if_they_end_in_a_gap(
    monkeypatch, undecided, expected
):
    # Log odds of the next merge by the number of clusters: even at 6, and a gap at 4,
    # where the probability is .018, half of .036.
    path = {7: 1.0, 6: -0.1, 5: 0.2, 4: -4.0, 3: 2.0, 2: 2.0}

    def log_odds(clusters, part):
        odds = np.full((len(clusters), len(clusters)), -9.0)
        odds[0, 1] = odds[1, 0] = path[len(clusters)]
        return odds

    monkeypatch.setattr(merging, "WEIGHTS", WEIGHTS._replace(ambiguity=0.0))
    monkeypatch.setattr(Clusters, "log_odds", log_odds)
    monkeypatch.setattr(merging, "UNDECIDED", undecided)
    merged = merged_rows(*random_rows(n_clusters=7), 1, 7)
    assert merged.labels.max() + 1 == expected
    assert merged.refused == pytest.approx(expit(path[expected]))


@pytest.mark.parametrize(
    ("n", "odds", "n_left"), [(2, 0.5, 2), (2, 1.0, 1), (5, 1.0, 5), (5, 2.0, 1)]
)
def test_pairs_need_higher_odds_where_all_of_them_are_probable(
    monkeypatch, n, odds, n_left
):
    # Of two clusters with log odds of 0.5, each has .62 partners, and 2 x .62 / 1.62 =
    # .77. With log odds of 1, it has .73: .84. Of five, each has 2.9: 1.49.
    monkeypatch.setattr(merging, "WEIGHTS", WEIGHTS._replace(ambiguity=2.0))
    monkeypatch.setattr(merging, "UNDECIDED", 0.5)
    monkeypatch.setattr(Clusters, "log_odds", lambda self, _: alike(len(self), odds))
    merged = merged_rows(*random_rows(n_clusters=n), 1, n)
    assert merged.labels.max() + 1 == n_left


def alike(n, odds):
    same = np.full((n, n), odds)
    np.fill_diagonal(same, -np.inf)
    return same


def test_ambiguity_grows_with_the_partners_up_to_one():
    assert ambiguity(np.zeros(3)) == 0.0
    assert ambiguity(np.array([3.0, 1.0])) == pytest.approx((0.75 + 0.5) / 2.0)
    assert 0.99 < ambiguity(np.full(3, 1e3)) < 1.0


def test_undecided_merges_of_a_crowd_are_not_kept(monkeypatch):
    # The gap comes after more than half of the eight clusters are gone.
    path = {9: 1.0} | dict.fromkeys(range(4, 9), -0.1) | {3: -4.0}

    def log_odds(clusters, part):
        odds = np.full((len(clusters), len(clusters)), -9.0)
        odds[0, 1] = odds[1, 0] = path[len(clusters)]
        return odds

    monkeypatch.setattr(merging, "WEIGHTS", WEIGHTS._replace(ambiguity=0.0))
    monkeypatch.setattr(Clusters, "log_odds", log_odds)
    merged = merged_rows(*random_rows(n_clusters=9), 1, 9)
    assert merged.labels.max() + 1 == 8
    assert merged.refused == pytest.approx(expit(path[8]))


@given(st.integers(0, 500), st.integers(1, 9), st.integers(0, 8))
def test_merges_are_those_of_sums_computed_anew(seed, low, more):
    places, directions, _ = separated(seed=seed)
    pieces = np.arange(36) // 4
    merged = merged_rows(places, directions, pieces, low, low + more)
    labels, taken = slow_merge(places, directions, pieces, low, low + more)
    np.testing.assert_array_equal(merged.labels, labels)
    assert merged.weakest == pytest.approx(min(taken, default=1.0), abs=1e-6)
    assert merged.wrong == pytest.approx(sum(1.0 - p for p in taken), abs=1e-5)
    assert low <= merged.labels.max() + 1 <= max(low + more, 9)


@pytest.mark.parametrize("wanted", range(1, 10))
def test_bounds_are_met_exactly(wanted):
    places, directions, _ = separated()
    merged = merged_rows(places, directions, np.arange(36) // 4, wanted, wanted)
    assert merged.labels.max() + 1 == wanted
    assert (merged.weakest == 1.0) == (wanted == 9)
    assert merged.refused == 0.0


@pytest.mark.parametrize("low", [1, 20])
@pytest.mark.parametrize("n_fragments", [1, 3])
def test_too_few_fragments_are_not_merged(low, n_fragments):
    places, directions, truth = separated()
    fragments = truth % n_fragments
    merged = merged_rows(places, directions, fragments, low, 36)
    np.testing.assert_array_equal(merged.labels, fragments)
    assert merged.weakest == 1.0
    assert (merged.refused > 0.0) == (n_fragments > low)


@pytest.mark.parametrize("wanted", [1, 3, 7, 20])
def test_many_clusters_are_merged_pair_by_pair_within_the_bounds(monkeypatch, wanted):
    monkeypatch.setattr(merging, "_AT_ONCE", 10)
    places, directions, truth = separated(each=20)
    pieces = np.arange(60) // 2
    merged = merged_rows(places, directions, pieces, wanted, wanted)
    assert np.unique(merged.labels).tolist() == list(range(wanted))
    free = merged_rows(places, directions, pieces, 1, 60)
    assert score_clustering(truth, free.labels).majority.g == 1.0


def test_more_than_400_fragments_are_merged_at_once():
    places, directions, truth = separated(n_speakers=41, each=20, q=20)
    shares = []
    merged = merged_rows(
        places, directions, np.arange(820) // 2, 380, 820, shares.append
    )
    assert len(shares) == 1
    assert np.unique(merged.labels).tolist() == list(range(380))
    assert score_clustering(truth, merged.labels).majority.pur_cd == 1.0


def test_progress_is_the_share_of_fragments_that_are_gone():
    places, directions, _ = separated()
    shares = []
    merged_rows(places, directions, np.arange(36) // 4, 1, 36, shares.append)
    assert shares == pytest.approx([step / 9 for step in range(1, 7)])
