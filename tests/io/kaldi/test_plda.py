"""PLDA files: bytes by hand, the real one bit for bit, and what is refused."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError
from sms_diar.io.kaldi.ark import BINARY, object_bytes
from sms_diar.io.kaldi.plda import read_plda, write_plda
from sms_diar.types import PldaModel

MODEL = PldaModel(np.array([1.0, -2.0]), np.array([[1.0, 0.5], [0.0, 2.0]]), np.ones(2))
TEXT = "<Plda>  [ 1.0 -2.0 ]\n [\n  1.0 0.5 \n  0.0 2.0 ]\n [ 1.0 1.0 ]\n</Plda> "


def part(values, **options):
    return object_bytes(values, owner="test", **options)


def same(one, other):
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("mean", "transform", "psi")
    )


def test_bytes_by_hand(tmp_path):
    write_plda(tmp_path / "plda", MODEL)
    two = b"\x04\x02\x00\x00\x00"
    assert (tmp_path / "plda").read_bytes() == (
        b"\0B<Plda> DV " + two + struct.pack("<2d", 1, -2)
        + b"DM " + two + two + struct.pack("<4d", 1, 0.5, 0, 2)
        + b"DV " + two + struct.pack("<2d", 1, 1) + b"</Plda> "
    )  # fmt: skip
    assert same(read_plda(tmp_path / "plda"), MODEL)


def test_text_by_hand(tmp_path):
    write_plda(tmp_path / "plda", MODEL, binary=False)
    assert (tmp_path / "plda").read_text() == TEXT
    assert same(read_plda(tmp_path / "plda"), MODEL)


def test_text_spacing_does_not_matter(tmp_path):
    (tmp_path / "plda").write_text(
        "<Plda> [ 1 -2 ]\r\n[\n1 0.5\n0 2\n]\n[ 1 1 ]</Plda>"
    )
    assert same(read_plda(tmp_path / "plda"), MODEL)


@pytest.mark.corpus
def test_a_real_model_is_written_back_byte_for_byte(corpus_data, tmp_path):
    original = corpus_data / "ami-es2005a" / "plda"
    model = read_plda(original)
    assert model.dim == 128
    assert (np.diff(model.psi) <= 0).all()  # Kaldi sorts by psi
    write_plda(tmp_path / "plda", model)
    assert (tmp_path / "plda").read_bytes() == original.read_bytes()
    write_plda(tmp_path / "text", model, binary=False)
    assert same(read_plda(tmp_path / "text"), model)


def test_a_file_of_floats_is_written_back_as_floats(tmp_path):
    data = b"".join(part(values, dtype="float") for values in ([0.1], [[0.7]], [1.3]))
    (tmp_path / "one").write_bytes(BINARY + b"<Plda> " + data + b"</Plda> ")
    model = read_plda(tmp_path / "one")
    assert model.mean.dtype == np.float64
    assert model.mean[0] == float(np.float32(0.1)) != 0.1
    write_plda(tmp_path / "two", model, dtype="float")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


@given(data=st.data(), dim=st.integers(1, 4), binary=st.booleans(), wide=st.booleans())
def test_what_is_written_comes_back(tmp_path_factory, data, dim, binary, wide):
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=64 if wide else 32)
    mean, psi = data.draw(hnp.arrays(np.float64, (2, dim), elements=numbers))
    transform = data.draw(hnp.arrays(np.float64, (dim, dim), elements=numbers))
    model = PldaModel(mean, transform, abs(psi))
    path = tmp_path_factory.mktemp("plda") / "plda"
    write_plda(path, model, binary=binary, dtype="double" if wide else "float")
    again = read_plda(path)
    if not wide and not binary:  # text has just the digits that floats need
        again = PldaModel(*(np.float32(part) for part in vars(again).values()))
        model = PldaModel(*(np.float32(part) for part in vars(model).values()))
    assert same(again, model)


@given(cut=st.integers(0, 99))
def test_a_cut_file_is_refused(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("plda") / "plda"
    write_plda(path, MODEL)
    whole = path.read_bytes()
    path.write_bytes(whole[: cut * (len(whole) - 1) // 100])
    with pytest.raises(DataFormatError):
        read_plda(path)


def model_bytes(mean, transform, psi):
    parts = b"".join(part(values) for values in (mean, transform, psi))
    return BINARY + b"<Plda> " + parts + b"</Plda> "


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (BINARY + part([1.0]), "found a plain vector (DV)"),
        (BINARY + part([[1.0]], dtype="float"), "found a plain matrix (FM)"),
        (b" [ 1 2 ]\n", "found a plain vector or matrix ([)"),
        (BINARY + b"<Nnet3> \n", "found '<Nnet3>' at its start"),
        (b"\x89HDF\r\n", "found '\\x89HDF' at its start"),
        (b"a " + BINARY + part([1.0]), "found 'a' at its start"),
        (b"", "found nothing"),
        (model_bytes([1.0], [[1.0]], [1.0]) + b"\0", "more follows at byte 70"),
        (model_bytes([1.0], np.eye(2), [1.0]), "got (1,), (2, 2) and (1,)"),
        (model_bytes([1.0], [[1.0]], [-1.0]), "psi must not be negative"),
        (model_bytes([1.0], [1.0], [1.0]), "the transform at byte 25 is a vector"),
        (TEXT.replace("-2.0", "nan").encode(), "mean must be finite"),
    ],
)
def test_what_is_no_model_is_refused(refused, data, problem):
    refused(read_plda, data, problem)
