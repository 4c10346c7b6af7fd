"""Embeddings of known speakers, and the files they come from."""

import numpy as np
import pytest

from recipes._common.prepared import check_speakers, prepare_data
from recipes._common.settings import EmbeddingFiles
from sms_diar.errors import ConfigError, DataFormatError, MissingFileError
from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.types import EmbeddingSet


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


def files(embeddings="", labels="", backend="", plda="", transform=""):
    return EmbeddingFiles(
        embeddings=embeddings,
        labels=labels,
        backend=backend,
        plda=plda,
        transform=transform,
    )


def test_more_speakers_than_there_are_is_an_error():
    with pytest.raises(ConfigError, match="'speakers' must be at most the 4"):
        check_speakers([2, 5], {"corpus_speakers": 4})


def test_a_vector_without_a_speaker_is_named(corpus, tmp_path):
    labels = tmp_path / "utt2spk"
    labels.write_text("u00 ann\nu01 bob\n")
    with pytest.raises(DataFormatError) as caught:
        prepare_data(tmp_path, files(corpus, str(labels)))
    assert str(caught.value) == (
        f"{labels}: no speaker for 'u02' (38 of 40 ids of {corpus} have none)"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("x.ark", "", "b.npz", "plda", ""), "'backend' must be given without 'plda'"),
        (("x.ark", "", "", "", "t.h5"), "'transform' must be given with 'plda'"),
    ],
    ids=["both", "transform alone"],
)
def test_contradicting_files_are_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        files(*given)


def test_files_must_be_named_and_exist(tmp_path):
    with pytest.raises(ConfigError, match="'embeddings' must name a file"):
        files().digests()
    with pytest.raises(MissingFileError, match=r"nowhere\.ark: no such file"):
        files(str(tmp_path / "nowhere.ark")).digests()
