"""Sessions in blocks of similar rows."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.scale import draw_crowd
from sms_diar.clustering.speakers import blocks
from sms_diar.clustering.speakers.blocks import (
    reassign,
    similar_blocks,
)
from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
from sms_diar.clustering.speakers.merging import (
    WEIGHTS,
    Clusters,
    ambiguity,
    merge_fragments,
)
from sms_diar.clustering.speakers.space import (
    SessionSpace,
    space_along,
    space_of_speakers,
)
from sms_diar.datasets import voice_backend_path
from sms_diar.pipeline.train.models import read_backend


@pytest.fixture
def small_blocks(monkeypatch):
    """More than 300 rows are divided into blocks of 200."""
    monkeypatch.setattr(blocks, "BLOCK", 200)
    monkeypatch.setattr("sms_diar.clustering.speakers.fragments.BLOCK", 200)


@pytest.fixture(scope="module")
def backend():
    return read_backend(voice_backend_path())


@pytest.fixture(scope="module")
def crowd(backend):
    return draw_crowd(backend, 900, fewest=20, most=80, random_state=1)


def plain_space(psi):
    """Two or more axes of unit noise around the origin."""
    psi = np.asarray(psi, dtype=float)
    return SessionSpace(np.zeros(len(psi)), np.eye(len(psi)), psi)


def speakers(n_speakers=8, size=30, d=12, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(n_speakers), size))
    means = 6.0 * rng.standard_normal((n_speakers, d))
    return means[truth] + rng.standard_normal((len(truth), d)), truth


@pytest.mark.parametrize("with_model", [True, False])
def test_speakers_are_found_across_blocks(small_blocks, crowd, backend, with_model):
    model = SpeakerFragmentMeanShift(
        backend=backend if with_model else None, row_weight=1.0, random_state=0
    )
    X = crowd.X.astype(np.float64)
    told = []
    model.listen(told.append).fit(X)
    assert model.n_clusters_ == len(set(crowd.speakers))
    assert adjusted_rand_score(crowd.speakers, model.labels_) == 1.0
    assert np.mean(model.predict(X) == model.labels_) > 0.99
    assert model.confidence_.shape == (900,)
    assert told == sorted(told)
    assert 0.0 < told[0] < 0.5
    assert told[-1] == 1.0


def test_labels_do_not_depend_on_threads_or_listeners(small_blocks, crowd):
    X = crowd.X.astype(np.float64)
    labels = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            model = SpeakerFragmentMeanShift(row_weight=1.0, random_state=3)
            labels.append(model.fit(X).labels_)
    assert np.array_equal(*labels)


@pytest.mark.parametrize("wanted", [1, 4, 40])
def test_a_number_of_speakers_is_honoured_across_blocks(small_blocks, crowd, wanted):
    model = SpeakerFragmentMeanShift(
        row_weight=1.0, num_speakers=wanted, random_state=0
    )
    assert model.fit(crowd.X.astype(np.float64)).n_clusters_ == wanted


def test_repeated_rows_share_a_label_across_blocks(small_blocks, crowd):
    X = np.vstack((crowd.X, crowd.X[:100])).astype(np.float64)
    labels = SpeakerFragmentMeanShift(row_weight=1.0, random_state=0).fit(X).labels_
    assert np.array_equal(labels[900:], labels[:100])


def test_blocks_are_a_partition_into_similar_rows(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 60)
    X, truth = speakers()
    found = similar_blocks(lambda part: X[part], len(X), np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(len(X)))
    assert max(map(len, found)) < 1.5 * 60
    # In random order, all eight speakers would be in each of the blocks.
    assert np.mean([len(set(truth[block])) for block in found]) < 5


def test_sums_of_rows_in_a_space_are_those_of_clusters():
    X, truth = speakers()
    space = space_of_speakers(X, truth)
    directions = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = Clusters.of(space.project(X), directions, truth)
    found = Clusters.of(X, directions, truth, project=space.project)
    for name in ("sizes", "means", "raw_means", "spreads", "raw_spreads"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), atol=1e-9
        )


def test_a_row_moves_to_the_speaker_that_explains_it():
    rows = np.array([[5.0], [5.2], [4.9], [-5.0], [-5.1], [-4.8], [5.1]])
    given = np.array([0, 0, 0, 1, 1, 1, 1])
    found = reassign(plain_space([25.0]), rows, given)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 0]


def test_a_row_alone_stays_alone_only_if_no_speaker_explains_it():
    rows = np.array([[5.0, 0.0], [5.2, 0.0], [4.9, 0.1], [5.1, 0.0], [-5.0, 3.0]])
    given = np.array([0, 0, 0, 1, 2])
    found = reassign(plain_space([25.0, 25.0]), rows, given)
    assert found.tolist() == [0, 0, 0, 0, 1]


def test_the_space_of_speakers_has_unit_noise_and_their_variance():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(400), 20)
    means = np.sqrt([9.0, 1.0, 0.0]) * rng.standard_normal((400, 3))
    noise = np.sqrt([4.0, 1.0, 0.25]) * rng.standard_normal((8000, 3))
    space = space_of_speakers(means[truth] + noise, truth)
    # Ratios of variances between and within speakers: 9 / 4 and 1 / 1.
    np.testing.assert_allclose(space.psi[:2], [2.25, 1.0], rtol=0.15)
    within = space.coordinates(noise)
    np.testing.assert_allclose(within.var(axis=0), 1.0, rtol=0.05)


def test_a_space_along_axes_has_the_mean_and_variance_of_the_rows():
    X = np.array([[0.0, 0.0], [4.0, 2.0]])
    space = space_along(np.eye(2), X)
    assert space.mean.tolist() == [2.0, 1.0]
    assert space.psi.tolist() == [3.0, 1e-6]  # variances 4 and 1, minus the noise


def test_many_clusters_are_merged_as_few(monkeypatch):
    X, truth = speakers()
    space = space_of_speakers(X, truth)
    directions = X / np.linalg.norm(X, axis=1, keepdims=True)
    fragments = 3 * truth + np.arange(len(truth)) % 3
    sums = Clusters.of(X, directions, fragments, project=space.project)
    best, odds = sums.best_partners()
    every = sums.log_odds()
    assert np.array_equal(best, np.argmax(every, axis=1))
    even = WEIGHTS.ambiguity * ambiguity(expit(every).sum(axis=1))
    np.testing.assert_allclose(odds, every.max(axis=1) - even)
    monkeypatch.setattr("sms_diar.clustering.speakers.merging._PAIRS", 50)
    np.testing.assert_allclose(sums.best_partners()[1], odds)
    merged = merge_fragments(sums, 1, 24)
    assert adjusted_rand_score(truth, merged.labels[fragments]) == 1.0
    assert merged.weakest > 0.5 > merged.refused
