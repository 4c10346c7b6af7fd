r"""Kaldi archives (ark) of embeddings: a sequence of ids and vectors.

Archives are read in one pass, from a file or a pipe. Data that would cause wrong
results later is refused, with the id and the position: vectors of different
dimensions, repeated ids, and NaN.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sms_diar._files import replacing_all, write_plain
from sms_diar._text import is_name
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource, Readable, open_source
from sms_diar.io._lines import BOM
from sms_diar.io.kaldi.binary import (
    BINARY,
    BLANK,
    object_bytes,
    read_object,
)
from sms_diar.limits import LONGEST_ID
from sms_diar.types import AnyArray, EmbeddingSet

_ID_END = re.compile(rb"\s")


class VectorChecks:
    """Checks on all vectors of one file.

    Parameters
    ----------
    path : str or Path
        File name for messages.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._dim: int | None = None

    def check(
        self, name: str, vector: AnyArray, *, where: str = "", line: int | None = None
    ) -> None:
        """Raise for a repeated id, a different dimension, NaN or infinity.

        Parameters
        ----------
        name : str
            Id of the vector.
        vector : ndarray of shape (d,)
            Vector to check.
        where : str, optional
            Position in a binary file, such as ``" at byte 20"``.
        line : int, optional
            Line number in a text file.
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
            raise InvalidParameterError(
                f"must be words without blanks, got {name!r}",
                owner="write_ark",
                parameter="ids",
            )
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
        raise DataFormatError(
            f"the object at byte {start} has no id before it; this is a single Kaldi "
            f"object (a mean, a transform or a model), not an ark of embeddings",
            path=source.name,
        )
    if not start and raw.startswith(BOM_UTF8):
        raise DataFormatError(BOM, path=source.name, line=1)
    if b"\0" in raw or len(raw) > LONGEST_ID:
        raise DataFormatError(
            f"no id at byte {start}; the file is damaged or not a Kaldi ark",
            path=source.name,
        )
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DataFormatError(
            f"the id at byte {start} is not UTF-8: {raw[:40]!r}", path=source.name
        ) from None
    source.skip(b" \t")
    if not source.peek(1).strip(b"\r\n"):
        raise DataFormatError(
            f"id {name!r} at byte {start} has no vector after it; the file is "
            f"truncated or damaged",
            path=source.name,
            line=line,
        )
    return name
