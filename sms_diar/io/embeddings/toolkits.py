"""Embeddings of SIDEKIT, ALIZE and MATLAB (such as the MSR Identity Toolbox).

* SIDEKIT: a StatServer in HDF5. The vectors are ``stat1``, the ids ``segset``, with
  start and stop (in frames) appended if ids repeat.
* MATLAB: MAT-files of version 5 to 7.3. The vectors are the columns of the matrix named
  ``ivs``, ``x`` or similar, or of the only matrix; the ids are the only cell array of
  strings, if it exists. If their number is the number of rows only, the rows are the
  vectors.
* ALIZE: one vector per file, the format ``DB``: numbers of rows and columns, of 4 or 8
  bytes each, then doubles. An scp may list such files.

MAT-files up to version 7 are parsed here, because the sizes that they declare are not
limited elsewhere. Objects, functions and structures are never loaded.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._text import id_of_file
from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import Readable, open_seekable
from sms_diar.io._foreign import foreign_errors
from sms_diar.io._hdf5 import Hdf5File, opened_hdf5
from sms_diar.io.embeddings.arrays import VECTOR_KEYS, as_doubles, checked_set, row_ids
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import AnyArray, EmbeddingSet

_NAMES = ("ivs", "ivectors", "ivec", "w", *VECTOR_KEYS)


def read_hdf5(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a StatServer of SIDEKIT, or a MAT-file of version 7.3."""
    with opened_hdf5(source, name) as file:
        if file.file.userblock_size:  # MATLAB has its own header before HDF5
            return _matlab_set(_variables_of_hdf5(file), file.path)
        file.require(("segset", "start", "stop", "stat1"), "a StatServer")
        return _stat_server(file)


def _stat_server(file: Hdf5File) -> EmbeddingSet:
    ids = file.strings("segset")
    vectors, start, stop = (file.array(n) for n in ("stat1", "start", "stop"))
    is_matrix = vectors.ndim == 2 and vectors.dtype.kind in "fiu"
    if not is_matrix or not len(vectors) == len(ids) == start.size == stop.size:
        raise DataFormatError(
            f"stat1 must be numbers of shape ({len(ids)}, d), one row for each of "
            f"segset, start and stop, got {vectors.dtype} of shape {vectors.shape}, "
            f"{start.shape} and {stop.shape}",
            path=file.path,
        )
    if len(set(ids)) < len(ids):
        times = zip(ids, start.ravel().tolist(), stop.ravel().tolist(), strict=True)
        ids = [f"{name}-{first:08d}-{last:08d}" for name, first, last in times]
    return checked_set(ids, as_doubles(vectors), file.path)


def _variables_of_hdf5(file: Hdf5File) -> dict[str, Any]:
    """Load matrices and cell arrays of strings of version 7.3."""
    variables: dict[str, Any] = {}
    for name in file.names():
        part = file.file[name]
        if part.dtype.kind == "O" and part.attrs.get("MATLAB_class") == b"cell":
            file.check_size(part)
            cells = [file.array(file.file[cell]) for cell in part[()].ravel()]
            variables[name] = [
                cell.tobytes().decode("utf-16-le") if cell.dtype == "<u2" else None
                for cell in cells
            ]
        elif part.dtype.kind in "fiu" and part.ndim == 2:
            variables[name] = file.array(name).T  # stored by columns
    return variables


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(cell, str) for cell in value)


def _matlab_set(variables: dict[str, Any], path: str | Path) -> EmbeddingSet:
    """Select vectors and ids among the variables of a MAT-file."""
    matrices = {n: v for n, v in variables.items() if isinstance(v, np.ndarray)}
    lists = [v for v in variables.values() if _is_list_of_text(v)]
    key = next((n for n in _NAMES if n in matrices), None)
    large = [name for name, value in matrices.items() if min(value.shape) > 1]
    if key is None and len(large) == 1:
        key = large[0]
    if key is None:
        shapes = ", ".join(f"{name} {v.shape}" for name, v in matrices.items())
        raise DataFormatError(
            f"no matrix of vectors (named ivs or x, or the only matrix) among the "
            f"matrices {shapes or '(none)'}",
            path=path,
        )
    vectors = matrices[key].T
    ids = lists[0] if len(lists) == 1 else row_ids(len(vectors))
    if len(ids) == vectors.shape[1] != len(vectors):
        vectors = vectors.T
    return checked_set(ids, as_doubles(vectors), path)


# Data elements of a MAT-file: types of numbers and of text, other types, and classes.
_TYPES = {
    **{1: "<i1", 2: "<u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4"},
    **{9: "<f8", 12: "<i8", 13: "<u8"},
}
_TEXTS = {2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le"}
_COMPRESSED = 15
_CELL, _CHAR, _NUMBERS = 1, 4, range(6, 16)


def read_mat(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a MAT-file of version 5 to 7."""
    with open_seekable(source, name) as (stream, path):
        data = stream.read()
    if data[126:128] != b"IM":
        raise DataFormatError("not a MAT-file of a little-endian machine", path=path)
    variables: dict[str, Any] = {}
    budget = max(FREE_EXPANSION, MOST_EXPANSION * len(data))
    with foreign_errors(path, "not a whole MAT-file", "; it is truncated or damaged"):
        for kind, content in _elements(memoryview(data)[128:]):
            if kind == _COMPRESSED:
                unpacked = zlib.decompressobj().decompress(content, budget + 1)
                budget -= len(unpacked)
                if budget < 0:
                    raise DataFormatError(
                        "would unpack to far more than its size; if it is valid, save "
                        "it without compression (-v6)",
                        path=path,
                    )
                ((_, content),) = _elements(memoryview(unpacked))  # noqa: PLW2901
            title, value = _variable(content)
            variables[title] = value
    return _matlab_set(variables, path)


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and the content of each data element."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        start, end = at + 8, at + 8 + size
        at = end if kind == _COMPRESSED else end + -size % 8
        if kind >> 16:  # up to 4 bytes in the tag itself
            kind, start, end, at = (
                kind & 0xFFFF,
                start - 4,
                start - 4 + (kind >> 16),
                start,
            )
        if end > len(data):
            raise ValueError(f"an element of {size} bytes exceeds its container")
        yield kind, data[start:end]


def _variable(data: memoryview) -> tuple[str, Any]:
    """Read the name and the value of a variable; None if it is not supported."""
    (_, flags), (_, dims), (_, title), *parts = _elements(data)
    value: Any = None
    if flags[0] == _CELL:
        value = [_variable(content)[1] for _, content in parts]
    elif flags[0] == _CHAR and parts:
        value = str(parts[0][1], _TEXTS[parts[0][0]])
    elif flags[0] in _NUMBERS and len(dims) == 8 and len(parts) == 1:
        shape = np.frombuffer(dims, "<i4")
        value = np.frombuffer(parts[0][1], _TYPES[parts[0][0]]).reshape(
            shape, order="F"
        )
    return str(title, "ascii"), value


def alize_vector(data: bytes) -> AnyArray | None:
    """Return the vector of an ALIZE file, shape (d,), or None for other files."""
    for width, form in ((16, "<QQ"), (8, "<II")):
        if len(data) > width:
            rows, columns = struct.unpack_from(form, data)
            if min(rows, columns) == 1 and len(data) == width + 8 * rows * columns:
                return np.frombuffer(data, "<f8", offset=width)
    return None


def read_alize(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a single vector of ALIZE, whose id is the name of the file."""
    with open_seekable(source, name) as (stream, path):
        vector = alize_vector(stream.read())
    if vector is None:
        raise DataFormatError("not a vector of ALIZE (format DB)", path=path)
    ids = [id_of_file(Path(path).stem)]
    return checked_set(ids, as_doubles([vector]), path)
