"""Reader for the arrays of a PyTorch zip archive that does not execute its pickle.

Such a file contains the values of each tensor as a plain entry, and a pickle with the
values, shape and strides of each tensor. A pickle is a program for a small stack
machine, which in general can call any function. The machine in this module implements
only the instructions that occur in archives of tensors. Functions are represented by
their names, and only three calls have a meaning (tensor, empty ordered dictionary,
parameter). Nothing is imported or executed, and any other instruction, name or call is
an error.

A checkpoint also contains objects of other classes. `_CheckpointMachine` puts a
placeholder in their place, whatever they are, and still executes nothing.
"""

from __future__ import annotations

import pickletools
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_regular
from sms_diar.io._foreign import opened_archive
from sms_diar.types import AnyArray

_STORAGES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
    "torch BoolStorage": "|b1",
}
_TENSOR = "torch._utils _rebuild_tensor_v2"
_PARAMETER = "torch._utils _rebuild_parameter"
_ORDERED = "collections OrderedDict"
_LARGEST_PROGRAM = 1 << 24
_MARK = object()
_OTHER = object()  # placeholder of an object that is not a tensor


class _Name(NamedTuple):
    """Name of a function or class in the program; it is never resolved."""

    text: str


@dataclass(frozen=True)
class _Storage:
    """Values in the archive that tensors are views of."""

    key: str
    dtype: str


def read_tensors(path: str | Path, *, member: str = "") -> dict[str, AnyArray]:
    """Read the named tensors of a zip archive written by ``torch.save``.

    The archive contains a dictionary of tensors; nested dictionaries are ignored. With
    `member`, the archive is a checkpoint, a dictionary of anything in which `member` is
    the dictionary of tensors.
    """
    path = Path(path)
    problem = "not a PyTorch archive, or a damaged one"
    with open_regular(path) as file, opened_archive(file, path, problem) as archive:
        return _Archive(archive, path).tensors(member)


class _Archive:
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive = archive
        self._path = path
        programs = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(programs) != 1:
            self._fail(f"expected one entry data.pkl, found {len(programs)}")
        self._program = programs[0]
        self._folder = programs[0].removesuffix("data.pkl")

    def tensors(self, member: str) -> dict[str, AnyArray]:
        if self._archive.getinfo(self._program).file_size > _LARGEST_PROGRAM:
            self._fail("its data.pkl is far too long for a list of tensors")
        kind = _CheckpointMachine if member else _Machine
        machine = kind(self._tensor, self._fail)
        content = _run(self._archive.read(self._program), machine, self._fail)
        if member:
            content = content.get(member) if isinstance(content, Mapping) else None
        if not isinstance(content, Mapping):
            self._fail("expected a dictionary of tensors, found something else")
        return {
            name: value
            for name, value in content.items()
            if isinstance(value, np.ndarray)
        }

    def _tensor(self, arguments: tuple[Any, ...]) -> AnyArray:
        if len(arguments) < 4 or not isinstance(arguments[0], _Storage):
            self._fail("a tensor is described in an unknown way")
        storage, offset, shape, strides = arguments[:4]
        sizes = (offset, *shape, *strides)
        if (
            not isinstance(shape, tuple)
            or len(shape) != len(strides)
            or not all(type(size) is int and size >= 0 for size in sizes)
        ):
            self._fail("a tensor has an invalid shape")
        numbers = self._numbers(storage)
        span = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        # With a stride of zero, a few bytes could request any amount of memory.
        too_many = prod(shape) > len(numbers)
        if too_many or (prod(shape) and offset + span >= len(numbers)):
            self._fail("a tensor extends beyond its values")
        if not prod(shape):
            return np.empty(shape, numbers.dtype)
        width = numbers.itemsize
        view = np.lib.stride_tricks.as_strided(
            numbers[offset:], shape, [step * width for step in strides]
        )
        return view.copy()

    def _numbers(self, storage: _Storage) -> AnyArray:
        try:
            data = self._archive.read(f"{self._folder}data/{storage.key}")
            return np.frombuffer(data, dtype=storage.dtype)
        except (KeyError, ValueError):
            self._fail(f"the values '{storage.key}' are missing or damaged")

    def _fail(self, problem: str) -> NoReturn:
        message = f"not a plain archive of tensors: {problem}"
        raise DataFormatError(message, path=self._path)


class _Machine:
    """Stack machine with the instructions that the program may use."""

    def __init__(
        self,
        tensor: Callable[[tuple[Any, ...]], AnyArray],
        fail: Callable[[str], NoReturn],
    ) -> None:
        self._tensor = tensor
        self._fail = fail
        self._memory: dict[int, Any] = {}
        self.stack: list[Any] = []

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _LITERALS:
            stack.append(_LITERALS[name](argument))
        elif name == "GLOBAL":
            stack.append(_Name(argument))
        elif name in ("BINPUT", "LONG_BINPUT"):
            self._memory[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._memory[argument])
        elif name == "TUPLE":
            stack.append(tuple(self._since_mark()))
        elif name in _TUPLES:
            n = _TUPLES[name]
            stack[-n:] = [tuple(stack[-n:])]
        elif name == "SETITEMS":
            items = self._since_mark()
            self._fill(items[::2], items[1::2])
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            self._fill([key], [value])
        elif name == "BINPERSID":
            stack.append(self._storage(stack.pop()))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(self._call(function, arguments))
        elif name == "BUILD":
            self._attributes(stack.pop())
        elif name not in ("PROTO", "STOP"):
            self._fail(f"its program uses the instruction {name}")

    def _since_mark(self) -> list[Any]:
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def _fill(self, keys: list[Any], values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(keys) != len(values):
            self._fail("it sets items of something that is not a dictionary")
        if not all(type(key) is str for key in keys):
            self._fail("it has keys that are not strings")
        target.update(zip(keys, values, strict=True))

    def _attributes(self, state: Any) -> None:
        # torch saves "_metadata" with its dictionaries; it is not needed here.
        if type(self.stack[-1]) is not dict or type(state) is not dict:
            self._fail("it changes the state of something that is not a dictionary")

    def _storage(self, reference: Any) -> _Storage:
        if not (
            isinstance(reference, tuple)
            and len(reference) >= 3
            and reference[0] == "storage"
            and isinstance(reference[1], _Name)
            and type(reference[2]) is str
        ):
            self._fail("it refers to something other than a storage")
        if reference[1].text not in _STORAGES:
            self._fail(f"it has values of the type '{reference[1].text}'")
        return _Storage(reference[2], _STORAGES[reference[1].text])

    def _call(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, _Name) or not isinstance(arguments, tuple):
            self._fail("it calls something that is not a function")
        if function.text == _TENSOR:
            return self._tensor(arguments)
        if function.text == _ORDERED and not arguments:
            return {}
        if function.text == _PARAMETER and arguments:
            return arguments[0]
        self._fail(f"it calls '{function.text.replace(' ', '.')}'")


class _CheckpointMachine(_Machine):
    """Machine that ignores what is not a tensor instead of refusing it."""

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name == "NEWOBJ":
            stack[-2:] = [_OTHER]
        elif name in ("EMPTY_LIST", "BINFLOAT"):
            stack.append(_OTHER)
        elif name == "APPEND":
            stack.pop()
        elif name == "APPENDS":
            self._since_mark()
        else:
            super().step(name, argument)

    def _fill(self, keys: list[Any], values: list[Any]) -> None:
        if self.stack[-1] is _OTHER:
            return
        pairs = [
            (key, value)
            for key, value in zip(keys, values, strict=True)
            if type(key) is str
        ]
        super()._fill([key for key, _ in pairs], [value for _, value in pairs])

    def _attributes(self, state: Any) -> None:
        pass

    def _call(self, function: Any, arguments: Any) -> Any:
        known = (_TENSOR, _PARAMETER, _ORDERED)
        if isinstance(function, _Name) and function.text not in known:
            return _OTHER
        return super()._call(function, arguments)


_LITERALS: dict[str, Callable[[Any], Any]] = {
    "MARK": lambda _: _MARK,
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_DICT": lambda _: {},
    "BININT": int,
    "BININT1": int,
    "BININT2": int,
    "BINUNICODE": str,
    "SHORT_BINUNICODE": str,
    "LONG1": int,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _run(program: bytes, machine: _Machine, fail: Callable[[str], NoReturn]) -> Any:
    try:
        with warnings.catch_warnings():
            # Invalid escapes occur in strings that the machine then rejects.
            warnings.simplefilter("ignore")
            for instruction, argument, _ in pickletools.genops(program):
                machine.step(instruction.name, argument)
        (result,) = machine.stack
    except DataFormatError:
        raise
    except (ValueError, IndexError, KeyError, TypeError) as error:
        fail(f"its program is damaged ({error})")
    return result
