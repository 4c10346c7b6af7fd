"""Single vectors and matrices: bytes by hand, then round trips, then damage."""

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource
from sms_diar.io.kaldi.ark import BINARY, object_bytes, read_object


def read(data, **options):
    return read_object(ByteSource(io.BytesIO(data), "f"), "v", **options)


def test_a_binary_vector_by_hand():
    # type FV, the byte 4, the size 2 as little-endian int32, then 1.0 and -2.0
    data = b"FV \x04\x02\x00\x00\x00" + struct.pack("<2f", 1.0, -2.0)
    assert object_bytes([1.0, -2.0], owner="w", dtype="float") == data
    vector = read(BINARY + data)
    assert (vector.dtype, vector.tolist()) == (np.float32, [1.0, -2.0])


def test_a_binary_matrix_by_hand():
    data = b"DM \x04\x02\x00\x00\x00\x04\x01\x00\x00\x00" + struct.pack("<2d", 3, 4)
    assert object_bytes([[3.0], [4.0]], owner="w") == data
    assert read(BINARY + data).tolist() == [[3.0], [4.0]]


def test_text_by_hand():
    assert object_bytes([1.0, 0.5], owner="w", binary=False) == b" [ 1.0 0.5 ]\n"
    matrix = b" [\n  1.0 2.0 \n  3.0 4.0 ]\n"
    assert object_bytes([[1, 2], [3, 4]], owner="w", binary=False) == matrix
    assert read(b" [ 1 -2.5e-3 3 ]\n").tolist() == [1.0, -0.0025, 3.0]
    assert read(matrix).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read(b"[ 1 2 ; 3 4 ]").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read(b"[\r\n 7 ]\r\n").tolist() == [[7.0]]
    assert read(b"[ ]").shape == (0,)


@pytest.mark.parametrize(("dtype", "width"), [("double", 64), ("float", 32)])
@given(data=st.data(), binary=st.booleans())
def test_numbers_come_back_bit_for_bit(dtype, width, data, binary):
    elements = st.floats(allow_nan=False, allow_infinity=False, width=width)
    shapes = hnp.array_shapes(min_dims=1, max_dims=2, max_side=6)
    array = data.draw(hnp.arrays(f"f{width // 8}", shapes, elements=elements))
    content = object_bytes(array, owner="w", dtype=dtype, binary=binary)
    again = read((BINARY if binary else b"") + content)
    assert again.astype(array.dtype).tobytes() == array.tobytes()
    assert again.shape == array.shape


@pytest.mark.parametrize(
    ("values", "dtype"), [([1.0, 1e300], "float"), ([np.nan], "double"), ([1], "half")]
)
def test_numbers_that_do_not_fit_the_precision_are_refused(values, dtype):
    with pytest.raises(InvalidParameterError, match=r"^w: "):
        object_bytes(values, owner="w", dtype=dtype)


@pytest.mark.parametrize(
    ("data", "ndim", "problem"),
    [
        # 2^31 - 1 doubles are 16 GB, of which one is there
        (b"DV \x04\xff\xff\xff\x7f" + bytes(8), None, "(17179869176 bytes), but"),
        (b"DV \x04\x01", None, "ends within its size"),
        (b"DV ", None, "ends within its size"),
        (b"DV \x08\x01\x00\x00\x00", None, "has a damaged size (0801000000)"),
        (b"FV \x04\xff\xff\xff\xff", None, "has a damaged size (04ffffffff)"),
        (b"<Nnet3> x", None, "unknown type '<Nnet3>'"),
        # a vector of int32 has no type, only the byte 4
        (b"\x04\xff\xfe\x00\x00", None, "unknown type '\\x04"),
        (b"CM \x00\x00", None, "compressed matrix (CM); expand it"),
        (b"CM2 \x00\x00", 1, "compressed matrix (CM2); expected one vector per id"),
        (b"CM3 \x00\x00", 2, "compressed matrix (CM3)"),
        (object_bytes([1.0], owner="w"), 2, "is a vector (DV, 1); expected a matrix"),
    ],
)
def test_damaged_binary_objects_are_refused_with_their_byte(data, ndim, problem):
    with pytest.raises(DataFormatError) as caught:
        read(BINARY + data, ndim=ndim)
    assert caught.value.problem.startswith("v at byte 0 ")
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"[ 1 x ]", 1, "contains 'x'"),
        (b"[ 1 1_0 ]", 1, "contains '1_0'"),
        (b"[\n 1 2\n 3 y ]", 3, "contains 'y'"),
        (b"[\n 1 2\n 3 ]", 3, "row 2 has 1 numbers, the first row has 2"),
        (b"[ 1 2\n", 1, "no closing bracket"),
        (b"[ 1 2\nb [ 3 4 ]", 1, "no closing bracket"),
        (b"\n1 2 3", 2, "must be in brackets, as in '[ 1 2 3 ]', got '1'"),
        (b"", 1, "got the end"),
    ],
)
def test_broken_text_is_refused_with_its_line(data, line, problem):
    with pytest.raises(DataFormatError) as caught:
        read(data)
    assert caught.value.line == line
    assert problem in caught.value.problem
