"""Arks: by hand, against kaldiio, round trips, and everything that can be broken."""

import io
import struct

import kaldiio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.ark import read_ark, write_ark

TWO = [[1.0, 2.0], [3.0, 4.5]]


def entry(name, numbers, token="DV"):
    """One binary entry, put together by hand."""
    kind = "f" if token[0] == "F" else "d"
    size = struct.pack("<bi", 4, len(numbers))
    data = struct.pack(f"<{len(numbers)}{kind}", *numbers)
    return name + b" \0B" + token.encode() + b" " + size + data


def test_bytes_by_hand(tmp_path):
    write_ark(tmp_path / "x.ark", ["a", "bc"], TWO)
    data = entry(b"a", TWO[0]) + entry(b"bc", TWO[1])
    assert (tmp_path / "x.ark").read_bytes() == data
    assert [(name, v.tolist()) for name, v in read_ark(io.BytesIO(data))] == [
        ("a", TWO[0]),
        ("bc", TWO[1]),
    ]


def test_binary_and_text_may_mix():
    data = entry(b"a", [1, 2], "FV") + b"b  [ 3 4 ]\n\n" + entry(b"c", [5, 6])
    got = [
        (name, v.dtype.itemsize, v.tolist()) for name, v in read_ark(io.BytesIO(data))
    ]
    assert got == [("a", 4, [1, 2]), ("b", 8, [3, 4]), ("c", 8, [5, 6])]


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


DAMAGED = {
    # the second object starts after 28 bytes of the first entry and "bc "
    "cut": (
        entry(b"a", [1.0, 2.0]) + entry(b"bc", [3.0, 4.0])[:-5],
        None,
        "vector of 'bc' at byte 31 declares 2 doubles (16 bytes), but the file ends "
        "after 11",
    ),
    "no vector": (entry(b"a", [1.0]) + b"b ", 1, "id 'b' at byte 20 has no vector"),
    "no vector in text": (b"a\nb [ 1 ]\n", 1, "id 'a' at byte 0 has no vector"),
    "program": (b"\x7fELF\0\0\0\0 12", None, "no id at byte 0"),
    "endless id": (b"A" * 5000, None, "no id at byte 0"),
    "type": (b"a \0BXX 12", None, "'a' at byte 2 has the unknown type 'XX'"),
    "brackets": (b"a 1 2 3\n", 1, "must be in brackets"),
    "one object": (entry(b"", [1.0])[1:], None, "the object at byte 0 has no id"),
    "not UTF-8": (
        entry(b"a", [1.0]) + entry(b"b\xff", [1.0]),
        None,
        "id at byte 20 is not UTF-8",
    ),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_refused_with_its_byte_or_line(refused, kind):
    data, line, problem = DAMAGED[kind]
    refused(read_ark, data, problem, line=line)


@pytest.mark.parametrize("compression", [None, 2])
def test_matrices_are_refused_with_a_remedy(refused, tmp_path, compression):
    matrix = {"a": np.ones((3, 2), np.float32)}
    kaldiio.save_ark(str(tmp_path / "x"), matrix, compression_method=compression)
    refused(read_ark, None, "matrix-sum-rows")
    refused(read_ark, b"a  [\n  1 2 \n  3 4 ]\n", "matrix-sum-rows", line=1)


@pytest.mark.parametrize(
    ("second", "text", "problem"),
    [
        (b"b", b"[ 1 ]", "has 1 dimensions, previous vectors have 2"),
        (b"a", b"[ 1 2 ]", "occurs a second time"),
        (b"b", b"[ 1 nan ]", "contains NaN"),
        (b"b", b"[ inf 1 ]", "contains infinity"),
        (b"b", b"[ ]", "has no numbers"),
    ],
)
def test_vectors_that_do_not_fit_together_are_refused(refused, second, text, problem):
    refused(read_ark, b"a [ 1 2 ]\n" + second + b" " + text + b"\n", problem, line=2)
    numbers = [float(word) for word in text.split()[1:-1]]
    binary = entry(b"a", [1, 2]) + entry(second, numbers)
    refused(read_ark, binary, f"at byte 30 {problem}")


@pytest.mark.parametrize("name", ["", "a b", "a\tb", " a", "a\0"])
def test_ids_with_blanks_cannot_be_written(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="ids must be words"):
        write_ark(tmp_path / "x.ark", [name], [[1.0]])
    assert not (tmp_path / "x.ark").exists()


def test_only_sound_sets_are_written(tmp_path):
    with pytest.raises(InvalidParameterError, match="ids must be unique, got 'a' 2"):
        write_ark(tmp_path / "x.ark", ["a", "a"], TWO)
    with pytest.raises(InvalidParameterError, match="vectors must be finite, got NaN"):
        write_ark(tmp_path / "x.ark", ["a"], [[np.nan]])
    with pytest.raises(InvalidParameterError, match="store doubles"):
        write_ark(tmp_path / "x.ark", ["a"], [[1e200]], dtype="float")
    assert list(tmp_path.iterdir()) == []
