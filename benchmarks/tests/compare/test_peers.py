"""Methods by name, and the oracle."""

import numpy as np
import pytest

from benchmarks.compare.peers import (
    PEERS,
    allowed,
    best_cut,
    label,
)
from sms_diar.clustering.baselines import AgglomerativeSpeakers
from sms_diar.metrics import score_clustering
from sms_diar.scoring import train_backend
from sms_diar.synthetic import PldaWorld


@pytest.fixture(scope="module")
def session():
    """Three speakers of a hard little world, and a back end trained on others."""
    world = PldaWorld(dim=10, eer=0.12, mean_segments=12.0, std_segments=2.0)
    training = world.draw_training(40, 8, 0)
    return world.draw_session(3, 1), train_backend(training.X, training.speakers)


def test_every_method_labels_every_segment(session):
    drawn, backend = session
    found = label(list(PEERS), drawn.X, drawn.speakers, backend, lambda _: 1)
    assert list(found) == list(PEERS)
    for one in found.values():
        assert one.labels.shape == drawn.speakers.shape
        assert one.labels.min() == 0
        assert one.seconds >= 0.0


def test_more_can_be_known_about_a_session(session):
    drawn, backend = session
    known = {"sms": {"num_speakers": 2}}
    found = label(["sms"], drawn.X, drawn.speakers, backend, lambda _: 1, known)
    assert found["sms"].labels.max() == 1


def test_the_oracle_is_the_best_of_all_cuts(session):
    drawn, backend = session
    fitted = AgglomerativeSpeakers(backend=backend).fit(drawn.X)
    n = len(drawn.X)
    every = [
        score_clustering(drawn.speakers, fitted.labels_with(count)).majority.g
        for count in range(1, n + 1)
    ]
    best = best_cut(fitted, drawn.speakers)
    assert score_clustering(drawn.speakers, best).majority.g == max(every)


def test_the_oracle_finds_one_speaker_and_one_segment(session):
    drawn, backend = session
    one = drawn.speakers == 0
    fitted = AgglomerativeSpeakers(backend=backend).fit(drawn.X[one])
    assert not best_cut(fitted, drawn.speakers[one]).any()
    fitted = AgglomerativeSpeakers(backend=backend).fit(drawn.X[:1])
    assert best_cut(fitted, np.array([0])).tolist() == [0]


def test_methods_that_cannot_run_on_a_session_are_left_out():
    names = ["sms", "kmeans"]
    assert allowed(names, 700, ["kmeans"], 700) == names
    assert allowed(names, 701, ["kmeans"], 700) == ["sms"]
    # without a PLDA model
    assert allowed(["ahc", "vbx"], 10, [], 0, trained=False) == ["ahc"]
    assert allowed(["ahc", "vbx"], 10, [], 0) == ["ahc", "vbx"]
    # methods that score all pairs have a limit of their own
    names = ["sms", "sms-paper", "ahc", "nme-sc", "hdbscan"]
    assert allowed(names, 3000, [], 0, limit_pairs=3000) == names
    assert allowed(names, 3001, [], 0, limit_pairs=3000) == ["sms", "sms-paper"]
