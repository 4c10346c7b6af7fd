"""What all methods of the registry promise: bounds, seeds, small sessions, errors."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering.baselines import SpeakerBaseline
from sms_diar.clustering.baselines._base import check_memory
from sms_diar.clustering.methods import METHODS
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.cluster.api import cluster_embeddings
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import BackEnd, build_backend, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet, PldaModel

BASELINES = [
    name
    for name, method in METHODS.items()
    if issubclass(method.load(), SpeakerBaseline)
]
every_method = pytest.mark.parametrize("name", METHODS)
THREE = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def flat_backend(dim):
    """PLDA on directions: the speaker variance is the same along all axes."""
    chain = FoldedChain(np.eye(dim), np.zeros(dim), in_length=np.sqrt(10.0 * dim))
    return build_backend(
        chain, PldaModel(np.zeros(dim), np.eye(dim), np.full(dim, 10.0))
    )


def make(name, dim=12, **params):
    """Estimator of a method with its default back end, or PLDA where it is needed."""
    if METHODS[name].needs_plda:
        params = {"backend": flat_backend(dim), **params}
    backend = params.get("backend")
    kind = METHODS[name].load(backend if isinstance(backend, BackEnd) else None)
    if "random_state" in kind().get_params():
        params = {"random_state": 0, **params}
    if METHODS[name].spread:
        params = {"k": METHODS[name].around(17), **params}
    return kind(**params)


def session(seed=0, n_speakers=4, per_speaker=25, dim=12, spread=0.25):
    """Speakers at random directions, segments around them."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


@pytest.fixture(scope="module")
def plda():
    return train_backend(*session(100, n_speakers=60, per_speaker=10), n_components=10)


@pytest.mark.parametrize("name", [m.name for m in METHODS.values() if not m.spread])
def test_finds_the_speakers_of_a_world_its_model_knows(name):
    # Segments of one length, so that the model is right about all of them.
    world = PldaWorld(dim=30, eer=0.01, duration_share=0.0)
    backend = build_backend(FoldedChain(np.eye(30), np.zeros(30)), world.model)
    X, truth, _ = world.draw_session(4, random_state=3)
    model = make(name, backend=backend).fit(X)
    np.testing.assert_array_equal(model.labels_, truth)
    assert model.n_clusters_ == 4


@every_method
def test_a_session_can_be_clustered_by_the_pipeline(name, plda):
    X, truth = session()
    ids = tuple(f"s{i:03d}" for i in range(len(X)))
    model = make(name, backend=plda, num_speakers=4)
    result = cluster_embeddings(EmbeddingSet(ids, X), model)
    labels = [result.labels[segment] for segment in ids]
    assert adjusted_rand_score(truth, labels) > 0.95
    assert result.sessions[0].n_speakers == 4
    assert result.sessions[0].converged


@every_method
def test_predict_gives_segments_to_their_speakers(name, plda):
    X, truth = session()
    model = make(name, backend=plda, num_speakers=4).fit(X)
    assert adjusted_rand_score(truth, model.predict(X + 0.01)) == 1.0


@every_method
def test_the_same_seed_gives_the_same_labels(name):
    X, _ = session(spread=1.0)
    labels = make(name).fit_predict(X)
    np.testing.assert_array_equal(labels, make(name).fit_predict(X))
    if "random_state" in make(name).get_params():
        drawn = [
            make(name, random_state=np.random.default_rng(3)).fit_predict(X)
            for _ in range(2)
        ]
        np.testing.assert_array_equal(*drawn)


@every_method
def test_a_listener_hears_the_end_and_changes_nothing(name):
    X, _ = session()
    heard = []
    labels = make(name).listen(heard.append).fit_predict(X)
    assert heard[-1] == pytest.approx(1.0)
    np.testing.assert_array_equal(labels, make(name).fit_predict(X))


# --- numbers of speakers


@every_method
@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_a_fixed_number_of_speakers_is_honoured(name, count):
    X, _ = session()
    model = make(name, num_speakers=count).fit(X)
    assert sorted(set(model.labels_.tolist())) == list(range(count))


@every_method
def test_bounds_are_honoured(name):
    X, _ = session()
    assert make(name, max_speakers=3).fit(X).n_clusters_ <= 3
    assert make(name, min_speakers=6).fit(X).n_clusters_ >= 6
    assert make(name, min_speakers=5, max_speakers=5).fit(X).n_clusters_ == 5


@every_method
def test_wide_bounds_leave_the_result_alone(name, plda):
    X, _ = session()
    free = make(name, backend=plda).fit_predict(X)
    bounded = make(name, backend=plda, min_speakers=1, max_speakers=20).fit_predict(X)
    np.testing.assert_array_equal(free, bounded)


@every_method
def test_as_many_speakers_as_segments_is_possible(name):
    X, _ = session(n_speakers=2, per_speaker=4)
    assert make(name, num_speakers=8).fit_predict(X).tolist() == list(range(8))


# --- small and degenerate sessions


@every_method
def test_one_segment_is_one_speaker(name):
    model = make(name, dim=3).fit([[1.0, 2.0, 3.0]])
    assert model.labels_.tolist() == [0]
    assert model.predict([[3.0, 2.0, 1.0]]).tolist() == [0]


@every_method
@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_segments_can_be_clustered(name, n):
    X, _ = session(n_speakers=2, per_speaker=5)
    for count in range(1, n + 1):
        assert make(name, num_speakers=count).fit(X[:n]).n_clusters_ == count
    assert 1 <= make(name).fit(X[:n]).n_clusters_ <= n


@every_method
def test_equal_embeddings_are_split_only_if_the_number_is_given(name):
    X = np.full((30, 4), 0.3)
    assert make(name, dim=4).fit_predict(X).tolist() == [0] * 30
    assert make(name, dim=4, num_speakers=3).fit(X).n_clusters_ == 3


@every_method
def test_repeated_embeddings_stay_together(name):
    # Three directions, ten times each.
    X = np.tile(np.eye(5)[:3], (10, 1))
    assert make(name, dim=5, num_speakers=3).fit_predict(X).tolist() == [0, 1, 2] * 10
    assert make(name, dim=5, num_speakers=5).fit(X).n_clusters_ == 5


@every_method
def test_zero_embeddings_have_no_direction_but_do_no_harm(name):
    X, _ = session()
    X[3] = 0.0
    assert make(name).fit(X).labels_.shape == (100,)


# --- errors


@every_method
@pytest.mark.parametrize(
    ("parameter", "params"),
    [
        ("num_speakers", {"num_speakers": 0}),
        ("max_speakers", {"max_speakers": 1.5}),
        ("num_speakers", {"num_speakers": 2, "max_speakers": 3}),
        ("min_speakers", {"min_speakers": 4, "max_speakers": 3}),
        ("num_speakers", {"num_speakers": 9}),
        ("min_speakers", {"min_speakers": 4}),
        ("backend", {"backend": "plda"}),
        ("X", {"backend": flat_backend(12)}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_parameters_are_named(name, parameter, params):
    model = make(name, dim=2, **params)
    with pytest.raises(InvalidParameterError) as caught:
        model.fit(THREE)
    assert str(caught.value).startswith(f"{type(model).__name__}: {parameter} must")


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("ahc", "linkage", "ward"),
        ("ahc", "threshold", "zero"),
        ("ahc", "threshold", np.inf),
        ("hdbscan", "min_cluster_size", 1),
        ("hdbscan", "min_samples", 0),
        ("kmeans", "spherical", "yes"),
        ("kmeans", "n_init", 0),
        ("nme-sc", "max_share", 0.0),
        ("nme-sc", "n_trials", 1),
        ("nme-sc", "connected", 1),
        ("spectral", "row_share", 1.5),
        ("spectral", "blur", -1.0),
        ("vbx", "Fa", 0),
        ("vbx", "Fb", -1.0),
        ("vbx", "loop_probability", 1.0),
        ("vbx", "init_threshold", np.nan),
        ("vbx", "init_smoothing", -1),
        ("vbx", "max_iter", 0),
        ("vbx", "tol", -1.0),
    ],
)
def test_wrong_parameters_of_baselines_are_named(name, parameter, value):
    test_wrong_parameters_are_named(name, parameter, {parameter: value})


@pytest.mark.parametrize("name", BASELINES)
def test_too_many_segments_are_refused_before_memory_runs_out(name):
    with pytest.raises(InvalidParameterError, match="X must have at most"):
        make(name, dim=2).fit(np.ones((24_000, 2)))


def test_the_limit_of_baselines_is_8_gib():
    # sqrt(2**33 / (8 * 3)) = 18918.6; three matrices of 40,000 segments: 38.4 GB
    check_memory("Method", 18_918, 3)
    with pytest.raises(InvalidParameterError, match=r"at most 18918 .* 38\.4 GB"):
        check_memory("Method", 40_000, 3)
