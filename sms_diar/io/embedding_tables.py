"""Tables of embeddings: CSV, TSV and Parquet.

One row for each vector. The id stands in the column named ``id``, ``utt`` or
``segment``, or else in the first one; all other columns are numbers. A text table
may start with a header or not.

Text is parsed here and not by pandas, whose fast parser may miss the last bit of a
number and seldom knows the line of a fault.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sms_diar._files import replacing
from sms_diar._text import as_cell, from_cell
from sms_diar.errors import DataFormatError, MissingExtraError
from sms_diar.io._bytes import Readable, open_seekable
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.arrays import checked_set
from sms_diar.io.kaldi.binary import narrowed, number_texts
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import EmbeddingSet, FloatArray

ID_COLUMNS = ("id", "utt", "segment")

_ONE_COLUMN = "one column only; a table has an id and the numbers of its vector"


def read_embedding_table(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a CSV or TSV file; a tab in its first line makes it TSV.

    Parameters
    ----------
    source : str, Path or binary stream
        UTF-8 text.
    name : str, optional
        What messages call a stream.

    Raises
    ------
    DataFormatError
        With the line and the column at fault.
    """
    with open_seekable(source, name) as (stream, path):
        rows = _rows(stream, path)
        number, first = next(rows, (0, []))
        if not first:
            raise DataFormatError("is empty", path=path)
        if len(first) < 2:
            raise DataFormatError(_ONE_COLUMN, path=path, line=number)
        header = first if _is_header(first) else None
        if header is None:
            rows = chain([(number, first)], rows)
        parser = _RowParser(path, header, len(first))
        for number, row in rows:
            parser.add(row, number)
    if not parser.vectors:
        raise DataFormatError("holds a header and no rows", path=path)
    return checked_set(list(parser.lines), np.array(parser.vectors), path)


def read_parquet(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a Parquet file, for which pyarrow must be installed.

    Parameters
    ----------
    source : str, Path or binary stream
        The file.
    name : str, optional
        What messages call a stream.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    DataFormatError
        A column holds something else than numbers, or the file is damaged.
    """
    with open_seekable(source, name) as (stream, path):
        try:
            import_module("pyarrow.parquet")
        except ImportError:
            raise MissingExtraError(
                f"{path}: reading Parquet needs pyarrow; "
                f"pip install 'sms-diar[parquet]', or save the table as CSV"
            ) from None
        with foreign_errors(path, "not a whole Parquet file"):
            _check_parquet(stream, path)
            # pandas takes long to import and nothing else here needs it.
            frame = import_module("pandas").read_parquet(stream, engine="pyarrow")
    with foreign_errors(path, "a Parquet file of something else than vectors"):
        return set_from_frame(frame, path)


def _check_parquet(stream: BinaryIO, path: str | Path) -> None:
    """Refuse a file that would unpack to far more than vectors could."""
    size = stream.seek(0, 2)
    stream.seek(0)
    about = import_module("pyarrow.parquet").ParquetFile(stream).metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    unpacked = max(
        sum(group.total_byte_size for group in groups),
        about.num_rows * about.num_columns,  # a run of one value is a few bytes
    )
    stream.seek(0)
    if unpacked > max(FREE_EXPANSION, MOST_EXPANSION * size):
        raise DataFormatError(
            f"would unpack to {unpacked} bytes or more, {unpacked // size} times its "
            f"size; vectors do not shrink that much, so it is refused",
            path=path,
        )


def set_from_frame(frame: Any, path: str | Path) -> EmbeddingSet:
    """Take a pandas data frame apart into ids and vectors.

    Parameters
    ----------
    frame : pandas.DataFrame
        An index that has a name, or that holds strings, counts as a column.
    path : str or Path
        Where it came from, for messages.
    """
    if frame.index.name is not None or frame.index.dtype.kind not in "iuf":
        frame = frame.reset_index()
    names = [str(column) for column in frame.columns]
    if len(names) < 2:
        raise DataFormatError(_ONE_COLUMN, path=path)
    id_column = _id_column(names)
    kinds = [dtype.kind for dtype in frame.dtypes]
    if kinds[id_column] == "f":
        raise DataFormatError(
            f"column {names[id_column]!r} must hold ids, got numbers; name the column "
            f"of ids 'id'",
            path=path,
        )
    numbers = [column for column in range(len(names)) if column != id_column]
    for column in numbers:
        if kinds[column] not in "fiu":
            raise DataFormatError(
                f"column {names[column]!r} holds {frame.dtypes.iloc[column]}, not "
                f"numbers; keep the id and the vector only",
                path=path,
            )
    ids = [str(value) for value in frame.iloc[:, id_column]]
    vectors: FloatArray = frame.iloc[:, numbers].to_numpy(dtype=np.float64)
    return checked_set(ids, vectors, path)


def write_embedding_table(
    path: str | Path,
    embeddings: EmbeddingSet,
    *,
    separator: str = ",",
    dtype: str = "double",
) -> None:
    """Write a header ``id,x0,x1,...`` and a row for each vector.

    Parameters
    ----------
    path : str or Path
        The file.
    embeddings : EmbeddingSet
        What to write.
    separator : str, default=","
        A tab makes it TSV.
    dtype : {'double', 'float'}, default='double'
        Width of the numbers; enough digits are written to restore them.
    """
    with replacing(path) as temporary:
        write_embedding_table_into(
            temporary, embeddings, separator=separator, dtype=dtype
        )


def write_embedding_table_into(
    file: Path, embeddings: EmbeddingSet, *, separator: str, dtype: str = "double"
) -> None:
    """Write a table under a temporary name; see `write_embedding_table`."""
    vectors = narrowed(embeddings.vectors, owner="write_embedding_table", dtype=dtype)
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=separator, lineterminator="\n")
        writer.writerow(["id", *(f"x{column}" for column in range(embeddings.dim))])
        for name, vector in zip(embeddings.ids, vectors, strict=True):
            writer.writerow([as_cell(name), *number_texts(vector)])


class _RowParser:
    """Collects rows, and refuses the first that a table of vectors cannot have."""

    def __init__(
        self, path: str | Path, header: list[str] | None, n_columns: int
    ) -> None:
        self.lines: dict[str, int] = {}  # by id, in file order
        self.vectors: list[FloatArray] = []
        self._path = path
        self._header = header
        self._n_columns = n_columns
        self._id_column = 0 if header is None else _id_column(header)

    def add(self, row: list[str], line: int) -> None:
        name = from_cell(row[self._id_column]) if len(row) == self._n_columns else ""
        problem = None
        if len(row) != self._n_columns:
            problem = f"{len(row)} columns, the first row has {self._n_columns}"
        elif not name:
            problem = f"no id in {self._title(self._id_column)}"
        elif name in self.lines:
            problem = (
                f"id {name!r} occurs a second time (first in line {self.lines[name]}); "
                f"ids must be unique"
            )
        if problem:
            raise DataFormatError(problem, path=self._path, line=line)
        values = [
            self._number(text, column, line)
            for column, text in enumerate(row)
            if column != self._id_column
        ]
        self.lines[name] = line
        self.vectors.append(np.array(values))

    def _number(self, text: str, column: int, line: int) -> float:
        value = _parsed(text)
        if value is None:
            problem = f"holds {text!r}, not a number"
        elif not math.isfinite(value):
            problem = f"holds {text}; remove or repair the vector"
        else:
            return value
        raise DataFormatError(
            f"{self._title(column)} {problem}", path=self._path, line=line
        )

    def _title(self, column: int) -> str:
        named = "" if self._header is None else f" ({self._header[column]!r})"
        return f"column {column + 1}{named}"


def _is_header(fields: list[str]) -> bool:
    rest = fields[1:]
    if fields[0].strip().lower() in ("", *ID_COLUMNS):
        return True
    # What pandas calls the columns of a table nobody has named.
    if len(rest) > 1 and rest == [str(column) for column in range(len(rest))]:
        return True
    return all(_parsed(field) is None for field in rest)


def _id_column(names: list[str]) -> int:
    lowered = [name.strip().lower() for name in names]
    return next((lowered.index(name) for name in ID_COLUMNS if name in lowered), 0)


def _rows(stream: BinaryIO, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line it ends on."""
    lines = _lines(stream, path)
    head = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    separator = "\t" if head and "\t" in head[-1] else ","
    reader = csv.reader(chain(head, lines), delimiter=separator, strict=True)
    try:
        for row in reader:
            if row and row != [""]:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataFormatError(str(error), path=path, line=reader.line_num) from None


def _lines(stream: BinaryIO, path: str | Path) -> Iterator[str]:
    for number, raw in enumerate(stream, start=1):
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataFormatError(
                f"not UTF-8 ({error.reason})", path=path, line=number
            ) from None


def _parsed(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if "_" in text else value  # Python alone reads 1_000 as a number
