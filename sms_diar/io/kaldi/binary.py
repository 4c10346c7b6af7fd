r"""Single vectors and matrices in Kaldi's binary and text formats.

Binary: ``\0B``, a type (``FV`` and ``DV`` are vectors of floats and doubles,
``FM`` and ``DM`` matrices), a space, each dimension as the byte 4 and a
little-endian int32, then the numbers row by row. Text: ``[ 1 2 3 ]`` is a vector,
and a line break after the bracket makes a matrix with a line for each row.

Kaldi writes text with seven digits. Here, text has as many digits as are needed to
restore the numbers exactly, which Kaldi can also read.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_choice
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource
from sms_diar.types import AnyArray

BINARY = b"\0B"
BLANK = b" \t\r\n"
DTYPES: dict[str, np.dtype[Any]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}

_SPACE = re.compile(rb"\s")
_BRACKET = re.compile(rb"[\[\]]")
_LONGEST_TOKEN = 64
_KINDS = {"V": 1, "M": 2}
_WIDTHS = {"F": "float", "D": "double"}
_SHAPES = {1: "vector", 2: "matrix"}


def read_object(source: ByteSource, owner: str, *, ndim: int | None = None) -> AnyArray:
    r"""Read one vector or matrix, binary or text, header included.

    Parameters
    ----------
    source : ByteSource
        Source, positioned at the header (``\0B``) or at the opening bracket.
    owner : str
        Name of the object in messages, such as ``vector of 'a'``.
    ndim : {1, 2}, optional
        Required number of dimensions.

    Returns
    -------
    ndarray
        ``float32`` or ``float64`` as stored; text gives ``float64``.
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
        raise DataFormatError(
            f"{where} has the unknown type {token!r}; vectors are FV or DV, "
            f"matrices FM or DM",
            path=source.name,
        )
    rank, width = _KINDS[token[1]], _WIDTHS[token[0]]
    shape = tuple(_read_size(source, where) for _ in range(rank))
    if ndim is not None and rank != ndim:
        sizes = " x ".join(map(str, shape))
        raise _wrong_kind(
            f"{where} is a {_SHAPES[rank]} ({token}, {sizes})", source, ndim
        )
    dtype = DTYPES[width]
    size = math.prod(shape) * dtype.itemsize
    data = source.read(size)
    if len(data) < size:
        raise DataFormatError(
            f"{where} declares {' x '.join(map(str, shape))} {width}s ({size} bytes), "
            f"but the file ends after {len(data)} of them; it is truncated or damaged",
            path=source.name,
        )
    return np.frombuffer(data, dtype).reshape(shape)


def read_text(source: ByteSource, owner: str, *, ndim: int | None = None) -> AnyArray:
    """Read one object in brackets, as ``float64``."""
    source.skip(BLANK)
    line = source.line
    if source.peek(1) != b"[":
        got = source.peek(20).split()[:1]
        shown = repr(got[0].decode("utf-8", "backslashreplace")) if got else "the end"
        raise DataFormatError(
            f"{owner} must be in brackets, as in '[ 1 2 3 ]', got {shown}",
            path=source.name,
            line=line,
        )
    source.read(1)
    body = source.until(_BRACKET)
    if source.peek(1) != b"]":
        raise DataFormatError(
            f"{owner} has no closing bracket; the file is truncated or damaged",
            path=source.name,
            line=line,
        )
    source.read(1)
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
                raise DataFormatError(
                    f"{owner}: row {len(rows) + 1} has {len(row)} numbers, the first "
                    f"row has {len(rows[0])}",
                    path=source.name,
                    line=number,
                )
            if len(row):
                rows.append(row)
    return np.array(rows) if rows else np.empty((0, 0))


def object_bytes(
    array: npt.ArrayLike, *, owner: str, dtype: str = "double", binary: bool = True
) -> bytes:
    r"""Format a vector or matrix, without the ``\0B`` at the start of a file.

    Parameters
    ----------
    array : array-like of shape (d,) or (n, d)
        Finite numbers.
    owner : str
        Name of the writer in messages.
    dtype : {'double', 'float'}, default='double'
        Precision of the numbers.
    binary : bool, default=True
        Use Kaldi's binary format, otherwise text.
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
        raise InvalidParameterError(
            f"must be finite as {dtype}s, got {float(worst)!r}{remedy}",
            owner=owner,
            parameter="numbers",
        )
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
    raise DataFormatError(
        f"{where} {problem}; the file is truncated or damaged", path=source.name
    )


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
        raise DataFormatError(
            f"{owner} contains {shown!r}, not a number",
            path=source.name,
            line=line,
        ) from None


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word
