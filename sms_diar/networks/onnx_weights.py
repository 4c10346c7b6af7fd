"""Reader for the weights in an ONNX file.

ONNX is a protocol buffer: a message is a sequence of fields, each a key (number and
wire type) followed by a varint, by four or eight bytes, or by a length and that many
bytes. The weights are field 5 of the graph, which is field 7 of the file, so this short
reader replaces a dependency. The graph itself is ignored, because networks are
identified by the digest of their file.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_regular
from sms_diar.types import AnyArray

_GRAPH, _WEIGHT = 7, 5
_SHAPE, _TYPE, _NAME, _BYTES = 1, 2, 8, 9
_TYPES = {1: "<f4", 7: "<i8", 10: "<f2", 11: "<f8"}


def read_weights(path: str | Path) -> dict[str, AnyArray]:
    """Read the named weights (initializers) that are stored as raw bytes."""
    path = Path(path)
    with open_regular(path) as file:
        content = memoryview(file.read())
    try:
        weights = {}
        for graph in _messages(content, _GRAPH):
            for weight in _messages(graph, _WEIGHT):
                name, array = _array(weight)
                if array is not None:
                    weights[name] = array
    except (ValueError, IndexError, TypeError, KeyError) as error:
        problem = f"not an ONNX file, or a damaged one ({error})"
        raise DataFormatError(problem, path=path) from error
    if not weights:
        raise DataFormatError("not an ONNX file: it contains no weights", path=path)
    return weights


def _array(message: memoryview) -> tuple[str, AnyArray | None]:
    shape: list[int] = []
    kind, name = 0, ""
    data: memoryview | None = None
    for number, value in _fields(message):
        if number == _SHAPE:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == _TYPE and isinstance(value, int):
            kind = value
        elif number == _NAME and not isinstance(value, int):
            name = bytes(value).decode()
        elif number == _BYTES and not isinstance(value, int):
            data = value
    if data is None or kind not in _TYPES:
        return name, None
    numbers = np.frombuffer(data, dtype=_TYPES[kind])
    if len(numbers) != prod(shape):
        raise ValueError(f"{name} has {len(numbers)} numbers for shape {shape}")
    return name, numbers.reshape(shape)


def _messages(message: memoryview, field: int) -> Iterator[memoryview]:
    for number, value in _fields(message):
        if number == field and not isinstance(value, int):
            yield value


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if wire == 2:
            size, at = _varint(message, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {at}")
        if at + size > len(message):
            raise ValueError(f"it ends within a field at byte {at}")
        yield key >> 3, message[at : at + size]
        at += size


def _varints(message: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(message):
        value, at = _varint(message, at)
        values.append(value)
    return values


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError(f"a number without end at byte {at}")
