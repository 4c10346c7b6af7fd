"""Sessions without a trained model, from vectors to speakers."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sms_diar.clustering.speakers.joining import Joined
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.clustering.speakers.untrained import (
    TRUST,
    cluster_untrained,
    confidence_of,
    count_posterior,
    members_of,
    nearness,
    within_bounds,
)

from sms_diar.clustering.speakers import untrained
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import scale_rows
from sms_diar.synthetic import PldaWorld
from sms_diar.types import Segment


def gaussians(n_speakers, each, d=192, seed=0, noise=0.5):
    """Separated speakers in random order, and who they are."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(n_speakers), each))
    means = rng.standard_normal((n_speakers, d))
    return means[truth] + noise * rng.standard_normal((len(truth), d)), truth


def fitted(X, segments=None, **options):
    options = {"random_state": 0, **options}
    return SpeakerEvidenceMeanShift(**options).fit(X, segments=segments)


def agreement(one, other):
    return score_clustering(one, other).majority.g


# --- counts -------------------------------------------------------------------


@pytest.mark.parametrize("each", [30, 100, 300])
def test_eight_separated_speakers_are_eight_however_long_they_speak(each):
    X, truth = gaussians(8, each)
    model = fitted(X)
    assert model.n_clusters_ == 8
    assert agreement(truth, model.labels_) == 1.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("eer", [0.05, 0.1])
def test_one_speaker_stays_one(seed, eer):
    drawn = PldaWorld(dim=60, eer=eer).draw_session(1, random_state=seed)
    model = fitted(drawn.X)
    assert model.n_clusters_ == 1
    assert max(model.count_posterior_, key=model.count_posterior_.get) == 1


@pytest.mark.parametrize("n_speakers", [2, 3, 5])
def test_a_session_with_twice_the_speech_has_the_same_speakers(n_speakers):
    X, truth = gaussians(n_speakers, 40, d=40)
    half = np.concatenate(
        [np.flatnonzero(truth == one)[:20] for one in range(n_speakers)]
    )
    assert fitted(X[half]).n_clusters_ == fitted(X).n_clusters_ == n_speakers


@functools.cache
def twelve_each():
    X, _ = gaussians(3, 12, d=30)
    return X, fitted(X)


@settings(max_examples=10)
@given(st.lists(st.integers(0, 35), min_size=1, max_size=40))
def test_copies_of_rows_are_no_evidence(copied):
    X, plain = twelve_each()
    both = fitted(np.concatenate([X, X[copied]]))
    np.testing.assert_array_equal(both.labels_[:36], plain.labels_)
    np.testing.assert_array_equal(both.labels_[36:], plain.labels_[copied])
    assert both.count_posterior_ == pytest.approx(plain.count_posterior_)


def test_a_session_repeated_ten_times_has_as_many_speakers():
    X, _ = twelve_each()
    assert fitted(np.tile(X, (10, 1))).n_clusters_ == 3


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_the_order_of_rows_of_separated_speakers_does_not_matter(seed):
    X, plain = twelve_each()
    order = np.random.default_rng(seed).permutation(36)
    mixed = fitted(X[order], row_weight=1.0)
    assert agreement(plain.labels_[order], mixed.labels_) == 1.0


def test_the_seed_decides():
    drawn = PldaWorld(dim=30, eer=0.1).draw_session(4, random_state=0)
    one, two = (fitted(drawn.X, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.confidence_, two.confidence_)
    assert one.count_posterior_ == two.count_posterior_


# --- odd sizes ----------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_handful_of_rows_is_clustered_and_predicted(n):
    X, _ = gaussians(1, n, d=20)
    model = fitted(X)
    assert 1 <= model.n_clusters_ <= n
    assert model.confidence_.shape == (n,)
    assert sum(model.count_posterior_.values()) == pytest.approx(1.0)
    assert set(model.predict(X)) <= set(range(model.n_clusters_))
    for wanted in range(1, n + 1):
        exact = fitted(X, num_speakers=wanted)
        assert exact.n_clusters_ == wanted
        assert exact.count_posterior_ == {wanted: 1.0}


def test_three_rows_are_one_speaker_for_want_of_evidence():
    model = fitted(np.eye(3))
    assert model.n_clusters_ == 1
    # Said to be a guess; of a single row there is no doubt.
    assert model.count_posterior_ == {1: 0.5, 2: 0.5}
    assert model.confidence_.tolist() == [0.5] * 3
    assert fitted(np.eye(3)[:1]).count_posterior_ == {1: 1.0}


@pytest.mark.parametrize("n", [2, 5, 30])
def test_equal_rows_are_one_speaker(n):
    X = np.tile(np.arange(1.0, 9.0), (n, 1))
    assert fitted(X).n_clusters_ == 1
    assert fitted(X, num_speakers=2).n_clusters_ == 2


def test_two_rows_that_are_repeated_are_no_more_than_two_rows():
    X = np.eye(8)[np.arange(40) % 2]
    model = fitted(X)
    assert model.n_clusters_ == fitted(X[:2]).n_clusters_ == 1
    assert fitted(X, num_speakers=2).n_clusters_ == 2


def test_a_row_that_is_zero_is_clustered():
    X, _ = gaussians(2, 12, d=20)
    X[5] = 0.0
    model = fitted(X)
    assert np.isfinite(model.confidence_).all()
    assert len(model.labels_) == 24


def test_a_row_with_nan_is_named():
    X, _ = gaussians(2, 10, d=20)
    X[7, 3] = np.nan
    with pytest.raises(InvalidParameterError, match="X must be finite, got NaN in row"):
        fitted(X)


# --- bounds -------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 20, 35, 36])
def test_a_wanted_number_is_met_even_beyond_the_fragments(wanted):
    X, _ = twelve_each()
    model = fitted(X, num_speakers=wanted)
    assert model.n_clusters_ == wanted
    assert model.count_posterior_ == {wanted: 1.0}
    assert model.log_joint_ == 0.0


@pytest.mark.parametrize(("low", "high"), [(1, 2), (3, 3), (5, 9), (2, 36)])
def test_bounds_hold_and_so_does_the_posterior(low, high):
    X, _ = twelve_each()
    model = fitted(X, min_speakers=low, max_speakers=high)
    assert low <= model.n_clusters_ <= high
    assert all(low <= number <= high for number in model.count_posterior_)
    assert sum(model.count_posterior_.values()) == pytest.approx(1.0)


# --- times --------------------------------------------------------------------


def windows_of_turns(n_turns=12, seed=0, n_speakers=3):
    """Windows of 6 steps each, and who speaks in the middle of them."""
    rng = np.random.default_rng(seed)
    voices = rng.standard_normal((n_speakers, 40))
    truth = np.repeat(np.arange(n_turns) % n_speakers, 45)
    steps = voices[truth] + 1.0 * rng.standard_normal((len(truth), 40))
    X = np.lib.stride_tricks.sliding_window_view(steps, 6, axis=0).mean(axis=-1)
    segments = [Segment("call", 0.25 * i, 0.25 * i + 1.5) for i in range(len(X))]
    return X, truth[3:-2], segments


def test_windows_that_overlap_six_times_are_counted_once():
    X, truth, segments = windows_of_turns()
    model = fitted(X, segments)
    assert model.row_weight_ == pytest.approx(1 / 6, rel=0.05)
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) > 0.9
    # Without times, the order of the rows tells that they overlap.
    untold = fitted(X)
    assert untold.row_weight_ == pytest.approx(1 / 6)
    assert untold.n_clusters_ == 3


def test_segments_in_any_order_give_the_same_speakers():
    X, _, segments = windows_of_turns()
    order = np.random.default_rng(0).permutation(len(X))
    plain = fitted(X, segments)
    mixed = fitted(X[order], [segments[row] for row in order])
    assert agreement(plain.labels_[order], mixed.labels_) > 0.97


def test_segments_of_several_recordings_are_one_session():
    X, truth, segments = windows_of_turns()
    half = len(X) // 2
    told = [
        Segment("one", s.start, s.end)
        if row < half
        else Segment(
            "two", s.start - segments[half].start, s.end - segments[half].start
        )
        for row, s in enumerate(segments)
    ]
    model = fitted(X, told)
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) > 0.9


@pytest.mark.parametrize("n", [0, 35, 37])
def test_segments_of_another_number_are_named(n):
    X, _ = twelve_each()
    segments = [Segment("a", i, i + 1.0) for i in range(n)]
    message = f"segments must be one for each of the 36 rows, got {n}"
    with pytest.raises(InvalidParameterError, match=message):
        fitted(X, segments)
    # What was refused is not remembered.
    assert fitted(X).n_clusters_ == 3


def test_predict_gives_most_labels_back():
    X, _, segments = windows_of_turns()
    model = fitted(X, segments)
    assert np.mean(model.predict(X) == model.labels_) > 0.9


# --- parts --------------------------------------------------------------------


def test_the_number_is_as_probable_as_the_joins_around_it():
    # Two groups; one join made with .8, the next with .1 refused: one speaker has odds
    # 1/9, three have odds .2/.8 = 1/4, of a total of 1 + 1/9 + 1/4 = 49/36.
    joined = Joined(np.array([0, 1]), [0.8], [0.1])
    assert count_posterior(joined) == pytest.approx(
        {1: 4.0 / 49.0, 2: 36.0 / 49.0, 3: 9.0 / 49.0}
    )
    # The least probable join is the first to be undone.
    order = count_posterior(Joined(np.array([0, 1]), [0.5, 0.8], []))
    assert order == pytest.approx({2: 4.0 / 9.0, 3: 4.0 / 9.0, 4: 1.0 / 9.0})
    assert count_posterior(Joined(np.array([0, 0]), [], [])) == {1: 1.0}


def test_certain_joins_do_not_break_the_odds():
    found = count_posterior(Joined(np.array([0, 1]), [1.0], [0.0]))
    assert found == {1: 0.0, 2: 1.0, 3: 0.0}


def test_bounds_leave_the_posterior_of_what_is_possible():
    posterior = {1: 0.2, 2: 0.5, 3: 0.3}
    assert within_bounds(posterior, 2, 5, 2) == pytest.approx({2: 0.625, 3: 0.375})
    assert within_bounds(posterior, 1, 9, 2) == pytest.approx(posterior)
    # More were asked for than were thought of.
    assert within_bounds(posterior, 7, 7, 7) == {7: 1.0}


def slow_nearness(places, labels):
    logs = []
    for row, own in enumerate(labels):
        others = [i for i in range(len(labels)) if labels[i] == own and i != row]
        if not others:
            logs.append(0.0)
            continue
        gap = np.sum((places[row] - places[others].mean(axis=0)) ** 2)
        best = min(
            np.sum((places[row] - places[labels == g].mean(axis=0)) ** 2)
            for g in set(labels.tolist()) - {own}
        )
        logs.append(np.log(np.clip(best / gap, 1e-3, 1e3)))
    return np.array(logs)


def test_nearness_on_a_line():
    places = np.array([[0.0], [2.0], [10.0]])
    # 0 is 2 from the rest of its speaker and 10 from the other: log(100 / 4); 2 is 8
    # from the other: log(64 / 4); 10 is alone.
    want = [np.log(25.0), np.log(16.0), 0.0]
    np.testing.assert_allclose(nearness(places, np.array([0, 0, 1])), want)
    assert nearness(places, np.zeros(3, np.int64)).tolist() == [1.0, 1.0, 1.0]


@given(st.integers(0, 1000))
def test_nearness_is_that_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([[0, 1, 2], rng.integers(3, size=12)])
    places = rng.standard_normal((15, 4)) + labels[:, None]
    np.testing.assert_allclose(
        nearness(places, labels), slow_nearness(places, labels), atol=1e-9
    )


def test_confidence_grows_with_nearness_and_with_the_number():
    near = np.array([-1.0, 0.0, 2.0])
    constant, slope, of_number = TRUST
    found = confidence_of(near, {2: 0.8, 3: 0.2})
    np.testing.assert_allclose(
        found, expit(constant + slope * near + of_number * logit(0.8))
    )
    assert (np.diff(found) > 0.0).all()
    assert (confidence_of(near, {2: 0.95, 3: 0.05}) > found).all()
    assert (confidence_of(near, {2: 1.0}) < 1.0).all()


def test_members_link_all_rows_to_their_neighbours():
    rng = np.random.default_rng(0)
    places = rng.standard_normal((20, 3))
    members = members_of(places, places, None)
    assert members.linked.shape == (100, 2)  # five each
    assert np.bincount(members.linked[:, 0]).tolist() == [5] * 20
    assert members.touching is None
    apart = members_of(places, places, RowTimes.of_steps(20, 2.0))
    assert apart.touching is None  # known, and none touch
    touching = members_of(places, places, RowTimes.of_steps(20, 0.5))
    assert touching.touching.tolist() == [[i, i + 1] for i in range(19)]


def test_very_long_sessions_are_taken_in_blocks(monkeypatch):
    monkeypatch.setattr(untrained, "_BLOCK", 60)
    monkeypatch.setattr(untrained, "_LINKED_ROWS", 100)
    X, truth = gaussians(3, 80, d=30)
    model = fitted(X)
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) == 1.0


@pytest.mark.parametrize("n_speakers", [40, 80])
def test_many_speakers_of_a_few_segments_do_not_run_into_one(n_speakers):
    X, truth = gaussians(n_speakers, 3, noise=1.0)
    model = fitted(X)
    assert model.n_clusters_ == pytest.approx(n_speakers, rel=0.1)
    assert agreement(truth, model.labels_) > 0.9


def test_the_less_new_speech_in_a_row_the_more_rows_are_asked():
    X, _ = gaussians(3, 60, d=30)
    for new_speech, k, least in ((1.0, 8, 2), (0.5, 16, 4)):
        run = untrained._run(
            X,
            untrained.learn_space(scale_rows(X), None),
            new_speech,
            np.random.default_rng(0),
        )
        assert (run.k, run.gate_least) == (k, least)
    short = untrained._run(
        X[:16],
        untrained.learn_space(scale_rows(X[:16]), None),
        0.5,
        np.random.default_rng(0),
    )
    assert (short.k, short.gate_least) == (4, 2)  # a quarter of the rows, and half


def test_progress_is_told_and_grows():
    X, _ = twelve_each()
    told = []
    cluster_untrained(
        X, None, 1.0, low=1, high=36, rng=np.random.default_rng(0), tell=told.append
    )
    assert told == sorted(told)
    assert told[0] > 0.0


def test_confidence_tells_right_labels_from_wrong_ones():
    right, wrong = [], []
    for seed in range(4):
        drawn = PldaWorld(dim=30, eer=0.15).draw_session(4, random_state=seed)
        model = fitted(drawn.X, num_speakers=4)
        table = np.zeros((4, 4))
        np.add.at(table, (model.labels_, drawn.speakers), 1.0)
        good = table.argmax(axis=1)[model.labels_] == drawn.speakers
        right.append(model.confidence_[good])
        wrong.append(model.confidence_[~good])
    pairs = np.concatenate(right)[:, None] > np.concatenate(wrong)
    assert pairs.mean() > 0.85


# --- real speech --------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("n_speakers", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_vectors_of_a_network_are_counted_right(corpus_data, n_speakers, seed):
    with np.load(corpus_data / "arabic8k" / "campplus_8k.npz") as content:
        X, speakers = content["x"], content["spk"]
    rng = np.random.default_rng(seed)
    chosen = rng.choice(np.unique(speakers), n_speakers, replace=False)
    rows = rng.permutation(np.flatnonzero(np.isin(speakers, chosen)))
    model = fitted(X[rows])
    assert model.n_clusters_ == n_speakers
    assert agreement(speakers[rows], model.labels_) > 0.95


@pytest.mark.corpus
def test_a_monologue_is_one_speaker(corpus_data):
    path = corpus_data / "conversations" / "simulated" / "campplus_windows.npz"
    with np.load(path) as content:
        own = content["rec"] == "c1_11"
        X, start, end = (content[name][own] for name in ("x", "start", "end"))
    assert len(X) > 50
    segments = [Segment("c1_11", a, b) for a, b in zip(start, end, strict=True)]
    assert fitted(X, segments).n_clusters_ == 1
    assert fitted(X).n_clusters_ == 1


@pytest.mark.corpus
def test_a_real_meeting_needs_no_plda_model(corpus_data):
    import sms_diar
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.kaldi.tables import read_segments
    from sms_diar.timeline.turns import labels_to_turns

    folder = corpus_data / "ami-es2005a"
    embeddings = read_embeddings(folder / "xvectors.ark")
    windows = read_segments(folder / "segments")
    model = fitted(
        embeddings.vectors, [windows[name] for name in embeddings.ids], num_speakers=4
    )
    names = {
        name: str(one) for name, one in zip(embeddings.ids, model.labels_, strict=True)
    }
    scored = sms_diar.score(
        folder / "ref.rttm",
        labels_to_turns(windows, names),
        uem=folder / "ES2005a.uem",
        collar=0.25,
    )
    assert scored.overall["der"] < 0.15  # .124 when this was written
    again = model.predict(embeddings.vectors)
    assert np.mean(again == model.labels_) > 0.9


def spliced(n_turns, seed=0, n_speakers=3, d=40):
    """Windows over turns cut at random from 240 frames of each speaker, half shared."""
    rng = np.random.default_rng(seed)
    voices = rng.standard_normal((n_speakers, d))
    speech = voices[:, None] + 3.0 * rng.standard_normal((n_speakers, 240, d))
    turns = []
    for _ in range(n_turns):
        speaker, start = rng.integers(n_speakers), rng.integers(160)
        turns.append(speech[speaker, start : start + rng.integers(40, 80)])
    frames = np.concatenate(turns)
    starts = np.arange(0, len(frames) - 20, 10)
    rows = np.stack([frames[start : start + 20].mean(axis=0) for start in starts])
    return rows, [Segment("rec", 0.05 * s, 0.05 * (s + 20)) for s in starts]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_speech_cut_anew_for_hours_has_no_more_speakers(seed):
    # Each frame is heard about 9 and 36 times. By copies alone, there were up to 14.
    assert fitted(*spliced(90, seed)).n_clusters_ == 3
    assert fitted(*spliced(360, seed)).n_clusters_ in (3, 4)
