r"""Kaldi archives (ark) of embeddings: a sequence of ids and vectors.

Archives are read in one pass, from a file or a pipe. Data that would cause wrong
results later is refused, with the id and the position: vectors of different
dimensions, repeated ids, and NaN.
"""

from __future__ import annotations

import math
import re
import struct
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar._files import replacing_all, write_plain
from sms_diar._text import is_name
from sms_diar._validation import check_choice
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource, Readable, open_source
from sms_diar.io._lines import BOM
from sms_diar.limits import LONGEST_ID
from sms_diar.types import AnyArray, EmbeddingSet

BINARY = b"\0B"
BLANK = b" \t\r\n"
DTYPES: dict[str, np.dtype[Any]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}

_SPACE = re.compile(rb"\s")
_BRACKET = re.compile(rb"[\[\]]")
_LONGEST_TOKEN = 64
_KINDS = {"V": 1, "M": 2}
_WIDTHS = {"F": "float", "D": "double"}
_PACKED = {"FP": "float", "DP": "double"}
_SHAPES = {1: "vector", 2: "matrix"}


def read_object(source: ByteSource, owner: str, *, ndim: int | None = None) -> AnyArray:
    r"""Read one vector or matrix, binary or text, from its ``\0B`` or opening bracket.

    `owner` is its name in messages and `ndim` its required number of dimensions.
    Numbers are ``float32`` or ``float64`` as stored; text gives ``float64``.
    """
    if source.peek(2) == BINARY:
        start = source.position
        source.read(2)
        return read_binary(source, owner, ndim=ndim, start=start)
    return read_text(source, owner, ndim=ndim)


def read_token(source: ByteSource) -> str:
    """Consume a word and the blank after it."""
    token = source.until(_SPACE, limit=_LONGEST_TOKEN)[:_LONGEST_TOKEN]
    source.read(1)
    return token.decode("latin-1")  # any bytes can be shown in a message


def read_binary(
    source: ByteSource, owner: str, *, ndim: int | None = None, start: int | None = None
) -> AnyArray:
    r"""Read one binary object whose ``\0B`` was already consumed.

    `start` is the byte offset in messages, by default the current position.
    """
    start = source.position if start is None else start
    where = f"{owner} at byte {start}"
    token = read_token(source)
    if token in ("CM", "CM2", "CM3"):
        raise _wrong_kind(f"{where} is a compressed matrix ({token})", source, ndim)
    if len(token) != 2 or token[0] not in _WIDTHS or token[1] not in _KINDS:
        raise source.fault(
            f"{where} has the unknown type {token!r}; vectors are FV or DV, "
            f"matrices FM or DM"
        )
    rank, width = _KINDS[token[1]], _WIDTHS[token[0]]
    shape = tuple(_read_size(source, where) for _ in range(rank))
    if ndim == 1 and rank == 2 and shape[0] == 1:  # as some programs store vectors
        rank, shape = 1, shape[1:]
    if ndim is not None and rank != ndim:
        sizes = " x ".join(map(str, shape))
        problem = f"{where} is a {_SHAPES[rank]} ({token}, {sizes})"
        raise _wrong_kind(problem, source, ndim)
    dtype = DTYPES[width]
    size = math.prod(shape) * dtype.itemsize
    data = source.read(size)
    if len(data) < size:
        raise source.fault(
            f"{where} declares {' x '.join(map(str, shape))} {width}s ({size} bytes), "
            f"but the file ends after {len(data)} of them; it is truncated or damaged"
        )
    return np.frombuffer(data, dtype).reshape(shape)


def read_text(source: ByteSource, owner: str, *, ndim: int | None = None) -> AnyArray:
    """Read one object in brackets, as ``float64``."""
    body, line = _in_brackets(source, owner)
    rank = 2 if b"\n" in body or b";" in body else 1
    if ndim is not None and rank != ndim:
        raise _wrong_kind(f"{owner} is a {_SHAPES[rank]}", source, ndim, line=line)
    if rank == 1:
        return _numbers(body, owner, source, line)
    rows: list[AnyArray] = []
    for number, text in enumerate(body.split(b"\n"), start=line):
        for part in text.split(b";"):
            row = _numbers(part, owner, source, number)
            if rows and len(row) and len(row) != len(rows[0]):
                raise source.fault(
                    f"{owner}: row {len(rows) + 1} has {len(row)} numbers, the first "
                    f"row has {len(rows[0])}",
                    number,
                )
            if len(row):
                rows.append(row)
    return np.array(rows) if rows else np.empty((0, 0))


def _in_brackets(source: ByteSource, owner: str) -> tuple[bytes, int]:
    """Consume an object in brackets; return what is inside, and its line."""
    source.skip(BLANK)
    line = source.line
    if source.peek(1) != b"[":
        got = source.peek(20).split()[:1]
        shown = repr(got[0].decode("utf-8", "backslashreplace")) if got else "the end"
        problem = f"{owner} must be in brackets, as in '[ 1 2 3 ]', got {shown}"
        raise source.fault(problem, line)
    source.read(1)
    body = source.until(_BRACKET)
    if source.peek(1) != b"]":
        problem = f"{owner} has no closing bracket; the file is truncated or damaged"
        raise source.fault(problem, line)
    source.read(1)
    return body, line


def read_symmetric(source: ByteSource, owner: str, *, binary: bool) -> AnyArray:
    """Read a symmetric matrix, shape (n, n), of which the lower triangle is stored."""
    if binary:
        where = f"{owner} at byte {source.position}"
        token = read_token(source)
        if token not in _PACKED:
            problem = f"{where} has the type {token!r}, expected FP or DP (symmetric)"
            raise source.fault(problem)
        size, dtype = _read_size(source, where), DTYPES[_PACKED[token]]
        n_bytes = size * (size + 1) // 2 * dtype.itemsize
        data = source.read(n_bytes)
        if len(data) < n_bytes:
            raise source.fault(
                f"{where} declares {size} rows ({n_bytes} bytes), but the file ends "
                f"after {len(data)} of them; it is truncated or damaged"
            )
        triangle: AnyArray = np.frombuffer(data, dtype)
    else:
        body, line = _in_brackets(source, owner)
        triangle = _numbers(body, owner, source, line)
        size = math.isqrt(2 * len(triangle))
        if size * (size + 1) // 2 != len(triangle):
            problem = f"{owner} has {len(triangle)} numbers, which fill no triangle"
            raise source.fault(problem, line)
    full = np.empty((size, size), dtype=triangle.dtype)
    rows, columns = np.tril_indices(size)
    full[rows, columns] = full[columns, rows] = triangle
    return full


def symmetric_bytes(matrix: npt.ArrayLike, *, owner: str, dtype: str) -> bytes:
    """Format the lower triangle of a symmetric matrix; see `object_bytes`."""
    values = narrowed(matrix, owner=owner, dtype=dtype)
    head = dtype[0].upper().encode() + b"P " + struct.pack("<bi", 4, len(values))
    return head + values[np.tril_indices(len(values))].tobytes()


def object_bytes(
    array: npt.ArrayLike, *, owner: str, dtype: str = "double", binary: bool = True
) -> bytes:
    r"""Format a vector or matrix, without the ``\0B`` at the start of a file.

    `owner` is the writer in messages and `dtype` the precision, double or float.
    """
    values = narrowed(array, owner=owner, dtype=dtype)
    if binary:
        kind = {1: b"V ", 2: b"M "}[values.ndim]
        sizes = b"".join(struct.pack("<bi", 4, size) for size in values.shape)
        return dtype[0].upper().encode() + kind + sizes + values.tobytes()
    if values.ndim == 1:
        return f" [ {''.join(f'{n} ' for n in number_texts(values))}]\n".encode()
    if not values.size:
        return b" [ ]\n"
    rows = ("".join(f"{n} " for n in number_texts(row)) for row in values)
    return (" [" + "".join(f"\n  {row}" for row in rows) + "]\n").encode()


def narrowed(array: npt.ArrayLike, *, owner: str, dtype: str) -> AnyArray:
    """Convert numbers to the precision of the file; raise on overflow."""
    check_choice(owner, "dtype", dtype, tuple(DTYPES))
    wide = np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(wide, dtype=DTYPES[dtype])
    if not np.isfinite(values).all():
        worst = wide.flat[int(np.argmin(np.isfinite(values)))]
        remedy = "; store doubles" if np.isfinite(worst) else ""
        problem = f"must be finite as {dtype}s, got {float(worst)!r}{remedy}"
        raise InvalidParameterError(problem, owner=owner, parameter="numbers")
    return values


def number_texts(values: AnyArray) -> list[str]:
    """Format numbers with the fewest digits that restore them exactly."""
    if values.dtype == np.float64:
        return [repr(value) for value in values.tolist()]
    return [str(value) for value in values]


def _read_size(source: ByteSource, where: str) -> int:
    raw = source.read(5)
    if len(raw) == 5 and raw[0] == 4:
        (size,) = struct.unpack("<i", raw[1:])
        if size >= 0:
            return int(size)
    problem = (
        "ends within its size" if len(raw) < 5 else f"has a damaged size ({raw.hex()})"
    )
    raise source.fault(f"{where} {problem}; the file is truncated or damaged")


def _wrong_kind(
    problem: str, source: ByteSource, ndim: int | None, *, line: int | None = None
) -> DataFormatError:
    remedy = {
        1: "expected one vector per id. Are these frame features? Extract "
        "embeddings from them, or average the frames with Kaldi's "
        "matrix-sum-rows --do-average=true",
        2: "expected a matrix",
        None: "expand it with Kaldi's copy-matrix first",
    }[ndim]
    return DataFormatError(f"{problem}; {remedy}", path=source.name, line=line)


def _numbers(text: bytes, owner: str, source: ByteSource, line: int) -> AnyArray:
    words = text.split()
    try:
        if b"_" in text:  # Python reads 1_000 as a number, Kaldi does not
            raise ValueError
        return np.array([float(word) for word in words], dtype=np.float64)
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        shown = wrong.decode("utf-8", "backslashreplace")
        raise source.fault(f"{owner} contains {shown!r}, not a number", line) from None


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


_ID_END = re.compile(rb"\s")


class VectorChecks:
    """Checks on all vectors of one file."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._dim: int | None = None

    def check(
        self, name: str, vector: AnyArray, *, where: str = "", line: int | None = None
    ) -> None:
        """Raise for a repeated id, a different dimension, NaN or infinity.

        The position is `where` in a binary file, such as ``" at byte 20"``, or
        a line.
        """
        problem = None
        if name in self._seen:
            problem = f"id {name!r}{where} occurs a second time; ids must be unique"
        elif not len(vector):
            problem = f"vector of {name!r}{where} has no numbers"
        elif self._dim not in (None, len(vector)):
            problem = (
                f"vector of {name!r}{where} has {len(vector)} dimensions, previous "
                f"vectors have {self._dim}"
            )
        elif not np.isfinite(vector).all():
            value = "NaN" if np.isnan(vector).any() else "infinity"
            problem = f"vector of {name!r}{where} contains {value}; remove or repair it"
        if problem:
            raise DataFormatError(problem, path=self._path, line=line)
        self._seen.add(name)
        self._dim = len(vector)


def read_ark(source: Readable) -> Iterator[tuple[str, AnyArray]]:
    """Yield the ids and vectors of an ark, in file order.

    Parameters
    ----------
    source : str, Path or binary stream
        File, ``-`` for standard input, or an open stream. Binary and text vectors
        are accepted, even in one file.

    Yields
    ------
    id : str
        Id without blanks.
    vector : ndarray of shape (d,)
        ``float32`` or ``float64`` as stored; text gives ``float64``.

    Raises
    ------
    DataFormatError
        If the file is damaged or contains matrices, or if its vectors are not
        consistent.
    """
    with open_source(source) as opened:
        yield from iterate_ark(opened)


def iterate_ark(source: ByteSource) -> Iterator[tuple[str, AnyArray]]:
    """Read an ark from an open source; see `read_ark`."""
    checks = VectorChecks(source.name)
    while True:
        source.skip(BLANK)
        if not source.peek(1):
            return
        name = _read_id(source)
        binary = source.peek(2) == BINARY
        where = f" at byte {source.position}" if binary else ""
        line = None if binary else source.line
        vector = read_object(source, f"vector of {name!r}", ndim=1)
        checks.check(name, vector, where=where, line=line)
        yield name, vector


def write_ark(
    path: str | Path,
    ids: Sequence[str],
    vectors: npt.ArrayLike,
    *,
    dtype: str = "double",
    text: bool = False,
    scp: str | Path | None = None,
) -> None:
    """Write vectors as an ark and, optionally, an scp that points into it.

    Parameters
    ----------
    path : str or Path
        Ark to write.
    ids : sequence of str
        Id of each vector: unique, not empty, without blanks.
    vectors : array-like of shape (n, d)
        Vectors of finite numbers.
    dtype : {'double', 'float'}, default='double'
        Precision of the numbers. Kaldi's extractors write floats.
    text : bool, default=False
        Write text, which is larger but human-readable.
    scp : str or Path, optional
        Also write this scp. It refers to the ark as `path`: a relative path stays
        relative, as in Kaldi.
    """
    with replacing_all([path], index=scp) as [temporary, *listing]:
        text_of_scp = write_ark_into(
            temporary, path, ids, vectors, dtype=dtype, text=text
        )
        for file in listing:
            write_plain(file, text_of_scp)


def write_ark_into(
    file: Path,
    path: str | Path,
    ids: Sequence[str],
    vectors: npt.ArrayLike,
    *,
    dtype: str = "double",
    text: bool = False,
) -> str:
    """Write an ark to a temporary file and return the text of its scp.

    The parameters are as in `write_ark`; `file` will be renamed to `path`.
    """
    for name in ids:
        if not is_name(name) or name.split() != [name]:
            problem = f"must be words without blanks, got {name!r}"
            raise InvalidParameterError(problem, owner="write_ark", parameter="ids")
    rows = EmbeddingSet(
        tuple(ids), np.asarray(vectors, dtype=np.float64), source="write_ark"
    )
    header = b"" if text else BINARY
    offsets = []
    with file.open("wb") as out:
        for name, vector in zip(rows.ids, rows.vectors, strict=True):
            out.write(f"{name} ".encode())
            offsets.append(out.tell())
            out.write(header)
            out.write(
                object_bytes(vector, owner="write_ark", dtype=dtype, binary=not text)
            )
    lines = zip(rows.ids, offsets, strict=True)
    return "".join(f"{name} {path}:{at}\n" for name, at in lines)


def _read_id(source: ByteSource) -> str:
    start, line = source.position, source.line
    raw = source.until(_ID_END, limit=LONGEST_ID)
    if raw.startswith(BINARY):
        raise source.fault(
            f"the object at byte {start} has no id before it; this is a single Kaldi "
            f"object (a mean, a transform or a model), not an ark of embeddings"
        )
    if not start and raw.startswith(BOM_UTF8):
        raise source.fault(BOM, 1)
    if b"\0" in raw or len(raw) > LONGEST_ID:
        raise source.fault(
            f"no id at byte {start}; the file is damaged or not a Kaldi ark"
        )
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        problem = f"the id at byte {start} is not UTF-8: {raw[:40]!r}"
        raise source.fault(problem) from None
    source.skip(b" \t")
    if not source.peek(1).strip(b"\r\n"):
        raise source.fault(
            f"id {name!r} at byte {start} has no vector after it; the file is "
            f"truncated or damaged",
            line,
        )
    return name
