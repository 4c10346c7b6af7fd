"""The recipe `digits` on tiny corpora of synthetic voices."""

import json

import numpy as np
import pytest

from recipes._common.corpora import TEST, TRAINING
from recipes.digits import steps as digits
from sms_diar.errors import MissingFileError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.pipeline.train.models import read_ivector_model

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


def test_test_speakers_change_nothing_about_the_model(
    run, outcome, corpora, write_voices, tmp_path
):
    # Another test corpus, the same training corpora: the same extractor and back end.
    other = tmp_path / "corpora"
    other.mkdir()
    for name in TRAINING:
        (other / name).symlink_to(corpora / name)
    write_voices(other / TEST, ["x0", "x1", "x2"], 9.6, 1.2)
    again = run(tmp_path / "exp", f"data={other}", *TINY, "figures=false")
    one, two = (
        read_ivector_model(run.folder / "prepare" / digits.MODEL)
        for run in (outcome, again)
    )
    assert one.extractor.fingerprint == two.extractor.fingerprint
    np.testing.assert_array_equal(one.backend.matrix, two.backend.matrix)


def test_missing_corpora_are_named_at_once(tmp_path):
    (tmp_path / "arabic8k").mkdir()
    missing = "libri251-8k, libri-testother10-8k, audiomnist8k"
    with pytest.raises(MissingFileError, match=missing):
        digits.corpus_folders(str(tmp_path))
