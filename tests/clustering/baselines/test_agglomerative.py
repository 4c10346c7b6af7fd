"""Agglomerative clustering: dendrograms by hand, thresholds, cuts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from sms_diar.clustering.agglomerate import constrained_groups, link
from sms_diar.clustering.baselines import AgglomerativeSpeakers
from sms_diar.clustering.baselines.agglomerative import two_gaussian_threshold
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend
from sms_diar.types import PldaModel

SCORES = np.array(
    [
        [9.0, 4.0, 1.0, -2.0],
        [4.0, 9.0, 2.0, -3.0],
        [1.0, 2.0, 9.0, -1.0],
        [-2.0, -3.0, -1.0, 9.0],
    ]
)


def cosine_backend(dim):
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim), in_length=1.0))


def plda_backend(dim):
    plda = PldaModel(np.zeros(dim), np.eye(dim), np.full(dim, 4.0))
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim)), plda)


@pytest.mark.parametrize(
    ("method", "want"),
    [
        # 0 and 1 merge at 4; with 2 they score 1 and 2, then with 3 -2, -3 and -1
        ("average", [4.0, 1.5, -2.0]),
        ("complete", [4.0, 1.0, -3.0]),
        ("single", [4.0, 2.0, -1.0]),
    ],
)
def test_merges_by_hand(method, want):
    tree = link(SCORES.copy(), method)
    np.testing.assert_allclose(tree.scores, want)
    assert tree.labels_of(4).tolist() == [0, 1, 2, 3]
    assert tree.labels_of(3).tolist() == [0, 0, 1, 2]
    assert tree.labels_of(2).tolist() == [0, 0, 0, 1]
    assert tree.labels_of(1).tolist() == [0, 0, 0, 0]


def test_only_scores_above_the_threshold_merge():
    tree = link(SCORES.copy())
    assert [tree.count_at(t) for t in (5.0, 3.9, 1.4, -1.9, -2.1)] == [4, 3, 2, 2, 1]


def test_equal_scores_can_be_cut_anywhere():
    tree = link(np.zeros((5, 5)))
    for count in range(1, 6):
        assert len(set(tree.labels_of(count).tolist())) == count


@given(st.integers(0, 1000), st.floats(-20.0, 20.0))
def test_average_linkage_equals_merging_of_single_points(seed, threshold):
    X = np.random.default_rng(seed).standard_normal((20, 3)) * 3.0
    model = AgglomerativeSpeakers(backend=plda_backend(3), threshold=threshold).fit(X)
    terms = plda_backend(3).features(X)
    no_pair = np.zeros((20, 20), dtype=bool)
    want = constrained_groups(terms.matrix(), no_pair, threshold=threshold)
    np.testing.assert_array_equal(model.labels_, want)


@given(st.integers(0, 1000), st.sampled_from(["average", "complete", "single"]))
def test_merging_scores_never_rise_and_cuts_are_nested(seed, method):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((15, 15))
    tree = link(scores + scores.T, method)
    assert (np.diff(tree.scores) <= 1e-12).all()
    for count in range(1, 15):
        coarse, fine = tree.labels_of(count), tree.labels_of(count + 1)
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == count + 1


def test_plda_scores_merge_above_zero():
    # In one dimension with psi = 4 equal points of size 3 score
    # 4/9 * 9 - 2 * 8/45 * 9 + log(5/3) = 0.8 + 0.511 > 0, opposite ones -6.69.
    model = AgglomerativeSpeakers(backend=plda_backend(1)).fit([[3.0], [3.0], [-3.0]])
    assert model.threshold_ == 0.0
    assert model.labels_.tolist() == [0, 0, 1]
    np.testing.assert_allclose(
        model.merge_scores_, [0.8 + np.log(5 / 3), -7.2 + np.log(5 / 3)]
    )


def test_other_thresholds_and_numbers_need_no_second_fit():
    X = np.random.default_rng(0).standard_normal((40, 6))
    model = AgglomerativeSpeakers(backend=cosine_backend(6), threshold=0.5).fit(X)
    np.testing.assert_array_equal(model.labels_at(0.5), model.labels_)
    other = AgglomerativeSpeakers(backend=cosine_backend(6), threshold=0.1).fit(X)
    np.testing.assert_array_equal(model.labels_at(0.1), other.labels_)
    seven = AgglomerativeSpeakers(backend=cosine_backend(6), num_speakers=7).fit(X)
    np.testing.assert_array_equal(model.labels_with(7), seven.labels_)
    assert model.labels_at(-2.0).max() == 0
    assert model.labels_at(1.1).tolist() == list(range(40))
    assert model.n_steps_ == 40 - model.n_clusters_
    assert model.children_.shape == (39, 2)


def test_bounds_outrank_the_threshold():
    X = np.random.default_rng(0).standard_normal((30, 6))
    model = AgglomerativeSpeakers(backend=cosine_backend(6), threshold=0.9)
    assert model.set_params(max_speakers=4).fit(X).n_clusters_ == 4
    low = AgglomerativeSpeakers(backend=cosine_backend(6), threshold=-2.0)
    assert low.set_params(min_speakers=3).fit(X).n_clusters_ == 3


# --- calibration


def test_the_threshold_lies_halfway_between_equal_crowds():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(5000)
    scores = np.concatenate([-4.0 + noise, 4.0 - noise])
    assert two_gaussian_threshold(scores) == pytest.approx(0.0, abs=1e-3)


def test_the_threshold_leaves_room_for_the_larger_crowd():
    # Nine in ten are low: x with log 0.9 - (x + 4)**2 / 2 = log 0.1 - (x - 4)**2 / 2,
    # that is x = log(9) / 8 = 0.2747 for unit variances.
    rng = np.random.default_rng(1)
    low, high = rng.standard_normal(180_000) - 4.0, rng.standard_normal(20_000) + 4.0
    found = two_gaussian_threshold(np.concatenate([low, high]))
    assert found == pytest.approx(np.log(9.0) / 8.0, abs=0.01)


@given(st.integers(0, 500), st.floats(0.01, 100.0), st.floats(-50.0, 50.0))
def test_the_threshold_moves_with_the_scores(seed, scale, offset):
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.standard_normal(300), 5.0 + rng.standard_normal(100)])
    here = two_gaussian_threshold(scores)
    there = two_gaussian_threshold(scale * scores + offset)
    assert there == pytest.approx(scale * here + offset, abs=2e-3 * scale)


@pytest.mark.parametrize("scores", [[0.3], [0.3] * 5, [1e6, 1e6 + 1e-9]])
def test_scores_that_do_not_differ_have_no_threshold(scores):
    assert two_gaussian_threshold(np.array(scores)) == -np.inf


def test_cosine_scores_are_calibrated_on_the_session():
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(4), 20)
    X = 3.0 * np.eye(8)[truth] + 0.5 * rng.standard_normal((80, 8))
    model = AgglomerativeSpeakers(backend=cosine_backend(8)).fit(X)
    scores = cosine_backend(8).score_matrix(X)
    pairs = scores[np.triu_indices(80, 1)]
    assert model.threshold_ == pytest.approx(two_gaussian_threshold(pairs))
    np.testing.assert_array_equal(model.labels_, truth)


def test_plda_scores_are_calibrated_if_asked_for():
    rng = np.random.default_rng(2)
    X = 9.0 * np.eye(4)[np.repeat([0, 1, 2], 10)] + rng.standard_normal((30, 4))
    model = AgglomerativeSpeakers(backend=plda_backend(4), threshold="calibrated")
    assert model.fit(X).threshold_ != 0.0
    assert model.n_clusters_ == 3


# --- messages


def test_cuts_need_a_fit_and_a_number_of_speakers_that_exist():
    with pytest.raises(NotFittedError):
        AgglomerativeSpeakers().labels_at(0.0)
    model = AgglomerativeSpeakers().fit(np.eye(3))
    with pytest.raises(InvalidParameterError, match="AgglomerativeSpeakers:"):
        model.labels_with(4)
