"""Folder of the converted networks.

It is in the user's cache folder, or at SMS_DIAR_MODELS if that is set. A network is one
model file, which is written under a temporary name and renamed, so concurrent writers
are safe: both write the same content.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sms_diar.errors import DataFormatError, MissingFileError, NetworkError
from sms_diar.io._bytes import open_regular
from sms_diar.io.model import ModelFile, read_model, write_model
from sms_diar.networks.catalogue import Network, network
from sms_diar.types import AnyArray

VARIABLE = "SMS_DIAR_MODELS"
KIND = "network"


@dataclass(frozen=True, slots=True)
class Stored:
    """Status of a network in the folder.

    `path` is the path of the model file, whether or not it exists. `state` is
    "verified" if the arrays are the expected ones, else "absent" or "damaged", with the
    reason in `problem`.
    """

    network: Network
    path: Path
    state: str
    problem: str = ""


def models_folder() -> Path:
    """Return the folder of the converted networks; it need not exist."""
    folder = os.environ.get(VARIABLE)
    if folder:
        return Path(folder)
    from platformdirs import user_cache_path  # noqa: PLC0415 loaded only if needed

    return Path(user_cache_path("sms-diar", appauthor=False)) / "models"


def path_of(name: str) -> Path:
    """Return the path of a network, whether or not it exists."""
    return models_folder() / f"{network(name).name}.npz"


def is_stored(name: str) -> bool:
    """Check whether a network has a file; reading the file may still fail."""
    return path_of(name).is_file()


def load(name: str) -> ModelFile:
    """Load the arrays of a stored network, and verify them."""
    expected = network(name)
    path = path_of(name)
    if not path.is_file():
        raise MissingFileError(
            f"{path}: the network '{name}' is not installed; get it with "
            f"'sms-diar models fetch {name}'"
        )
    model = read_model(path, KIND)
    if model.fingerprint != expected.fingerprint:
        raise DataFormatError(
            f"contains other values than the network '{name}' of this version; "
            f"download it again with 'sms-diar models fetch {name}'",
            path=path,
        )
    return model


def look_up(name: str) -> Stored:
    """Return the status of a network in the folder."""
    path = path_of(name)
    if not path.is_file():
        return Stored(network(name), path, "absent")
    try:
        load(name)
    except DataFormatError as error:
        return Stored(network(name), path, "damaged", error.problem)
    return Stored(network(name), path, "verified")


def store(name: str, file: str | Path) -> Path:
    """Verify an original file by its digest, convert it and store the result."""
    entry = network(name)
    digest = file_digest(file)
    if digest != entry.digest:
        raise DataFormatError(
            f"is not the file of the network '{name}': expected SHA-256 "
            f"{entry.digest}, found {digest}",
            path=file,
        )
    return save(entry, entry.convert(Path(file)))


def save(entry: Network, arrays: dict[str, AnyArray]) -> Path:
    """Write converted arrays atomically."""
    metadata = {
        "network": entry.name,
        "source": entry.source,
        "digest": entry.digest,
        "licence": entry.licence,
        "attribution": entry.attribution,
    }
    model = ModelFile(KIND, arrays, metadata)
    if model.fingerprint != entry.fingerprint:
        raise NetworkError(
            f"network '{entry.name}': conversion gave arrays of fingerprint "
            f"{model.fingerprint}, expected {entry.fingerprint}; this is a bug in "
            f"sms_diar or its installation"
        )
    path = path_of(entry.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_model(path, model)
    except OSError as error:
        raise _refused(path, entry.name, error) from error
    return path


def remove(name: str) -> Path | None:
    """Delete a network from the folder; return None if it was not stored."""
    path = path_of(name)
    try:
        path.unlink()
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"{path}: the network '{name}' cannot be deleted ({error.strerror})"
        raise NetworkError(problem) from error
    return path


def check_writable(name: str) -> None:
    """Raise an error early if a network cannot be stored."""
    path = path_of(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _refused(path, name, error) from error


def _refused(path: Path, name: str, error: OSError) -> NetworkError:
    return NetworkError(
        f"{path}: the network '{name}' cannot be written "
        f"({error.strerror or error}); choose another folder with {VARIABLE}"
    )


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 digest of a file in hexadecimal."""
    digest = hashlib.sha256()
    with open_regular(Path(path)) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
