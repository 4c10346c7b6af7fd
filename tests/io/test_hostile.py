"""Files that were made to do harm cost an error of ours and little else."""

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sms_diar.embeddings.extractor import KIND, IvectorExtractor
from sms_diar.errors import ConfigError, DataFormatError, SmsDiarError
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.detect import is_label_table
from sms_diar.io.embeddings.arrays import load_arrays, read_ids, read_npy, read_npz
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.kaldi.transform import read_transform
from sms_diar.io.labels import read_labels, write_labels
from sms_diar.io.model import ModelFile, is_model, read_model, write_model
from sms_diar.io.toml import read_toml
from sms_diar.io.turns.files import check_annotation, read_annotation
from sms_diar.pipeline.train.models import read_backend, read_ivector_model
from sms_diar.timeline.ticks import parse_seconds
from sms_diar.types import EmbeddingSet


def wav(path, *, rate=8000, channels=1, n_bytes=3200):
    body = struct.pack("<HHIIHH", 1, channels, rate, 0, 2 * channels, 16)
    data = b"\1\0" * (n_bytes // 2)
    path.write_bytes(
        b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
        + struct.pack("<I", 16) + body + b"data" + struct.pack("<I", len(data)) + data
    )  # fmt: skip
    return path


def sphere(path, fields):
    lines = "".join(f"{name} -i {value}\n" for name, value in fields.items())
    text = f"NIST_1A\n   1024\n{lines}sample_byte_format -s2 01\nend_head\n"
    path.write_bytes(text.encode("latin-1").ljust(1024) + b"\0\0" * 800)
    return path


@pytest.mark.parametrize("rate", [0, 1, 99, 768_001, 2**31 - 1])
def test_a_rate_that_no_recording_has_is_refused(tmp_path, rate):
    with pytest.raises(DataFormatError):
        AudioFile(wav(tmp_path / "a.wav", rate=rate))


def test_more_channels_than_any_array_has_are_refused(tmp_path):
    path = wav(tmp_path / "a.wav", channels=129, n_bytes=2 * 129 * 100)
    with pytest.raises(DataFormatError, match="the maximum is 128"):
        AudioFile(path, channel=1)


@pytest.mark.parametrize("name", ["sample_rate", "channel_count", "sample_count"])
@pytest.mark.parametrize(
    "value", ["\xb2", "1\xb2", 10**17, "9" * 19, "9" * 5000, "-1", "1e3"]
)
def test_numbers_of_sphere_headers_are_plain(tmp_path, name, value):
    fields = {"sample_rate": 8000, "channel_count": 1, "sample_count": 100}
    with pytest.raises(DataFormatError):
        AudioFile(sphere(tmp_path / "a.sph", {**fields, name: value}), channel=1)


def test_a_wav_of_countless_parts_is_given_up(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF\0\0\0\0WAVE" + b"junk\0\0\0\0" * 20_000)
    with pytest.raises(DataFormatError, match="over 10000 parts"):
        AudioFile(path)


@pytest.mark.parametrize("text", ["1" * 20_000 + "x", "1" * 20_000, "." * 20_000])
@pytest.mark.timeout(60)  # minutes, if it is converted before its length is seen
def test_long_numbers_are_refused(text):
    with pytest.raises(ValueError, match="must be a number of seconds"):
        parse_seconds("start", text)


def test_a_number_of_many_digits_is_refused_as_fast_as_it_is_long():
    for text in ("1" * 390 + "x", "1." + "1" * 390 + "x"):
        with pytest.raises(ValueError, match="must be a number of seconds"):
            parse_seconds("start", text)
    assert float(parse_seconds("start", "0." + "1" * 390)) == pytest.approx(1 / 9)


def test_messages_show_the_beginning_of_a_line_only(tmp_path):
    path = tmp_path / "segments"
    path.write_text("a r 0 " + "1" * 50_000 + "x\n")
    with pytest.raises(DataFormatError) as caught:
        read_segments(path)
    assert len(str(caught.value)) < 600 + len(str(path))


def test_messages_do_not_steer_the_terminal(tmp_path):
    path = tmp_path / "two\nlines"
    path.write_text("a b \x1b[2J c\n")
    with pytest.raises(DataFormatError) as caught:
        read_segments(path)
    assert "\x1b" not in str(caught.value)
    assert "two\\nlines" in str(caught.value)


def test_offsets_beyond_any_file_are_refused(tmp_path):
    write_embeddings(tmp_path / "x.ark", EmbeddingSet(("a",), np.ones((1, 2))))
    for offset in (2**31, 2**62, 2**63 - 1, 2**63, 10**30):
        (tmp_path / "y.scp").write_text(f"a {tmp_path}/x.ark:{offset}\n")
        with pytest.raises(SmsDiarError):
            read_embeddings(tmp_path / "y.scp")


@pytest.mark.parametrize("name", ["x" * 300, "x\0y", "/".join(["d" * 200] * 30)])
def test_names_that_no_file_can_have_are_our_errors(tmp_path, name):
    (tmp_path / "y.scp").write_text(f"a {name}:12\n")
    with pytest.raises(SmsDiarError):
        read_embeddings(tmp_path / "y.scp")
    with pytest.raises(SmsDiarError):
        read_embeddings(tmp_path / name)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_a_pipe_named_by_a_list_is_not_waited_for(tmp_path, kind):
    target = tmp_path / "pipe.ark"
    if kind == "fifo":
        os.mkfifo(target)
    else:
        target = Path("/dev/zero")
    (tmp_path / "y.scp").write_text(f"a {target}:0\n")
    with pytest.raises(DataFormatError, match="is a pipe or device"):
        read_embeddings(tmp_path / "y.scp")


def test_a_byte_order_mark_is_not_part_of_an_id(tmp_path):
    mark = b"\xef\xbb\xbf"
    for name, text in {"x.ark": b"a [ 1 2 ]\n", "x.scp": b"a x.ark:2\n"}.items():
        (tmp_path / name).write_bytes(mark + text)
        with pytest.raises(DataFormatError, match="byte order mark"):
            read_embeddings(tmp_path / name)
    (tmp_path / "x.ids").write_bytes(mark + b"a\nb\n")
    assert read_ids(tmp_path / "x.ids") == ["a", "b"]


BAD_IDS = ["a\nb", "a\0b", "", " ", "a\rb", "\x1b[2J", "\ud800", "a\u2028b", "\u202ea"]


@pytest.mark.parametrize("name", BAD_IDS)
def test_ids_that_would_forge_lines_are_refused(tmp_path, name):
    with pytest.raises(SmsDiarError, match="must be names"):
        EmbeddingSet((name,), np.ones((1, 2)))
    (tmp_path / "x.json").write_text(json.dumps({"labels": {name: "s"}}))
    with pytest.raises(DataFormatError):
        read_labels(tmp_path / "x.json")
    (tmp_path / "y.json").write_text(json.dumps({"labels": {"a": name}}))
    with pytest.raises(DataFormatError):
        read_labels(tmp_path / "y.json")


def test_validation_lists_ids_that_would_steer_a_terminal(tmp_path):
    path = tmp_path / "x.rttm"
    path.write_text(
        "SPEAKER r 1 0 1 <NA> <NA> a\x1b[2J <NA> <NA>\n"
        "SPEAKER r 1 2 1 <NA> <NA> b <NA> <NA>\n"
        "SPEAKER r\u202e 1 4 1 <NA> <NA> b <NA> <NA>\n"
    )
    assert [(p.line, p.severity) for p in check_annotation(path)] == [
        (1, "error"),
        (3, "error"),
    ]


FORMULAS = [
    *("=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd", "-2+3", "+1-1", "-(2)", "-1e5-2"),
    *(" =1", "@SUM(1)", "'=1", "\uff1d1", "-5", "'a"),
]


def test_no_cell_of_a_table_is_a_formula_and_all_come_back(tmp_path):
    vectors = EmbeddingSet(tuple(FORMULAS), -np.ones((len(FORMULAS), 2)))
    write_embeddings(tmp_path / "x.csv", vectors)
    write_labels(tmp_path / "y.csv", {name: name for name in FORMULAS})
    for path in (tmp_path / "x.csv", tmp_path / "y.csv"):
        frame = pd.read_csv(path, dtype={"id": str})
        assert [name for name in frame["id"] if name.strip()[0] in "=+@\uff1d"] == []
        assert [name for name in frame["id"] if name[0] == "-"] == ["-5"]
        # Whoever reads and writes it with pandas changes nothing for us.
        frame.to_csv(path, index=False)
    again = read_embeddings(tmp_path / "x.csv")
    assert again.ids == vectors.ids
    np.testing.assert_array_equal(again.vectors, vectors.vectors)
    assert read_labels(tmp_path / "y.csv") == {name: name for name in FORMULAS}


def header(shape, dtype="<f8"):
    words = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(words)) + words


HEADERS = {
    "huge": header((2**40, 100)),
    "overflow": header((2**62, 2**62)),
    "negative": header((-1, 5)),
    "no size": header((10**9,), "<U0"),
    "no columns": header((2**40, 0)),
    "objects": header((1,), "|O"),
    "structured": header((1,), [("a", "<f8")]),
    "datetime": header((1, 1), "<M8[s]") + b"\0" * 8,
    "nonsense": b"\x93NUMPY\x01\x00\x06\x00{[(1,2",
    "version": b"\x93NUMPY\x09\x00" + b"\0" * 50,
    "long": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b"(" * 5000,
    "deep": header((1,))[:10] + b"(" * 118,
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_of_arrays_are_not_believed(tmp_path, kind):
    (tmp_path / "x.npy").write_bytes(HEADERS[kind])
    with pytest.raises(DataFormatError):
        read_npy(tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("vectors.npy", HEADERS[kind])
    with pytest.raises(DataFormatError):
        read_npz(tmp_path / "x.npz")


def test_text_of_impossible_characters_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        whole = io.BytesIO()
        np.save(whole, np.array(["abcdefgh"]))
        text = whole.getvalue().replace("abcdefgh".encode("utf-32-le"), b"\xff" * 32)
        archive.writestr("ids.npy", text)
        numbers = io.BytesIO()
        np.save(numbers, np.ones((1, 2)))
        archive.writestr("vectors.npy", numbers.getvalue())
    with pytest.raises(DataFormatError, match="is not text"):
        read_npz(tmp_path / "x.npz")


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, vectors=np.zeros((1 << 14, 1 << 10)))  # 128 MiB of zeros
    assert path.stat().st_size < 1 << 18
    with pytest.raises(DataFormatError, match="would unpack to"):
        load_arrays(path)


def test_parts_of_an_archive_that_share_their_bytes_are_all_counted(tmp_path):
    path = tmp_path / "bomb.npz"
    stream = io.BytesIO()
    np.save(stream, np.zeros((1 << 11, 1 << 10)))  # 16 MiB each
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"x{number}.npy", stream.getvalue())
    with pytest.raises(DataFormatError, match="would unpack to"):
        load_arrays(path)


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_hostile_arrays_need_little_memory(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, ids=np.zeros((1 << 14, 1 << 10)), vectors=np.ones((1, 1)))
    code = (
        "import resource, sys\n"
        "from sms_diar.errors import DataFormatError\n"
        "from sms_diar.io.embeddings.arrays import read_npz\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    read_npz(sys.argv[1])\n"
        "except DataFormatError:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(grown) < 20_000  # kilobytes; the array alone would be 131,072


def test_a_table_of_columns_that_unpacks_without_end_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "bomb.parquet"
    rows = 4_500_000
    frame = pd.DataFrame({f"x{n}": np.zeros(rows, np.int8) for n in range(16)})
    frame.insert(0, "id", np.zeros(rows, np.int8))
    frame.to_parquet(path)
    assert path.stat().st_size < 340_000
    with pytest.raises(DataFormatError, match="would unpack to"):
        read_embeddings(path)


def test_columns_of_anything_are_our_errors(tmp_path):
    pytest.importorskip("pyarrow")
    frames = [
        pd.DataFrame({"id": ["a"], "x": [["b"]]}),
        pd.DataFrame({"id": ["a"], "x": [{"y": 1}]}),
        pd.DataFrame({"id": ["a"], "x": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"id": pd.Categorical(["a"]), "x": pd.Categorical(["b"])}),
        pd.DataFrame({"id": [None], "x": pd.array([None], dtype="Int64")}),
    ]
    for number, frame in enumerate(frames):
        path = tmp_path / f"{number}.parquet"
        frame.to_parquet(path)
        with pytest.raises(DataFormatError):
            read_embeddings(path)


def test_brackets_without_end_are_our_error(tmp_path):
    for name in ("x.json", "x.ark.json"):
        (tmp_path / name).write_text('{"labels":' + "[" * 100_000)
    with pytest.raises(DataFormatError):
        read_labels(tmp_path / "x.json")
    (tmp_path / "x.ark").write_text("a [ 1 2 ]\n")
    with pytest.raises(DataFormatError):
        read_embeddings(tmp_path / "x.ark")
    (tmp_path / "x.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(ConfigError):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "9" * 5000,
        "x = 1979-99-99",
        "x = '\ud800'",
        "\xff",
        "[x]\n[x]",
        "x = {",
    ],
)
def test_settings_of_anything_are_our_errors(tmp_path, text):
    (tmp_path / "x.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ConfigError):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize(
    "settings",
    [
        {"mfcc": {"n_fft": 2**31}},
        {"mfcc": {"n_fft": 10**300}},
        {"mfcc": {"n_fft": 2**20, "n_filters": 10**6}},
        {"mfcc": {"rate": 2**40, "n_fft": 2**40}},
        {"mfcc": {"floor": 10**400}},
        {"mfcc": {"length": "x"}},
        {"mfcc": {"length": None}},
        {"cmvn": {"method": []}},
        {"cmvn": {"window": 10**400}},
        {"deltas": {"order": 10**9}},
        {"deltas": {"order": {}}},
        {"vad": {"method": 7}},
        {"vad": [1]},
        {"vad": {"margin": float("nan")}},
        {"": {}},
    ],
)
def test_front_ends_of_anything_are_our_errors(settings):
    with pytest.raises(SmsDiarError):
        FrontEnd.from_dict(settings)


HEADER_WORDS = [
    "not json",
    '{"version": 1}',
    "[]",
    "7",
    '{"version": [], "kind": "ivectors", "words": {}, "fingerprint": ""}',
    '{"version": 1, "kind": "ivectors", "words": 7, "fingerprint": ""}',
    '{"version": 1e999, "kind": "x", "words": {}, "fingerprint": ""}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", HEADER_WORDS)
def test_headers_of_models_are_not_believed(tmp_path, text):
    np.savez(tmp_path / "m.npz", sms_diar_model=np.array(text))
    assert is_model(tmp_path / "m.npz")
    with pytest.raises(DataFormatError):
        read_model(tmp_path / "m.npz", KIND)


ARRAYS = ("ubm_weights", "ubm_means", "ubm_covariances", "tv_matrix", "tv_means")


@pytest.mark.parametrize(
    "changes",
    [
        {"top": np.array("x")},
        {"top": np.array([1, 2])},
        {"top": np.array(1e300)},
        {"front_end": np.array("[]")},
        {"front_end": np.array("[" * 100_000)},
        {"front_end": np.array('{"mfcc": {"n_fft": 1099511627776}}')},
        {"ubm_weights": np.array(["a"])},
        {"ubm_means": np.array(1.0)},
        {"tv_matrix": np.zeros((0, 0, 0))},
        {"tv_matrix": np.full((1, 1, 1), np.nan)},
    ],
)
def test_models_of_anything_are_our_errors(tmp_path, changes):
    arrays = {name: np.ones((1, 1)) for name in ARRAYS}
    arrays |= {"top": np.array(-1), "front_end": np.array("{}"), **changes}
    write_model(tmp_path / "m.npz", ModelFile(KIND, arrays, {}))
    with pytest.raises(SmsDiarError):
        read_ivector_model(tmp_path / "m.npz")
    with pytest.raises(DataFormatError):
        IvectorExtractor.from_model(ModelFile(KIND, arrays, {}))


@pytest.mark.parametrize("words", [{}, {"kind": 7}, {"kind": "plda", "notes": 3}])
def test_back_ends_of_anything_are_our_errors(tmp_path, words):
    for arrays in ({}, {"center": np.array("x")}, {"nonsense": np.ones(2)}):
        write_model(tmp_path / "b.npz", ModelFile("backend", arrays, words))
        with pytest.raises(DataFormatError):
            read_backend(tmp_path / "b.npz")


def signalling_nan(rows, columns):
    """A NaN that NumPy warns of when it is brought to another width."""
    words = np.full((rows, columns), 0xFFAAB293, dtype="<u4")
    return words.view("<f4")


def kaldi_vector(vector):
    return b"FV \x04" + struct.pack("<i", len(vector)) + vector.tobytes()


@pytest.mark.parametrize("kind", ["npy", "npz", "npz by id", "plda", "transform"])
def test_no_nan_is_warned_of_instead_of_refused(tmp_path, kind):
    bad = signalling_nan(2, 2)
    path = tmp_path / "x.npy"
    read = read_embeddings
    if kind == "npy":
        np.save(path, bad)
    elif kind == "npz":
        path = tmp_path / "x.npz"
        np.savez(path, vectors=bad, ids=np.array(["a", "b"]))
    elif kind == "npz by id":
        path = tmp_path / "x.npz"
        np.savez(path, a=bad[0], b=bad[1])
    elif kind == "plda":
        matrix = b"FM \x04" + struct.pack("<i", 2) + b"\x04" + struct.pack("<i", 2)
        vector = kaldi_vector(bad[0])
        content = b"<Plda> " + vector + matrix + bad.tobytes() + vector + b"</Plda> "
        path.write_bytes(b"\0B" + content)
        read = read_plda
    else:
        path.write_bytes(b"\0B" + kaldi_vector(bad[0]))
        read = read_transform
    with pytest.raises(DataFormatError, match=r"NaN|finite"):
        read(path)


@pytest.mark.parametrize("name", ["x.csv", "x.txt"])
def test_a_line_of_odd_white_space_is_no_table_of_labels(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\x1e")
    assert is_label_table(path) == (name == "x.csv")  # by its name
    with pytest.raises(DataFormatError):
        read_labels(path)


@pytest.mark.parametrize("encoding", ["UTV-8", "utf-7", "\N{SNOWMAN}", "rot13", "idna"])
def test_odd_encodings_of_xml_are_refused(tmp_path, encoding):
    path = tmp_path / "x.eaf"
    path.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?>\n<ANNOTATION_DOCUMENT/>\n'
    )
    with pytest.raises(DataFormatError, match=r"UTF-8|XML"):
        read_annotation(path)
