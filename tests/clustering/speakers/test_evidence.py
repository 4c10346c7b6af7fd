"""The default with a PLDA model: runs propose, evidence decides."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone

from sms_diar.clustering.speakers import evidence
from sms_diar.clustering.speakers.evidence import (
    LABEL_CALIBRATION,
    NUMBER_CALIBRATION,
    EvidenceSearch,
    SpeakerEvidenceMeanShift,
    calibrated_count,
    calibrated_labels,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend, session_backend, train_backend
from sms_diar.scoring.backend_plda import model_space
from sms_diar.scoring.session_model import SessionPrior
from sms_diar.synthetic import PldaWorld
from sms_diar.types import PldaModel, Segment

WORLD = PldaWorld(dim=20, eer=0.05)


@functools.cache
def trained(eer=0.05):
    world = PldaWorld(dim=20, eer=eer)
    training = world.draw_training(150, 6, random_state=1)
    return train_backend(training.X, training.speakers)


def session(n_speakers, seed=0, eer=0.05, **laws):
    world = PldaWorld(dim=20, eer=eer, **laws)
    drawn = world.draw_session(n_speakers, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(drawn.X))
    return drawn.X[order], drawn.speakers[order]


def fitted(X, **options):
    options = {"backend": trained(), "random_state": 0, **options}
    return SpeakerEvidenceMeanShift(**options).fit(X)


@pytest.mark.parametrize("n_speakers", [1, 2, 5, 12])
def test_finds_speakers_and_their_number(n_speakers):
    X, truth = session(n_speakers)
    model = fitted(X)
    assert model.n_clusters_ == n_speakers
    assert score_clustering(truth, model.labels_).majority.g > 0.97


def test_small_and_large_speakers_are_found_together():
    X, truth = session(6, mean_segments=60.0, std_segments=0.0)
    keep = np.concatenate(
        [
            np.flatnonzero(truth == speaker)[:size]
            for speaker, size in enumerate([60, 30, 15, 8, 5, 4])
        ]
    )
    labels = fitted(X[keep]).labels_
    assert score_clustering(truth[keep], labels).majority.g > 0.95


def test_labels_are_numbered_by_first_appearance_and_repeat():
    X, _ = session(5)
    one, two = fitted(X), fitted(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    _, first = np.unique(one.labels_, return_index=True)
    assert (np.diff(first) > 0).all()


def test_predict_gives_the_segments_of_the_session_back():
    X, _ = session(5)
    model = fitted(X)
    agreement = np.mean(model.predict(X) == model.labels_)
    assert agreement > 0.98
    alone = [int(model.predict(row[None])[0]) for row in X[:20]]
    assert alone == model.predict(X)[:20].tolist()


@pytest.mark.parametrize("wanted", [1, 3, 5, 9])
def test_a_wanted_number_is_met(wanted):
    X, _ = session(5)
    assert fitted(X, num_speakers=wanted).n_clusters_ == wanted


def test_bounds_are_kept_and_leave_what_lies_between_alone():
    X, _ = session(5)
    free = fitted(X)
    assert fitted(X, max_speakers=3).n_clusters_ == 3
    assert fitted(X, min_speakers=8).n_clusters_ >= 8
    inside = fitted(X, min_speakers=2, max_speakers=20)
    np.testing.assert_array_equal(inside.labels_, free.labels_)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_few_segments_are_clustered(n):
    X, _ = session(1)
    model = fitted(X[:n])
    assert model.labels_[0] == 0
    assert 1 <= model.n_clusters_ <= n
    assert fitted(X[:n], num_speakers=n).n_clusters_ == n


def test_equal_rows_are_one_speaker():
    assert fitted(np.tile(np.arange(1.0, 21.0), (12, 1))).n_clusters_ == 1


def test_the_back_end_may_scale_lengths():
    X, truth = session(4, eer=0.01)
    plda = PldaModel(np.zeros(20), WORLD.model.transform, WORLD.psi)
    chain = FoldedChain(np.eye(20), np.zeros(20))
    scaled = build_backend(chain, plda, normalize_length=True)
    assert score_clustering(truth, fitted(X, backend=scaled).labels_).majority.g > 0.97


@pytest.mark.parametrize("seed", range(4))
def test_adaptation_does_no_harm_to_a_single_speaker(seed):
    X, _ = session(1, seed=seed, eer=0.15)
    assert fitted(X, backend=trained(0.15)).n_clusters_ == 1
    # Another channel and twice the noise do not split a speaker.
    mean = X.mean(axis=0)
    shifted = mean + 1.4 * (X - mean) + 0.5
    assert fitted(shifted, backend=trained(0.15)).n_clusters_ == 1


def test_a_model_trained_on_noisier_speech_is_made_up_for():
    # Speakers whom the model believes within the noise: it has to learn of it.
    X, truth = session(8, eer=0.01, mean_segments=12.0)
    backend = trained(0.15)
    model = fitted(X, backend=backend)
    assert model.n_clusters_ == 8
    assert score_clustering(truth, model.labels_).majority.g > 0.97


def test_windows_that_overlap_count_in_part():
    rng = np.random.default_rng(0)
    turns = rng.integers(4, size=40)
    voices = np.sqrt(WORLD.psi) * rng.standard_normal((4, 20)) @ WORLD.model.transform
    truth = np.repeat(turns, 15)
    stretches = voices[truth] + 2.4 * rng.standard_normal((600, 20))
    windows = np.lib.stride_tricks.sliding_window_view(stretches, 6, axis=0)
    X, middle = windows.mean(axis=-1), truth[3:-2]
    model = fitted(X)
    assert model.row_weight_ == pytest.approx(1 / 6)
    assert model.n_clusters_ == 4
    assert score_clustering(middle, model.labels_).majority.g > 0.9
    assert fitted(X, row_weight=0.2).row_weight_ == 0.2


def test_how_sure_a_trained_model_is_of_labels_and_number():
    X, _ = session(5)
    model = fitted(X)
    assert model.confidence_.shape == (len(X),)
    assert ((model.confidence_ > 0.2) & (model.confidence_ <= 1.0 + 1e-9)).all()
    assert sum(model.count_posterior_.values()) == pytest.approx(1.0)
    assert list(model.count_posterior_) == [5, 4, 3, 2, 6]
    assert max(model.count_posterior_, key=model.count_posterior_.get) == 5
    # Confidence is lower if speakers are hard to separate.
    hard, _ = session(5, eer=0.25)
    other = fitted(hard, backend=trained(0.25), num_speakers=5)
    assert other.confidence_.mean() < model.confidence_.mean()
    assert other.count_posterior_ == {5: 1.0}


def test_calibrated_labels_by_hand():
    # Even odds become the constant; odds of 9 to 1 add the slope times log 9.
    constant, slope = LABEL_CALIBRATION
    found = calibrated_labels(np.array([0.5, 0.9]))
    expected = [expit(constant), expit(constant + slope * np.log(9.0))]
    np.testing.assert_allclose(found, expected)


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8))
def test_calibration_keeps_the_order_of_labels_and_never_reaches_1(claims):
    found = calibrated_labels(np.sort(claims))
    assert (np.diff(found) >= 0.0).all()
    assert (found < 1.0).all()


def test_calibrated_numbers_by_hand():
    constant, slope = NUMBER_CALIBRATION
    sure = expit(constant + slope * np.log(0.8 / 0.2))
    found = calibrated_count({4: 0.8, 3: 0.2}, 4, 1, 20)
    assert found == pytest.approx({4: sure, 3: (1 - sure) / 2, 5: (1 - sure) / 2})
    assert next(iter(found)) == 4


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [(1, 20, [4, 3, 2, 5]), (4, 20, [4, 5]), (1, 4, [4, 3, 2]), (4, 4, [4])],
)
def test_bounds_leave_doubt_only_between_them(low, high, numbers):
    found = calibrated_count({4: 0.7, 3: 0.2, 2: 0.1}, 4, low, high)
    assert list(found) == numbers
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_number_below_the_bound_has_no_probability():
    X, truth = session(5)
    search, found = searched(X, truth, low=4)
    assert list(search.count_posterior(found, 5)) == [5, 4]
    # Refinement may leave fewer speakers than the search found.
    assert search.count_posterior(found, 4) == {4: 1.0}
    free, found = searched(X, truth, low=1)
    posterior = free.count_posterior(found, 2)
    assert list(posterior) == [2, 1]
    assert sum(posterior.values()) == pytest.approx(1.0)


def test_the_posterior_compares_the_joints_of_the_best_unions():
    X, truth = session(3)
    search, found = searched(X, truth, low=2)
    posterior = search.count_posterior(found, 3)
    values = [found.value]
    for gone, kept in ((1, 0), (2, 0), (2, 1)):
        union = np.where(truth == gone, kept, truth)
        union = np.unique(union, return_inverse=True)[1]
        values.append(search.fixed(union, 0.1).value)
    odds = np.exp(np.max(values[1:]) - values[0])
    assert posterior[2] == pytest.approx(odds / (1.0 + odds), rel=1e-6)


def searched(X, truth, low):
    """A search, and the truth as what it found."""
    space = model_space(trained())
    rows = space.vectors(X)
    search = EvidenceSearch(rows, SessionPrior(space.psi), low, len(X))
    return search, search.fixed(truth.astype(np.int64), 0.1)


def test_segments_tell_a_trained_model_what_overlaps():
    X, _ = session(3)
    windows = [Segment("a", 0.5 * i, 0.5 * i + 1.0) for i in range(len(X))]
    model = SpeakerEvidenceMeanShift(backend=trained(), random_state=0)
    assert model.fit(X, segments=windows).row_weight_ == pytest.approx(0.5, abs=0.01)
    with pytest.raises(InvalidParameterError, match="segments must be one for each"):
        model.fit(X, segments=windows[1:])


@pytest.mark.parametrize("backend", [None, session_backend(np.eye(20))])
def test_a_back_end_without_a_plda_model_is_refused(backend):
    with pytest.raises(InvalidParameterError) as caught:
        fitted(np.eye(20), backend=backend)
    message = str(caught.value)
    assert message.startswith("SpeakerEvidenceMeanShift: backend must have a PLDA")
    assert "SpeakerFragmentMeanShift" in message


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("row_weight", 0.0),
        ("row_weight", "half"),
        ("num_speakers", 9),
    ],
)
def test_wrong_parameters_are_named(parameter, value):
    X, _ = session(1)
    with pytest.raises(InvalidParameterError, match=f": {parameter} must be"):
        fitted(X[:8], **{parameter: value})


def test_progress_grows_to_the_end():
    X, _ = session(3)
    told = []
    model = SpeakerEvidenceMeanShift(backend=trained(), random_state=0)
    model.listen(told.append).fit(X)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert not hasattr(clone(model), "_listener")


@pytest.mark.corpus
def test_a_real_meeting_has_four_or_five_speakers(corpus_data):
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.kaldi.plda import read_plda
    from sms_diar.io.kaldi.transform import read_transform
    from sms_diar.scoring import backend_from_transform

    folder = corpus_data / "ami-es2005a"
    vectors = read_embeddings(folder / "xvectors.ark")
    transform = read_transform(folder / "transform.npz")
    backend = backend_from_transform(transform, read_plda(folder / "plda"), vectors.dim)
    model = fitted(vectors.vectors, backend=backend)
    assert model.row_weight_ == pytest.approx(1 / 6)  # 1.44 s every 0.24 s
    assert model.n_clusters_ in {4, 5}


@pytest.mark.parametrize("seed", range(3))
def test_what_all_segments_have_in_common_is_no_speaker(seed, monkeypatch):
    world = PldaWorld(dim=60, eer=0.05)
    training = world.draw_training(150, 6, random_state=1)
    backend = train_backend(training.X, training.speakers)
    drawn = world.draw_session(5, random_state=seed)
    channel = np.random.default_rng(3).standard_normal(60)
    far = drawn.X + 2.0 * drawn.X.std() * channel
    model = fitted(far, backend=backend)
    assert model.n_clusters_ == 5
    assert score_clustering(drawn.speakers, model.labels_).majority.g > 0.99
    # New segments are judged where the session lies.
    np.testing.assert_array_equal(model.predict(far), model.labels_)
    # Taken for a voice, the channel makes one speaker of them.
    monkeypatch.setattr(evidence, "_CHANNEL", np.inf)
    assert fitted(far, backend=backend).n_clusters_ == 1
