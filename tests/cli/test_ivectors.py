"""``sms-diar ivectors`` end to end, with a different noise for each speaker."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sms_diar.cli.main import app
from sms_diar.errors import ExperimentError, MissingFileError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.model import read_model
from sms_diar.pipeline.train import models

SMALL = ("--components", "2", "--rank", "4", "--iterations", "3", "--workers", "1")


def run(*arguments):
    return CliRunner().invoke(app, ["ivectors", *map(str, arguments)])


def failure(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1
    return result.exception


@pytest.fixture(scope="module")
def trained(noise_corpora, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.npz"
    result = run(
        "train",
        *noise_corpora,
        "-o",
        path,
        *SMALL,
        "--vad",
        "none",
        "--backend",
        "--json",
    )
    assert result.exit_code == 0, result.output
    return path, json.loads(result.stdout)


def test_training_tells_what_it_did(trained):
    path, record = trained
    assert record["components"] == 2
    assert record["rank"] == 4
    assert record["backend"] == {"kind": "plda", "dim": 4, "vectors": 48, "speakers": 6}
    assert record["notes"]["data"] == ["first", "second"]
    # 48 segments of 0.5 s: 1 + (4000 - 200) / 80 = 48.5, so 48 frames or 49
    assert record["notes"]["frames"] / 48 in (48, 49)
    assert record["front_end"]["cmvn"]["method"] == "session"
    assert record["problems"] == []
    assert read_model(path, "ivectors").fingerprint == record["fingerprint"]


def test_vectors_carry_the_fingerprint_and_tell_speakers_apart(
    trained, noise_corpora, tmp_path
):
    path, record = trained
    out = tmp_path / "x.ark"
    result = run(
        "extract", noise_corpora[0], "--model", path, "-o", out, "--workers", "1"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == f"wrote {out}: 24 vectors of 4 dimensions\n"
    vectors = read_embeddings(out)
    assert vectors.extractor == record["extractor"]
    speakers = [name.split("-")[0] for name in vectors.ids]
    backend = models.choose_backend(vectors, models=[path])
    scores = backend.score_matrix(vectors.vectors)
    same = np.equal.outer(speakers, speakers) & ~np.eye(24, dtype=bool)
    other = ~np.equal.outer(speakers, speakers)
    assert scores[same].mean() > scores[other].mean() + 1.0


def test_info_is_for_people_and_machines(trained):
    path, record = trained
    shown = run("info", path)
    assert shown.exit_code == 0
    lines = dict(line.split(None, 1) for line in shown.stdout.splitlines())
    assert lines["extractor"] == record["extractor"]
    assert lines["backend"] == "kind plda, dim 4, vectors 48, speakers 6"
    told = json.loads(run("info", path, "--json").stdout)
    assert told["notes"] == record["notes"]


def test_without_an_embedded_model_one_has_to_be_named(
    monkeypatch, noise_corpora, tmp_path
):
    monkeypatch.setattr(models, "embedded_model_path", lambda: None)
    error = failure("extract", noise_corpora[0], "-o", tmp_path / "x.ark")
    assert isinstance(error, MissingFileError)


def test_the_embedded_model_is_the_default(
    monkeypatch, trained, noise_corpora, tmp_path
):
    monkeypatch.setattr(models, "embedded_model_path", lambda: trained[0])
    result = run(
        "extract", noise_corpora[1], "-o", tmp_path / "x.csv", "--workers", "1"
    )
    assert result.exit_code == 0, result.output
    vectors = read_embeddings(tmp_path / "x.csv")
    assert models.choose_backend(vectors).extractor == trained[1]["extractor"]


def test_a_back_end_needs_speakers(noise_corpora, tmp_path):
    for file in ("wav.scp", "segments"):
        (tmp_path / file).write_text((noise_corpora[0] / file).read_text())
    out = tmp_path / "m.npz"
    error = failure("train", tmp_path, "-o", out, *SMALL, "--backend")
    assert isinstance(error, MissingFileError)
    assert str(error).startswith(f"{tmp_path / 'utt2spk'}: no such file")
    labels = (noise_corpora[0] / "utt2spk").read_text().split("\n")[:-1]
    (tmp_path / "utt2spk").write_text(
        "".join(f"{line.split()[0]} same\n" for line in labels)
    )
    error = failure("train", tmp_path, "-o", out, *SMALL, "--backend", "--vad", "none")
    assert isinstance(error, ExperimentError)
    assert "at least 2 speakers with speech, got 1" in str(error)
    assert not out.exists()


def test_ids_that_two_directories_share_are_refused(noise_corpora, tmp_path):
    error = failure(
        "train", noise_corpora[0], noise_corpora[0], "-o", tmp_path / "m.npz", *SMALL
    )
    assert isinstance(error, ExperimentError)
    assert "segment ids must differ between data directories, got 24" in str(error)


def test_the_front_end_comes_from_a_file_and_options_win(noise_corpora, tmp_path):
    conf = tmp_path / "front.toml"
    conf.write_text(
        '[mfcc]\nlow_hz = 0.0\nhigh_hz = 4000.0\n[vad]\nmethod = "none"\n'
        '[cmvn]\nmethod = "recording"\n'
    )
    options = ("--config", conf, "--cmvn", "none", "--json")
    result = run("train", noise_corpora[0], "-o", tmp_path / "m.npz", *SMALL, *options)
    assert result.exit_code == 0, result.output
    front_end = json.loads(result.stdout)["front_end"]
    assert front_end["mfcc"]["low_hz"] == 0.0
    assert front_end["vad"]["method"] == "none"
    assert front_end["cmvn"]["method"] == "none"
