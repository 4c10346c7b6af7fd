"""Transforms: the arithmetic by hand, the real file, and what is refused."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingExtraError
from sms_diar.io.kaldi.ark import BINARY, object_bytes, read_ark
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.transform import (
    Centering,
    KaldiTransform,
    LinearTransform,
    VbxTransform,
    read_transform,
    write_transform,
)


@pytest.mark.parametrize(
    ("transform", "vector", "want"),
    [
        (Centering(np.array([1.0, 2.0])), [4.0, 1.0], [3.0, -1.0]),
        # rows of the matrix are outputs: 1*5 + 2*7 = 19
        (LinearTransform(np.array([[1.0, 2.0]])), [5.0, 7.0], [19.0]),
        # one dimension in, so the second column is added: 1*5 + 2, 3*5 + 4
        (LinearTransform(np.array([[1.0, 2.0], [3.0, 4.0]])), [5.0], [7.0, 19.0]),
    ],
)
def test_linear_transforms_by_hand(transform, vector, want):
    assert transform.apply([vector]).tolist() == [want]


VBX = VbxTransform(
    mean1=np.array([1.0, 1.0]), lda=np.array([[1.0], [2.0]]), mean2=np.array([1.0])
)


def test_vbx_by_hand():
    # (4, 5) - (1, 1) = (3, 4), of length 5: (0.6, 0.8). LDA: 0.6 + 1.6 = 2.2,
    # minus 1 = 1.2, which has the direction +1
    assert VBX.apply([[4.0, 5.0]]).tolist() == [[1.0]]
    # two outputs, the second 0.8 - 0.6 = 0.2: (1.2, 0.2) / sqrt(1.48)
    wide = VbxTransform(
        VBX.mean1, np.array([[1.0, -1.0], [2.0, 1.0]]), np.array([1.0, 0.0])
    )
    want = np.array([[1.2, 0.2]]) / math.sqrt(1.48)
    np.testing.assert_allclose(wide.apply([[4.0, 5.0]]), want, rtol=1e-14)
    # with lengths sqrt(2): (0.6, 0.8) sqrt(2) gives (2.2 sqrt(2) - 1, 0.2 sqrt(2))
    root = math.sqrt(2)
    first, second = 2.2 * root - 1.0, 0.2 * root
    want = np.array([[first, second]]) * root / math.hypot(first, second)
    scaled = replace(wide, length="sqrt-dim")
    np.testing.assert_allclose(scaled.apply([[4.0, 5.0]]), want, rtol=1e-14)


@given(
    X=hnp.arrays(np.float64, (4, 2), elements=st.floats(2.0, 50.0)),
    scale=st.floats(0.1, 10.0),
)
def test_vbx_sees_directions_only(X, scale):
    lda = np.array([[1.0, 2.0], [-1.0, 0.5]])
    transform = VbxTransform(VBX.mean1, lda, np.array([0.1, 0.2]))
    once = transform.apply(X)
    np.testing.assert_allclose(np.linalg.norm(once, axis=1), 1.0, rtol=1e-12)
    moved = transform.mean1 + scale * (X - transform.mean1)
    np.testing.assert_allclose(transform.apply(moved), once, rtol=1e-7, atol=1e-9)


@pytest.mark.corpus
def test_unit_length_is_what_the_plda_of_vbx_expects(corpus_data):
    folder = corpus_data / "ami-es2005a"
    transform = read_transform(folder / "transform.npz")
    plda = read_plda(folder / "plda")
    X = np.array([vector for _, vector in read_ark(folder / "xvectors.ark")])
    # A model that fits has variance 1 + psi in its own space. One meeting has less
    # between-speaker variance than the training set, but the same order.
    expected = 1.0 + plda.psi.mean()
    for length, fits in (("unit", True), ("sqrt-dim", False)):
        Y = (replace(transform, length=length).apply(X) - plda.mean) @ plda.transform.T
        assert (0.5 < Y.var(axis=0).mean() / expected < 2.0) == fits


@pytest.mark.corpus
def test_hdf5_and_npz_hold_the_same(corpus_data):
    pytest.importorskip("h5py")
    one = read_transform(corpus_data / "ami-es2005a" / "transform.h5")
    two = read_transform(corpus_data / "ami-es2005a" / "transform.npz")
    for name in ("mean1", "lda", "mean2"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_hdf5_without_h5py_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    path = tmp_path / "transform.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(MissingExtraError, match=r"sms-diar\[h5\]"):
        read_transform(path)


def test_hdf5_is_read_and_damage_noticed(tmp_path, refused):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x"
    with h5py.File(path, "w") as file:
        for name in ("mean1", "lda", "mean2"):
            file[name] = getattr(VBX, name)
    np.testing.assert_array_equal(read_transform(path).lda, VBX.lda)
    refused(read_transform, path.read_bytes()[:500], "not a whole HDF5 file (")


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize(
    "transform",
    [Centering(np.array([0.5, 2.0])), LinearTransform(np.array([[0.5, 2.0]])), VBX],
    ids=lambda transform: type(transform).__name__,
)
def test_what_is_written_comes_back(tmp_path, transform, dtype, binary):
    # 0.5 and 2 are exact in either width; a matrix of one row stays a matrix
    path = tmp_path / "t"
    write_transform(path, transform, dtype=dtype, binary=binary)
    again = read_transform(path)
    assert type(again) is type(transform)
    for name, value in vars(transform).items():
        np.testing.assert_array_equal(getattr(again, name), value)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"a [ 1 2 ]\n", "neither a Kaldi vector or matrix nor a VBx transform"),
        (BINARY + b"<Plda> DV ", "found '<Plda>'; it is a PLDA model"),
        (b"<Nnet> x", "found '<Nnet>'"),
        (b"[ 1 2 ]\n[ 3 ]\n", "more follows at byte 8"),
        (b"[ 1 nan ]", "mean must be finite"),
        (b"[ ]", "mean must be a vector, got shape (0,)"),
        (BINARY + b"CM2 x", "compressed matrix (CM2)"),
        (BINARY + object_bytes([1.0], owner="t")[:-1], "the file ends after 7 of"),
    ],
)
def test_files_of_other_things_are_refused(refused, data, problem):
    refused(read_transform, data, problem)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"mean1": VBX.mean1, "mu": VBX.mean2}, "lda and mean2 is not among mean1, mu"),
        (vars(VBX) | {"lda": VBX.lda.T}, "shapes (1, 2), (2,) and (1,)"),
        (vars(VBX) | {"mean1": np.array(["x"])}, "could not convert string to float"),
    ],
)
def test_an_npz_must_have_all_parts(refused, tmp_path, arrays, problem):
    with (tmp_path / "x").open("wb") as file:
        np.savez(file, **arrays)
    refused(read_transform, None, problem)


@pytest.mark.parametrize(
    ("transform", "vectors", "problem"),
    [
        (Centering(np.ones(3)), np.ones((1, 4)), r"\(n, 3\), got \(1, 4\)"),
        (LinearTransform(np.ones((2, 3))), np.ones((1, 4)), r"\(n, 3\) or \(n, 2\)"),
        (VBX, np.ones(2), r"\(n, 2\), got \(2,\)"),
        (VBX, [[0.0, 0.0], [1.0, 1.0]], "row 1 equal to it, which has no direction"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(transform, vectors, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        transform.apply(vectors)


def test_an_unknown_length_is_refused():
    with pytest.raises(InvalidParameterError, match="length must be one of"):
        replace(VBX, length="sqrt")


MEAN = Centering(np.array([1.0, 2.0]))
AFFINE = LinearTransform(np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))


def test_a_folder_of_kaldi_centres_projects_and_normalises(tmp_path):
    write_transform(tmp_path / "mean.vec", MEAN, dtype="float")
    write_transform(tmp_path / "transform.mat", AFFINE)
    transform = read_transform(tmp_path)
    assert isinstance(transform, KaldiTransform)
    # (2, 6) - (1, 2) = (1, 4); (2 * 1 + 1, 4) = (3, 4) of length 5, scaled to sqrt(2)
    expected = np.sqrt(2.0) / 5.0 * np.array([[3.0, 4.0]])
    np.testing.assert_allclose(transform.apply([[2.0, 6.0]]), expected, rtol=1e-12)
    (tmp_path / "transform.mat").unlink()
    # without a matrix: (1, 4) of length sqrt(17)
    expected = np.sqrt(2.0 / 17.0) * np.array([[1.0, 4.0]])
    shifted = read_transform(tmp_path).apply([[2.0, 6.0]])
    np.testing.assert_allclose(shifted, expected, rtol=1e-12)


def test_a_matrix_alone_accepts_vectors_with_and_without_its_offset():
    alone = KaldiTransform((LinearTransform(np.array([[3.0, 4.0]])),))
    assert alone.apply([[1.0, 1.0]]).tolist() == [[1.0]]
    assert alone.apply([[-2.0]]).tolist() == [[-1.0]]  # 3 * -2 + 4 = -2
    with pytest.raises(InvalidParameterError, match=r"\(n, 2\) or \(n, 1\)"):
        alone.apply(np.ones((1, 3)))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "without mean.vec and transform.mat"),
        ({"mean.vec": "[\n 1 2\n 3 4 ]"}, "must be a vector"),
        ({"transform.mat": "[ 1 2 ]"}, "must be a matrix"),
        ({"mean.vec": "[ nan ]"}, "must be finite"),
    ],
)
def test_a_folder_without_a_transform_is_refused(tmp_path, files, problem):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataFormatError, match=problem):
        read_transform(tmp_path)
