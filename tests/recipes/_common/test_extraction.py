"""Which i-vector model a recipe uses, and what it makes of broken audio."""

import numpy as np
import pytest

from recipes._common import extraction
from recipes._common.extraction import (
    ExtractorTraining,
    ModelChoice,
    read_ivectors_record,
    tell_problems,
    write_ivectors,
)
from sms_diar._progress import Silence
from sms_diar.errors import ConfigError, DataFormatError, MissingFileError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.data_dir import DataDir

TRAINING = ExtractorTraining(
    vad="energy", cmvn="session", components=4, rank=3, ubm_iter=2, tv_iter=2
)


def choice(model="", train=(), cmvn="", seed=1):
    return ModelChoice(str(model), tuple(map(str, train)), TRAINING, cmvn, seed)


@pytest.fixture(scope="module")
def speech(tmp_path_factory, write_voices):
    """A data directory of three voices, four segments each."""
    return write_voices(tmp_path_factory.mktemp("speech"), "abc", 4.0, 1.0)


@pytest.fixture
def changed(speech, tmp_path):
    """A copy of some tables of the speech; keyword arguments replace text in them."""

    def change(*tables, old="", new="", **added):
        folder = tmp_path / "data"
        folder.mkdir()
        for table in tables:
            text = (speech / table).read_text().replace(old, new or old)
            (folder / table).write_text(text + added.get(table.partition(".")[0], ""))
        return folder

    return change


def extract(folder, data, chosen):
    folder.mkdir(exist_ok=True)
    write_ivectors(folder, DataDir(data), chosen, workers=1, progress=Silence())
    return read_embeddings(folder / "ivectors.ark")


@pytest.fixture(scope="module")
def trained(speech, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    extract(folder, speech, choice(train=[speech]))
    return folder


def test_a_model_trained_on_the_spot_is_kept_and_gives_the_same_vectors(
    trained, speech, tmp_path
):
    vectors = read_embeddings(trained / "ivectors.ark")
    assert vectors.vectors.shape == (12, 3)
    again = extract(tmp_path / "again", speech, choice(trained / "model.npz"))
    assert np.array_equal(again.vectors, vectors.vectors)
    assert again.extractor == vectors.extractor
    assert not (tmp_path / "again" / "model.npz").exists()
    assert (tmp_path / "again" / "backend.npz").exists()
    record = read_ivectors_record(trained)
    assert (record["segments"], record["dim"], record["backend"]) == (12, 3, "plda")
    assert record["problems"] == []


def test_without_speakers_no_back_end_is_trained(changed, speech, tmp_path):
    # A back end left over from an earlier model must not be taken for this one's.
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "backend.npz").write_text("old")
    extract(tmp_path / "exp", speech, choice(train=[changed("wav.scp", "segments")]))
    assert not (tmp_path / "exp" / "backend.npz").exists()
    assert read_ivectors_record(tmp_path / "exp")["backend"] == "none"


def test_normalisation_may_differ_from_that_of_the_training(trained, speech, tmp_path):
    model = trained / "model.npz"
    vectors = extract(tmp_path / "exp", speech, choice(model, cmvn="recording"))
    assert read_ivectors_record(tmp_path / "exp")["cmvn"] == "recording"
    assert read_ivectors_record(trained)["cmvn"] == "session"
    before = read_embeddings(trained / "ivectors.ark")
    assert not np.allclose(vectors.vectors, before.vectors)


def test_training_goes_on_without_what_cannot_be_read(speech, changed, tmp_path):
    tables = ("wav.scp", "segments", "utt2spk")
    data = changed(*tables, old="b.wav", new="missing.wav")
    vectors = extract(tmp_path / "exp", speech, choice(train=[data]))
    record = read_ivectors_record(tmp_path / "exp")
    assert len(vectors) == 12  # of the speech itself, which is whole
    assert record["problems"] == []
    [line] = record["training_problems"]
    assert line.startswith(f"b: {data / 'wav.scp'}: ")


@pytest.mark.parametrize("cmvn", ["session", "recording"])
def test_nothing_but_broken_audio_is_an_error(trained, tmp_path, write_tables, cmvn):
    (tmp_path / "empty.wav").write_bytes(b"")
    tables = {"wav__scp": [f"a {tmp_path / 'empty.wav'}"], "segments": ["a0 a 0 1"]}
    data = write_tables(tmp_path / "data", **tables)
    with pytest.raises(DataFormatError, match=r"empty\.wav: is empty") as caught:
        extract(tmp_path / "exp", data, choice(trained / "model.npz", cmvn=cmvn))
    assert caught.value.path == data


def test_without_a_choice_the_model_of_the_package_is_used(trained, monkeypatch):
    path = trained / "model.npz"
    monkeypatch.setattr(extraction, "embedded_model_path", lambda: path)
    assert choice().file == path
    assert choice().embedded
    assert str(path) in choice().description
    assert not choice(train=["d"]).embedded


def test_a_missing_model_is_named(monkeypatch, tmp_path):
    with pytest.raises(MissingFileError, match=r"m\.npz"):
        choice(tmp_path / "m.npz").inputs()
    monkeypatch.setattr(extraction, "embedded_model_path", lambda: None)
    with pytest.raises(ConfigError, match="'model' must name"):
        choice().inputs()


def test_inputs_follow_the_contents_of_the_model(trained, tmp_path):
    path = tmp_path / "m.npz"
    content = (trained / "model.npz").read_bytes()
    path.write_bytes(content)
    before = choice(path).inputs()
    assert choice(path).inputs() == before
    path.write_bytes(content + b"x")
    assert choice(path).inputs() != before
    assert choice(train=["d"], seed=1).inputs() != choice(train=["d"], seed=2).inputs()


def test_many_problems_are_told_in_a_few_lines():
    lines = []
    listener = Silence()
    listener.say = lines.append
    tell_problems([f"p{i}" for i in range(8)], listener)
    assert lines == [*(f"left out: p{i}" for i in range(3)), "left out: 5 more"]
