"""Embeddings of SIDEKIT, MATLAB, ALIZE, ESPnet and NIST's i-vector challenge."""

import io
import struct
import zlib
from pathlib import Path

import kaldiio
import numpy as np
import pytest
from scipy.io import savemat

from sms_diar.errors import DataFormatError
from sms_diar.io.embeddings.files import read_embeddings

SIDEKIT = Path(__file__).parents[1] / "sidekit"
X = np.random.default_rng(0).standard_normal((3, 5))
IDS = ("x", "yy", "zé")
CELLS = np.array(IDS, dtype=object)


def test_stat_servers_of_sidekit_are_read():
    # Written by SIDEKIT 1.4.3.2 from these numbers, which it stores as float32.
    pytest.importorskip("h5py")
    expected = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    read = read_embeddings(SIDEKIT / "stat.h5")
    assert read.ids == ("a", "b", "c", "d")
    assert (read.vectors == expected).all()
    # Two segments of each of two recordings: start and stop make their ids unique.
    read = read_embeddings(SIDEKIT / "stat-times.h5")
    times = ("00000000-00000100", "00000100-00000200")
    assert read.ids == tuple(f"{name}-{time}" for name in "ac" for time in times)
    assert (read.vectors == expected).all()


def test_hdf5_of_a_stream_is_read():
    pytest.importorskip("h5py")
    data = io.BytesIO((SIDEKIT / "stat.h5").read_bytes())
    assert read_embeddings(data).ids == ("a", "b", "c", "d")


def stat_server(path, **changes):
    h5py = pytest.importorskip("h5py")
    ids = np.array(["a", "b", "c"], dtype="S")
    parts = {"segset": ids, "start": np.zeros(3), "stop": np.zeros(3), "stat1": X}
    with h5py.File(path, "w") as file:
        for name, value in {**parts, **changes}.items():
            if value is not None:
                file[name] = value


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"stat1": None}, "without stat1; expected a StatServer"),
        ({"stat1": X[:2]}, "numbers of shape (3, d)"),
        ({"stat1": X[0]}, "numbers of shape (3, d)"),
        ({"stat1": X.astype("S8")}, "numbers of shape (3, d)"),
        ({"stat1": np.full((3, 5), np.nan)}, "NaN"),
        ({"segset": ["a", "b", "c"]}, "text of fixed length"),
    ],
)
def test_damaged_stat_servers_are_refused(tmp_path, refused, changes, says):
    stat_server(tmp_path / "x.h5", **changes)
    refused(read_embeddings, None, says, name="x.h5")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
def test_columns_of_a_mat_file_are_vectors(tmp_path, dtype, packed):
    rows = (10 * X).astype(dtype)
    variables = {"ivs": rows.T, "names": CELLS, "ubm": {"mu": X}, "n": 5}
    savemat(tmp_path / "x.mat", variables, do_compression=packed)
    read = read_embeddings(tmp_path / "x.mat")
    assert read.ids == IDS
    assert (read.vectors == rows).all()


def test_the_only_matrix_or_a_vector_named_x_is_enough(tmp_path):
    savemat(tmp_path / "x.mat", {"dev": X.T, "count": 3, "times": X[:1]})
    assert (read_embeddings(tmp_path / "x.mat").vectors == X).all()
    savemat(tmp_path / "x.mat", {"x": X[:1].T})  # extract_ivector of the MSR toolbox
    read = read_embeddings(tmp_path / "x.mat")
    assert (read.ids, read.vectors.tolist()) == (("row-00000",), X[:1].tolist())


def test_rows_are_vectors_if_there_are_as_many_names(tmp_path):
    savemat(tmp_path / "x.mat", {"w": X, "names": CELLS})
    assert (read_embeddings(tmp_path / "x.mat").vectors == X).all()


def matlab_73(path, names=IDS, **options):
    """Write what MATLAB's save -v7.3 writes: columns first, cells as references."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("ivs", data=X, **options)
        cells = []
        for number, name in enumerate(names):
            letters = np.frombuffer(name.encode("utf-16-le"), "<u2")[:, np.newaxis]
            cells.append(file.create_dataset(f"#refs#/{number}", data=letters).ref)
        if cells:
            file["names"] = np.array([cells], dtype=h5py.ref_dtype)
            file["names"].attrs["MATLAB_class"] = np.bytes_("cell")
    data = path.read_bytes()
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + data[512:])


def test_version_7_3_is_read(tmp_path):
    matlab_73(tmp_path / "x.mat", compression="gzip")
    read = read_embeddings(tmp_path / "x.mat")
    assert read.ids == IDS
    assert (read.vectors == X).all()
    matlab_73(tmp_path / "x.mat", names=())
    assert read_embeddings(tmp_path / "x.mat").ids[0] == "row-00000"


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"a": X, "b": X}, "no matrix of vectors"),
        ({"s": {"ivs": X}}, "among the matrices (none)"),
        ({"ivs": np.array([X, "x"], dtype=object)}, "among the matrices (none)"),
        ({"ivs": X.T + 1j}, "among the matrices (none)"),
        ({"ivs": X.T, "names": np.array(["a", "b"], dtype=object)}, "2 ids"),
        ({"ivs": np.full((5, 3), np.inf)}, "infinity"),
    ],
)
def test_other_mat_files_are_refused(tmp_path, refused, variables, says):
    savemat(tmp_path / "x.mat", variables)
    refused(read_embeddings, None, says, name="x.mat")


def test_damaged_mat_files_are_refused(tmp_path, refused):
    savemat(tmp_path / "x.mat", {"ivs": X.T}, do_compression=True)
    data = (tmp_path / "x.mat").read_bytes()
    refused(read_embeddings, data[:-9], "not a whole MAT-file", name="x.mat")
    other_order = data[:126] + b"MI" + data[128:]
    refused(read_embeddings, other_order, "little-endian", name="x.mat")
    bomb = zlib.compress(bytes(1 << 25))
    packed = struct.pack("<II", 15, len(bomb)) + bomb
    refused(read_embeddings, data[:128] + packed, "would unpack", name="x.mat")
    # Cells in cells, deeper than any recursion.
    content = b""
    for _ in range(2000):
        content = (
            struct.pack("<IIII", 6, 8, 1, 0)
            + struct.pack("<IIii", 5, 8, 1, 1)
            + struct.pack("<II", 1, 0)
            + content
        )
        content = struct.pack("<II", 14, len(content)) + content
    refused(read_embeddings, data[:128] + content, "not a whole MAT-file", name="x.mat")


@pytest.mark.parametrize("form", ["<QQ", "<II"])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1)])
def test_vectors_of_alize_are_read(tmp_path, form, shape):
    (tmp_path / "seg.y").write_bytes(struct.pack(form, *shape) + X[0].tobytes())
    read = read_embeddings(tmp_path / "seg.y")
    assert (read.ids, read.vectors.tolist()) == (("seg",), X[:1].tolist())


def test_other_sizes_are_not_of_alize(refused):
    for head in (struct.pack("<QQ", 1, 6), struct.pack("<QQ", 1 << 62, 1)):
        refused(read_embeddings, head + X[0].tobytes(), "unknown format", name="x.y")
    matrix = struct.pack("<QQ", 3, 5) + X.tobytes()
    refused(read_embeddings, matrix, "unknown format", name="x.y")


def test_lists_of_single_vectors_are_read(tmp_path):
    np.save(tmp_path / "a.npy", X[0])
    np.save(tmp_path / "b.npy", X[1:2])  # ESPnet stores (1, d)
    (tmp_path / "c.y").write_bytes(struct.pack("<QQ", 1, 5) + X[2].tobytes())
    (tmp_path / "x.scp").write_text("a a.npy\nb b.npy\nc c.y\n")
    read = read_embeddings(tmp_path / "x.scp")
    assert read.ids == ("a", "b", "c")
    assert (read.vectors == X).all()


@pytest.mark.parametrize("rows", [1, 2])
def test_lists_written_by_kaldiio_are_read(tmp_path, rows):
    # wespeaker writes vectors, other programs matrices of one row.
    where = f"ark,scp:{tmp_path}/x.ark,{tmp_path}/x.scp"
    with kaldiio.WriteHelper(where) as writer:
        for name, row in zip(IDS, X, strict=True):
            writer(name, row if rows == 1 else row[np.newaxis])
    read = read_embeddings(tmp_path / "x.scp")
    assert read.ids == IDS
    assert (read.vectors == X).all()


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (X, "shape (d,) or (1, d), got float64 of shape (3, 5)"),
        (np.array(["a"]), "must be numbers"),
        (np.array([{}], dtype=object), "Python objects"),
        (np.array(1.0), "got float64 of shape ()"),
    ],
)
def test_other_arrays_in_a_list_are_refused(tmp_path, refused, array, says):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    refused(read_embeddings, "a a.npy\n", says, line=1, name="x.scp")


def test_i_vectors_of_the_challenges_are_read(tmp_path):
    texts = {
        "x.csv": "ivectorid,duration_secs,values[3]\naa,12.5,1 2 3\nbb,3,-1 5 6e0\n",
        "x.tsv": "ivectorid\tduration_secs\tlanguage\tvalues[3]\naa\t9\ten\t1 2 3\n"
        "bb\t3\tde\t-1 5 6\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        read = read_embeddings(tmp_path / name)
        assert read.ids == ("aa", "bb")
        assert read.vectors.tolist() == [[1, 2, 3], [-1, 5, 6]]


@pytest.mark.parametrize(
    ("row", "says"),
    [("aa,1,1 2", "3 columns"), ("aa,1,1 2 x", "'x', not a number"), ("aa,1", "2 col")],
)
def test_wrong_rows_of_the_challenges_are_named(refused, row, says):
    text = f"ivectorid,duration_secs,values[3]\nbb,1,1 2 3\n{row}\n"
    refused(read_embeddings, text, says, line=3, name="x.csv")


def test_hdf5_needs_h5py(tmp_path, monkeypatch):
    from sms_diar.errors import MissingExtraError

    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"sms-diar\[h5\]"):
        read_embeddings(SIDEKIT / "stat.h5")


def test_a_matrix_of_several_rows_is_not_a_vector(tmp_path):
    kaldiio.save_ark(str(tmp_path / "x.ark"), {"a": X})
    with pytest.raises(DataFormatError, match="matrix"):
        read_embeddings(tmp_path / "x.ark")
