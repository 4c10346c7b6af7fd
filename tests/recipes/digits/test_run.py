"""The recipe `digits` on tiny corpora of synthetic voices."""

import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from recipes._common.corpora import TEST, TRAINING
from recipes.digits import steps as digits
from sms_diar.errors import MissingFileError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.train.models import (
    IvectorModel,
    read_ivector_model,
    write_ivector_model,
)

TINY = (
    "runs=2",
    "speakers=[2,3]",
    "methods=['ms','sms-paper']",
    "k=5",
    "view_speakers=3",
    "components=[4,8]",
    "ranks=[5,6]",
    "bands=['telephone','full']",
    "room_copies=1",
    "training.candidates=[3,4]",
    "training.folds=2",
    "training.rounds=1",
)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory, write_voices):
    root = tmp_path_factory.mktemp("corpora")
    for name, prefix, n_speakers in (
        ("libri251-8k", "l", 8),
        ("arabic8k", "a", 6),
        ("libri-testother10-8k", "t", 4),
        ("audiomnist8k", "m", 4),
    ):
        names = [f"{prefix}{i}" for i in range(n_speakers)]
        write_voices(root / name, names, 9.6, 1.2)
    return root


@pytest.fixture(scope="module")
def outcome(run, corpora, tmp_path_factory):
    return run(tmp_path_factory.mktemp("digits") / "exp", f"data={corpora}", *TINY)


def test_reports_verification_and_clustering(outcome):
    results = outcome.results
    assert set(results["verification"]["eer"]) == {
        "cosine",
        "centred cosine",
        "cosine, session whitening",
        "PLDA",
        "PLDA for windows in rooms",
    }
    assert results["verification"]["pairs"] == 32 * 31 // 2
    assert set(results["sessions"]) == {"2", "3"}
    assert (outcome.folder / "verification" / "det.png").stat().st_size > 5000
    assert "PLDA" in (outcome.folder / "report" / "report.md").read_text()


def test_the_extractor_is_the_one_of_lowest_held_out_error(outcome):
    candidates = json.loads(
        (outcome.folder / "extractors" / "candidates.json").read_text()
    )
    best = min(candidates.values(), key=lambda entry: entry["eer"])
    model = read_ivector_model(outcome.folder / "prepare" / digits.MODEL)
    assert model.extractor.dim == best["rank"]
    assert model.backend.score_dim == best["choice"]["best"]
    assert outcome.results["prepare"]["choice"] == best["choice"]


def test_the_sample_knows_its_extractor(outcome, tmp_path):
    digits.write_sample(outcome.folder / "prepare", tmp_path / "sample.npz")
    sample = read_embeddings(tmp_path / "sample.npz")
    model = read_ivector_model(outcome.folder / "prepare" / digits.MODEL)
    assert sample.extractor == model.extractor.fingerprint
    assert len(sample) == 32
    model.backend.check_compatible(sample)


def test_neither_test_speakers_nor_workers_change_the_model(
    run, outcome, corpora, write_voices, tmp_path
):
    # Another test corpus, the same training corpora: the same extractor and back ends.
    other = tmp_path / "corpora"
    other.mkdir()
    for name in TRAINING:
        (other / name).symlink_to(corpora / name)
    write_voices(other / TEST, ["x0", "x1", "x2"], 9.6, 1.2)
    given = (f"data={other}", *TINY, "figures=false")
    again = run(tmp_path / "exp", *given, workers=2)
    one, two = (
        read_ivector_model(run.folder / "prepare" / digits.MODEL)
        for run in (outcome, again)
    )
    assert one.extractor.fingerprint == two.extractor.fingerprint
    np.testing.assert_array_equal(one.backend.matrix, two.backend.matrix)
    one, two = one.window_backend, two.window_backend
    np.testing.assert_array_equal(one.matrix, two.matrix)


def test_copies_in_rooms_train_only_the_back_end_for_windows(
    run, outcome, corpora, tmp_path
):
    tiny = [text for text in TINY if not text.startswith("room_copies")]
    without = run(
        tmp_path / "exp", f"data={corpora}", "room_copies=0", "figures=false", *tiny
    )
    one, two = (
        read_ivector_model(run.folder / "prepare" / digits.MODEL)
        for run in (outcome, without)
    )
    np.testing.assert_array_equal(one.backend.gain, two.backend.gain)
    assert two.window_backend is None
    assert not np.allclose(one.window_backend.gain, one.backend.gain)


def test_a_copy_has_every_recording_in_a_room(corpora, tmp_path):
    data = DataDir(corpora / "libri251-8k")
    rooms = digits.write_room_copy(data, tmp_path, number=0, seed=1)
    # Eight speakers do not fill two rooms of five.
    assert [len(room) for room in rooms] == [64]
    assert dict(rooms[0]) == dict(data.segments)
    for name in data.audio:
        near, far = (
            soundfile.read(DataDir(path).wav_path(name))[0]
            for path in (data.path, tmp_path)
        )
        assert near.shape == far.shape
        # Noise at 10 to 25 dB and echoes hardly change the level of the signal.
        assert not np.allclose(near, far, atol=0.01 * np.abs(near).max())
        assert 0.7 < np.std(far) / np.std(near) < 1.4


def test_copies_depend_on_their_number_and_the_seed_only(corpora, tmp_path):
    data = DataDir(corpora / "arabic8k")
    heard = []
    for case, (number, seed) in enumerate([(0, 1), (0, 1), (1, 1), (0, 2)]):
        (tmp_path / str(case)).mkdir()
        digits.write_room_copy(data, tmp_path / str(case), number=number, seed=seed)
        heard.append((tmp_path / str(case) / "a0.flac").read_bytes())
    assert heard[0] == heard[1]
    assert len(set(heard)) == 3


def test_an_extractor_with_the_same_numbers_is_kept(outcome, tmp_path):
    prepared = outcome.folder / "prepare"
    path, sample = tmp_path / "model.npz", tmp_path / "sample.npz"
    trained = read_ivector_model(prepared / digits.MODEL)
    # Only the text of the front end differs, and with it the fingerprint.
    front_end = {
        **trained.extractor.front_end,
        "vad": {"method": "none"},
    }
    old = replace(trained.extractor, front_end=front_end)
    write_ivector_model(path, IvectorModel(old))
    digits.write_embedded(prepared, path, sample)
    model = read_ivector_model(path)
    assert model.extractor.fingerprint == old.fingerprint
    assert old.fingerprint != trained.extractor.fingerprint
    assert model.window_backend.extractor == old.fingerprint
    assert not sample.exists()
    # Another seed is another extractor: model and sample set are replaced.
    other = replace(
        trained.extractor,
        model=replace(
            trained.extractor.model, matrix=2 * trained.extractor.model.matrix
        ),
    )
    write_ivector_model(path, IvectorModel(other))
    digits.write_embedded(prepared, path, sample)
    assert read_ivector_model(path).extractor.fingerprint == (
        trained.extractor.fingerprint
    )
    assert sample.is_file()


def test_missing_corpora_are_named_at_once(tmp_path):
    (tmp_path / "arabic8k").mkdir()
    missing = "libri251-8k, libri-testother10-8k, audiomnist8k"
    with pytest.raises(MissingFileError, match=missing):
        digits.corpus_folders(str(tmp_path))
