"""The reader of weights in ONNX files."""

import numpy as np
import pytest

from sms_diar.errors import DataFormatError
from sms_diar.networks.onnx_weights import read_weights


def varint(value):
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def weight(name, array, kind, *, packed=False):
    if packed:
        shape = field(1, b"".join(map(varint, array.shape)))
    else:
        shape = b"".join(field(1, size) for size in array.shape)
    return field(5, shape + field(2, kind) + field(8, name) + field(9, array.tobytes()))


@pytest.fixture
def onnx(tmp_path):
    def write(content):
        path = tmp_path / "x.onnx"
        path.write_bytes(content)
        return path

    return write


def test_weights_are_read_by_name_whatever_else_is_there(onnx):
    a = np.arange(300, dtype=np.float32).reshape(3, 100)
    b = np.array([1, -2], dtype=np.int64)
    fixed = varint(9 << 3 | 5) + b"1234" + varint(10 << 3 | 1) + b"12345678"
    graph = field(1, b"node") + weight(b"a", a, 1) + weight(b"b", b, 7, packed=True)
    found = read_weights(onnx(field(1, 8) + fixed + field(7, graph) + field(8, b"x")))
    assert sorted(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"], a)
    np.testing.assert_array_equal(found["b"], b)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it contains no weights"),
        (b"plain text, nothing else", "damaged one"),
        (
            field(7, weight(b"a", np.zeros(3, np.float32), 1))[:-4],
            "ends within a field",
        ),
        (field(7, weight(b"a", np.zeros(3, np.float32), 11)), "damaged one"),
        (b"\xff" * 20, "a number without end"),
        (varint(1 << 3 | 3), "wire type 3"),
    ],
)
def test_other_files_are_refused(onnx, content, problem):
    with pytest.raises(DataFormatError, match=problem):
        read_weights(onnx(content))
