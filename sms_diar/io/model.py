"""Model files of this package: npz with a header, and nothing that executes.

A header, itself JSON text, says what the file is: format version, kind of model,
words about it (what it was trained on), and a digest of its arrays that doubles
as the fingerprint by which other files refer to this model. A damaged file, a
newer format, or a model of another kind is refused by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._files import replacing
from sms_diar._validation import check_path, refuse_path
from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io._bytes import open_regular
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.embeddings.arrays import load_arrays, names_in_npz
from sms_diar.types import AnyArray

FORMAT_VERSION = 1
MODEL_MARK = "sms_diar_model"


@dataclass(frozen=True, eq=False)
class ModelFile:
    """Contents of a model file.

    Parameters
    ----------
    kind : str
        What the arrays are, such as "backend".
    arrays : mapping from str to ndarray
        The numbers.
    words : mapping
        What else is known: plain values that JSON holds.
    """

    kind: str
    arrays: Mapping[str, AnyArray]
    words: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that follow from kind and arrays."""
        digest = hashlib.sha256(self.kind.encode())
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def write_model(path: str | Path, model: ModelFile) -> None:
    """Write a model, whole or not at all."""
    rule, remedy = "a ModelFile", "read it with read_model"
    refuse_path("write_model", "model", model, rule, remedy)
    header = {
        "version": FORMAT_VERSION,
        "kind": model.kind,
        "fingerprint": model.fingerprint,
        "words": dict(model.words),
    }
    arrays = {MODEL_MARK: np.array(json.dumps(header)), **model.arrays}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def is_model(path: str | Path) -> bool:
    """Whether a file is a model of this package, damaged or not."""
    path = Path(path)
    try:
        with open_regular(path) as file:
            return file.read(2) == b"PK" and MODEL_MARK in names_in_npz(file, path)
    except (MissingFileError, DataFormatError):
        return False


def read_model(path: str | Path, kind: str) -> ModelFile:
    """Read a model of the given kind."""
    check_path("read_model", "path", path)
    path = Path(path)
    arrays = dict(load_arrays(path))
    text = arrays.pop(MODEL_MARK, None)
    if text is None:
        raise DataFormatError(
            f"not a model file of sms_diar: it has no entry '{MODEL_MARK}', "
            f"only {', '.join(sorted(arrays)) or 'none'}",
            path=path,
        )
    with foreign_errors(path, "the header of this model file makes no sense"):
        header = json.loads(str(text))
        version, found = int(header["version"]), str(header["kind"])
        words, fingerprint = dict(header["words"]), str(header["fingerprint"])
    if version > FORMAT_VERSION:
        raise DataFormatError(
            f"written in format {version}, this version reads up to "
            f"{FORMAT_VERSION}; update sms_diar",
            path=path,
        )
    if found != kind:
        raise DataFormatError(
            f"holds a model of kind '{found}', expected '{kind}'", path=path
        )
    model = ModelFile(found, arrays, words)
    if model.fingerprint != fingerprint:
        raise DataFormatError(
            "the arrays of this model do not match its fingerprint; the file is "
            "damaged or was edited",
            path=path,
        )
    return model
