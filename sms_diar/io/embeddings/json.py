"""Embeddings as JSON lines: ``{"id": "a", "vector": [0.1, 0.2]}``.

The vector is the only list of numbers of an object; other keys are ignored. Without
ids, rows are named ``row-00000`` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import Readable, open_seekable
from sms_diar.io.embeddings.arrays import checked_set, row_ids
from sms_diar.io.embeddings.tables import ID_COLUMNS, VECTOR_COLUMNS
from sms_diar.types import EmbeddingSet


def read_json_lines(source: Readable, *, name: str | None = None) -> EmbeddingSet:
    """Read a file of JSON lines.

    Parameters
    ----------
    source : str, Path or binary stream
        UTF-8 text with one object per line.
    name : str, optional
        Name of a stream in messages.

    Raises
    ------
    DataFormatError
        If a line is invalid; the message gives the line number.
    """
    ids: list[str | None] = []
    vectors: list[list[float]] = []
    with open_seekable(source, name) as (stream, path):
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = _parsed(line)
                vector = _vector(row)
                ids.append(_id(row))
            except ValueError as error:
                raise DataFormatError(str(error), path=path, line=number) from None
            if vectors and len(vector) != len(vectors[0]):
                raise DataFormatError(
                    f"{len(vector)} numbers, the first vector has {len(vectors[0])}",
                    path=path,
                    line=number,
                )
            vectors.append(vector)
    return checked_set(_names(ids, path), np.array(vectors, dtype=np.float64), path)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("not read: values are nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} in column {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError("a line must be an object, such as {...}")
    return row


def _vector(row: Mapping[str, Any]) -> list[float]:
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


def _id(row: Mapping[str, Any]) -> str | None:
    for key in ID_COLUMNS:
        if isinstance(row.get(key), str | int):
            return str(row[key])
    return None


def _names(ids: list[str | None], path: str | Path) -> list[str]:
    names = [name for name in ids if name is not None]
    if not names:
        return row_ids(len(ids))
    if len(names) != len(ids):
        raise DataFormatError(
            f"{len(ids) - len(names)} of {len(ids)} lines have no id", path=path
        )
    return names
