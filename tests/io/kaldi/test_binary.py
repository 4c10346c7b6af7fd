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


def refusal(data, **options):
    with pytest.raises(DataFormatError) as caught:
        read(data, **options)
    return str(caught.value)


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


@given(
    array=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=2, max_side=6),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    binary=st.booleans(),
)
def test_doubles_come_back_bit_for_bit(array, binary):
    data = object_bytes(array, owner="w", binary=binary)
    again = read((BINARY if binary else b"") + data)
    assert again.dtype == np.float64
    assert again.tobytes() == array.tobytes()
    assert again.shape == array.shape


@given(
    array=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=1, max_dims=2, max_side=6),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
    ),
    binary=st.booleans(),
)
def test_floats_come_back_bit_for_bit(array, binary):
    data = object_bytes(array, owner="w", dtype="float", binary=binary)
    again = read((BINARY if binary else b"") + data).astype(np.float32)
    assert again.tobytes() == array.tobytes()


def test_numbers_that_floats_cannot_hold_are_refused():
    with pytest.raises(InvalidParameterError) as caught:
        object_bytes([1.0, 1e300], owner="w", dtype="float")
    assert str(caught.value) == (
        "w: numbers must be finite as floats, got 1e+300; store doubles"
    )
    with pytest.raises(InvalidParameterError) as caught:
        object_bytes([np.nan], owner="w")
    assert str(caught.value) == "w: numbers must be finite as doubles, got nan"


def test_the_width_is_float_or_double():
    with pytest.raises(InvalidParameterError) as caught:
        object_bytes([1.0], owner="w", dtype="half")
    assert str(caught.value) == "w: dtype must be one of 'float', 'double', got 'half'"


def test_a_size_beyond_the_end_is_refused_without_asking_for_the_memory():
    # 2^31 - 1 doubles are 16 GB, of which one is there
    data = BINARY + b"DV \x04\xff\xff\xff\x7f" + bytes(8)
    assert refusal(data) == (
        "f: v at byte 0 declares 2147483647 doubles (17179869176 bytes), but the file "
        "ends after 8 of them; it is truncated or damaged"
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"DV \x04\x01", "ends within its size"),
        (b"DV ", "ends within its size"),
        (b"DV \x08\x01\x00\x00\x00", "has a damaged size (0801000000)"),
        (b"FV \x04\xff\xff\xff\xff", "has a damaged size (04ffffffff)"),
    ],
)
def test_a_damaged_size_is_refused(data, problem):
    assert refusal(BINARY + data) == (
        f"f: v at byte 0 {problem}; the file is truncated or damaged"
    )


def test_unknown_types_are_named():
    assert refusal(BINARY + b"<Nnet3> x") == (
        "f: v at byte 0 has the unknown type '<Nnet3>'; vectors are FV or DV, "
        "matrices FM or DM"
    )
    # a vector of int32 has no type, only the byte 4
    assert "unknown type '\\x04" in refusal(BINARY + b"\x04\xff\xfe\x00\x00")


@pytest.mark.parametrize("token", ["CM", "CM2", "CM3"])
def test_compressed_matrices_are_named(token):
    data = BINARY + token.encode() + b" \x00\x00"
    assert refusal(data) == (
        f"f: v at byte 0 is a compressed matrix ({token}); expand it with Kaldi's "
        f"copy-matrix first"
    )
    assert refusal(data, ndim=1).startswith(
        f"f: v at byte 0 is a compressed matrix ({token}); expected one vector per id"
    )


def test_a_vector_is_not_a_matrix():
    vector = BINARY + object_bytes([1.0], owner="w")
    assert refusal(vector, ndim=2) == (
        "f: v at byte 0 is a vector (DV, 1); expected a matrix"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[ 1 x ]", "f:1: v contains 'x', not a number"),
        (b"[ 1 1_0 ]", "f:1: v contains '1_0', not a number"),
        (b"[\n 1 2\n 3 y ]", "f:3: v contains 'y', not a number"),
        (b"[\n 1 2\n 3 ]", "f:3: v: row 2 has 1 numbers, the first row has 2"),
        (
            b"[ 1 2\n",
            "f:1: v has no closing bracket; the file is truncated or damaged",
        ),
        (
            b"[ 1 2\nb [ 3 4 ]",
            "f:1: v has no closing bracket; the file is truncated or damaged",
        ),
        (
            b"\n1 2 3",
            "f:2: v must be in brackets, as in '[ 1 2 3 ]', got '1'",
        ),
        (b"", "f:1: v must be in brackets, as in '[ 1 2 3 ]', got the end"),
    ],
)
def test_broken_text_is_refused_with_its_line(data, message):
    assert refusal(data) == message
