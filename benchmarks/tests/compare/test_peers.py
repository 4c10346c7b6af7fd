"""Methods by name, and the oracle."""

import numpy as np
import pytest

from benchmarks.compare.peers import (
    PEERS,
    allowed,
    best_cut,
    build,
    expected_seconds,
    fit_rows,
    head,
    label,
    settings_of,
)
from sms_diar.clustering.baselines import AgglomerativeSpeakers
from sms_diar.metrics import score_clustering
from sms_diar.scoring import train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import Segment


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


def test_methods_that_draw_get_their_seed():
    assert build("sms", None, 7).random_state == 7
    assert build("nme-sc", None, 7).random_state == 7
    assert "random_state" not in build("ahc", None, 7).get_params()


def test_more_can_be_known_about_a_session(session):
    drawn, backend = session
    known = {"sms": {"num_speakers": 2}}
    found = label(["sms"], drawn.X, drawn.speakers, backend, lambda _: 1, known)
    assert found["sms"].labels.max() == 1


def test_the_paper_has_seventeen_neighbours_and_no_gate():
    settings = settings_of("sms-paper")
    assert settings["k"] == 17
    assert settings["gate"] is None
    assert settings["class"].endswith("SpeakerStochasticMeanShift")
    assert "backend" not in settings


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


def test_slow_methods_are_left_out_above_a_size():
    names = ["sms", "kmeans"]
    assert allowed(names, 700, ["kmeans"], 700) == names
    assert allowed(names, 701, ["kmeans"], 700) == ["sms"]


def test_methods_that_need_a_plda_model_are_left_out_without_one():
    assert allowed(["ahc", "vbx"], 10, [], 0, trained=False) == ["ahc"]
    assert allowed(["ahc", "vbx"], 10, [], 0) == ["ahc", "vbx"]


def test_methods_that_score_all_pairs_have_a_limit_of_their_own():
    names = ["sms", "sms-paper", "ahc", "nme-sc", "hdbscan"]
    assert allowed(names, 3000, [], 0, limit_pairs=3000) == names
    assert allowed(names, 3001, [], 0, limit_pairs=3000) == ["sms", "sms-paper"]


class Recorder:
    """An estimator that remembers what it was given."""

    def __init__(self, **parameters):
        self.parameters = parameters
        self.given = None

    def get_params(self):
        return self.parameters

    def set_params(self, **parameters):
        self.parameters |= parameters


class WithTimes(Recorder):
    def fit(self, X, y=None, *, segments=None):
        self.given = segments


class WithoutTimes(Recorder):
    def fit(self, X, y=None):
        self.given = "rows"


# Windows that overlap by half, twice: 3 s heard in 4.5.
WINDOWS = [Segment("r", 0.75 * i, 0.75 * i + 1.5) for i in range(3)]


def test_times_are_handed_to_a_fit_that_takes_them():
    estimator = WithTimes(row_weight="auto")
    fit_rows(estimator, np.zeros((3, 2)), WINDOWS)
    assert estimator.given == WINDOWS
    assert estimator.parameters == {"row_weight": "auto"}
    fit_rows(estimator, np.zeros((3, 2)), None)
    assert estimator.given is None


def test_others_get_the_weight_of_a_row_if_they_have_one():
    estimator = WithoutTimes(row_weight="auto")
    fit_rows(estimator, np.zeros((3, 2)), WINDOWS)
    assert estimator.given == "rows"
    assert estimator.parameters["row_weight"] == pytest.approx(3.0 / 4.5)
    for known in ({}, {"row_weight": 0.5}):
        estimator = WithoutTimes(**known)
        fit_rows(estimator, np.zeros((3, 2)), WINDOWS)
        assert estimator.parameters == known
    estimator = WithoutTimes(row_weight="auto")
    fit_rows(estimator, np.zeros((3, 2)), None)
    assert estimator.parameters == {"row_weight": "auto"}


def test_a_method_may_say_how_sure_it_is(session, monkeypatch):
    drawn, backend = session
    n = len(drawn.X)

    def fit(self, X, y=None):
        self.labels_ = np.zeros(len(X), dtype=np.int64)
        self.confidence_ = np.full(len(X), 0.5)
        self.count_posterior_ = {1: 0.75, 2: 0.25}
        return self

    monkeypatch.setattr(AgglomerativeSpeakers, "fit", fit)
    found = label(["ahc", "hdbscan"], drawn.X, drawn.speakers, backend, lambda _: 1)
    assert found["ahc"].confidence.tolist() == [0.5] * n
    assert found["ahc"].count_posterior == {1: 0.75, 2: 0.25}
    assert found["hdbscan"].confidence is None
    assert found["hdbscan"].count_posterior is None


def test_the_cost_grows_with_size_and_methods():
    assert expected_seconds(["sms"], 1000) == pytest.approx(0.3 + 1.9)
    assert expected_seconds(list(PEERS), 2000) > 4 * expected_seconds(["sms"], 500)


def test_an_oracle_has_a_star():
    assert head("ahc-oracle") == "ahc*"
    assert head("vbx") == "vbx"
