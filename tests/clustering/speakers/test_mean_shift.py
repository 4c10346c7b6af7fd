"""kNN mean shift of embeddings: reference, counts, small sessions."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sms_diar._numba import kernel
from sms_diar.clustering import (
    SpeakerBlurringMeanShift,
    SpeakerMeanShift,
    SpeakerStochasticMeanShift,
)
from sms_diar.clustering.agglomerate import (
    constrained_groups,
    mean_features,
    merge_clusters,
)
from sms_diar.clustering.speakers import _kernels, _reference
from sms_diar.clustering.speakers import mean_shift as speaker_module
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend, session_backend, train_backend
from sms_diar.types import PldaModel

FAMILY = [
    SpeakerMeanShift(),
    SpeakerBlurringMeanShift(),
    SpeakerStochasticMeanShift(random_state=0),
]
family = pytest.mark.parametrize("model", FAMILY, ids=lambda m: type(m).__name__)
select = kernel(_kernels.select)


def session(seed=0, n_speakers=4, per_speaker=25, dim=12, spread=0.25):
    """Speakers at random directions, segments around them."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


def plda_backend(seed=0, dim=12):
    X, truth = session(seed + 100, n_speakers=60, per_speaker=10, dim=dim)
    return train_backend(X, truth, n_components=dim - 2)


def normed_backend(dim=12):
    """A back end with an offset and Kaldi's length normalisation."""
    rng = np.random.default_rng(5)
    chain = FoldedChain(
        rng.standard_normal((8, dim)), rng.standard_normal(8), 1.0, np.sqrt(8.0)
    )
    plda = PldaModel(
        rng.standard_normal(8), rng.standard_normal((8, 8)), np.arange(8.0)[::-1]
    )
    return build_backend(chain, plda, normalize_length=True)


BACKENDS = {
    "session": session_backend,
    "plda": lambda X: plda_backend(),
    "normed": lambda X: normed_backend(),
}
backends = pytest.mark.parametrize("name", BACKENDS)


@family
def test_finds_separated_speakers(model):
    X, truth = session()
    labels = clone(model).fit_predict(X)
    np.testing.assert_array_equal(labels, truth)


@pytest.mark.compiled
@backends
def test_stochastic_run_equals_the_reference(name):
    X, _ = session(spread=0.8)
    backend = BACKENDS[name](X)
    model = SpeakerStochasticMeanShift(backend=backend, k=9, tol=1e-3, random_state=3)
    model.fit(X)
    n = len(X)
    draws = np.random.default_rng(3).integers(n, size=model.n_steps_ + 50)
    states, steps = _reference.stochastic(
        backend.prepare(X),
        backend,
        draws,
        np.full(len(draws), 9),
        1e-3,
        n,
    )
    # Matrix products round differently from single ones, in the last digits only.
    np.testing.assert_allclose(model.resting_points_, states, atol=1e-9)
    assert model.n_steps_ == steps


@pytest.mark.compiled
def test_random_neighbourhoods_equal_the_reference():
    X, _ = session(spread=0.8)
    backend = plda_backend()
    model = SpeakerStochasticMeanShift(backend=backend, k=(5, 12), max_steps=300)
    rng = np.random.default_rng(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(random_state=rng).fit(X)
    rng = np.random.default_rng(8)
    k_rng = rng.spawn(1)[0]
    states, _ = _reference.stochastic(
        backend.prepare(X),
        backend,
        rng.integers(len(X), size=300),
        k_rng.integers(5, 13, size=300),
        1e-3,
        len(X),
    )
    np.testing.assert_allclose(model.resting_points_, states, atol=1e-9)


@pytest.mark.compiled
@backends
def test_blurring_run_equals_the_reference(name):
    X, _ = session(spread=0.8)
    backend = BACKENDS[name](X)
    model = SpeakerBlurringMeanShift(backend=backend, k=9).fit(X)
    want = _reference.blurring(backend.prepare(X), backend, 9, 1e-3, 200)
    np.testing.assert_allclose(model.resting_points_, want, atol=1e-9)


@pytest.mark.compiled
@backends
def test_mean_shift_run_equals_the_reference(name):
    X, _ = session(spread=0.8)
    backend = BACKENDS[name](X)
    model = SpeakerMeanShift(backend=backend, k=9).fit(X)
    want = _reference.mean_shift(backend.prepare(X), backend, 9, 1e-3, 200)
    np.testing.assert_allclose(model.resting_points_, want, atol=1e-9)


@pytest.mark.parametrize("size", [1, 5, 64])
def test_states_do_not_depend_on_the_batch(monkeypatch, size):
    X, _ = session(spread=0.8)
    whole = SpeakerStochasticMeanShift(k=9, random_state=1).fit(X)
    monkeypatch.setattr(speaker_module, "batch_size", lambda n: size)
    other = SpeakerStochasticMeanShift(k=9, random_state=1).fit(X)
    np.testing.assert_array_equal(whole.resting_points_, other.resting_points_)
    np.testing.assert_array_equal(whole.labels_, other.labels_)


@pytest.mark.parametrize("model", FAMILY[:2], ids=lambda m: type(m).__name__)
def test_states_do_not_depend_on_blocks_of_scores(monkeypatch, model):
    X, _ = session(spread=0.8)
    whole = clone(model).set_params(k=9).fit(X)
    monkeypatch.setattr(speaker_module, "_SCORES", 7 * len(X))
    blocked = clone(model).set_params(k=9).fit(X)
    np.testing.assert_allclose(
        whole.resting_points_, blocked.resting_points_, atol=1e-9
    )


scores_with_ties = st.lists(st.integers(0, 5), min_size=1, max_size=40)


@pytest.mark.compiled
@given(scores_with_ties, st.integers(1, 45))
def test_selection_keeps_the_best_and_the_lower_index_of_ties(values, k):
    scores = np.array(values, dtype=float)
    best, heap = np.empty(k, dtype=np.int64), np.empty(k)
    size = select(scores, k, best, heap)
    want = np.sort(np.argsort(-scores, kind="stable")[:k])
    np.testing.assert_array_equal(best[:size], want)


@pytest.mark.compiled
def test_a_state_of_rest_is_the_mean_of_its_neighbours():
    X, _ = session(spread=0.8)
    backend = plda_backend()
    model = SpeakerStochasticMeanShift(
        backend=backend, k=9, tol=1e-7, max_steps=100_000, random_state=0
    ).fit(X)
    states = model.resting_points_
    for i in range(0, len(X), 7):
        near = _reference.nearest(i, states, backend, 9)
        gap = np.linalg.norm(states[near].mean(axis=0) - states[i])
        assert gap < 1e-5


@family
def test_rotating_the_embeddings_changes_nothing(model):
    X, _ = session(spread=0.6)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((12, 12)))[0]
    here = clone(model).set_params(k=9).fit_predict(X)
    there = clone(model).set_params(k=9).fit_predict(X @ rotation)
    np.testing.assert_array_equal(here, there)


@family
def test_scaling_single_embeddings_changes_nothing(model):
    # Only directions count, and powers of two change no digit of them.
    X, _ = session(spread=0.6)
    scale = 2.0 ** np.random.default_rng(0).integers(-3, 4, len(X))
    here = clone(model).set_params(k=9).fit_predict(X)
    there = clone(model).set_params(k=9).fit_predict(X * scale[:, None])
    np.testing.assert_array_equal(here, there)


# --- numbers of speakers


def test_merging_takes_the_highest_mean_score_first():
    # On a line of directions, clusters 0 and 1 are the closest pair.
    angles = np.array([0.0, 0.01, 0.5, 0.51, 2.0])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    backend = build_backend(FoldedChain(np.eye(2), np.zeros(2), in_length=1.0))
    terms = backend.features(X)
    labels = np.array([0, 0, 1, 1, 2])
    assert merge_clusters(terms, labels, 2).tolist() == [0, 0, 0, 0, 1]

    def merged_above(threshold):
        apart = np.zeros((5, 5), dtype=bool)
        together = {"threshold": threshold, "together": labels}
        return constrained_groups(terms.matrix(), apart, **together).tolist()

    assert merged_above(0.9) == labels.tolist()
    # cos 0.5 is 0.878: above 0.8 the first two merge, the third stays apart
    assert merged_above(0.8) == [0, 0, 0, 0, 1]


@given(st.integers(0, 1000))
def test_mean_features_give_mean_scores(seed):
    rng = np.random.default_rng(seed)
    X, _ = session(seed, n_speakers=3, per_speaker=5)
    terms = plda_backend().features(X)
    labels = rng.permutation(np.arange(15) % 4)
    scores = terms.matrix()
    means = mean_features(terms, labels).matrix()
    for a in range(4):
        for b in range(4):
            want = scores[np.ix_(labels == a, labels == b)].mean()
            assert means[a, b] == pytest.approx(want, rel=1e-9, abs=1e-9)


# --- small and degenerate sessions


@family
def test_one_segment_is_one_speaker(model):
    fitted = clone(model).fit([[1.0, 2.0, 3.0]])
    assert fitted.labels_.tolist() == [0]
    assert fitted.k_ == 1


@family
def test_two_segments_are_one_speaker_only_if_close(model):
    assert clone(model).fit_predict([[1.0, 0.0], [0.0, 1.0]]).tolist() == [0, 1]
    assert clone(model).fit_predict([[1.0, 0.0], [1.0, 0.0]]).tolist() == [0, 0]


@family
@pytest.mark.parametrize("n", [3, 10, 17])
def test_a_session_no_larger_than_k_lowers_k_to_half(model, n):
    X, _ = session(n_speakers=2, per_speaker=10)
    fitted = clone(model).fit(X[:n])
    assert fitted.k_ == -(-n // 2)
    assert fitted.n_clusters_ >= 1


@family
def test_a_small_session_can_hold_two_speakers(model):
    X, truth = session(n_speakers=2, per_speaker=6)
    np.testing.assert_array_equal(clone(model).fit_predict(X), truth)


@family
def test_zero_embeddings_have_no_direction_but_do_no_harm(model):
    X, _ = session()
    X[3] = 0.0
    fitted = clone(model).fit(X)
    assert np.isfinite(fitted.resting_points_).all()


def test_speakers_with_fewer_segments_than_k_are_swallowed():
    # Known of the method, and the reason to lower k where speakers say little.
    rng = np.random.default_rng(0)
    sizes = [40, 40, 6]
    truth = np.repeat([0, 1, 2], sizes)
    X = rng.standard_normal((3, 12))[truth] + 0.25 * rng.standard_normal((86, 12))
    wide = SpeakerStochasticMeanShift(k=17, random_state=0).fit_predict(X)
    narrow = SpeakerStochasticMeanShift(k=5, random_state=0).fit_predict(X)
    assert score_clustering(truth, wide).sizes.n_clusters == 2
    assert score_clustering(truth, narrow).majority.pur_cd == 1.0


# --- merging, prediction, limits, messages


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (SpeakerMeanShift(max_iter=1), "raise max_iter (now 1) or tol"),
        (SpeakerBlurringMeanShift(max_iter=1), "raise max_iter (now 1) or tol"),
        (
            SpeakerStochasticMeanShift(max_steps=100, random_state=0),
            "raise max_steps or tol, or lower rest_share",
        ),
    ],
    ids=["ms", "bms", "sms"],
)
def test_warns_with_a_remedy_when_the_limit_is_hit(model, remedy):
    X, _ = session(spread=1.0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X)
    assert str(caught[0].message).endswith(remedy)
    assert caught[0].filename == __file__
    assert not model.converged_


def test_any_tolerance_is_possible():
    X, _ = session(n_speakers=1)
    for tol in (1.0, 2.0):
        told = []
        SpeakerBlurringMeanShift(tol=tol).listen(told.append).fit(X)
        assert told == [1.0]


def test_a_share_of_points_at_rest_may_be_enough():
    X, _ = session(spread=1.0)
    most = SpeakerStochasticMeanShift(rest_share=0.5, random_state=0).fit(X)
    every = SpeakerStochasticMeanShift(random_state=0).fit(X)
    assert most.converged_
    assert most.n_steps_ < every.n_steps_


@family
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 0}, "k must be a whole number >= 1, got 0"),
        ({"tol": -1}, "tol must be a finite number > 0, got -1"),
        (
            {"merge_threshold": 0},
            "merge_threshold must be a finite number > 0, got 0",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_parameters_are_named(model, params, message):
    with pytest.raises(InvalidParameterError) as caught:
        clone(model).set_params(**params).fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert str(caught.value) == f"{type(model).__name__}: {message}"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": (3, 2)}, "k must be a pair with low <= high, got (3, 2)"),
        ({"k": (1, 2, 3)}, "k must be a whole number or a pair, got (1, 2, 3)"),
        ({"gate": np.inf}, "gate must be a finite number, got inf"),
        ({"gate_least": 0}, "gate_least must be a whole number >= 1, got 0"),
        ({"rest_share": 0.0}, "rest_share must be a number in (0, 1], got 0.0"),
        ({"max_steps": 0}, "max_steps must be a whole number >= 1, got 0"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_stochastic_parameters_are_named(params, message):
    with pytest.raises(InvalidParameterError) as caught:
        SpeakerStochasticMeanShift(**params).fit([[0.0, 1.0], [1.0, 0.0]])
    assert str(caught.value) == f"SpeakerStochasticMeanShift: {message}"


def test_memory_does_not_grow_with_the_square():
    one = speaker_module.estimate_memory(50_000, 128, 128)
    two = speaker_module.estimate_memory(100_000, 128, 128)
    assert one < 2**30
    assert two < 2.2 * one


@pytest.mark.parametrize(
    "kind", [SpeakerMeanShift, SpeakerBlurringMeanShift, SpeakerStochasticMeanShift]
)
@pytest.mark.parametrize("bound", ["num_speakers", "min_speakers"])
def test_more_speakers_than_tight_clusters_are_reached_all_the_same(kind, bound):
    rng = np.random.default_rng(0)
    X = np.repeat(3.0 * rng.standard_normal((4, 6)), 10, axis=0)
    X = X + 1e-3 * rng.standard_normal(X.shape)
    model = kind(**{bound: 8}).fit(X)
    assert model.n_clusters_ == 8
    assert sorted(set(model.labels_.tolist())) == list(range(8))
