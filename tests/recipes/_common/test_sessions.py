"""Repetitions on sessions of speakers, and choices made before them."""

import numpy as np
import pytest

from recipes._common import sessions
from recipes._common.paper import SPEAKER_METHODS
from sms_diar.clustering.methods import METHODS
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.io.model import write_model
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

WORLD = {"dim": 12, "eer": 0.08}
FAMILY = tuple(SPEAKER_METHODS.values())
SHIFT = {
    "k": 17,
    "tol": 1e-3,
    "merge_threshold": 0.0,
    "steps_per_segment": 60,
}


@pytest.fixture(scope="module")
def training():
    return PldaWorld(**WORLD).draw_training(60, 10, random_state=9)


@pytest.fixture(scope="module")
def backend(training, tmp_path_factory):
    path = tmp_path_factory.mktemp("backend") / "backend.npz"
    write_model(path, backend_to_model(train_backend(training.X, training.speakers)))
    return str(path)


@pytest.fixture
def corpus(tmp_path):
    """Four speakers with ten segments each, every vector different."""
    names = [f"s{i // 10}" for i in range(40)]
    ids = tuple(f"u{i:02d}" for i in range(40))
    vectors = np.random.default_rng(0).standard_normal((40, 3))
    path = tmp_path / "corpus.npz"
    write_npz(
        path, EmbeddingSet(ids, vectors), speakers=dict(zip(ids, names, strict=True))
    )
    return str(path)


def repetition(backend, run=0, seed=1, n_speakers=3, methods=FAMILY):
    result = sessions.session_repetition(
        n_speakers=n_speakers,
        run=run,
        source={"world": WORLD},
        backend=backend,
        methods=methods,
        shift=SHIFT,
        merge_thresholds=(0.1, 0.2),
        seed=seed,
    )
    for figures in result["methods"].values():
        assert figures.pop("seconds") >= 0.0
    return result


def test_a_repetition_follows_from_its_seed_and_number(backend):
    first = repetition(backend)
    assert first == repetition(backend)
    assert first != repetition(backend, run=1)
    assert first != repetition(backend, seed=2)


def test_a_method_does_not_depend_on_its_company(backend):
    alone = repetition(backend, methods=("sms-paper",))
    assert alone["methods"]["sms-paper"] == repetition(backend)["methods"]["sms-paper"]
    assert alone["session"] == repetition(backend)["session"]


def test_easy_speakers_are_found_and_figures_are_complete(backend):
    result = repetition(backend)
    assert 0.0 <= result["session"]["eer"] < 0.2
    assert 60 < result["session"]["n_segments"] < 140
    for figures in result["methods"].values():
        assert figures["k"] > 0.85
        assert figures["n_solid"] <= figures["n_clusters"]
        # 0.2 is what the estimators take for vectors of unit length.
        assert figures["k@0.2"] == pytest.approx(figures["k"], abs=1e-12)
        assert figures["g@0.2"] == pytest.approx(figures["g"], abs=1e-12)


def test_without_a_back_end_cosine_scores_are_used():
    assert repetition("")["methods"]["sms-paper"]["n_clusters"] >= 1


def test_a_session_of_a_corpus_has_all_segments_of_its_speakers(corpus):
    session = sessions.draw_session(2, 0, {"corpus": corpus, "law": []}, 1)
    names, counts = np.unique(session.speakers, return_counts=True)
    assert len(names) == 2
    assert counts.tolist() == [10, 10]
    assert len(np.unique(session.X, axis=0)) == 20


def test_a_law_bounds_the_segments_of_a_speaker(corpus):
    source = {"corpus": corpus, "law": [4.0, 0.0]}
    counts = np.unique(
        sessions.draw_session(3, 0, source, 1).speakers, return_counts=True
    )[1]
    assert counts.tolist() == [4, 4, 4]
    source["law"] = [100.0, 0.0]  # more than there are
    assert len(sessions.draw_session(3, 0, source, 1).X) == 30


def test_more_speakers_than_there_are_is_an_error(corpus):
    with pytest.raises(InvalidParameterError) as caught:
        sessions.draw_session(5, 0, {"corpus": corpus, "law": []}, 1)
    assert str(caught.value) == (
        "draw_session: speakers must be at most the 4 of the corpus, got 5"
    )


def test_every_method_of_the_registry_can_take_part(backend):
    result = repetition(backend, methods=tuple(METHODS))
    assert list(result["methods"]) == list(METHODS)
    family = repetition(backend)["methods"]
    for name, figures in result["methods"].items():
        assert figures["n_clusters"] >= 1
        # Only methods with resting points can be merged at other distances.
        assert ("k@0.1" in figures) == (name in FAMILY)
        if name in FAMILY:
            assert figures == family[name]


def test_the_default_is_not_the_papers_method():
    # Nearly the same word: evidence mean shift and stochastic mean shift.
    settings = sessions.ShiftSettings(**SHIFT)
    made = {name: settings.build(name, None, 9, 0) for name in ("sms", "sms-paper")}
    assert type(made["sms"]).__name__ == "SpeakerEvidenceMeanShift"
    assert type(made["sms-paper"]).__name__ == "SpeakerStochasticMeanShift"
    assert made["sms-paper"].max_steps == 60 * 9
