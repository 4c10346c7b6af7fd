"""NumPy files of embeddings.

The arrays of an npz are called ``ids`` and ``vectors``, as written by `write_npz`, or
``utt`` and ``x``. Other names are accepted if the file contains a single 2-D array of
numbers and a single list of strings. ``spk``, the speaker of each vector, is optional.
An npz may also contain one array per id, named after the id. An npy contains only the
vectors; its ids are read, one per line, from the file of the same name with the suffix
``.ids``, or ``.txt`` if that has as many different words as there are vectors.

Headers are not trusted: an array must be as large as its header states before memory is
allocated, and an archive must not expand beyond `sms_diar.limits`. Arrays contain
numbers or text; Python objects, which need pickle, are never loaded.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from sms_diar._files import replacing
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import Readable, open_file, open_seekable
from sms_diar.io._foreign import foreign_errors, opened_archive
from sms_diar.io.kaldi.ark import narrowed
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

ID_KEYS = ("ids", "utt", "utts", "id", "names", "segments")
VECTOR_KEYS = ("vectors", "x", "X", "embeddings", "vecs")
SPEAKER_KEYS = ("spk", "speakers", "speaker", "labels")


def read_npz(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read the ids and vectors of an npz; `name` is that of a stream in messages."""
    with open_seekable(source, name) as (stream, path):
        arrays = load_npz(stream, path)
    if _is_by_id(arrays):
        rows = as_doubles([array.ravel() for array in arrays.values()])
        return checked_set(list(arrays), rows, path)
    key = _vector_key(arrays, path)
    vectors = _as_vectors(arrays[key], path, f"array {key!r}")
    return checked_set(_as_ids(arrays, path, len(vectors)), vectors, path)


def read_speakers(path: str | Path) -> dict[str, str]:
    """Read the speaker of each id from the array ``spk`` of an npz."""
    arrays = load_arrays(path)
    key = next((key for key in SPEAKER_KEYS if key in arrays), None)
    if key is None:
        raise DataFormatError(
            f"no array of speakers ({' or '.join(SPEAKER_KEYS)}) among "
            f"{_listed(arrays)}",
            path=path,
        )
    speakers = _as_strings(arrays[key], path, key)
    ids = _as_ids(arrays, path, len(speakers))
    if len(ids) != len(speakers):
        problem = f"{len(ids)} ids, but {len(speakers)} speakers in {key!r}"
        raise DataFormatError(problem, path=path)
    return dict(zip(ids, speakers, strict=True))


def write_npz(
    path: str | Path,
    embeddings: EmbeddingSet,
    *,
    dtype: str = "double",
    speakers: Mapping[str, str] | None = None,
) -> None:
    """Write ``ids`` and ``vectors``, and ``spk`` if the speaker of each id is given.

    The precision, `dtype`, is double or float.
    """
    with replacing(path) as temporary:
        write_npz_into(temporary, embeddings, dtype=dtype, speakers=speakers)


def write_npz_into(
    file: Path,
    embeddings: EmbeddingSet,
    *,
    dtype: str = "double",
    speakers: Mapping[str, str] | None = None,
) -> None:
    """Write an npz to a temporary file; the parameters are as in `write_npz`."""
    arrays = {
        "ids": np.array(embeddings.ids, dtype=np.str_),
        "vectors": narrowed(embeddings.vectors, owner="write_npz", dtype=dtype),
    }
    if speakers is not None:
        missing = next((name for name in embeddings.ids if name not in speakers), None)
        if missing is not None:
            problem = f"must contain every id, but {missing!r} is missing"
            raise InvalidParameterError(
                problem, owner="write_npz", parameter="speakers"
            )
        arrays["spk"] = np.array([speakers[name] for name in embeddings.ids], np.str_)
    with file.open("wb") as out:
        np.savez(out, **arrays)  # type: ignore[arg-type]


def read_npy(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read the vectors of an npy, and their ids from a file of the same name.

    Without ``<name>.ids`` or ``<name>.txt`` the ids are ``row-00000`` and so on.
    """
    with open_seekable(source, name) as (stream, path):
        array = load_npy(stream, path)
    vectors = _as_vectors(array, path, "the array")
    beside = _ids_beside(path, len(vectors))
    if beside is None:
        ids = row_ids(len(vectors))
    else:
        ids = read_ids(beside)
        if len(ids) != len(vectors):
            problem = f"{len(vectors)} vectors, but {len(ids)} ids in {beside}"
            raise DataFormatError(problem, path=path)
    return checked_set(ids, vectors, path)


def row_ids(n: int) -> list[str]:
    """Generate ids for n vectors without ids."""
    return [f"row-{row:05d}" for row in range(n)]


def read_ids(path: str | Path) -> list[str]:
    """Read one id from each line; a blank line is an error."""
    with open_file(Path(path)) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFormatError(f"not UTF-8 ({error.reason})", path=path) from None
    lines = text.removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise DataFormatError("blank line in a list of ids", path=path, line=number)
    return [line.strip() for line in lines]


def load_arrays(path: str | Path) -> dict[str, AnyArray]:
    """Load all arrays of an npz by name."""
    with open_seekable(path) as (stream, name):
        return load_npz(stream, name)


def checked_set(ids: list[str], vectors: FloatArray, path: str | Path) -> EmbeddingSet:
    """Build an EmbeddingSet; its errors become errors of the file."""
    try:
        return EmbeddingSet(tuple(ids), vectors, source=str(path))
    except InvalidParameterError as error:
        problem = str(error).removeprefix(f"{path}: ")
        raise DataFormatError(problem, path=path) from None


def _is_by_id(arrays: Mapping[str, AnyArray]) -> bool:
    """Return true if each array is the vector of the id that is its name."""
    if not arrays or any(a.dtype.kind not in "fiu" for a in arrays.values()):
        return False
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or (len(arrays) == 1 and set(arrays) <= set(VECTOR_KEYS)):
        return False
    (shape,) = shapes
    is_row = len(shape) == 2 and shape[0] == 1 and len(arrays) > 1
    return (len(shape) == 1 and shape[0] > 0) or is_row


def _vector_key(arrays: Mapping[str, AnyArray], path: str | Path) -> str:
    numeric = [
        key for key, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "fiu"
    ]
    for key in VECTOR_KEYS:
        if key in arrays:
            return key
    if len(numeric) == 1:
        return numeric[0]
    raise DataFormatError(
        f"no array of vectors (named vectors or x, or the only 2-D one) among "
        f"{_listed(arrays)}",
        path=path,
    )


def _as_vectors(array: AnyArray, path: str | Path, owner: str) -> FloatArray:
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise DataFormatError(
            f"{owner} must contain numbers of shape (n, d), one vector per row, got "
            f"{array.dtype} of shape {array.shape}",
            path=path,
        )
    if array.shape[1] == 0:
        raise DataFormatError("the vectors have no dimensions", path=path)
    return as_doubles(array)


def _as_ids(
    arrays: Mapping[str, AnyArray], path: str | Path, n_vectors: int
) -> list[str]:
    key = next((key for key in ID_KEYS if key in arrays), None)
    if key is None:
        lists = [
            key
            for key, a in arrays.items()
            if a.ndim == 1 and a.dtype.kind in "US" and key not in SPEAKER_KEYS
        ]
        if len(lists) == 1:
            return _as_strings(arrays[lists[0]], path, lists[0])
        beside = _ids_beside(path, n_vectors)
        if beside is not None:
            return read_ids(beside)
        raise DataFormatError(
            f"no array of ids (named ids or utt, or the only one of strings) among "
            f"{_listed(arrays)}, and no file {Path(path).with_suffix('.ids').name} in "
            f"the same folder",
            path=path,
        )
    return _as_strings(arrays[key], path, key)


def _as_strings(array: AnyArray, path: str | Path, key: str) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise DataFormatError(
            f"array {key!r} must be a list of strings, got {array.dtype} of shape "
            f"{array.shape}",
            path=path,
        )
    with foreign_errors(path, f"array {key!r} is not text"):
        if array.dtype.kind != "S":
            return [str(value) for value in array.tolist()]
        try:
            return [value.decode("utf-8") for value in array.tolist()]
        except UnicodeDecodeError as error:
            problem = f"array {key!r} is not UTF-8 ({error.reason})"
            raise DataFormatError(problem, path=path) from None


def _ids_beside(path: str | Path, n_vectors: int) -> Path | None:
    if not isinstance(path, Path):  # a stream is not in a folder
        return None
    ids, text = path.with_suffix(".ids"), path.with_suffix(".txt")
    if ids.is_file():
        return ids
    return text if text.is_file() and _holds_ids(text, n_vectors) else None


def _holds_ids(path: Path, n_vectors: int) -> bool:
    """Return true if a text file is a list of `n_vectors` different ids."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, OSError):
        return False
    words = {line.strip() for line in lines if len(line.split()) == 1}
    return len(lines) == len(words) == n_vectors


def _listed(arrays: Mapping[str, AnyArray]) -> str:
    shapes = (f"{key} {array.dtype}{array.shape}" for key, array in arrays.items())
    return ", ".join(shapes) or "no arrays at all"


NPY_MAGIC = b"\x93NUMPY"
_KINDS = "biufcUS"
_BLOCK = 1 << 20


def load_npy(stream: BinaryIO, path: str | Path) -> AnyArray:
    """Load the array of an npy."""
    start = stream.tell()
    size = stream.seek(0, 2)
    stream.seek(start)
    with foreign_errors(path, "not a whole NumPy file", _DAMAGED):
        return _array(stream, size - start, "the array", path)


def load_npz(stream: BinaryIO, path: str | Path) -> dict[str, AnyArray]:
    """Load all arrays of an npz by name; other files in the archive are ignored."""
    arrays: dict[str, AnyArray] = {}
    with opened_archive(stream, path, "not a whole NumPy file", _DAMAGED) as archive:
        _check_expansion(archive, stream.seek(0, 2), path)
        for info in archive.infolist():
            with archive.open(info) as member:
                is_array = member.read(len(NPY_MAGIC)) == NPY_MAGIC
            if is_array:
                with archive.open(info) as member:
                    key = info.filename.removesuffix(".npy")
                    owner = f"array {key!r}"
                    arrays[key] = _array(member, info.file_size, owner, path)
    return arrays


def names_in_npz(stream: BinaryIO, path: str | Path) -> list[str]:
    """List the names of the arrays of an npz without loading them."""
    with opened_archive(stream, path, "not a whole NumPy file", _DAMAGED) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


_DAMAGED = "; it is truncated or damaged"


def _check_expansion(archive: zipfile.ZipFile, size: int, path: str | Path) -> None:
    unpacked = sum(info.file_size for info in archive.infolist())
    allowed = max(FREE_EXPANSION, MOST_EXPANSION * size)
    if unpacked > allowed:
        raise DataFormatError(
            f"would unpack to {unpacked} bytes, {unpacked // max(size, 1)} times its "
            f"size, more than archives of vectors do; if it is valid, save it again "
            f"with numpy.savez",
            path=path,
        )


def _array(stream: IO[bytes], size: int, owner: str, path: str | Path) -> AnyArray:
    """Load an array of at most `size` bytes, including the header."""
    version = npy_format.read_magic(stream)
    read = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise DataFormatError(
            f"{owner} has format version {version[0]}.{version[1]}, which contains "
            f"tables, not vectors",
            path=path,
        )
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject:
        raise DataFormatError(
            f"{owner} contains Python objects, which are not loaded (a pickle can run "
            f"any program); save strings as np.array(ids, dtype=str)",
            path=path,
        )
    if dtype.kind not in _KINDS or not dtype.itemsize or min(shape, default=0) < 0:
        problem = f"{owner} must contain numbers or text, got {dtype} of shape {shape}"
        raise DataFormatError(problem, path=path)
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > size:
        raise DataFormatError(
            f"not a whole NumPy file ({owner} declares {n_bytes} bytes, but has "
            f"{size}){_DAMAGED}",
            path=path,
        )
    data = bytearray(n_bytes)
    filled = 0
    with memoryview(data) as view:
        while filled < n_bytes:
            block = stream.read(min(_BLOCK, n_bytes - filled))
            if not block:
                raise DataFormatError(
                    f"not a whole NumPy file ({owner} ends after {filled} of {n_bytes} "
                    f"bytes){_DAMAGED}",
                    path=path,
                )
            view[filled : filled + len(block)] = block
            filled += len(block)
    array = np.frombuffer(data, dtype)
    if dtype.kind == "U" and n_bytes:
        letters = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if int(letters.max()) > sys.maxunicode:  # NumPy would make strings of them
            raise DataFormatError(f"{owner} is not text", path=path)
    return array.reshape(shape, order="F" if is_fortran else "C")


def as_doubles(values: npt.ArrayLike) -> FloatArray:
    """Copy numbers from a file to an array of doubles, without warnings.

    NumPy would warn of signalling NaN and of long doubles out of range. These and all
    other values that are not finite are refused later, with the name of the file.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(values, dtype=np.float64)
