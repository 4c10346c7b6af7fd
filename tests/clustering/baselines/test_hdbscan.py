"""HDBSCAN: noise finds a speaker, and all noise is one."""

import numpy as np
from sklearn.cluster import HDBSCAN

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.baselines import HdbscanSpeakers
from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring import build_backend


def cosine_backend(dim):
    return build_backend(FoldedChain(np.eye(dim), np.zeros(dim), in_length=1.0))


def session(spread, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(3), 25)
    return np.eye(6)[truth] + spread * rng.standard_normal((75, 6)), truth


def test_noise_goes_to_the_speaker_of_highest_mean_score():
    X, truth = session(0.05)
    # Further from all speakers than they are from each other, least from 1.
    X = np.vstack([X, [-0.5, -0.3, -0.5, 0.0, 0.0, 0.0]])
    model = HdbscanSpeakers(backend=cosine_backend(6)).fit(X)
    assert model.noise_[-1]
    assert model.labels_[-1] == 1
    np.testing.assert_array_equal(model.labels_[:-1], truth)


def test_segments_that_are_no_noise_keep_the_labels_of_hdbscan():
    X, _ = session(0.2)
    model = HdbscanSpeakers(backend=cosine_backend(6)).fit(X)
    # For cosine the distance is that of unit vectors over sqrt(2).
    theirs = HDBSCAN(min_cluster_size=5, copy=True).fit(scale_rows(X)).labels_
    np.testing.assert_array_equal(model.noise_, theirs < 0)
    kept = ~model.noise_
    np.testing.assert_array_equal(
        by_first_appearance(model.labels_[kept]), by_first_appearance(theirs[kept])
    )


def test_where_all_is_noise_there_is_one_speaker():
    X = np.random.default_rng(0).standard_normal((12, 40))
    model = HdbscanSpeakers(backend=cosine_backend(40)).fit(X)
    assert model.noise_.all()
    assert model.n_clusters_ == 1


def test_fewer_segments_than_a_cluster_needs_are_one_speaker():
    model = HdbscanSpeakers(backend=cosine_backend(4)).fit(np.eye(4))
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert model.noise_.all()


def test_many_equal_segments_do_no_harm():
    X = np.repeat(np.eye(4)[:3], 10, axis=0)
    model = HdbscanSpeakers(backend=cosine_backend(4)).fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 10))


def test_neighbours_are_min_samples_or_the_smallest_cluster():
    X, _ = session(0.05)
    assert HdbscanSpeakers(min_cluster_size=7).fit(X).k_ == 7
    assert HdbscanSpeakers(min_samples=3).fit(X).k_ == 3
