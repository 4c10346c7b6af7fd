"""NumPy files: the two namings, guesses, ids beside, and what is refused."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.arrays import read_npy, read_npz, read_speakers, write_npz
from sms_diar.types import EmbeddingSet

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
IDS = np.array(["a", "bc"])


@pytest.mark.parametrize(
    "arrays",
    [
        {"ids": IDS, "vectors": ROWS},
        {"utt": IDS, "spk": np.array(["s", "t"]), "x": ROWS.astype(np.float32)},
        {"names of segments": IDS, "speakers": IDS[::-1], "i-vectors": ROWS},
        {"ids": np.array([b"a", b"bc"]), "X": ROWS.astype(int)},
    ],
    ids=["ours", "utt and x", "guessed", "bytes and integers"],
)
def test_ids_and_vectors_are_found(tmp_path, arrays):
    np.savez(tmp_path / "x.npz", **arrays)
    got = read_npz(tmp_path / "x.npz")
    assert got.ids == ("a", "bc")
    assert got.vectors.dtype == np.float64
    np.testing.assert_array_equal(got.vectors, ROWS)


def test_numbers_may_be_ids(tmp_path):
    np.savez(tmp_path / "x.npz", ids=np.array([7, 12]), vectors=ROWS)
    assert read_npz(tmp_path / "x.npz").ids == ("7", "12")


def test_compressed_and_streamed_files_are_read(tmp_path):
    stream = io.BytesIO()
    np.savez_compressed(stream, ids=IDS, vectors=ROWS)
    stream.seek(0)
    assert read_npz(stream, name="pipe").source == "pipe"


def test_ids_may_stand_beside_an_npz(tmp_path):
    np.savez(tmp_path / "x.npz", ROWS)
    (tmp_path / "x.txt").write_text("a\nbc\n")
    assert read_npz(tmp_path / "x.npz").ids == ("a", "bc")


def test_ids_of_an_npy_stand_beside_it_or_are_made_up(tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    assert read_npy(tmp_path / "x.npy").ids == ("row-00000", "row-00001")
    (tmp_path / "x.txt").write_text("t1\nt2\n")
    assert read_npy(tmp_path / "x.npy").ids == ("t1", "t2")
    (tmp_path / "x.ids").write_text("i1\ni2\n")
    assert read_npy(tmp_path / "x.npy").ids == ("i1", "i2")


@pytest.mark.parametrize(
    "text", ["Notes on x\nof today\n", "one\n", "t1\nt1\n", "1 2\n3 4\n", "t1\n\n"]
)
def test_a_neighbour_is_used_as_ids_only_if_it_holds_ids(tmp_path, text):
    np.save(tmp_path / "x.npy", ROWS)
    (tmp_path / "x.txt").write_text(text)
    assert read_npy(tmp_path / "x.npy").ids == ("row-00000", "row-00001")


@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_an_npz_may_hold_a_vector_of_each_id(tmp_path, shape):
    rows = {"utt b": np.array([1.0, 2.0, 3.0]), "x": np.array([4, 5, 6])}
    np.savez(tmp_path / "x.npz", **{k: row.reshape(shape) for k, row in rows.items()})
    got = read_npz(tmp_path / "x.npz")
    assert got.ids == ("utt b", "x")
    assert got.vectors.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@given(
    vectors=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    data=st.data(),
)
def test_what_is_written_comes_back(tmp_path_factory, vectors, data):
    n = len(vectors)
    # NumPy strips NULs from the end of strings, which no id has.
    word = st.text(
        st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), min_size=1
    ).filter(str.strip)
    ids = tuple(data.draw(st.lists(word, min_size=n, max_size=n, unique=True)))
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    write_npz(path, EmbeddingSet(ids, vectors))
    got = read_npz(path)
    assert got.ids == ids
    assert got.vectors.tobytes() == vectors.tobytes()


def test_speakers_travel_along(tmp_path):
    path = tmp_path / "x.npz"
    embeddings = EmbeddingSet(("a", "bc"), ROWS)
    write_npz(
        path, embeddings, dtype="float", speakers={"bc": "s2", "a": "s1", "z": "?"}
    )
    assert read_speakers(path) == {"a": "s1", "bc": "s2"}
    assert np.load(path)["vectors"].dtype == np.float32
    with pytest.raises(InvalidParameterError, match="'bc' is missing"):
        write_npz(path, embeddings, speakers={"a": "s1"})


@pytest.mark.corpus
def test_real_embeddings_have_the_speakers_of_utt2spk(corpus_data):
    folder = corpus_data / "audiomnist8k"
    path = folder / "ge2e_dvec_8k.npz"
    got = read_npz(path)
    assert got.vectors.shape == (2013, 256)
    lines = (folder / "utt2spk").read_text().splitlines()
    assert read_speakers(path) == dict(line.split() for line in lines)


BAD = np.array([[1.0, 2.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("read", "arrays", "problem"),
    [
        (read_npz, {"a": ROWS, "b": ROWS}, "among a float64(2, 2), b float64(2, 2)"),
        (read_npz, {"x": ROWS, "foo": ROWS[0]}, "and no file x.ids"),
        (read_npz, {}, "among no arrays at all"),
        (read_npz, {"ids": IDS, "vectors": ROWS[0]}, "got float64 of shape (2,)"),
        (read_npz, {"ids": IDS, "vectors": ROWS + 1j}, "complex128 of shape (2, 2)"),
        (read_npz, {"ids": ROWS, "vectors": ROWS}, "'ids' must be a list of strings"),
        (read_npz, {"ids": np.array([b"\xff", b"a"]), "x": ROWS}, "is not UTF-8"),
        (read_npz, {"ids": IDS[:1], "vectors": ROWS}, "the 1 ids, got shape (2, 2)"),
        (read_npz, {"ids": np.array(["a", "a"]), "x": ROWS}, "got 'a' 2 times"),
        (read_npz, {"ids": IDS, "vectors": BAD}, "NaN in the vector of 'bc'"),
        (read_npz, {"ids": IDS, "vectors": np.empty((2, 0))}, "no dimensions"),
        (read_npz, {"utt": IDS.astype(object), "x": ROWS}, "'utt' contains Python"),
        (read_speakers, {"x": ROWS, "foo": ROWS[0]}, "(spk or speakers"),
        (read_speakers, {"ids": IDS, "spk": IDS[:1]}, "2 ids, but 1 speakers"),
    ],
)
def test_arrays_that_are_no_embeddings_are_refused(
    refused, tmp_path, read, arrays, problem
):
    np.savez(tmp_path / "x.npz", **arrays)
    refused(read, None, problem, name="x.npz")


def test_python_objects_of_an_npy_are_never_loaded(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.array([["a"]], dtype=object))
    refused(read_npy, None, "a pickle can run any program", name="x.npy")


def test_truncated_and_damaged_files_are_refused(refused, tmp_path):
    np.savez(tmp_path / "x.npz", ids=IDS, vectors=ROWS)
    np.save(tmp_path / "x.npy", ROWS)
    header = (tmp_path / "x.npy").read_bytes().replace(b"(2, 2), }", b"(2, 2,   ")
    for name, read in (("x.npz", read_npz), ("x.npy", read_npy)):
        data = (tmp_path / name).read_bytes()[:-9]
        refused(read, data, "not a whole NumPy file (", name=name)
    refused(read_npy, header, "not a whole NumPy file (")


def test_a_list_of_ids_must_fit(refused, tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    beside = tmp_path / "x.ids"
    beside.write_text("a\n")
    refused(read_npy, None, f"2 vectors, but 1 ids in {beside}", name="x.npy")
    beside.write_text("a\n\nb\n")
    refused(read_npy, None, "blank line", line=2, name="x.npy", at=beside)
    beside.write_bytes(b"\xff\n")
    refused(read_npy, None, "not UTF-8", name="x.npy", at=beside)
