"""CSV, TSV and Parquet: headers, columns, and faults with their line."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, MissingExtraError
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.embeddings.tables import (
    read_embedding_table,
    read_parquet,
    set_from_frame,
)
from sms_diar.types import EmbeddingSet

ROWS = np.array([[1.0, 2.5], [3.0, -4.0]])


def read(text):
    return read_embedding_table(io.BytesIO(text.encode()), name="t")


@pytest.mark.parametrize(
    "text",
    [
        "a,1,2.5\nb,3,-4\n",
        "a\t1\t2.5\r\nb\t3\t-4",
        "\n\na,1,2.5\n\nb,3,-4\n\n",
        "\ufeffa,1,2.5\nb,3,-4\n",
        "id,x0,x1\na,1,2.5\nb,3,-4\n",
        "id,0,1\na,1,2.5\nb,3,-4\n",
        "who,0,1\na,1,2.5\nb,3,-4\n",
        ",0,1\na,1,2.5\nb,3,-4\n",
        "x,Utt,y\n1,a,2.5\n3,b,-4\n",
        "\n x \tsegment\ty\n1\ta\t2.5\n3\tb\t-4\n",
        '"id","x\ny",z\n"a",1,2.5\n"b","3",-4\n',
    ],
)
def test_tables_by_hand(text):
    got = read(text)
    assert got.ids == ("a", "b")
    np.testing.assert_array_equal(got.vectors, ROWS)


@pytest.mark.parametrize(
    "name", ["NA", "nan", "null", "007", "1.0", "True", "a b", "ü"]
)
def test_ids_stay_as_they_are(name):
    assert read(f"{name},1,2\nb,3,4\n").ids == (name, "b")


@given(
    vectors=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    tabs=st.booleans(),
    data=st.data(),
)
def test_what_is_written_comes_back(tmp_path_factory, vectors, tabs, data):
    word = st.text("abcß é,;'\"#\\-_.0123456789", min_size=1, max_size=9)
    word = word.filter(str.strip)  # blank ids are refused
    n = len(vectors)
    ids = tuple(data.draw(st.lists(word, min_size=n, max_size=n, unique=True)))
    path = tmp_path_factory.mktemp("csv") / ("x.tsv" if tabs else "x.csv")
    write_embeddings(path, EmbeddingSet(ids, vectors))
    got = read_embedding_table(path)
    assert got.ids == ids
    assert got.vectors.tobytes() == vectors.tobytes()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a,1,2\nb,3,x\n", 2, "column 3 contains 'x'"),
        ("id,u,v\na,1,2\n\nb,3,1_0\n", 4, "column 3 ('v') contains '1_0'"),
        ("a,1,2\nb,3\n", 2, "2 columns, the first row has 3"),
        ("a,1,2\nb,3,4,5\n", 2, "4 columns, the first row has 3"),
        ("id,u,v\na,1,2,3\n", 2, "4 columns, the first row has 3"),
        ("a,1,2\nb,,4\n", 2, "column 2 contains ''"),
        ("a,1,2\nb,nan,4\n", 2, "column 2 contains nan"),
        ("a,1,2\nb,1e999,4\n", 2, "column 2 contains 1e999"),
        ("a,1,2\n,3,4\n", 2, "no id in column 1"),
        ("a,1,2\nb,3,4\na,5,6\n", 3, "'a' occurs a second time (first in line 1)"),
        ("utt,who,x\na,s1,1\n", 2, "column 2 ('who') contains 's1'"),
        ("a,1,y,2\n", 1, "column 3 contains 'y'"),
        ("a\nb\n", 1, "only one column"),
        ("", None, "is empty"),
        ("id,x,y\n", None, "a header but no rows"),
        ('a,1\n"b,2\nc,3\n', 3, "unexpected end of data"),
        (b"a,1\n\xff,2\n", 2, "not UTF-8"),
        (b"\xff,1\nb,2\n", 1, "not UTF-8"),
    ],
)
def test_faults_have_a_line_and_a_column(refused, text, line, problem):
    refused(read_embedding_table, text, problem, line=line)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"sms-diar\[parquet\]"):
        read_parquet(path)


def test_parquet_is_read(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    frame = pd.DataFrame({"utt": ["a", "b"], "0": ROWS[:, 0], "1": ROWS[:, 1]})
    frame.to_parquet(path)
    got = read_parquet(path)
    assert got.ids == ("a", "b")
    np.testing.assert_array_equal(got.vectors, ROWS)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataFormatError, match="not a whole Parquet file"):
        read_parquet(path)


def test_a_frame_is_taken_apart():
    frame = pd.DataFrame({"x": [1, 3], "segment": ["a", "b"], "y": [2.5, -4]})
    unnamed = frame.set_index("segment").rename_axis(None)
    for table in (frame, frame.set_index("segment"), unnamed, frame.iloc[:, [1, 0, 2]]):
        got = set_from_frame(table, "p")
        assert got.ids == ("a", "b")
        np.testing.assert_array_equal(got.vectors, ROWS)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": ["a"], "who": ["s"], "x": [1.0]}, "column 'who' contains"),
        ({"id": ["a"]}, "only one column"),
        ({"id": ["a"], "x": [np.nan]}, "NaN in the vector of 'a'"),
        ({"id": ["a", None], "x": [1.0, 2.0]}, "row 1 has no id in column 'id'"),
    ],
)
def test_frames_of_other_things_are_refused(columns, problem):
    with pytest.raises(DataFormatError, match=rf"^p: .*{problem}"):
        set_from_frame(pd.DataFrame(columns), "p")


# --- numbers without ids ----------------------------------------------------------

NUMBERS = np.random.default_rng(4).standard_normal((7, 3))
ROW_IDS = tuple(f"row-{row:05d}" for row in range(7))


def saved(frame=None, **options):
    text = io.StringIO()
    if frame is None:
        np.savetxt(text, NUMBERS, **options)
    else:
        frame.to_csv(text, **options)
    return text.getvalue()


FRAME = pd.DataFrame(NUMBERS)


@pytest.mark.parametrize(
    "text",
    [
        saved(delimiter=","),
        saved(delimiter="\t"),
        saved(delimiter=",", header="x,y,z"),
        saved(delimiter=",", header="x,y,z", comments=""),
        saved(delimiter=",", header="made today"),
        saved(FRAME, index=False),
        saved(FRAME, index=False, header=False),
        saved(FRAME.set_axis(["x0", "x1", "x2"], axis=1), index=False),
        saved(FRAME.assign(speaker=list("abcabca")), index=False),
        saved(FRAME.assign(spk=range(7)).iloc[:, [3, 0, 1, 2]], index=False),
    ],
)
def test_numbers_without_ids_keep_every_row_and_column(text):
    got = read(text)
    assert got.ids == ROW_IDS
    np.testing.assert_allclose(got.vectors, NUMBERS, rtol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        saved(FRAME),
        saved(FRAME, index_label="who"),
        saved(FRAME.set_axis(["x0", "x1", "x2"], axis=1)),
        saved(FRAME, header=False),
        saved(FRAME.assign(speaker=list("abcabca"))),
    ],
)
def test_the_index_of_a_frame_is_its_ids(text):
    got = read(text)
    assert got.ids == tuple("0123456")
    np.testing.assert_allclose(got.vectors, NUMBERS, rtol=1e-15)


def test_a_column_of_speakers_is_no_part_of_the_vectors():
    got = read("speaker,id,x,y\ns1,a,1,2.5\ns2,b,3,-4\n")
    assert got.ids == ("a", "b")
    np.testing.assert_array_equal(got.vectors, ROWS)
    frame = pd.DataFrame({"id": ["a", "b"], "speaker": ["s", "t"], "x": [1.0, 3.0]})
    assert set_from_frame(frame, "p").dim == 1


# --- frames -------------------------------------------------------------------------


def test_a_column_of_lists_holds_the_vectors_and_other_columns_are_ignored(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "text": ["hello", None],
            "id": ["a", "b"],
            "seconds": [1.5, 2.5],
            "embedding": [row.tolist() for row in ROWS],
        }
    )
    path = tmp_path / "x.parquet"
    frame.to_parquet(path)
    for got in (read_parquet(path), set_from_frame(frame, "p")):
        assert got.ids == ("a", "b")
        np.testing.assert_array_equal(got.vectors, ROWS)
    no_ids = set_from_frame(frame[["embedding"]], "p")
    assert no_ids.ids == ("row-00000", "row-00001")
    np.testing.assert_array_equal(no_ids.vectors, ROWS)


@pytest.mark.parametrize("name", ["path", "file", "filename", "file_name", "audio"])
def test_names_of_files_are_ids(name):
    lists = {name: ["a/1.wav", "a/2.wav"], "x": list(ROWS)}
    columns = {"n": [1.5, 2.5], name: ["a/1.wav", "a/2.wav"]}
    for content in (lists, columns):
        got = set_from_frame(pd.DataFrame(content), "p")
        assert got.ids == ("a/1.wav", "a/2.wav")


def test_audio_itself_is_not_an_id():
    audio = [{"bytes": b"", "path": "1.wav"}, {"bytes": b"", "path": "2.wav"}]
    got = set_from_frame(pd.DataFrame({"audio": audio, "x": list(ROWS)}), "p")
    assert got.ids == ("row-00000", "row-00001")


def test_an_index_that_does_not_count_the_rows_is_the_ids():
    frame = pd.DataFrame(ROWS)
    for index in (["a", "b"], [7, 9], pd.Index([0, 1], name="n")):
        got = set_from_frame(frame.set_axis(index, axis=0), "p")
        assert got.ids == tuple(map(str, index))
        np.testing.assert_array_equal(got.vectors, ROWS)
    filtered = frame.assign(id=["a", "b"]).set_axis([7, 9], axis=0)
    assert set_from_frame(filtered, "p").ids == ("a", "b")


def test_whole_numbers_are_part_of_the_vectors():
    got = set_from_frame(pd.DataFrame([[1, 2], [3, 4]]), "p")
    assert (got.ids, got.dim) == (("row-00000", "row-00001"), 2)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"a": [[1.0], [2.0]], "b": [[1.0], [2.0]]}, "contain lists ('a', 'b')"),
        ({"x": [[1.0, 2.0], [3.0]]}, "row 1 ('s') has 1 numbers, row 0 has 2"),
        ({"x": [[1.0, 2.0], None]}, "row 1 ('s') must be a list of numbers"),
        ({"x": [[1.0, 2.0], ["1", "2"]]}, "row 1 ('s') must be a list of numbers"),
        ({"x": [[[1.0]], [[2.0]]]}, "row 0 ('r') must be a list of numbers"),
        ({"x": [[], []]}, "row 0 ('r') must be a list of numbers"),
        ({"x": [[1.0], [[1.0, 2.0], [3.0]]]}, "row 1 ('s') must be a list of"),
    ],
)
def test_lists_that_are_not_vectors_are_refused_by_row(columns, problem):
    frame = pd.DataFrame({"id": ["r", "s"], **columns})
    with pytest.raises(DataFormatError) as caught:
        set_from_frame(frame, "p")
    assert problem in caught.value.problem


def test_a_named_column_of_lists_is_preferred():
    frame = pd.DataFrame({"words": [["a"], ["b"]], "embedding": list(ROWS)})
    np.testing.assert_array_equal(set_from_frame(frame, "p").vectors, ROWS)
