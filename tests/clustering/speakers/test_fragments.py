"""The default without a trained model, from vectors to speakers."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.base import clone

from sms_diar.clustering.rival import find_rival
from sms_diar.clustering.speakers import fragments
from sms_diar.clustering.speakers.fragments import (
    BRIEF,
    CERTAINTY,
    TRUST,
    SpeakerFragmentMeanShift,
    _confidence,
    _within_bounds,
    brevity,
    count_posterior,
    nearness,
    number_evidence,
)
from sms_diar.clustering.speakers.merging import Merged
from sms_diar.clustering.speakers.rows import RowTimes
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_clustering
from sms_diar.pipeline.cluster.sessions import Session, fit_session
from sms_diar.scoring import session_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet, Segment


def gaussians(n_speakers, each, d=192, seed=0, noise=0.5):
    """Isotropic speakers in random order, and the speaker of each row."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(n_speakers), each))
    means = rng.standard_normal((n_speakers, d))
    return means[truth] + noise * rng.standard_normal((len(truth), d)), truth


def fitted(X, segments=None, **options):
    options = {"random_state": 0, **options}
    return SpeakerFragmentMeanShift(**options).fit(X, segments=segments)


def agreement(truth, labels):
    return score_clustering(truth, labels).majority.g


@functools.cache
def twelve_each():
    X, _ = gaussians(3, 12, d=30)
    return X, fitted(X)


# --- speakers and their number


@pytest.mark.parametrize("each", [30, 100])
def test_eight_separated_speakers_are_eight_however_long_they_speak(each):
    X, truth = gaussians(8, each)
    model = fitted(X)
    assert model.n_clusters_ == 8
    assert agreement(truth, model.labels_) == 1.0


@pytest.mark.parametrize(
    ("n_speakers", "each", "d"), [(200, 12, 64), (30, 4, 64), (40, 3, 192)]
)
def test_a_crowd_does_not_collapse(n_speakers, each, d):
    X, truth = gaussians(n_speakers, each, d, noise=1.0)
    model = fitted(X)
    assert model.n_clusters_ == pytest.approx(n_speakers, rel=0.1)
    assert score_clustering(truth, model.labels_).purity.k > 0.9


def test_fragments_of_a_crowd_are_pure(monkeypatch):
    def keep(clusters, low, high, progress):
        return Merged(np.arange(len(clusters)), 1.0, 0.0)

    monkeypatch.setattr(fragments, "merge_fragments", keep)
    X, truth = gaussians(200, 12, 64, noise=1.0)
    assert score_clustering(truth, fitted(X).labels_).majority.pur_cd > 0.98


@pytest.mark.parametrize("seed", range(6))
def test_one_speaker_is_one(seed):
    drawn = PldaWorld(dim=60, eer=0.05).draw_session(1, random_state=seed)
    model = fitted(drawn.X)
    assert model.n_clusters_ == 1
    assert max(model.count_posterior_, key=model.count_posterior_.get) == 1


@pytest.mark.parametrize("n_speakers", [2, 3, 5])
def test_a_session_with_twice_the_speech_has_the_same_speakers(n_speakers):
    X, truth = gaussians(n_speakers, 40, d=40)
    half = np.concatenate([np.flatnonzero(truth == s)[:20] for s in range(n_speakers)])
    assert fitted(X[half]).n_clusters_ == fitted(X).n_clusters_ == n_speakers


@settings(max_examples=10)
@given(st.lists(st.integers(0, 35), min_size=1, max_size=40))
def test_copies_of_rows_are_no_evidence(copied):
    X, plain = twelve_each()
    both = fitted(np.concatenate([X, X[copied]]))
    np.testing.assert_array_equal(both.labels_[:36], plain.labels_)
    np.testing.assert_array_equal(both.labels_[36:], plain.labels_[copied])
    assert both.count_posterior_ == pytest.approx(plain.count_posterior_)


def test_a_repeated_recording_has_the_same_speakers():
    X, plain = twelve_each()
    repeated = fitted(np.tile(X, (10, 1)))
    np.testing.assert_array_equal(repeated.labels_, np.tile(plain.labels_, 10))


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_the_order_of_rows_of_separated_speakers_does_not_matter(seed):
    X, plain = twelve_each()
    order = np.random.default_rng(seed).permutation(36)
    mixed = fitted(X[order], row_weight=1.0)
    assert agreement(plain.labels_[order], mixed.labels_) == 1.0


def test_the_same_seed_gives_the_same_labels():
    drawn = PldaWorld(dim=30, eer=0.1).draw_session(4, random_state=0)
    one, two = (fitted(drawn.X, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.confidence_, two.confidence_)
    assert one.count_posterior_ == two.count_posterior_


def test_a_cosine_back_end_transforms_the_rows():
    X, truth = gaussians(4, 20, d=20)
    backend = session_backend(X)
    model = fitted(X, backend=backend)
    assert model.backend_ is backend
    assert agreement(truth, model.labels_) == 1.0


def test_sessions_of_more_than_7500_rows_are_divided_into_blocks(monkeypatch):
    sizes = []

    def halves_of_speakers(model, vectors, backend, new_speech, rng):
        sizes.append(len(vectors))
        halves = 2 * np.argmax(vectors[:, :3], axis=1) + np.arange(len(vectors)) % 2
        return np.unique(halves, return_inverse=True)[1]

    monkeypatch.setattr(SpeakerFragmentMeanShift, "_shift", halves_of_speakers)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=7_502)
    X = 9.0 * np.eye(3, 8)[truth] + rng.standard_normal((7_502, 8))
    model = fitted(X, row_weight=1.0)
    assert len(sizes) >= 2
    assert sum(sizes) == 7_502
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) > 0.99


# --- small and degenerate sessions


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_few_rows_are_clustered_and_predicted(n):
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
    assert model.k_ == model.n_steps_ == 0
    # It is a guess, but a single row is one speaker for certain.
    assert model.count_posterior_ == {1: 0.6, 2: 0.4}
    assert model.confidence_.tolist() == [0.6] * 3
    assert fitted(np.eye(3)[:1]).count_posterior_ == {1: 1.0}


@pytest.mark.parametrize(
    "X",
    [
        np.tile(np.arange(1.0, 9.0), (5, 1)),
        np.ones((30, 3)),
        np.zeros((12, 4)),
        np.linspace(1.0, 2.0, 20)[:, None],
        np.eye(8)[np.arange(40) % 2],
    ],
    ids=["equal", "constant", "zero", "one dimension", "two rows repeated"],
)
def test_fewer_than_four_directions_are_one_speaker_unless_two_are_wanted(X):
    assert fitted(X).n_clusters_ == 1
    assert fitted(X, num_speakers=2).n_clusters_ == 2


def test_both_directions_of_one_dimension_may_be_speakers():
    X = np.random.default_rng(0).standard_normal((40, 1))
    labels = fitted(X, num_speakers=2).labels_
    np.testing.assert_array_equal(labels, np.sign(X[:, 0]) != np.sign(X[0, 0]))


# --- bounds


@pytest.mark.parametrize("wanted", range(1, 37))
def test_a_wanted_number_is_met_even_beyond_the_fragments(wanted):
    X, _ = twelve_each()
    model = fitted(X, num_speakers=wanted)
    assert np.unique(model.labels_).tolist() == list(range(wanted))
    assert model.count_posterior_ == {wanted: 1.0}


@pytest.mark.parametrize(("low", "high"), [(1, 2), (3, 3), (5, 9), (2, 36)])
def test_bounds_hold_for_the_number_and_its_posterior(low, high):
    X, _ = twelve_each()
    model = fitted(X, min_speakers=low, max_speakers=high)
    assert low <= model.n_clusters_ <= high
    assert model.n_clusters_ in model.count_posterior_
    assert all(low <= number <= high for number in model.count_posterior_)
    assert sum(model.count_posterior_.values()) == pytest.approx(1.0)


# --- times


def windows_of_turns(n_turns=12, seed=0, n_speakers=3):
    """Windows of 6 steps, and the speaker in the middle of each."""
    rng = np.random.default_rng(seed)
    speakers = rng.standard_normal((n_speakers, 40))
    truth = np.repeat(np.arange(n_turns) % n_speakers, 45)
    steps = speakers[truth] + rng.standard_normal((len(truth), 40))
    X = np.lib.stride_tricks.sliding_window_view(steps, 6, axis=0).mean(axis=-1)
    segments = [Segment("call", 0.25 * i, 0.25 * i + 1.5) for i in range(len(X))]
    return X, truth[3:-2], segments


def test_windows_that_overlap_six_times_are_counted_once():
    X, truth, segments = windows_of_turns()
    model = fitted(X, segments)
    assert model.row_weight_ == pytest.approx(1 / 6, rel=0.05)
    assert model.estimates() == {"row_weight": model.row_weight_}
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) > 0.9
    assert np.mean(model.predict(X) == model.labels_) > 0.9
    # Without times, the overlap is estimated from rows in order.
    without = fitted(X)
    assert without.row_weight_ == pytest.approx(1 / 6)
    assert without.n_clusters_ == 3


def test_segments_in_any_order_give_the_same_speakers():
    X, _, segments = windows_of_turns()
    order = np.random.default_rng(0).permutation(len(X))
    plain = fitted(X, segments)
    mixed = fitted(X[order], [segments[row] for row in order])
    assert agreement(plain.labels_[order], mixed.labels_) > 0.97


def in_recordings_of_their_own(durations):
    return [Segment(f"r{i}", 0.0, float(d)) for i, d in enumerate(durations)]


def test_only_relative_durations_matter():
    X, _ = gaussians(5, 12, noise=1.2)
    durations = np.random.default_rng(0).uniform(0.5, 8.0, len(X))
    expected = fitted(X, in_recordings_of_their_own(durations)).labels_
    found = fitted(X, in_recordings_of_their_own(4.0 * durations)).labels_
    np.testing.assert_array_equal(found, expected)
    equal = fitted(X, in_recordings_of_their_own(np.full(len(X), 3.0))).labels_
    np.testing.assert_array_equal(equal, fitted(X).labels_)


def test_long_segments_say_more_about_a_voice():
    better = []
    for seed in range(12):
        X, truth = gaussians(8, 12, d=40, seed=seed, noise=0.0)
        rng = np.random.default_rng(seed)
        durations = rng.choice([0.5, 2.0, 8.0], len(X))
        X = X + rng.standard_normal(X.shape) * 2.0 / np.sqrt(durations)[:, None]
        known = fitted(X, in_recordings_of_their_own(durations)).labels_
        k, k_without = (
            score_clustering(truth, labels).purity.k
            for labels in (known, fitted(X).labels_)
        )
        better.append(k - k_without)
    assert np.mean(better) > 0.03


def test_segments_of_several_recordings_are_one_session():
    X, truth, segments = windows_of_turns()
    half = len(X) // 2
    later = segments[half].start
    two = [Segment("one", s.start, s.end) for s in segments[:half]]
    two += [Segment("two", s.start - later, s.end - later) for s in segments[half:]]
    model = fitted(X, two)
    assert model.n_clusters_ == 3
    assert agreement(truth, model.labels_) > 0.9


def spliced(n_turns, seed=0, n_speakers=3, d=40):
    """Windows over turns cut at random from 240 frames of each speaker."""
    rng = np.random.default_rng(seed)
    speakers = rng.standard_normal((n_speakers, d))
    speech = speakers[:, None] + 3.0 * rng.standard_normal((n_speakers, 240, d))
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
    # Each frame is heard about 9 and 36 times.
    assert fitted(*spliced(90, seed)).n_clusters_ == 3
    assert fitted(*spliced(360, seed)).n_clusters_ in (3, 4)


def test_repeated_speech_of_one_speaker_has_no_rival():
    rows, segments = spliced(90, n_speakers=1)
    model = fitted(rows, segments)
    compared = model.independent_rows_
    assert find_rival(rows[::2], model.labels_[::2]) is not None
    assert find_rival(rows[compared], model.labels_[compared]) is None
    embeddings = EmbeddingSet(tuple(f"w{i:04d}" for i in range(len(rows))), rows)
    session = Session("rec", embeddings, segments, is_recording=True)
    assert fit_session(SpeakerFragmentMeanShift(), session).summary.doubts == ()


# --- errors and progress


@pytest.mark.parametrize("n", [0, 35, 37])
def test_times_of_another_number_of_rows_are_refused(n):
    X, _ = twelve_each()
    segments = [Segment("a", i, i + 1.0) for i in range(n)]
    with pytest.raises(InvalidParameterError, match=f"segments .* 36 rows, got {n}"):
        fitted(X, segments)


@pytest.mark.parametrize(
    "options", [{"row_weight": 0.0}, {"row_weight": 1.5}, {"row_weight": "half"}]
)
def test_a_row_weight_that_is_no_share_is_refused(options):
    with pytest.raises(InvalidParameterError, match="row_weight must be"):
        fitted(np.eye(6), **options)


def test_a_row_with_nan_is_named():
    X, _ = gaussians(2, 10, d=20)
    X[7, 3] = np.nan
    with pytest.raises(InvalidParameterError, match="X must be finite, got NaN in row"):
        fitted(X)


def test_progress_grows_to_1_and_clones_do_not_report_it():
    X, plain = twelve_each()
    shares = []
    model = SpeakerFragmentMeanShift(random_state=0).listen(shares.append).fit(X)
    assert shares == sorted(shares)
    assert shares[0] == 0.1
    assert shares[-1] == 1.0
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    n_reports = len(shares)
    clone(model).fit(X)
    assert len(shares) == n_reports


# --- confidence


def test_other_numbers_are_as_probable_as_the_merges_around_the_answer():
    # Two clusters; a merge made with .8, the next refused with .1: one speaker has odds
    # 1/9, three have odds .2/.8 = 1/4, so they share the doubt as 4 to 9.
    two = np.array([0, 1])
    posterior = count_posterior(Merged(two, 0.8, 0.1))
    assert sum(posterior.values()) == pytest.approx(1.0)
    assert posterior[1] / posterior[3] == pytest.approx(4.0 / 9.0)
    assert list(count_posterior(Merged(two, 1.0, 0.1))) == [1, 2]
    assert count_posterior(Merged(np.array([0, 0]), 1.0, 0.0)) == {1: 1.0}
    assert count_posterior(Merged(two, 1.0, 0.0)) == {2: 1.0}


def test_the_number_is_certain_if_merges_are_clear_and_clusters_are_large():
    labels = np.array([0, 0, 0, 1, 1])
    merged = Merged(labels, 0.8, 0.1, 0.2)
    # Log odds of the refused merge, the smaller of two sizes, .2 wrong merges of two
    # speakers.
    assert number_evidence(merged) == pytest.approx(
        (-np.log(9.0), np.log(2.0), 0.0, np.log(1.1))
    )
    assert number_evidence(merged._replace(refused=0.0))[0] == -np.log(19.0)
    constant, *slopes = CERTAINTY
    expected = expit(constant + np.dot(slopes, number_evidence(merged)))
    certainty = count_posterior(merged)[2]
    assert certainty == pytest.approx(expected)
    assert count_posterior(merged._replace(wrong=0.5))[2] < certainty
    assert count_posterior(merged._replace(refused=0.4))[2] < certainty
    larger = np.repeat(labels, 3)
    assert count_posterior(merged._replace(labels=larger))[2] > certainty
    # Three rows of a fifth of the usual duration are less evidence than two rows.
    weights = np.array([0.2, 0.2, 0.2, 1.0, 1.0])
    assert number_evidence(merged, weights=weights)[1] == pytest.approx(np.log(0.6))
    assert count_posterior(merged, weights=weights)[2] < certainty


def test_the_number_is_less_certain_in_brief_recordings():
    merged = Merged(np.array([0, 0, 0, 1, 1]), 0.8, 0.1)
    # Windows of 2 s every second cover 45 s, half of what is not brief.
    starts = np.arange(44.0)
    times = RowTimes(starts, starts + 2.0)
    assert times.covered() == pytest.approx(BRIEF / 2)
    assert brevity(times) == pytest.approx(-np.log(2.0))
    assert count_posterior(merged, brevity(times))[2] < count_posterior(merged)[2]
    # Longer recordings are as certain as segments without times.
    assert brevity(RowTimes(starts, starts + 100.0)) == brevity(None) == 0.0


def test_bounds_leave_the_posterior_of_what_is_possible():
    posterior = {1: 0.2, 2: 0.5, 3: 0.3}
    assert _within_bounds(posterior, 2, 5, 2) == pytest.approx({2: 0.625, 3: 0.375})
    assert _within_bounds(posterior, 1, 9, 2) == pytest.approx(posterior)
    # The wanted number has no probability of its own.
    assert _within_bounds(posterior, 7, 7, 7) == {7: 1.0}


def test_nearness_on_a_line():
    places = np.array([[0.0], [2.0], [10.0]])
    # 0 is 2 from the rest of its speaker and 10 from the other: log(100 / 4); 2 is 8
    # from the other: log(64 / 4); 10 is alone.
    expected = [np.log(25.0), np.log(16.0), 0.0]
    np.testing.assert_allclose(nearness(places, np.array([0, 0, 1])), expected)
    assert nearness(places, np.zeros(3, np.int64)).tolist() == [1.0, 1.0, 1.0]


def test_confidence_grows_with_nearness_and_with_the_number():
    near = np.array([-1.0, 0.0, 2.0])
    constant, slope = TRUST
    found = _confidence(near, {2: 0.8, 3: 0.2})
    np.testing.assert_allclose(found, expit(constant + slope * (near + logit(0.8))))
    assert (np.diff(found) > 0.0).all()
    assert (_confidence(near, {2: 0.95, 3: 0.05}) > found).all()
    assert (_confidence(near, {2: 1.0}) < 1.0).all()


def test_confidence_and_posterior_are_probabilities_and_tell_wrong_labels():
    right, wrong = [], []
    for seed in range(4):
        drawn = PldaWorld(dim=30, eer=0.15).draw_session(4, random_state=seed)
        free = fitted(drawn.X)
        assert free.n_clusters_ in free.count_posterior_
        assert sum(free.count_posterior_.values()) == pytest.approx(1.0)
        model = fitted(drawn.X, num_speakers=4)
        assert ((model.confidence_ >= 0.0) & (model.confidence_ <= 1.0)).all()
        table = np.zeros((4, 4))
        np.add.at(table, (model.labels_, drawn.speakers), 1.0)
        good = table.argmax(axis=1)[model.labels_] == drawn.speakers
        right.append(model.confidence_[good])
        wrong.append(model.confidence_[~good])
    pairs = np.concatenate(right)[:, None] > np.concatenate(wrong)
    assert pairs.mean() > 0.85


# --- real speech


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
        rows = content["rec"] == "c1_11"
        X, start, end = (content[name][rows] for name in ("x", "start", "end"))
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
        name: str(label)
        for name, label in zip(embeddings.ids, model.labels_, strict=True)
    }
    scored = sms_diar.score(
        folder / "ref.rttm",
        labels_to_turns(windows, names),
        uem=folder / "ES2005a.uem",
        collar=0.25,
    )
    assert scored.overall["der"] < 0.15
    assert np.mean(model.predict(embeddings.vectors) == model.labels_) > 0.9
