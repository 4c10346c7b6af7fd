"""Tables of embeddings: CSV, TSV, whitespace-separated columns, and Parquet.

Each row is a vector. The id column is the one named ``id``, ``utt``, ``segment`` or
similar, or a first column without a name in the header, or a first column with anything
other than numbers. If all columns are numbers, they are all part of the vectors, unless
the first counts the rows, and rows are named ``row-00000`` and so on. The column
``speaker`` is not part of the vectors; all other columns must be numbers. The header
of a text table is optional.

In the files of NIST's i-vector challenges the column ``values[600]`` has all numbers of
a vector, between blanks, and columns other than the id are ignored.

Data frames and Parquet files may also have the vectors in one column of lists, as in
Hugging Face data sets; all columns except the id are then ignored.

Text is not parsed with pandas, which rarely reports the line of an error.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sms_diar._text import as_cell, from_cell
from sms_diar.errors import DataFormatError, MissingExtraError
from sms_diar.io._bytes import Readable, open_seekable
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.embeddings.arrays import VECTOR_KEYS, as_doubles, checked_set, row_ids
from sms_diar.io.kaldi.ark import narrowed, number_texts
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

ID_COLUMNS = (
    *("id", "utt", "segment", "utt_id", "uttid", "utterance", "utterance_id"),
    *("segment_id", "name", "key", "path", "file", "filename", "file_name", "audio"),
    "ivectorid",
)
VECTOR_COLUMNS = ("vector", "embedding", *VECTOR_KEYS)
SPEAKER_COLUMNS = ("speaker", "speakers", "spk", "speaker_id", "spk_id")

_ONE_COLUMN = "only one column; expected an id and the numbers of a vector"
_CELL = re.compile(r"values\[[0-9]{1,6}\]")
_NO_NAME = ("", "unnamed: 0", "index")  # names that pandas gives to the index


def read_embedding_table(
    source: Readable, *, name: str | None = None, blanks: bool = False
) -> EmbeddingSet:
    """Read a CSV or TSV file; a tab in its first line makes it TSV.

    With `blanks`, columns are split at white space, as written by `numpy.savetxt`.
    """
    with open_seekable(source, name) as (stream, path):
        rows = _blank_rows(stream, path) if blanks else _rows(stream, path)
        number, first = next(rows, (0, []))
        while len(first) == 1 and first[0].startswith("#"):  # a comment of NumPy
            number, first = next(rows, (0, []))
        if not first:
            raise DataFormatError("is empty", path=path)
        if len(first) < 2:
            raise DataFormatError(_ONE_COLUMN, path=path, line=number)
        header = first if _is_header(first) else None
        cell = next((c for c, text in enumerate(first) if _CELL.fullmatch(text)), None)
        if cell is not None and "ivectorid" in first:
            rows = _unfolded(rows, first.index("ivectorid"), cell, len(first))
            n_values = int(first[cell][len("values[") : -1])
            header = first = ["ivectorid", *["values"] * n_values]
        if header is None:
            rows = chain([(number, first)], rows)
        parser = _RowParser(path, header, len(first))
        for number, row in rows:
            parser.add(row, number)
    if not parser.vectors:
        raise DataFormatError("contains a header but no rows", path=path)
    return parser.finish()


def read_parquet(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a Parquet file, which requires pyarrow."""
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
            # pandas is slow to import, and only needed here.
            frame = import_module("pandas").read_parquet(stream, engine="pyarrow")
    with foreign_errors(path, "not a Parquet file of vectors"):
        return set_from_frame(frame, path)


def _check_parquet(stream: BinaryIO, path: str | Path) -> None:
    """Refuse a file that expands implausibly."""
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
            f"size, more than tables of vectors do",
            path=path,
        )


def set_from_frame(frame: Any, path: str | Path) -> EmbeddingSet:
    """Extract ids and vectors from a pandas data frame.

    The ids are the id column, an index that does not just count the rows, or a
    first column of text, in this order of preference. `path` is for messages.
    """
    names = [str(column) for column in frame.columns]
    lists = [c for c in range(len(names)) if _holds_lists(frame.iloc[:, c])]
    ids, id_column = _ids_of_frame(frame, names, lists, path)
    if lists:
        column = _vector_column(names, lists, path)
        vectors = _stacked(frame.iloc[:, column].tolist(), ids, names[column], path)
        return checked_set(ids, vectors, path)
    speakers = [c for c, name in enumerate(names) if _is_speaker(name)]
    numbers = [c for c in range(len(names)) if c not in (id_column, *speakers)]
    if not numbers:
        raise DataFormatError(_ONE_COLUMN, path=path)
    for column in numbers:
        dtype = frame.dtypes.iloc[column]
        if dtype.kind not in "fiu":
            raise DataFormatError(
                f"column {names[column]!r} contains {dtype}, not numbers; keep only "
                f"the id and the vector",
                path=path,
            )
    columns = frame.iloc[:, numbers]
    return checked_set(ids, columns.to_numpy(dtype=np.float64), path)


def _ids_of_frame(
    frame: Any, names: list[str], lists: list[int], path: str | Path
) -> tuple[list[str], int | None]:
    """Find the ids of the rows, and the index of the id column if it exists."""
    column = _id_column(names) if names else None
    if column is not None and not all(map(_is_id, frame.iloc[:, column])):
        if not lists:
            row = next(r for r, v in enumerate(frame.iloc[:, column]) if not _is_id(v))
            problem = f"row {row} has no id in column {names[column]!r}"
            raise DataFormatError(problem, path=path)
        column = None  # such as "audio" with the audio itself
    if column is None:
        index = frame.index
        counts = index.dtype.kind in "iu" and index.tolist() == [*range(len(frame))]
        if index.name is not None or not counts:
            return [str(value) for value in index], None
        if lists or not names or frame.dtypes.iloc[0].kind in "fiu":
            return row_ids(len(frame)), None
        column = 0
    return [str(value) for value in frame.iloc[:, column]], column


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, Real) and not math.isnan(value))


def _holds_lists(column: Any) -> bool:
    """Return true if the first value of a column, ignoring None, is a list."""
    if column.dtype.kind != "O":
        return False
    value = next((value for value in column if value is not None), None)
    return isinstance(value, list | tuple | np.ndarray)


def _vector_column(names: list[str], lists: list[int], path: str | Path) -> int:
    """Select the column of lists that contains the vectors."""
    named = [c for c in lists if names[c].strip().lower() in VECTOR_COLUMNS]
    chosen = named or lists
    if len(chosen) > 1:
        listed = ", ".join(repr(names[column]) for column in chosen)
        problem = f"several columns contain lists ({listed}); keep one of them"
        raise DataFormatError(problem, path=path)
    return chosen[0]


def _stacked(
    lists: list[Any], ids: list[str], name: str, path: str | Path
) -> FloatArray:
    """Stack the vectors of a column of lists, shape (n, d)."""
    rows: list[AnyArray] = []
    for number, values in enumerate(lists):
        problem = None
        try:
            row = np.asarray([] if values is None else values)
        except ValueError:  # lists of unequal length
            row = np.empty(0)
        if row.ndim != 1 or row.dtype.kind not in "fiu" or not len(row):
            problem = "must be a list of numbers"
        elif rows and len(row) != len(rows[0]):
            problem = f"has {len(row)} numbers, row 0 has {len(rows[0])}"
        if problem:
            message = f"column {name!r}: row {number} ({ids[number]!r}) {problem}"
            raise DataFormatError(message, path=path)
        rows.append(row)
    return as_doubles(rows)


def write_table_into(
    file: Path, embeddings: EmbeddingSet, *, separator: str, dtype: str = "double"
) -> None:
    """Write a header ``id,x0,x1,...`` and one row per vector to a temporary file.

    Numbers have enough digits to be restored exactly.
    """
    vectors = narrowed(embeddings.vectors, owner="write_embeddings", dtype=dtype)
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=separator, lineterminator="\n")
        writer.writerow(["id", *(f"x{column}" for column in range(embeddings.dim))])
        for name, vector in zip(embeddings.ids, vectors, strict=True):
            writer.writerow([as_cell(name), *number_texts(vector)])


class _RowParser:
    """Collects rows of a table of vectors; raises at the first invalid row.

    If the header does not name an id column, the rows decide: the first column contains
    ids if any of its values is not a number.
    """

    def __init__(
        self, path: str | Path, header: list[str] | None, n_columns: int
    ) -> None:
        self.vectors: list[FloatArray] = []
        self._names: list[str] = []
        self._lines: list[int] = []
        self._path = path
        self._header = header
        self._n_columns = n_columns
        named = None if header is None else _id_column(header)
        speakers = {c for c, n in enumerate(header or ()) if _is_speaker(n)}
        first = next((c for c in range(n_columns) if c not in speakers), 0)
        self._is_named = named is not None
        self._id_column = first if named is None else named
        self._excluded = {self._id_column, *speakers}

    def add(self, row: list[str], line: int) -> None:
        if len(row) != self._n_columns:
            problem = f"{len(row)} columns, the first row has {self._n_columns}"
            raise DataFormatError(problem, path=self._path, line=line)
        values = [
            self._number(text, column, line)
            for column, text in enumerate(row)
            if column not in self._excluded
        ]
        self._names.append(from_cell(row[self._id_column]))
        self._lines.append(line)
        self.vectors.append(np.array(values))

    def finish(self) -> EmbeddingSet:
        """Build the set; generate ids if the first column is part of the vectors."""
        vectors = np.array(self.vectors)
        if self._holds_ids(vectors):
            self._check_ids()
            return checked_set(self._names, vectors, self._path)
        column = [
            self._number(text, self._id_column, line)
            for text, line in zip(self._names, self._lines, strict=True)
        ]
        return checked_set(
            row_ids(len(vectors)), np.column_stack([column, vectors]), self._path
        )

    def _holds_ids(self, vectors: FloatArray) -> bool:
        if self._is_named or any(_parsed(name) is None for name in self._names):
            return True
        counts = [list(map(str, range(n, n + len(self._names)))) for n in (0, 1)]
        # With a single row, a count cannot be distinguished from a number.
        is_count = self._names in counts and len(self._names) > 1
        return self._header is None and is_count and bool((vectors % 1.0 != 0.0).any())

    def _check_ids(self) -> None:
        first: dict[str, int] = {}
        for name, line in zip(self._names, self._lines, strict=True):
            problem = None
            if not name:
                problem = f"no id in {self._title(self._id_column)}"
            elif name in first:
                problem = (
                    f"id {name!r} occurs a second time (first in line {first[name]}); "
                    f"ids must be unique"
                )
            if problem:
                raise DataFormatError(problem, path=self._path, line=line)
            first[name] = line

    def _number(self, text: str, column: int, line: int) -> float:
        value = _parsed(text)
        if value is None:
            problem = f"contains {text!r}, not a number"
        elif not math.isfinite(value):
            problem = f"contains {text}; remove or repair the vector"
        else:
            return value
        message = f"{self._title(column)} {problem}"
        raise DataFormatError(message, path=self._path, line=line)

    def _title(self, column: int) -> str:
        named = "" if self._header is None else f" ({self._header[column]!r})"
        return f"column {column + 1}{named}"


def _is_header(fields: list[str]) -> bool:
    rest = fields[1:]
    lowered = [field.strip().lower() for field in fields]
    if lowered[0] in _NO_NAME or {*ID_COLUMNS, *SPEAKER_COLUMNS} & set(lowered):
        return True
    # pandas numbers the columns of tables without column names.
    if _is_numbered(fields) or _is_numbered(rest):
        return True
    return all(_parsed(field) is None for field in rest)


def _id_column(names: list[str]) -> int | None:
    """Find the id column by name, or a first column without a name."""
    lowered = [name.strip().lower() for name in names]
    named = next((lowered.index(name) for name in ID_COLUMNS if name in lowered), None)
    # pandas numbers columns without names, after an index that may have a name.
    is_index = lowered[0] in _NO_NAME or (
        _is_numbered(lowered[1:]) and not _is_speaker(lowered[0])
    )
    return 0 if named is None and is_index else named


def _is_numbered(fields: list[str]) -> bool:
    return len(fields) > 1 and fields == list(map(str, range(len(fields))))


def _is_speaker(name: str) -> bool:
    return name.strip().lower() in SPEAKER_COLUMNS


def _blank_rows(stream: BinaryIO, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a whitespace-separated table, without comments."""
    for number, line in enumerate(_lines(stream, path), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.split()


def _rows(stream: BinaryIO, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the number of their last line."""
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


def _unfolded(
    rows: Iterator[tuple[int, list[str]]], id_column: int, cell: int, n_columns: int
) -> Iterator[tuple[int, list[str]]]:
    """Make a column of each number of a cell, after the id."""
    for number, row in rows:
        is_whole = len(row) == n_columns
        yield number, [row[id_column], *row[cell].split()] if is_whole else row


def _lines(stream: BinaryIO, path: str | Path) -> Iterator[str]:
    for number, raw in enumerate(stream, start=1):
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 ({error.reason})"
            raise DataFormatError(problem, path=path, line=number) from None


def _parsed(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if "_" in text else value  # only Python reads 1_000 as a number


def read_json_lines(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read embeddings from JSON lines."""
    ids: list[str | None] = []
    vectors: list[list[float]] = []
    with open_seekable(source, name) as (stream, path):
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = _json_object(line)
                vector = _json_vector(row)
                ids.append(_json_id(row))
            except ValueError as error:
                raise DataFormatError(str(error), path=path, line=number) from None
            if vectors and len(vector) != len(vectors[0]):
                problem = (
                    f"{len(vector)} numbers, the first vector has {len(vectors[0])}"
                )
                raise DataFormatError(problem, path=path, line=number)
            vectors.append(vector)
    return checked_set(_json_ids(ids, path), np.array(vectors, dtype=np.float64), path)


def _json_object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("not read: values are nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} in column {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError("a line must be an object, such as {...}")
    return row


def _json_vector(row: Mapping[str, Any]) -> list[float]:
    named = [row[key] for key in VECTOR_COLUMNS if key in row]
    lists = [value for value in row.values() if isinstance(value, list)]
    if not named and len(lists) != 1:
        raise ValueError(f"no vector: one list of numbers is needed, got {len(lists)}")
    vector = (named or lists)[0]
    if not isinstance(vector, list) or not all(
        isinstance(x, int | float) and not isinstance(x, bool) for x in vector
    ):
        raise ValueError("the vector must be a list of numbers")
    try:
        return [float(x) for x in vector]
    except OverflowError:
        raise ValueError("a number of the vector is too large") from None


def _json_id(row: Mapping[str, Any]) -> str | None:
    for key in ID_COLUMNS:
        if isinstance(row.get(key), str | int):
            return str(row[key])
    return None


def _json_ids(ids: list[str | None], path: str | Path) -> list[str]:
    names = [name for name in ids if name is not None]
    if not names:
        return row_ids(len(ids))
    if len(names) != len(ids):
        problem = f"{len(ids) - len(names)} of {len(ids)} lines have no id"
        raise DataFormatError(problem, path=path)
    return names
