"""Guesses about files."""

import struct
import zipfile

import numpy as np
import pytest

from sms_diar.io.detect import kind_of

NUMBERS = ",".join(f"{number / 7:.5f}" for number in range(400))


@pytest.mark.parametrize(
    "line",
    [
        f'{{"id":"a", "vector":[{NUMBERS}]}}',
        f"a, {NUMBERS}",
        f"a ,{NUMBERS}",
        f"a b,{NUMBERS}",
        f"a; {NUMBERS.replace(',', ';')}",
        f"[{{'id': 'a', 'vector': [{NUMBERS}]}}]",
    ],
)
def test_rows_of_vectors_are_not_taken_for_names_of_files(tmp_path, line):
    path = tmp_path / "x"
    path.write_text(f"{line}\n{line}\n")
    assert kind_of(path) is None


def test_a_long_name_of_a_speaker_is_one(tmp_path):
    path = tmp_path / "x"
    path.write_text(f"a {'s' * 5000}"[:4000])
    assert kind_of(path) == "utt2spk"


@pytest.mark.parametrize("field", ["method", "version"])
def test_archives_of_a_later_format_are_unknown(tmp_path, field):
    path = tmp_path / "x.npz"
    np.savez(path, ids=["a"], vectors=np.eye(1))
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")  # of the directory
    offset = {"version": 6, "method": 10}[field]
    struct.pack_into("<H", data, entry + offset, 99)
    path.write_bytes(data)
    with path.open("rb") as file:
        is_readable = zipfile.is_zipfile(file)
    assert is_readable
    assert kind_of(path) in (None, "embeddings")
