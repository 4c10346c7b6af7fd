"""Which i-vector model a recipe uses, and what it makes of broken audio."""

import numpy as np
import pytest
import soundfile

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
from sms_diar.synthetic.voices import Voice

TRAINING = ExtractorTraining(
    vad="energy", cmvn="session", components=4, rank=3, ubm_iter=2, tv_iter=2
)


def choice(model="", train=(), cmvn="", seed=1):
    return ModelChoice(str(model), tuple(map(str, train)), TRAINING, cmvn, seed)


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """A data directory of three voices, four segments each."""
    folder = tmp_path_factory.mktemp("speech")
    rng = np.random.default_rng(1)
    lines = {"wav.scp": [], "segments": [], "utt2spk": []}
    for name in ("a", "b", "c"):
        samples = Voice.draw(rng).speak(4.0, rng)
        soundfile.write(folder / f"{name}.wav", samples, 8000)
        lines["wav.scp"].append(f"{name} {folder / name}.wav")
        for i in range(4):
            lines["segments"].append(f"{name}{i} {name} {i} {i + 1}")
            lines["utt2spk"].append(f"{name}{i} {name}")
    for table, rows in lines.items():
        (folder / table).write_text("\n".join(rows) + "\n")
    return folder


def extract(folder, data, chosen, **more):
    folder.mkdir(exist_ok=True)
    write_ivectors(folder, DataDir(data), chosen, workers=1, progress=Silence(), **more)
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
    assert record["model"] == f"model trained on {speech}"
    assert (record["segments"], record["dim"], record["backend"]) == (12, 3, "plda")
    assert record["problems"] == []


def test_without_speakers_no_back_end_is_trained(speech, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for table in ("wav.scp", "segments"):
        (data / table).write_text((speech / table).read_text())
    # A back end left over from an earlier model must not be taken for this one's.
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "backend.npz").write_text("old")
    extract(tmp_path / "exp", speech, choice(train=[data]))
    assert not (tmp_path / "exp" / "backend.npz").exists()
    assert read_ivectors_record(tmp_path / "exp")["backend"] == "none"


def test_normalisation_may_differ_from_that_of_the_training(trained, speech, tmp_path):
    model = trained / "model.npz"
    vectors = extract(tmp_path / "exp", speech, choice(model, cmvn="recording"))
    assert read_ivectors_record(tmp_path / "exp")["cmvn"] == "recording"
    assert read_ivectors_record(trained)["cmvn"] == "session"
    before = read_embeddings(trained / "ivectors.ark")
    assert not np.allclose(vectors.vectors, before.vectors)


def test_broken_recordings_cost_nobody_else_a_vector(trained, speech, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "broken.wav").write_bytes(b"RIFF")
    text = (speech / "wav.scp").read_text().replace("b.wav", "missing.wav")
    (data / "wav.scp").write_text(text + f"d {data / 'broken.wav'}\n")
    segments = (speech / "segments").read_text()
    (data / "segments").write_text(segments + "d0 d 0 1\nz9 c 80 90\n")
    # "recording": what other recordings hold does not enter.
    with_model = choice(trained / "model.npz", cmvn="recording")
    whole = extract(tmp_path / "whole", speech, with_model)
    rest = extract(tmp_path / "rest", data, with_model)
    kept = [row for row, name in enumerate(whole.ids) if name[0] != "b"]
    assert rest.ids == tuple(whole.ids[row] for row in kept)
    assert np.array_equal(rest.vectors, whole.vectors[kept])
    problems = read_ivectors_record(tmp_path / "rest")["problems"]
    assert [line.split(":")[0] for line in problems] == ["b", "z9", "d"]


def test_training_goes_on_without_what_cannot_be_read(speech, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    text = (speech / "wav.scp").read_text()
    (data / "wav.scp").write_text(text.replace("b.wav", "missing.wav"))
    for table in ("segments", "utt2spk"):
        (data / table).write_text((speech / table).read_text())
    vectors = extract(tmp_path / "exp", speech, choice(train=[data]))
    record = read_ivectors_record(tmp_path / "exp")
    assert len(vectors) == 12  # of the speech itself, which is whole
    assert record["problems"] == []
    [line] = record["training_problems"]
    assert line.startswith(f"b: {data / 'wav.scp'}: no audio file ")


@pytest.mark.parametrize("cmvn", ["session", "recording"])
def test_nothing_but_broken_audio_is_an_error(trained, tmp_path, cmvn):
    data = tmp_path / "data"
    data.mkdir()
    (data / "empty.wav").write_bytes(b"")
    (data / "wav.scp").write_text(f"a {data / 'empty.wav'}\n")
    (data / "segments").write_text("a0 a 0 1\n")
    with pytest.raises(DataFormatError) as caught:
        extract(tmp_path / "exp", data, choice(trained / "model.npz", cmvn=cmvn))
    assert str(caught.value) == (
        f"{data}: no segment gave an i-vector; the first reason: a: "
        f"{data / 'empty.wav'}: is empty (0 bytes)"
    )


def test_without_a_choice_the_model_of_the_package_is_used(
    trained, speech, tmp_path, monkeypatch
):
    path = trained / "model.npz"
    monkeypatch.setattr(extraction, "embedded_model_path", lambda: path)
    assert choice().file == path
    extract(tmp_path / "exp", speech, choice())
    assert read_ivectors_record(tmp_path / "exp")["model"] == (
        f"the demonstration model of this package ({path})"
    )
    assert choice().embedded
    assert not choice(train=[speech]).embedded


def test_an_installation_without_a_model_says_what_to_give(monkeypatch):
    monkeypatch.setattr(extraction, "embedded_model_path", lambda: None)
    with pytest.raises(ConfigError) as caught:
        choice().inputs()
    assert str(caught.value) == (
        "'model' must name an i-vector model, or 'train' data directories to train one "
        "on, got neither, and no model came with this installation"
    )


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        choice(tmp_path / "m.npz").inputs()
    assert str(caught.value) == f"{tmp_path / 'm.npz'}: no such file"


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
    class Listener(Silence):
        def __init__(self):
            self.lines = []

        def say(self, message):
            self.lines.append(message)

    listener = Listener()
    tell_problems([f"p{i}" for i in range(8)], listener)
    assert listener.lines == [
        "left out: p0",
        "left out: p1",
        "left out: p2",
        "left out: 5 more",
    ]
