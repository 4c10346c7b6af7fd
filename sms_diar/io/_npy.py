"""NumPy's npy and npz, read without trusting what they say about their size.

NumPy asks for the memory that a header promises before it reads a byte, and unpacks
an archive of zeros to a thousand times its size. Here an array must be as large as
its header says, an archive may not grow beyond `sms_diar.limits`, and arrays hold
numbers or text: Python objects, which a pickle could bring in, are never loaded.
"""

from __future__ import annotations

import math
import sys
import zipfile
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from sms_diar.errors import DataFormatError
from sms_diar.io._foreign import foreign_errors, opened_archive
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import AnyArray

_MAGIC = b"\x93NUMPY"
_KINDS = "biufcUS"
_BLOCK = 1 << 20


def load_npy(stream: BinaryIO, path: str | Path) -> AnyArray:
    """Load the one array of an npy."""
    start = stream.tell()
    size = stream.seek(0, 2)
    stream.seek(start)
    with foreign_errors(path, "not a whole NumPy file", _DAMAGED):
        return _array(stream, size - start, "the array", path)


def load_npz(stream: BinaryIO, path: str | Path) -> dict[str, AnyArray]:
    """Load all arrays of an npz by name; other files in it are passed over."""
    arrays: dict[str, AnyArray] = {}
    with opened_archive(stream, path, "not a whole NumPy file", _DAMAGED) as archive:
        _check_expansion(archive, stream.seek(0, 2), path)
        for info in archive.infolist():
            with archive.open(info) as member:
                is_array = member.read(len(_MAGIC)) == _MAGIC
            if is_array:
                with archive.open(info) as member:
                    key = info.filename.removesuffix(".npy")
                    owner = f"array {key!r}"
                    arrays[key] = _array(member, info.file_size, owner, path)
    return arrays


def names_in_npz(stream: BinaryIO, path: str | Path) -> list[str]:
    """Names of the arrays of an npz, none of them loaded."""
    with opened_archive(stream, path, "not a whole NumPy file", _DAMAGED) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


_DAMAGED = "; it is truncated or damaged"


def _check_expansion(archive: zipfile.ZipFile, size: int, path: str | Path) -> None:
    unpacked = sum(info.file_size for info in archive.infolist())
    allowed = max(FREE_EXPANSION, MOST_EXPANSION * size)
    if unpacked > allowed:
        raise DataFormatError(
            f"would unpack to {unpacked} bytes, {unpacked // max(size, 1)} times its "
            f"size; archives of vectors do not shrink that much, so it is refused. If "
            f"it is sound, save it anew with numpy.savez",
            path=path,
        )


def _array(stream: IO[bytes], size: int, owner: str, path: str | Path) -> AnyArray:
    """One array of at most `size` bytes, header included."""
    version = npy_format.read_magic(stream)
    read = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise DataFormatError(
            f"{owner} is of the format {version[0]}.{version[1]}, which holds tables "
            f"and no vectors",
            path=path,
        )
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject:
        raise DataFormatError(
            f"{owner} holds Python objects, which are not loaded (a pickle can run any "
            f"program); save strings as np.array(ids, dtype=str)",
            path=path,
        )
    if dtype.kind not in _KINDS or not dtype.itemsize or min(shape, default=0) < 0:
        raise DataFormatError(
            f"{owner} must hold numbers or text, got {dtype} of shape {shape}",
            path=path,
        )
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > size:
        raise DataFormatError(
            f"not a whole NumPy file ({owner} promises {wanted} bytes, and {size} are "
            f"there){_DAMAGED}",
            path=path,
        )
    data = bytearray(wanted)
    filled = 0
    with memoryview(data) as view:
        while filled < wanted:
            block = stream.read(min(_BLOCK, wanted - filled))
            if not block:
                raise DataFormatError(
                    f"not a whole NumPy file ({owner} ends after {filled} of {wanted} "
                    f"bytes){_DAMAGED}",
                    path=path,
                )
            view[filled : filled + len(block)] = block
            filled += len(block)
    array = np.frombuffer(data, dtype)
    if dtype.kind == "U" and wanted:
        letters = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if int(letters.max()) > sys.maxunicode:  # NumPy would make strings of them
            raise DataFormatError(f"{owner} is not text", path=path)
    return array.reshape(shape, order="F" if is_fortran else "C")
