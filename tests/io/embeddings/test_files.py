"""One reader for all formats, which looks at the content."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.kaldi.ark import write_ark
from sms_diar.io.kaldi.binary import BINARY, object_bytes
from sms_diar.types import EmbeddingSet

ROWS = np.array([[0.1, 2.0], [3.0, -4.0]])
SET = EmbeddingSet(("a", "b"), ROWS)


def refusal(path, data=None, **options):
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DataFormatError) as caught:
        read_embeddings(path, **options)
    return str(caught.value).removeprefix(str(path))


def same(one, other):
    return one.ids == other.ids and one.vectors.tobytes() == other.vectors.tobytes()


@pytest.mark.parametrize("suffix", [".ark", ".npz", ".csv", ".tsv"])
def test_the_suffix_chooses_the_format_and_the_content_reveals_it(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    write_embeddings(path, SET)
    got = read_embeddings(path)
    assert same(got, SET)
    assert (got.vectors.dtype, got.extractor, got.source) == (
        np.float64,
        None,
        str(path),
    )
    data = path.read_bytes()
    (tmp_path / "bare").write_bytes(data)
    assert same(read_embeddings(tmp_path / "bare"), SET)
    (tmp_path / "lying.txt").write_bytes(data)
    assert same(read_embeddings(str(tmp_path / "lying.txt")), SET)
    streamed = read_embeddings(io.BytesIO(data))
    assert same(streamed, SET)
    assert streamed.source == "<stream>"


def test_an_ark_has_an_scp_beside_it(tmp_path):
    write_embeddings(tmp_path / "x.ark", SET)
    assert same(read_embeddings(tmp_path / "x.scp"), SET)
    (tmp_path / "list").write_bytes((tmp_path / "x.scp").read_bytes())
    assert same(read_embeddings(tmp_path / "list"), SET)


def test_text_arks_and_npy_are_read(tmp_path):
    write_ark(tmp_path / "x", SET.ids, ROWS, text=True)
    assert same(read_embeddings(tmp_path / "x"), SET)
    np.save(tmp_path / "y.npy", ROWS)
    (tmp_path / "y.ids").write_text("a\nb\n")
    assert same(read_embeddings(tmp_path / "y.npy"), SET)


def test_standard_input_is_a_dash(monkeypatch, tmp_path):
    write_embeddings(tmp_path / "x.npz", SET)

    class Stdin:
        buffer = io.BytesIO((tmp_path / "x.npz").read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    got = read_embeddings("-")
    assert same(got, SET)
    assert got.source == "<stdin>"


def test_floats_are_rounded_when_asked(tmp_path):
    for suffix in (".ark", ".npz", ".csv", ".tsv"):
        write_embeddings(tmp_path / f"x{suffix}", SET, dtype="float")
        got = read_embeddings(tmp_path / f"x{suffix}")
        np.testing.assert_array_equal(got.vectors.astype(np.float32), np.float32(ROWS))
    assert got.vectors[0, 0] == 0.1  # text says 0.1, whatever the width
    assert read_embeddings(tmp_path / "x.ark").vectors[0, 0] == np.float32(0.1)


@pytest.mark.parametrize("suffix", [".ark", ".npz", ".csv", ".tsv"])
def test_the_extractor_travels_beside_the_file(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    write_embeddings(path, EmbeddingSet(SET.ids, ROWS, extractor="iv-400:ab12"))
    record = json.loads((tmp_path / f"x{suffix}.json").read_text())
    assert record == {
        "extractor": "iv-400:ab12",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert read_embeddings(path).extractor == "iv-400:ab12"
    if suffix == ".ark":
        assert read_embeddings(tmp_path / "x.scp").extractor == "iv-400:ab12"


def test_a_set_of_unknown_origin_does_not_inherit_an_extractor(tmp_path):
    path = tmp_path / "x.ark"
    write_embeddings(path, EmbeddingSet(SET.ids, ROWS, extractor="old"))
    write_embeddings(path, SET)
    assert read_embeddings(path).extractor is None
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.ark", "x.scp"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", 'must be {"extractor": "..."} (TypeError('),
        ("{}", 'must be {"extractor": "..."} (KeyError(\'extractor\'))'),
        ("{", 'must be {"extractor": "..."} (JSONDecodeError('),
        ('{"extractor": 3}', "extractor must be a string, got 3"),
    ],
)
def test_a_broken_extractor_file_is_refused(tmp_path, text, problem):
    path = tmp_path / "x.csv"
    write_embeddings(path, SET)
    beside = tmp_path / "x.csv.json"
    beside.write_text(text)
    with pytest.raises(DataFormatError) as caught:
        read_embeddings(path)
    assert str(caught.value).startswith(f"{beside}: {problem}")


def test_commands_of_an_scp_need_permission(tmp_path):
    (tmp_path / "v").write_text("[ 1 2 ]")
    path = tmp_path / "x.scp"
    line = f"a cat '{tmp_path / 'v'}' |\n".encode()
    assert "commands need allow_commands=True" in refusal(path, line)
    assert read_embeddings(path, allow_commands=True).vectors.tolist() == [[1.0, 2.0]]
    assert "commands need allow_commands=True" in refusal(tmp_path / "bare", line)


@pytest.mark.corpus
def test_real_x_vectors(corpus_data):
    got = read_embeddings(corpus_data / "ami-es2005a" / "xvectors.ark")
    assert (len(got), got.dim, got.vectors.dtype) == (1025, 256, np.float64)


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["plda", "transform.npz", "transform.h5", "segments"])
def test_real_files_of_another_kind_are_refused(corpus_data, name):
    with pytest.raises((DataFormatError, MissingFileError)):
        read_embeddings(corpus_data / "ami-es2005a" / name)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": is empty"),
        (b" \n\n", ": is empty"),
        (b"\x1f\x8b\x08", ": is compressed with gzip; unpack it first"),
        (b"\x89HDF", ": is HDF5; embeddings are read from ark, scp, npz, npy, CSV, TSV "
         "or Parquet"),
        (BINARY + object_bytes([1.0], owner="t"), ": is a single Kaldi object (a mean, "
         "a transform or a model), not a set of embeddings"),
        (b"\x7fELF\0\0", ": unknown format; expected Kaldi ark or scp, npz, npy, CSV, "
         "TSV, whitespace-separated columns, JSON lines or Parquet"),
        (b"justaword\n", ": unknown format; expected Kaldi ark or scp, npz, npy, CSV, "
         "TSV, whitespace-separated columns, JSON lines or Parquet"),
    ],
)  # fmt: skip
def test_files_without_embeddings_are_refused(tmp_path, data, message):
    assert refusal(tmp_path / "x", data) == message


def test_empty_sets_are_refused(tmp_path):
    np.savez(
        tmp_path / "x.npz", ids=np.array([], dtype=np.str_), vectors=np.empty((0, 3))
    )
    assert refusal(tmp_path / "x.npz") == ": contains no embeddings"


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(MissingFileError) as caught:
        read_embeddings(tmp_path / "no.ark")
    assert str(caught.value) == f"{tmp_path / 'no.ark'}: no such file"
    assert refusal(tmp_path) == ": is a folder; name a file inside it"


def test_other_suffixes_cannot_be_written(tmp_path):
    with pytest.raises(InvalidParameterError) as caught:
        write_embeddings("x.h5", SET)
    assert str(caught.value) == (
        "write_embeddings: path must end in .ark, .npz, .csv or .tsv, got 'x.h5'"
    )


# --- columns between blanks, lines of JSON ----------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("x.txt", "a 1 2.5\nb 3 -4\n", ("a", "b")),
        ("x", "# made today\n1.0 2.5\n3.0 -4\n", ("row-00000", "row-00001")),
        ("x.csv", "1.0e+00 2.5e+00\n3 -4\n", ("row-00000", "row-00001")),
        ("x.jsonl", '{"id": "a", "vector": [1, 2.5]}\n\n{"id": "b", "x": [3, -4]}',
         "ab"),
        ("x", '{"utt": 1, "speaker": "s", "e": [1, 2.5]}\n{"utt": 2, "e": [3, -4]}',
         "12"),
        ("x.ndjson", '{"vector": [1, 2.5]}\n{"vector": [3, -4]}',
         ("row-00000", "row-00001")),
    ],
)  # fmt: skip
def test_plain_text_and_json_lines_are_read(tmp_path, name, text, ids):
    (tmp_path / name).write_text(text)
    got = read_embeddings(tmp_path / name)
    assert got.ids == tuple(ids)
    assert got.vectors.tolist() == [[1.0, 2.5], [3.0, -4.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a", "x": [1]}\n{"id": "b"', ":2: not JSON: "),
        ('{"id": "a", "x": [1]}\n[1]', ":2: a line must be an object"),
        ('{"id": "a"}', ":1: no vector: one list of numbers is needed, got 0"),
        ('{"id": "a", "p": [1], "q": [2]}', ":1: no vector: one list of numbers"),
        ('{"id": "a", "x": [1, "2"]}', ":1: the vector must be a list of numbers"),
        ('{"x": [1, 2]}\n{"x": [1]}', ":2: 1 numbers, the first vector has 2"),
        ('{"id": "a", "x": [1]}\n{"x": [1]}', ": 1 of 2 lines have no id"),
        ('{"id": "a", "x": [1]}\n{"id": "a", "x": [1]}', ": ids must be unique"),
        ('{"id": "a", "x": [NaN]}', ": vectors must be finite"),
        ('{"x": ' + "[" * 100_000, ":1: not read"),
    ],
)
def test_faults_of_json_lines_have_a_line(tmp_path, text, message):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(DataFormatError) as caught:
        read_embeddings(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_pytorch_files_and_pickles_are_refused_with_advice(tmp_path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("vectors/data.pkl", b"\x80\x02}q\x00.")
        file.writestr("vectors/data/0", b"\0" * 8)
    want = (
        ": is a PyTorch file or a pickle, which is not loaded because it can run any "
        "program; save the vectors as npz where they were computed: "
        "numpy.savez('x.npz', ids=ids, vectors=tensor.cpu().numpy())"
    )
    for data in (
        archive.getvalue(),
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9",
        b"\x80\x05K\x01.",
    ):
        assert refusal(tmp_path / "x.pt", data) == want


def test_a_json_list_is_refused_with_advice(tmp_path):
    data = b'[\n{"id": "a", "vector": [1, 2]}]'
    assert refusal(tmp_path / "x.json", data) == (
        ": is a JSON list; write one object per line (JSON lines)"
    )
