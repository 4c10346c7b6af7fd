"""k-means: silhouettes by hand, the search for a number, spheres."""

import numpy as np
import pytest

from sms_diar.clustering.baselines import KMeansSpeakers
from sms_diar.clustering.baselines.kmeans import partition
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend
from sms_diar.types import PldaModel


def plda_backend(dim):
    plda = PldaModel(np.zeros(dim), np.eye(dim), np.full(dim, 4.0))
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim)), plda)


def session(n_speakers, per_speaker=20, spread=0.3, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = 4.0 * rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


def test_a_silhouette_by_hand():
    # Points 0, 1, 10, 11 on a line, scaled by the gain of the back end, in two
    # clusters: own distance 1; others 10.5 for the outer and 9.5 for the inner
    # ones, so the mean is 1 - (1/10.5 + 1/9.5) / 2.
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = KMeansSpeakers(
        backend=plda_backend(1), min_speakers=2, max_speakers=3, random_state=0
    ).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    want = 1.0 - 0.5 * (1 / 10.5 + 1 / 9.5)
    assert model.silhouettes_[2] == pytest.approx(want)
    assert sorted(model.silhouettes_) == [2, 3]


@pytest.mark.parametrize("n_speakers", [2, 3, 7, 12])
def test_the_number_of_highest_silhouette_is_found(n_speakers):
    X, truth = session(n_speakers)
    model = KMeansSpeakers(backend=plda_backend(8), random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, truth)
    best = max(model.silhouettes_, key=model.silhouettes_.get)
    assert best == n_speakers == model.n_clusters_
    # Its neighbours were tried, too, unless the bounds forbid it.
    most = len(X) // 5
    around = {max(best - 1, 2), min(best + 1, most)}
    assert around <= set(model.silhouettes_)
    assert model.n_steps_ == len(model.silhouettes_)


def test_a_given_number_needs_no_silhouettes_and_no_matrix():
    X = np.arange(24_000.0)[:, None] % 3  # all pairs would be too many
    model = KMeansSpeakers(backend=plda_backend(1), num_speakers=3, random_state=0)
    assert model.fit(X).silhouettes_ == {}
    assert model.n_clusters_ == 3


def test_spheres_see_directions_only():
    # Two directions, two lengths: by place there are four groups, by angle two.
    rng = np.random.default_rng(0)
    axis, length = np.repeat([0, 1], 40), np.tile(np.repeat([1.0, 12.0], 20), 2)
    X = length[:, None] * np.eye(2)[axis] + 0.02 * rng.standard_normal((80, 2))
    sphere = KMeansSpeakers(backend=plda_backend(2), spherical=True, random_state=0)
    np.testing.assert_array_equal(sphere.fit_predict(X), axis)
    place = KMeansSpeakers(backend=plda_backend(2), num_speakers=3, random_state=0)
    labels = place.fit_predict(X)
    # The short ones of both directions are closer to each other than to the long.
    assert labels[:20].tolist() == labels[40:60].tolist()


def test_two_segments_cannot_be_compared_and_are_one_speaker():
    model = KMeansSpeakers(random_state=0).fit([[1.0, 0.0], [0.0, 1.0]])
    assert model.n_clusters_ == 1


def test_no_more_clusters_than_different_rows():
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    labels = partition(rows, 4, n_init=1, seed=0)
    assert len(set(labels.tolist())) == 2
