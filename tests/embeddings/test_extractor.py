"""The extractor as a value, in memory and in a file."""

import numpy as np
import pytest

from sms_diar.embeddings import (
    IvectorExtractor,
    TotalVariability,
    collect_statistics,
    train_total_variability,
    train_ubm,
)
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.model import ModelFile, read_model, write_model

FRONT_END = {"rate": 8000, "cmvn": {"method": "session"}}


@pytest.fixture(scope="module")
def segments():
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.standard_normal((4, 3))
    made = []
    for i in range(90):
        frames = centres[rng.integers(0, 4, 30)] + rng.standard_normal((30, 3))
        made.append((f"s{i:02d}", (frames + rng.standard_normal(3)).astype(np.float32)))
    return made


@pytest.fixture(scope="module")
def model(segments):
    mixture = train_ubm([frames for _, frames in segments], 4, n_iter=3).mixture
    statistics = collect_statistics(mixture, segments)
    return train_total_variability(statistics, mixture, 2, n_iter=3).model


@pytest.mark.parametrize("storage", ["float", "double"])
@pytest.mark.parametrize("top", [None, 2])
def test_a_model_file_keeps_every_bit(tmp_path, segments, model, storage, top):
    made = IvectorExtractor(
        model, FRONT_END, top=top, storage=storage, notes={"data": ["a"]}
    )
    write_model(tmp_path / "m.npz", made.to_model())
    back = IvectorExtractor.from_model(read_model(tmp_path / "m.npz", "ivectors"))
    assert back.fingerprint == made.fingerprint
    assert (back.front_end, back.top, back.storage) == (FRONT_END, top, storage)
    assert back.notes == {"data": ["a"]}
    np.testing.assert_array_equal(
        back.extract_all(segments).vectors, made.extract_all(segments).vectors
    )


def test_all_that_shapes_vectors_is_in_the_fingerprint(model):
    made = IvectorExtractor(model, FRONT_END)
    moved = TotalVariability(model.matrix, model.means + 0.01, model.mixture)
    assert made.fingerprint == IvectorExtractor(model, FRONT_END).fingerprint
    assert (
        made.fingerprint
        == IvectorExtractor(model, FRONT_END, notes={"a": 1}).fingerprint
    )
    others = {
        IvectorExtractor(moved, FRONT_END).fingerprint,
        IvectorExtractor(model, {**FRONT_END, "rate": 16000}).fingerprint,
        IvectorExtractor(model, FRONT_END, top=2).fingerprint,
        IvectorExtractor(model, FRONT_END, storage="double").fingerprint,
    }
    assert len(others | {made.fingerprint}) == 5


def test_one_segment_and_many_agree(segments, model):
    made = IvectorExtractor(model)
    together = made.extract_all(segments, workers=2, source="here")
    assert together.ids == tuple(name for name, _ in segments)
    assert together.extractor == made.fingerprint
    assert together.source == "here"
    assert together.dim == made.dim == 2
    for row in (0, 41, 89):
        np.testing.assert_allclose(
            made.extract(segments[row][1]), together.vectors[row], rtol=1e-9
        )
    np.testing.assert_array_equal(made.extract_all(segments).vectors, together.vectors)
    np.testing.assert_array_equal(
        made.extract_all(iter(segments)).vectors, together.vectors
    )


def test_longer_segments_are_surer(segments, model):
    made = IvectorExtractor(model)
    frames = segments[0][1]
    short, long = made.posterior(frames[:5]), made.posterior(frames)
    assert np.trace(long.covariances[0]) < np.trace(short.covariances[0]) < 2.0
    np.testing.assert_array_equal(long.means[0], made.extract(frames))


def test_segments_without_speech_are_named(segments, model):
    made = IvectorExtractor(model)
    nothing = np.empty((0, 3))
    with pytest.raises(InvalidParameterError, match="IvectorExtractor: frames must"):
        made.extract(nothing)
    with pytest.raises(InvalidParameterError, match="IvectorExtractor: segments"):
        made.extract_all([segments[0], ("mute", nothing)])


def test_frames_of_another_front_end_are_refused(model):
    with pytest.raises(InvalidParameterError, match="IvectorExtractor: frames must"):
        IvectorExtractor(model).extract(np.ones((4, 60)))


def test_words_that_json_cannot_hold_are_refused(model):
    with pytest.raises(InvalidParameterError, match="must be plain JSON values"):
        IvectorExtractor(model, {"rate": {8000}})


def test_damaged_contents_are_named(model):
    file = IvectorExtractor(model).to_model()
    arrays = {name: a for name, a in file.arrays.items() if name != "tv_means"}
    with pytest.raises(DataFormatError, match=r"m\.npz: an i-vector model without"):
        IvectorExtractor.from_model(ModelFile("ivectors", arrays, {}), path="m.npz")
    wrong = {**file.arrays, "tv_means": np.ones((1, 3))}
    with pytest.raises(DataFormatError, match=r"m\.npz: an i-vector model that makes"):
        IvectorExtractor.from_model(ModelFile("ivectors", wrong, {}), path="m.npz")
