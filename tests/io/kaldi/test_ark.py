"""Arks: by hand, against kaldiio, round trips, and everything that can be broken."""

import io
import struct

import kaldiio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.kaldi.ark import read_ark, write_ark

TWO = [[1.0, 2.0], [3.0, 4.5]]


def entry(name, numbers, token="DV"):
    """One binary entry, put together by hand."""
    kind = "f" if token[0] == "F" else "d"
    size = struct.pack("<bi", 4, len(numbers))
    data = struct.pack(f"<{len(numbers)}{kind}", *numbers)
    return name + b" \0B" + token.encode() + b" " + size + data


def refusal(path, data):
    path.write_bytes(data)
    with pytest.raises(DataFormatError) as caught:
        list(read_ark(path))
    return str(caught.value).removeprefix(str(path))


def test_bytes_by_hand(tmp_path):
    write_ark(tmp_path / "x.ark", ["a", "bc"], TWO)
    data = entry(b"a", TWO[0]) + entry(b"bc", TWO[1])
    assert (tmp_path / "x.ark").read_bytes() == data
    assert [(name, v.tolist()) for name, v in read_ark(io.BytesIO(data))] == [
        ("a", TWO[0]),
        ("bc", TWO[1]),
    ]


def test_text_by_hand(tmp_path):
    write_ark(tmp_path / "x.ark", ["a", "bc"], TWO, text=True)
    text = (tmp_path / "x.ark").read_text()
    assert text == "a  [ 1.0 2.0 ]\nbc  [ 3.0 4.5 ]\n"


def test_binary_and_text_may_mix():
    data = entry(b"a", [1, 2], "FV") + b"b  [ 3 4 ]\n\n" + entry(b"c", [5, 6])
    got = [
        (name, v.dtype.itemsize, v.tolist()) for name, v in read_ark(io.BytesIO(data))
    ]
    assert got == [("a", 4, [1, 2]), ("b", 8, [3, 4]), ("c", 8, [5, 6])]


def test_an_empty_ark_has_no_vectors():
    assert list(read_ark(io.BytesIO(b""))) == []


def test_standard_input_is_a_dash(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(entry(b"a", [1.0]))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert [name for name, _ in read_ark("-")] == ["a"]


def test_vectors_come_one_by_one():
    data = entry(b"a", [1.0]) + b"b \0Bnonsense"
    vectors = read_ark(io.BytesIO(data))
    assert next(vectors)[0] == "a"
    with pytest.raises(DataFormatError):
        next(vectors)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_kaldiio_reads_what_we_write(tmp_path, dtype, text):
    vectors = np.random.default_rng(3).standard_normal((5, 7))
    ids = [f"utt-{i}" for i in range(5)]
    ark, scp = tmp_path / "x.ark", tmp_path / "x.scp"
    write_ark(ark, ids, vectors, dtype=dtype, text=text, scp=scp)
    want = vectors.astype(np.float32) if dtype == "float" else vectors
    listed = dict(kaldiio.load_ark(str(ark)))
    assert list(listed) == ids
    for row, name in enumerate(ids):
        # kaldiio narrows text to float32
        expected = want[row].astype(np.float32) if text else want[row]
        np.testing.assert_array_equal(listed[name], expected)
    if not text:
        pointed = kaldiio.load_scp(str(scp))
        for row, name in enumerate(ids):
            np.testing.assert_array_equal(pointed[name], want[row])


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_we_read_what_kaldiio_writes(tmp_path, dtype, text):
    vectors = np.random.default_rng(4).standard_normal((5, 7)).astype(dtype)
    table = {f"utt-{i}": vector for i, vector in enumerate(vectors)}
    kaldiio.save_ark(str(tmp_path / "x.ark"), table, text=text)
    got = dict(read_ark(tmp_path / "x.ark"))
    assert list(got) == list(table)
    for name, vector in table.items():
        np.testing.assert_array_equal(got[name].astype(dtype), vector)


@given(
    vectors=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    text=st.booleans(),
    data=st.data(),
)
def test_what_is_written_comes_back(tmp_path_factory, vectors, text, data):
    word = st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8
    ).filter(lambda name: name.split() == [name])
    n = len(vectors)
    ids = data.draw(st.lists(word, min_size=n, max_size=n, unique=True))
    path = tmp_path_factory.mktemp("ark") / "x.ark"
    write_ark(path, ids, vectors, text=text)
    got = list(read_ark(path))
    assert [name for name, _ in got] == ids
    assert np.array([vector for _, vector in got]).tobytes() == vectors.tobytes()


@given(cut=st.integers(1, 57))
def test_a_cut_file_never_passes_for_a_whole_one(cut):
    data = entry(b"a", [1.0, 2.0]) + entry(b"b", [3.0, 4.0])
    assert len(data) == 56  # "a ", the header, "DV ", 5 bytes of size, 2 doubles: 28
    if cut in (28, 56, 57):  # between the entries, at the end and beyond
        assert len(list(read_ark(io.BytesIO(data[:cut])))) == (1 if cut == 28 else 2)
    else:
        with pytest.raises(DataFormatError):
            list(read_ark(io.BytesIO(data[:cut])))


@pytest.mark.corpus
def test_real_x_vectors_have_the_ids_of_their_segments(corpus_data):
    folder = corpus_data / "ami-es2005a"
    vectors = dict(read_ark(folder / "xvectors.ark"))
    listed = (folder / "segments").read_text().splitlines()
    assert list(vectors) == [line.split()[0] for line in listed]
    assert len(vectors) == 1025
    assert {(len(v), v.dtype) for v in vectors.values()} == {(256, np.dtype("<f4"))}


@pytest.mark.corpus
def test_a_real_ark_is_written_back_byte_for_byte(corpus_data, tmp_path):
    original = corpus_data / "ami-es2005a" / "xvectors.ark"
    ids, vectors = zip(*read_ark(original), strict=True)
    write_ark(tmp_path / "x.ark", ids, np.array(vectors), dtype="float")
    assert (tmp_path / "x.ark").read_bytes() == original.read_bytes()


def test_a_missing_ark_is_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        list(read_ark(tmp_path / "no.ark"))
    assert str(caught.value) == f"{tmp_path / 'no.ark'}: no such file"


def test_a_truncated_ark_names_the_id_and_the_byte(tmp_path):
    data = entry(b"a", [1.0, 2.0]) + entry(b"bc", [3.0, 4.0])[:-5]
    # the second object starts after 28 bytes of the first entry and "bc "
    assert refusal(tmp_path / "x.ark", data) == (
        ": vector of 'bc' at byte 31 declares 2 doubles (16 bytes), but the file ends "
        "after 11 of them; it is truncated or damaged"
    )


def test_an_id_without_a_vector_is_refused(tmp_path):
    assert refusal(tmp_path / "x.ark", entry(b"a", [1.0]) + b"b ") == (
        ":1: id 'b' at byte 20 has no vector after it; the file is truncated or damaged"
    )
    assert refusal(tmp_path / "x.ark", b"a\nb [ 1 ]\n") == (
        ":1: id 'a' at byte 0 has no vector after it; the file is truncated or damaged"
    )


def test_a_file_that_is_no_ark_is_refused(tmp_path):
    path = tmp_path / "x.ark"
    assert refusal(path, b"\x7fELF\0\0\0\0 12") == (
        ": no id at byte 0; the file is damaged or not a Kaldi ark"
    )
    assert refusal(path, b"A" * 5000) == (
        ": no id at byte 0; the file is damaged or not a Kaldi ark"
    )
    assert refusal(path, b"a \0BXX 12") == (
        ": vector of 'a' at byte 2 has the unknown type 'XX'; vectors are FV or DV, "
        "matrices FM or DM"
    )
    assert refusal(path, b"a 1 2 3\n") == (
        ":1: vector of 'a' must be in brackets, as in '[ 1 2 3 ]', got '1'"
    )


def test_a_single_object_is_no_ark(tmp_path):
    assert refusal(tmp_path / "mean.vec", entry(b"", [1.0])[1:]) == (
        ": the object at byte 0 has no id before it; this is a single Kaldi object (a "
        "mean, a transform or a model), not an ark of embeddings"
    )


def test_matrices_are_refused_with_a_remedy(tmp_path):
    path = tmp_path / "x.ark"
    remedy = (
        "expected one vector per id. Are these frame features? Extract "
        "embeddings from them, or average the frames with Kaldi's matrix-sum-rows "
        "--do-average=true"
    )
    kaldiio.save_ark(str(path), {"a": np.ones((3, 2), np.float32)})
    assert refusal(path, path.read_bytes()) == (
        f": vector of 'a' at byte 2 is a matrix (FM, 3 x 2); {remedy}"
    )
    kaldiio.save_ark(
        str(path), {"a": np.ones((3, 2), np.float32)}, compression_method=2
    )
    assert refusal(path, path.read_bytes()) == (
        f": vector of 'a' at byte 2 is a compressed matrix (CM); {remedy}"
    )
    assert refusal(path, b"a  [\n  1 2 \n  3 4 ]\n") == (
        f":1: vector of 'a' is a matrix; {remedy}"
    )


def test_an_id_that_is_not_utf8_is_refused(tmp_path):
    data = entry(b"a", [1.0]) + entry(b"b\xff", [1.0])
    assert refusal(tmp_path / "x.ark", data) == (
        ": the id at byte 20 is not UTF-8: b'b\\xff'"
    )


@pytest.mark.parametrize(
    ("second", "text", "problem"),
    [
        (b"b", b"[ 1 ]", "vector of 'b'{} has 1 dimensions, previous vectors have 2"),
        (b"a", b"[ 1 2 ]", "id 'a'{} occurs a second time; ids must be unique"),
        (b"b", b"[ 1 nan ]", "vector of 'b'{} contains NaN; remove or repair it"),
        (b"b", b"[ inf 1 ]", "vector of 'b'{} contains infinity; remove or repair it"),
        (b"b", b"[ ]", "vector of 'b'{} has no numbers"),
    ],
)
def test_vectors_that_do_not_fit_together_are_refused(tmp_path, second, text, problem):
    path = tmp_path / "x.ark"
    data = b"a [ 1 2 ]\n" + second + b" " + text + b"\n"
    assert refusal(path, data) == ":2: " + problem.format("")
    numbers = [float(word) for word in text.split()[1:-1]]
    data = entry(b"a", [1, 2]) + entry(second, numbers)
    assert refusal(path, data) == ": " + problem.format(" at byte 30")


@pytest.mark.parametrize("name", ["", "a b", "a\tb", " a", "a\0"])
def test_ids_with_blanks_cannot_be_written(tmp_path, name):
    with pytest.raises(InvalidParameterError) as caught:
        write_ark(tmp_path / "x.ark", [name], [[1.0]])
    assert str(caught.value) == (
        f"write_ark: ids must be words without blanks, got {name!r}"
    )
    assert not (tmp_path / "x.ark").exists()


def test_only_sound_sets_are_written(tmp_path):
    with pytest.raises(InvalidParameterError, match="ids must be unique, got 'a' 2"):
        write_ark(tmp_path / "x.ark", ["a", "a"], TWO)
    with pytest.raises(InvalidParameterError, match="vectors must be finite, got NaN"):
        write_ark(tmp_path / "x.ark", ["a"], [[np.nan]])
    with pytest.raises(InvalidParameterError, match="store doubles"):
        write_ark(tmp_path / "x.ark", ["a"], [[1e200]], dtype="float")
    assert list(tmp_path.iterdir()) == []
