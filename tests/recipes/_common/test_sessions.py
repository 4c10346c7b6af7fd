"""Repetitions on sessions of speakers, and the corpora they are drawn from."""

import numpy as np
import pytest

from recipes._common import sessions
from recipes._common.paper import SPEAKER_METHODS
from recipes._common.settings import EmbeddingFiles
from sms_diar.clustering.methods import METHODS
from sms_diar.errors import (
    ConfigError,
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.io.model import write_model
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

WORLD = {"dim": 12, "eer": 0.08}
FAMILY = tuple(SPEAKER_METHODS.values())
SHIFT = {"k": 17, "tol": 1e-3, "merge_threshold": 0.0, "steps_per_segment": 60}


@pytest.fixture(scope="module")
def backend(tmp_path_factory):
    training = PldaWorld(**WORLD).draw_training(60, 10, random_state=9)
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


def repetition(backend, run=0, seed=1, methods=FAMILY):
    result = sessions.session_repetition(
        n_speakers=3,
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


@pytest.fixture(scope="module")
def first(backend):
    return repetition(backend)


def test_a_repetition_follows_from_its_seed_and_number(backend, first):
    assert first == repetition(backend)
    assert first != repetition(backend, run=1)
    assert first != repetition(backend, seed=2)


def test_easy_speakers_are_found_and_figures_are_complete(first):
    assert 0.0 <= first["session"]["eer"] < 0.2
    assert 60 < first["session"]["n_segments"] < 140
    for figures in first["methods"].values():
        assert figures["k"] > 0.85
        assert figures["n_solid"] <= figures["n_clusters"]
        # 0.2 is what the estimators take for vectors of unit length.
        assert figures["k@0.2"] == pytest.approx(figures["k"], abs=1e-12)
        assert figures["g@0.2"] == pytest.approx(figures["g"], abs=1e-12)


def test_every_method_can_take_part_and_does_not_depend_on_its_company(backend, first):
    result = repetition(backend, methods=tuple(METHODS))
    assert list(result["methods"]) == list(METHODS)
    assert result["session"] == first["session"]
    for name, figures in result["methods"].items():
        assert figures["n_clusters"] >= 1
        # Only methods with resting points can be merged at other distances.
        assert ("k@0.1" in figures) == (name in FAMILY)
        if name in FAMILY:
            assert figures == first["methods"][name]


def test_without_a_back_end_cosine_scores_are_used():
    assert repetition("")["methods"]["sms-paper"]["n_clusters"] >= 1


def test_the_default_is_not_the_papers_method():
    settings = sessions.ShiftSettings(**SHIFT)
    made = {name: settings.build(name, None, 9, 0) for name in ("sms", "sms-paper")}
    assert type(made["sms"]).__name__ == "SpeakerFragmentMeanShift"
    assert type(made["sms-paper"]).__name__ == "SpeakerStochasticMeanShift"
    assert made["sms-paper"].max_steps == 60 * 9


@pytest.mark.parametrize(
    ("law", "n_each"),
    [([], 10), ([4.0, 0.0], 4), ([100.0, 0.0], 10)],  # 100: more than there are
)
def test_a_session_of_a_corpus_has_the_segments_of_its_speakers(corpus, law, n_each):
    session = sessions.draw_session(2, 0, {"corpus": corpus, "law": law}, 1)
    _, counts = np.unique(session.speakers, return_counts=True)
    assert counts.tolist() == [n_each, n_each]
    assert len(np.unique(session.X, axis=0)) == 2 * n_each


def test_more_speakers_than_there_are_are_refused(corpus):
    with pytest.raises(InvalidParameterError, match="at most the 4"):
        sessions.draw_session(5, 0, {"corpus": corpus, "law": []}, 1)
    with pytest.raises(ConfigError, match="at most the 4"):
        sessions.check_speakers([2, 5], {"corpus_speakers": 4})


def test_a_vector_without_a_speaker_is_named(corpus, tmp_path):
    labels = tmp_path / "utt2spk"
    labels.write_text("u00 ann\nu01 bob\n")
    files = EmbeddingFiles("", "", "", corpus, str(labels))
    with pytest.raises(DataFormatError, match=r"'u02' \(38 of 40") as caught:
        sessions.prepare_data(tmp_path, files)
    assert caught.value.path == labels


def test_a_missing_file_of_embeddings_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere\.ark"):
        EmbeddingFiles("", "", "", str(tmp_path / "nowhere.ark"), "").digests()
