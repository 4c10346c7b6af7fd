"""Models in files, and which back end scores given vectors."""

from dataclasses import replace

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.kaldi.transform import VbxTransform, write_transform
from sms_diar.io.model import write_model
from sms_diar.pipeline.diarize.ivectors import IvectorDiarizer
from sms_diar.pipeline.train import models
from sms_diar.pipeline.train.models import choose_backend
from sms_diar.scoring import (
    backend_from_transform,
    backend_to_model,
    plda_from_covariances,
)
from sms_diar.types import EmbeddingSet


def test_a_back_end_is_found_only_for_vectors_of_its_extractor(
    monkeypatch, noise_model
):
    monkeypatch.setattr(models, "embedded_model_path", lambda: None)
    model = models.read_ivector_model(noise_model)
    frames = np.random.default_rng(0).standard_normal((9, 60))
    vectors = model.extractor.extract_all([("a", frames)])
    assert models.choose_backend(vectors, models=[noise_model]).dim == 4
    assert models.choose_backend(vectors) is None  # no embedded model
    other = replace(vectors, extractor="0" * 16)
    assert models.choose_backend(other, models=[noise_model]) is None
    unknown = replace(vectors, extractor=None)
    assert models.choose_backend(unknown, models=[noise_model]) is None


def test_a_back_end_is_read_alone_or_with_its_extractor(noise_model, tmp_path):
    both = models.read_backend(noise_model)
    write_model(tmp_path / "b.npz", backend_to_model(both))
    alone = models.read_backend(tmp_path / "b.npz")
    model = models.read_ivector_model(noise_model)
    assert alone.extractor == both.extractor == model.extractor.fingerprint
    np.testing.assert_array_equal(alone.matrix, both.matrix)
    models.write_ivector_model(tmp_path / "e.npz", models.IvectorModel(model.extractor))
    with pytest.raises(DataFormatError, match="without a back end"):
        models.read_backend(tmp_path / "e.npz")


def test_a_back_end_of_other_vectors_is_refused(noise_model):
    model = models.read_ivector_model(noise_model)
    foreign = model.backend.with_extractor("0" * 16)
    with pytest.raises(InvalidParameterError, match="got one for 4 dimensions of 0000"):
        models.IvectorModel(model.extractor, foreign)
    with pytest.raises(InvalidParameterError, match="window_backend") as caught:
        models.IvectorModel(model.extractor, model.backend, foreign)
    assert caught.value.parameter == "window_backend"


def test_a_model_may_have_a_back_end_for_windows_which_diarization_uses(
    noise_model, tmp_path
):
    model = models.read_ivector_model(noise_model)
    assert model.window_backend is None
    assert IvectorDiarizer(model).backend is model.backend
    other = replace(model.backend, gain=2.0 * model.backend.gain)
    path = tmp_path / "both.npz"
    models.write_ivector_model(path, replace(model, window_backend=other))
    both = models.read_ivector_model(path)
    np.testing.assert_array_equal(both.backend.gain, model.backend.gain)
    np.testing.assert_array_equal(both.window_backend.gain, other.gain)
    assert IvectorDiarizer(both).backend is both.window_backend
    assert both.extractor.fingerprint == model.extractor.fingerprint
    np.testing.assert_array_equal(models.read_backend(path).gain, model.backend.gain)
    described = both.to_dict()
    assert described["window_backend"] == described["backend"]


@pytest.fixture
def vectors():
    rows = np.random.default_rng(0).standard_normal((9, 4))
    return EmbeddingSet(tuple("abcdefghi"), rows, source="x.ark")


@pytest.fixture
def plda():
    return plda_from_covariances(np.zeros(4), 0.1 * np.eye(4), np.diag([4.0, 3, 2, 1]))


def check_scores(backend, want, vectors):
    got = backend.score_matrix(vectors.vectors)
    np.testing.assert_array_equal(got, want.score_matrix(vectors.vectors))


def test_nothing_given_and_nothing_known_is_no_back_end(vectors):
    assert choose_backend(vectors) is None


def test_a_plda_model_is_taken_as_file_or_value(vectors, plda, tmp_path):
    write_plda(tmp_path / "plda", plda)
    want = backend_from_transform(None, plda, 4)
    check_scores(choose_backend(vectors, plda), want, vectors)
    for path in (tmp_path / "plda", str(tmp_path / "plda")):
        check_scores(choose_backend(vectors, path), want, vectors)


def test_a_back_end_is_taken_as_file_or_value(vectors, noise_model, tmp_path):
    backend = models.read_backend(noise_model)
    write_model(tmp_path / "b.npz", backend_to_model(backend))
    assert choose_backend(vectors, backend) is backend
    for path in (noise_model, tmp_path / "b.npz"):
        check_scores(choose_backend(vectors, path), backend, vectors)


def test_a_transform_comes_before_the_model_or_makes_cosines(vectors, plda, tmp_path):
    transform = VbxTransform(np.ones(4), np.eye(4), np.zeros(4))
    write_transform(tmp_path / "t.npz", transform)
    chosen = choose_backend(vectors, plda, tmp_path / "t.npz")
    check_scores(chosen, backend_from_transform(transform, plda, 4), vectors)
    alone = choose_backend(vectors, transform=tmp_path / "t.npz")
    assert alone.kind == "cosine"
    longer = choose_backend(
        vectors, plda, tmp_path / "t.npz", transform_length="sqrt-dim"
    )
    scaled = replace(transform, length="sqrt-dim")
    check_scores(longer, backend_from_transform(scaled, plda, 4), vectors)


def test_what_does_not_go_together_is_refused(vectors, plda, noise_model, tmp_path):
    few = replace(vectors, vectors=vectors.vectors[:, :2])
    with pytest.raises(InvalidParameterError, match=r"4 dimensions.* 2-dimensional"):
        choose_backend(few, plda)
    with pytest.raises(InvalidParameterError, match="transform must be omitted"):
        choose_backend(vectors, noise_model, tmp_path / "t.npz")
    with pytest.raises(InvalidParameterError, match="embeddings must be"):
        choose_backend("x.ark")
