"""Model files of this package: npz with a JSON header, without executable content.

The header contains the format version, the kind of model, a description (such as the
training data), and a digest of the arrays. The digest is also the fingerprint by which
other files refer to the model. Damaged files, newer formats and models of another kind
are refused with a specific message.
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
    """Arrays of a model, such as a "backend", and its description as JSON values."""

    kind: str
    arrays: Mapping[str, AnyArray]
    words: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """Digest of kind and arrays, sixteen hexadecimal digits."""
        digest = hashlib.sha256(self.kind.encode())
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def write_model(path: str | Path, model: ModelFile) -> None:
    """Write a model atomically."""
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
    """Return true for a model file of this package, even if it is damaged."""
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
    with foreign_errors(path, "invalid header of a model file"):
        header = json.loads(str(text))
        version, stored_kind = int(header["version"]), str(header["kind"])
        words, fingerprint = dict(header["words"]), str(header["fingerprint"])
    if version > FORMAT_VERSION:
        raise DataFormatError(
            f"written in format {version}, this version reads up to "
            f"{FORMAT_VERSION}; update sms_diar",
            path=path,
        )
    if stored_kind != kind:
        problem = f"contains a model of kind '{stored_kind}', expected '{kind}'"
        raise DataFormatError(problem, path=path)
    model = ModelFile(stored_kind, arrays, words)
    if model.fingerprint != fingerprint:
        raise DataFormatError(
            "the arrays of this model do not match its fingerprint; the file is "
            "damaged or was edited",
            path=path,
        )
    return model
