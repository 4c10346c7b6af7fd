"""``sms-diar ivectors`` end to end, with a different noise for each speaker."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sms_diar.cli.main import app
from sms_diar.errors import ExperimentError, InvalidParameterError, MissingFileError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.kaldi.transform import read_transform
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


@pytest.fixture
def reference_data(kaldi_reference, tmp_path):
    """A data directory with the samples that Kaldi's own results are from."""
    folder = tmp_path / "data"
    folder.mkdir()
    segments = kaldi_reference.segments
    # Times at samples; those of the table lie between them, and were cut off.
    rows = [
        f"{name} {recording} {int(8000 * start) / 8000!r} {int(8000 * end) / 8000!r}\n"
        for name, (recording, start, end) in segments.items()
    ]
    (folder / "segments").write_text("".join(rows))
    names = sorted({recording for recording, _, _ in segments.values()})
    paths = [f"{n} {kaldi_reference.speech}/flac/{n}.flac\n" for n in names]
    (folder / "wav.scp").write_text("".join(paths))
    return folder


@pytest.mark.corpus
def test_vectors_of_an_extractor_of_kaldi_are_those_of_kaldi(
    kaldi_reference, reference_data, tmp_path
):
    extractor = kaldi_reference.folder / "extractor"
    expected = kaldi_reference.matrices("ivectors.ark")
    kaldi = ("extract", reference_data, "--kaldi", extractor, "--num-gselect", "16")
    for workers in (1, 2):
        out = tmp_path / f"{workers}.ark"
        result = run(*kaldi, "-o", out, "--workers", workers)
        assert result.exit_code == 0, result.output
        assert result.stdout == f"wrote {out}: 30 vectors of 40 dimensions\n"
    vectors = read_embeddings(tmp_path / "1.ark")
    for name, vector in zip(vectors.ids, vectors.vectors, strict=True):
        difference = np.linalg.norm(vector - expected[name])
        assert difference < 1e-4 * np.linalg.norm(expected[name])
    assert (tmp_path / "1.ark").read_bytes() == (tmp_path / "2.ark").read_bytes()


@pytest.mark.corpus
def test_scores_of_kaldis_plda_model_are_those_of_kaldi(
    kaldi_reference, reference_data, tmp_path
):
    folder, out = kaldi_reference.folder, tmp_path / "x.npz"
    run(
        *("extract", reference_data, "--kaldi", folder / "extractor"),
        *("--num-gselect", "16", "-o", out, "--workers", "1"),
    )
    # ivector-normalize-length, then ivector-plda-scoring --normalize-length=true
    (tmp_path / "mean.vec").write_text(f"[ {'0 ' * 40}]\n")
    vectors = read_embeddings(out)
    backend = models.choose_backend(
        vectors, plda=folder / "extractor" / "plda", transform=tmp_path
    )
    scores = backend.score_matrix(vectors.vectors)
    index = {name: row for row, name in enumerate(vectors.ids)}
    rows = (folder / "expected" / "plda_scores.txt").read_text().splitlines()
    assert len(rows) == 200
    for enrol, test, score in map(str.split, rows):
        computed = scores[index[enrol], index[test]]
        assert computed == pytest.approx(float(score), abs=1e-3)


@pytest.mark.corpus
def test_files_of_kaldi_may_be_elsewhere(kaldi_reference, reference_data, tmp_path):
    extractor, folder = kaldi_reference.folder / "extractor", tmp_path / "empty"
    folder.mkdir()
    paths = {
        "--extractor": "final.ie",
        "--ubm": "final.ubm",
        "--dubm": "final.dubm",
        "--delta-opts": "delta_opts",
        "--mfcc-config": "conf/mfcc.conf",
        "--vad-config": "conf/vad.conf",
    }
    options = [part for key, name in paths.items() for part in (key, extractor / name)]
    outs = tmp_path / "a.ark", tmp_path / "b.ark"
    for out, kaldi in zip(outs, ((extractor,), (folder, *options)), strict=True):
        result = run(
            "extract", reference_data, "-o", out, "--workers", "1", "--kaldi", *kaldi
        )
        assert result.exit_code == 0, result.output
    assert outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.corpus
def test_windows_are_cut_from_segments_and_written(
    kaldi_reference, reference_data, tmp_path
):
    extractor, out = kaldi_reference.folder / "extractor", tmp_path / "x.ark"
    table = tmp_path / "windows"
    result = run(
        *("extract", reference_data, "--kaldi", extractor, "--vad", "none"),
        *("--cmvn", "none", "--windows", table, "-o", out, "--workers", "1"),
    )
    assert result.exit_code == 0, result.output
    windows = read_segments(table)
    assert tuple(windows) == read_embeddings(out).ids
    # lo0533-031 is the whole of its recording, 3.98 s: windows from 0, 0.75, 1.5,
    # 2.25 and, because 0.98 s are enough for one, from 3.0 to the end
    starts = [w.start for w in windows.values() if w.recording == "lo0533-09"]
    assert starts == [0.0, 0.75, 1.5, 2.25, 3.0]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--kaldi", "X", "--model", "m.npz"], "cannot be used with --kaldi"),
        (["--kaldi", "X", "--vad", "neural"], "must be energy or none"),
        (["--kaldi", "X", "--cmvn", "session"], "must be sliding or none"),
        (["--ubm", "final.ubm"], "is required for the paths"),
    ],
)
def test_options_that_contradict_an_extractor_of_kaldi_are_refused(
    noise_corpora, tmp_path, options, problem
):
    result = run("extract", noise_corpora[0], "-o", tmp_path / "x.ark", *options)
    assert result.exit_code == 2
    assert problem in " ".join(result.output.replace("│", " ").split())


def test_files_that_are_missing_are_named(noise_corpora, tmp_path):
    kaldi = ("extract", noise_corpora[0], "-o", tmp_path / "x.ark", "--kaldi", tmp_path)
    error = failure(*kaldi)
    assert isinstance(error, MissingFileError)
    assert "mfcc.conf" in str(error)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mfcc.conf").write_text("--sample-frequency=8000\n")
    assert "vad.conf" in str(failure(*kaldi))
    assert "final.ie" in str(failure(*kaldi, "--vad", "none"))
    (tmp_path / "final.ie").write_text("no model")
    error = failure(*kaldi, "--vad", "none")
    assert "expected <IvectorExtractor>" in str(error)
    assert not (tmp_path / "x.ark").exists()


def test_an_exported_model_is_used_like_one_of_kaldi(trained, noise_corpora, tmp_path):
    path, record = trained
    folder = tmp_path / "kaldi"
    result = run("export", path, "-o", folder)
    assert result.exit_code == 0, result.output
    assert "2 Gaussians" in result.stdout
    assert sorted(file.name for file in folder.iterdir()) == [
        "final.dubm", "final.ie", "final.ubm", "transform.mat",
    ]  # fmt: skip
    assert isinstance(failure("export", path, "-o", folder), InvalidParameterError)
    # The frames of Kaldi's front end differ from those of the model in all but size.
    (folder / "mfcc.conf").write_text("--sample-frequency=8000\n--num-ceps=20\n")
    result = run(
        *("extract", noise_corpora[0], "--kaldi", folder, "--vad", "none"),
        *("-o", tmp_path / "x.npz", "--workers", "1"),
    )
    assert result.exit_code == 0, result.output
    vectors = read_embeddings(tmp_path / "x.npz").vectors
    assert vectors.shape == (24, record["rank"] + 1)
    rest = read_transform(folder / "transform.mat").apply(vectors)
    np.testing.assert_array_equal(rest, vectors[:, 1:])
