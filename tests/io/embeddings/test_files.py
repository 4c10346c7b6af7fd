"""One reader for all formats, which looks at the content."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.kaldi.ark import BINARY, object_bytes, write_ark
from sms_diar.types import EmbeddingSet

ROWS = np.array([[0.1, 2.0], [3.0, -4.0]])
SET = EmbeddingSet(("a", "b"), ROWS)


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


@pytest.mark.parametrize("text", ["[1]", "{}", "{", '{"extractor": 3}'])
def test_a_broken_extractor_file_is_refused(tmp_path, refused, text):
    write_embeddings(tmp_path / "x.csv", SET)
    beside = tmp_path / "x.csv.json"
    beside.write_text(text)
    refused(read_embeddings, None, "extractor", name="x.csv", at=beside)


@pytest.mark.parametrize("name", ["x.scp", "bare"])
def test_commands_of_an_scp_need_permission(tmp_path, refused, name):
    (tmp_path / "v").write_text("[ 1 2 ]")
    line = f"a cat '{tmp_path / 'v'}' |\n"
    refused(read_embeddings, line, "need allow_commands=True", line=1, name=name)
    got = read_embeddings(tmp_path / name, allow_commands=True)
    assert got.vectors.tolist() == [[1.0, 2.0]]


TORCH = io.BytesIO()
with zipfile.ZipFile(TORCH, "w") as torch_file:
    torch_file.writestr("vectors/data.pkl", b"\x80\x02}q\x00.")
    torch_file.writestr("vectors/data/0", b"\0" * 8)
NO_ROWS = io.BytesIO()
np.savez(NO_ROWS, ids=np.array([], dtype=np.str_), vectors=np.empty((0, 3)))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\x1f\x8b\x08", "is compressed with gzip"),
        (b"\x89HDF\r\n\x1a\n", "not a whole HDF5 file"),
        (BINARY + object_bytes([1.0], owner="t"), "is a single Kaldi object"),
        (b"\x7fELF\0\0", "unknown format"),
        (b"justaword\n", "unknown format"),
        (TORCH.getvalue(), "is a PyTorch file or a pickle"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9", "is a PyTorch file or a pickle"),
        (b"\x80\x05K\x01.", "numpy.savez('x.npz', ids=ids"),
        (b'[\n{"id": "a", "vector": [1, 2]}]', "is a JSON list"),
        (b"[[1, 2], [3, 4]]", "is a JSON list"),
        (NO_ROWS.getvalue(), "contains no embeddings"),
    ],
)
def test_files_without_embeddings_are_refused(refused, data, problem):
    refused(read_embeddings, data, problem)


def test_a_folder_is_no_file(tmp_path, refused):
    refused(read_embeddings, None, "is a folder", name="", at=tmp_path)


def test_other_suffixes_cannot_be_written():
    with pytest.raises(InvalidParameterError, match=r"\.ark, .* got 'x\.h5'"):
        write_embeddings("x.h5", SET)


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
    ("text", "line", "problem"),
    [
        ('{"id": "a", "x": [1]}\n{"id": "b"', 2, "not JSON: "),
        ('{"id": "a", "x": [1]}\n[1]', 2, "a line must be an object"),
        ('{"id": "a"}', 1, "one list of numbers is needed, got 0"),
        ('{"id": "a", "p": [1], "q": [2]}', 1, "one list of numbers is needed, got 2"),
        ('{"id": "a", "x": [1, "2"]}', 1, "must be a list of numbers"),
        ('{"x": [1, 2]}\n{"x": [1]}', 2, "1 numbers, the first vector has 2"),
        ('{"x": [1]}\n{"x": [1' + 400 * "0" + "]}", 2, "too large"),
        ('{"id": "a", "x": [1]}\n{"x": [1]}', None, "1 of 2 lines have no id"),
        ('{"id": "a", "x": [1]}\n{"id": "a", "x": [1]}', None, "must be unique"),
        ('{"id": "a", "x": [NaN]}', None, "must be finite"),
        ('{"x": ' + "[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_faults_of_json_lines_have_a_line(refused, text, line, problem):
    refused(read_embeddings, text, problem, line=line, name="x.jsonl")
