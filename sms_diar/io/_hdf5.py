"""HDF5 files, whose content is not trusted.

Only datasets of numbers or fixed-length text are read. Links to other files, virtual
datasets and external storage, by which a file could read any other file, are refused,
as is text of variable length, which is not limited by the size of its dataset.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.errors import DataFormatError, MissingExtraError
from sms_diar.io._bytes import Readable, open_seekable
from sms_diar.io._foreign import foreign_errors
from sms_diar.limits import FREE_EXPANSION, MOST_EXPANSION
from sms_diar.types import AnyArray

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Return true if a file begins like HDF5."""
    with path.open("rb") as stream:
        return stream.read(len(HDF5_MAGIC)) == HDF5_MAGIC


class Hdf5File:
    """An open HDF5 file of `size` bytes; `path` is for messages."""

    def __init__(self, file: Any, path: str | Path, size: int) -> None:
        self.path = path
        self.file = file
        self._size = size
        self._unpacked = 0

    def names(self) -> list[str]:
        """List the datasets of the root that are in the file itself."""
        h5py = import_module("h5py")
        return [
            name
            for name in self.file
            if isinstance(self.file.get(name, getlink=True), h5py.HardLink)
            and isinstance(self.file[name], h5py.Dataset)
        ]

    def array(self, dataset: Any, *, expansion: int = MOST_EXPANSION) -> AnyArray:
        """Read a dataset, which is named or given, if it is plain and of fair size."""
        part = self.file[dataset] if isinstance(dataset, str) else dataset
        if part.is_virtual or part.external or part.dtype.kind not in "biufS":
            raise self.fault(
                f"dataset {part.name!r} must contain numbers or text of fixed length, "
                f"stored in this file, got {part.dtype}"
            )
        self.check_size(part, expansion)
        return np.asarray(part)

    def check_size(self, part: Any, expansion: int = MOST_EXPANSION) -> None:
        """Refuse a dataset with which the file would unpack to far more than it has."""
        chunk = math.prod(part.chunks or (0,)) * part.dtype.itemsize
        self._unpacked += max(part.nbytes, chunk)
        if self._unpacked > max(FREE_EXPANSION, expansion * self._size):
            raise self.fault(
                f"would unpack to {self._unpacked} bytes or more, far more than its "
                f"size; if it is valid, write it again without compression"
            )

    def strings(self, name: str) -> list[str]:
        """Read a dataset of text of shape (n,)."""
        array = self.array(name)
        if array.ndim != 1 or array.dtype.kind != "S":
            raise self.fault(
                f"dataset {name!r} must be a list of text, got {array.dtype} of shape "
                f"{array.shape}"
            )
        return [value.decode("utf-8") for value in array.tolist()]

    def require(self, names: Collection[str], kind: str) -> None:
        """Refuse a file without some datasets; it should be a `kind` of SIDEKIT."""
        absent = [name for name in names if name not in self.names()]
        if absent:
            listed = ", ".join(absent)
            raise self.fault(f"HDF5 without {listed}; expected {kind} of SIDEKIT")

    def fault(self, problem: str) -> DataFormatError:
        """Return an error about this file, to be raised."""
        return DataFormatError(problem, path=self.path)


@contextmanager
def opened_hdf5(source: Readable, name: str | None = None) -> Iterator[Hdf5File]:
    """Open an HDF5 file, which requires h5py."""
    with open_seekable(source, name) as (stream, path):
        try:
            h5py = import_module("h5py")
        except ImportError:
            raise MissingExtraError(
                f"{path}: reading HDF5 needs h5py; pip install 'sms-diar[h5]', or save "
                f"the arrays with numpy.savez"
            ) from None
        size = stream.seek(0, 2)
        with (
            foreign_errors(path, "not a whole HDF5 file"),
            h5py.File(stream, "r") as file,
        ):
            yield Hdf5File(file, path, size)
