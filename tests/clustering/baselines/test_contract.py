"""What all baselines promise: scikit-learn's contract, bounds, small sessions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from sms_diar.clustering.baselines import (
    AgglomerativeSpeakers,
    HdbscanSpeakers,
    KMeansSpeakers,
    NmeSpectralSpeakers,
    SpeakerBaseline,
    SpectralSpeakers,
    VbxSpeakers,
)
from sms_diar.clustering.baselines import _base as base_module
from sms_diar.clustering.methods import METHODS
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.cluster.api import cluster_embeddings
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend, session_backend, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet, PldaModel


def flat_backend(dim, psi=10.0):
    """PLDA on directions: speakers differ alike along all axes."""
    chain = FoldedChain(np.eye(dim), np.zeros(dim), in_length=np.sqrt(10.0 * dim))
    return build_backend(
        chain, PldaModel(np.zeros(dim), np.eye(dim), np.full(dim, psi))
    )


class AnyDimensionVbx(VbxSpeakers):
    """VBx that makes a PLDA model for whatever comes, which the real one refuses."""

    def fit(self, X, y=None):
        given = self.backend
        rows = np.asarray(X) if not hasattr(X, "toarray") else None
        if given is None and rows is not None and rows.ndim == 2 and rows.shape[1]:
            self.backend = flat_backend(rows.shape[1])
        elif given is None:
            self.backend = flat_backend(1)
        try:
            return super().fit(X, y)
        finally:
            self.backend = given


FAMILY = [
    AgglomerativeSpeakers(),
    HdbscanSpeakers(),
    KMeansSpeakers(random_state=0),
    NmeSpectralSpeakers(random_state=0),
    SpectralSpeakers(random_state=0),
    AnyDimensionVbx(),
]
family = pytest.mark.parametrize("model", FAMILY, ids=lambda m: type(m).__name__)


def session(seed=0, n_speakers=4, per_speaker=25, dim=12, spread=0.25):
    """Speakers at random directions, segments around them."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


def plda_backend(seed=0, dim=12):
    X, truth = session(seed + 100, n_speakers=60, per_speaker=10, dim=dim)
    return train_backend(X, truth, n_components=dim - 2)


@parametrize_with_checks(FAMILY)
def test_follows_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_baseline_is_registered_under_one_name():
    known = [method.load() for method in METHODS.values()]
    registered = [cls for cls in known if issubclass(cls, SpeakerBaseline)]
    assert len(set(registered)) == len(registered) == 6
    for cls in registered:
        assert {"backend", "num_speakers", "min_speakers", "max_speakers"} <= set(
            cls().get_params()
        )


@family
def test_finds_the_speakers_of_a_world_its_model_knows(model):
    # Segments of one length, so that the model is right about all of them.
    world = PldaWorld(dim=30, eer=0.01, duration_share=0.0)
    backend = build_backend(FoldedChain(np.eye(30), np.zeros(30)), world.model)
    X, truth, _ = world.draw_session(4, random_state=3)
    fitted = clone(model).set_params(backend=backend).fit(X)
    np.testing.assert_array_equal(fitted.labels_, truth)
    assert fitted.n_clusters_ == 4


@family
def test_a_session_can_be_clustered_by_the_pipeline(model):
    X, truth = session()
    ids = tuple(f"s{i:03d}" for i in range(len(X)))
    estimator = clone(model).set_params(backend=plda_backend(), num_speakers=4)
    result = cluster_embeddings(EmbeddingSet(ids, X), estimator)
    names = [result.labels[name] for name in ids]
    assert adjusted_rand_score(truth, names) > 0.95
    assert result.sessions[0].n_speakers == 4
    assert result.sessions[0].converged


@family
def test_predict_gives_segments_to_their_speakers(model):
    X, truth = session()
    fitted = clone(model).set_params(backend=plda_backend(), num_speakers=4).fit(X)
    assert adjusted_rand_score(truth, fitted.predict(X + 0.01)) == 1.0


@family
def test_the_same_seed_gives_the_same_labels(model):
    X, _ = session(spread=1.0)
    first = clone(model).fit(X)
    again = clone(model).fit(X)
    np.testing.assert_array_equal(first.labels_, again.labels_)


@pytest.mark.parametrize(
    "model",
    [model for model in FAMILY if "random_state" in model.get_params()],
    ids=lambda m: type(m).__name__,
)
def test_a_generator_is_a_source_of_chance_too(model):
    X, _ = session(spread=1.0)
    one, other = (
        clone(model).set_params(random_state=np.random.default_rng(3)).fit_predict(X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)


@family
def test_a_listener_hears_the_end_and_changes_nothing(model):
    X, _ = session()
    heard = []
    labels = clone(model).listen(heard.append).fit_predict(X)
    assert heard[-1] == 1.0
    np.testing.assert_array_equal(labels, clone(model).fit_predict(X))


# --- numbers of speakers


@family
@pytest.mark.parametrize("wanted", [1, 2, 4, 7])
def test_a_fixed_number_of_speakers_is_honoured(model, wanted):
    X, _ = session()
    found = clone(model).set_params(num_speakers=wanted).fit(X)
    assert sorted(set(found.labels_.tolist())) == list(range(wanted))


@family
def test_bounds_are_honoured(model):
    X, _ = session()
    assert clone(model).set_params(max_speakers=3).fit(X).n_clusters_ <= 3
    assert clone(model).set_params(min_speakers=6).fit(X).n_clusters_ >= 6
    both = clone(model).set_params(min_speakers=5, max_speakers=5).fit(X)
    assert both.n_clusters_ == 5


@family
def test_as_many_speakers_as_segments_is_possible(model):
    X, _ = session(n_speakers=2, per_speaker=4)
    fitted = clone(model).set_params(num_speakers=8).fit(X)
    assert fitted.labels_.tolist() == list(range(8))


@family
def test_wide_bounds_leave_the_result_alone(model):
    X, _ = session()
    estimator = clone(model).set_params(backend=plda_backend())
    free = estimator.fit_predict(X)
    bounded = estimator.set_params(min_speakers=1, max_speakers=20).fit_predict(X)
    np.testing.assert_array_equal(free, bounded)


# --- small and degenerate sessions


@family
def test_one_segment_is_one_speaker(model):
    fitted = clone(model).fit([[1.0, 2.0, 3.0]])
    assert fitted.labels_.tolist() == [0]
    assert fitted.predict([[3.0, 2.0, 1.0]]).tolist() == [0]


@family
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_few_segments_can_be_clustered(model, n):
    X, _ = session(n_speakers=2, per_speaker=5)
    for wanted in range(1, n + 1):
        fitted = clone(model).set_params(num_speakers=wanted).fit(X[:n])
        assert fitted.n_clusters_ == wanted
    assert 1 <= clone(model).fit(X[:n]).n_clusters_ <= n


@family
def test_equal_embeddings_are_one_speaker(model):
    assert clone(model).fit_predict(np.full((30, 4), 0.3)).tolist() == [0] * 30


@family
def test_equal_embeddings_are_split_only_if_the_number_is_given(model):
    X = np.full((6, 4), 0.3)
    assert clone(model).set_params(num_speakers=3).fit(X).n_clusters_ == 3


@family
def test_repeated_embeddings_stay_together(model):
    # Three directions, ten times each: more clusters than points are not sought.
    X = np.tile(np.eye(5)[:3], (10, 1))
    fitted = clone(model).set_params(num_speakers=3).fit(X)
    assert fitted.labels_.tolist() == [0, 1, 2] * 10
    assert clone(model).set_params(num_speakers=5).fit(X).n_clusters_ == 5


@family
def test_zero_embeddings_have_no_direction_but_do_no_harm(model):
    X, _ = session()
    X[3] = 0.0
    assert clone(model).fit(X).labels_.shape == (100,)


# --- reaching bounds


def line(angles):
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    backend = build_backend(FoldedChain(np.eye(2), np.zeros(2), in_length=1.0))
    return backend.features(X)


def test_the_loosest_cluster_is_split_first():
    # Cluster 0 spans 0.01, cluster 1 spans 0.5 and falls apart at its widest gap.
    terms = line(np.array([0.0, 0.01, 1.0, 1.1, 1.5]))
    labels = np.array([0, 0, 1, 1, 1])
    assert reach_bounds(terms, labels, 3, 5).tolist() == [0, 0, 1, 1, 2]
    assert reach_bounds(terms, labels, 4, 5).tolist() == [0, 0, 1, 2, 3]


@given(st.integers(1, 12), st.integers(0, 11), st.integers(0, 1000))
def test_any_clustering_can_be_brought_within_bounds(low, more, seed):
    rng = np.random.default_rng(seed)
    terms = line(rng.integers(0, 4, 12) / 4.0)  # with equal points
    labels = np.unique(rng.integers(0, 5, 12), return_inverse=True)[1]
    high = min(low + more, 12)
    reached = reach_bounds(terms, labels, low, high)
    assert low <= len(set(reached.tolist())) <= high
    if low <= labels.max() + 1 <= high:
        assert adjusted_rand_score(labels, reached) == 1.0


# --- messages


@family
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"num_speakers": 0}, "num_speakers must be a whole number >= 1, got 0"),
        ({"max_speakers": 1.5}, "max_speakers must be a whole number >= 1, got 1.5"),
        (
            {"num_speakers": 2, "max_speakers": 3},
            "num_speakers must be given without min_speakers and max_speakers, "
            "got all of them",
        ),
        (
            {"min_speakers": 4, "max_speakers": 3},
            "min_speakers must be at most max_speakers, got 4 and 3",
        ),
        (
            {"num_speakers": 9},
            "num_speakers must be at most the number of segments (3), got 9",
        ),
        (
            {"min_speakers": 4},
            "min_speakers must be at most the number of segments (3), got 4",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_parameters_are_named(model, params, message):
    with pytest.raises(InvalidParameterError) as caught:
        clone(model).set_params(**params).fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert str(caught.value) == f"{type(model).__name__}: {message}"


@family
def test_a_back_end_must_be_one(model):
    with pytest.raises(InvalidParameterError) as caught:
        clone(model).set_params(backend="plda").fit(np.eye(3))
    assert str(caught.value) == (
        f"{type(model).__name__}: backend must be a BackEnd or None, got 'plda'"
    )


@family
def test_a_back_end_of_another_dimension_is_refused(model):
    with pytest.raises(InvalidParameterError) as caught:
        clone(model).set_params(backend=plda_backend()).fit(np.eye(5))
    assert str(caught.value) == (
        f"{type(model).__name__}: X must have the 12 dimensions of the back end, got 5"
    )


@family
def test_too_many_segments_are_refused_before_memory_runs_out(model, monkeypatch):
    n_matrices = model._n_matrices
    monkeypatch.setattr(base_module, "_BYTES", 8 * n_matrices * 50**2)
    X, _ = session(per_speaker=13)
    assert clone(model).fit(X[:50]).n_clusters_ >= 1
    with pytest.raises(InvalidParameterError) as caught:
        clone(model).fit(X[:51])
    assert str(caught.value).startswith(
        f"{type(model).__name__}: X must have at most 50 segments, got 51; scores of "
        f"all their pairs would take 0.0 GB."
    )


def test_the_limit_lies_where_matrices_take_8_gib():
    # sqrt(2**33 / (8 * 3)) = 18918.6; three matrices of 40,000 segments: 38.4 GB
    base_module.check_memory("Method", 18_918, 3)
    with pytest.raises(InvalidParameterError) as caught:
        base_module.check_memory("Method", 40_000, 3)
    assert str(caught.value) == (
        "Method: X must have at most 18918 segments, got 40000; scores of all their "
        "pairs would take 38.4 GB. Cluster recordings one by one, or use "
        "SpeakerStochasticMeanShift, which holds no such matrix"
    )


def test_vbx_needs_a_plda_model():
    X, _ = session()
    remedy = "; train one with train_backend, or read one with backend_from_transform"
    with pytest.raises(InvalidParameterError) as caught:
        VbxSpeakers().fit(X)
    assert str(caught.value) == (
        f"VbxSpeakers: backend must hold a PLDA model, got None, which scores by "
        f"cosine{remedy}"
    )
    with pytest.raises(InvalidParameterError) as caught:
        VbxSpeakers(backend=session_backend(X)).fit(X)
    assert str(caught.value) == (
        f"VbxSpeakers: backend must hold a PLDA model, got one of kind 'cosine'{remedy}"
    )
