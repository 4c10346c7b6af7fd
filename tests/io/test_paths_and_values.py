"""Writers that are given a path for its contents, readers that are given values."""

import re

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.kaldi.plda import read_plda, write_plda
from sms_diar.io.kaldi.transform import read_transform, write_transform
from sms_diar.io.labels import read_labels, write_labels
from sms_diar.io.model import read_model, write_model
from sms_diar.io.turns.uem import read_uem
from sms_diar.types import EmbeddingSet


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda out: write_labels(out, "labels.json"),
            "write_labels: labels must be a mapping, got the path 'labels.json'; read "
            "it with read_labels",
        ),
        (
            lambda out: write_labels(out, {"u": "s"}, segments="data/segments"),
            "write_labels: segments must be a mapping, got the path 'data/segments'; "
            "read it with read_segments",
        ),
        (
            lambda out: write_embeddings(out, "x.ark"),
            "write_embeddings: embeddings must be an EmbeddingSet, got the path "
            "'x.ark'; read it with read_embeddings",
        ),
        (
            lambda out: write_plda(out, "plda"),
            "write_plda: model must be a PldaModel, got the path 'plda'; read it with "
            "read_plda",
        ),
        (
            lambda out: write_transform(out, "mean.vec"),
            "write_transform: transform must be a transform, got the path 'mean.vec'; "
            "read it with read_transform",
        ),
        (
            lambda out: write_model(out, "x.npz"),
            "write_model: model must be a ModelFile, got the path 'x.npz'; read it "
            "with read_model",
        ),
    ],
)
def test_a_writer_names_the_reader_to_call(tmp_path, write, message):
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(message)}$"):
        write(tmp_path / "out.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: read_labels({"u": "s"}),
            "read_labels: path must be the path of a file, got a value of type dict",
        ),
        (
            lambda: read_uem([("r", 0.0, 1.0)]),
            "read_uem: path must be the path of a file, got a value of type list",
        ),
        (
            lambda: read_plda(np.eye(2)),
            "read_plda: path must be the path of a file, got a value of type ndarray",
        ),
        (
            lambda: read_transform(np.eye(2)),
            "read_transform: path must be the path of a file, got a value of type "
            "ndarray",
        ),
        (
            lambda: read_model({}, "backend"),
            "read_model: path must be the path of a file, got a value of type dict",
        ),
        (
            lambda: read_embeddings(EmbeddingSet(("u",), np.ones((1, 2)))),
            "read_embeddings: source must be a path or a binary stream, got a value of "
            "type EmbeddingSet",
        ),
    ],
)
def test_a_reader_asks_for_a_path(read, message):
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(message)}$"):
        read()
