"""The folder where converted networks lie.

It is the cache folder of the user, or the one that SMS_DIAR_MODELS names. A network is
one model file, there or not: it is written under a temporary name and renamed, so two
that write at once leave the file of either, and both are the same.
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
    """What the folder knows of a network.

    Parameters
    ----------
    network : Network
        Which one.
    path : Path
        Where it lies, or would.
    state : {"verified", "absent", "damaged"}
        Whether the arrays there are those the catalogue expects.
    problem : str
        What is wrong with a damaged one.
    """

    network: Network
    path: Path
    state: str
    problem: str = ""


def models_folder() -> Path:
    """Folder of the converted networks; it need not exist."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path  # noqa: PLC0415 only where it is needed

    return Path(user_cache_path("sms-diar", appauthor=False)) / "models"


def path_of(name: str) -> Path:
    """File of a network, whether it is there or not."""
    return models_folder() / f"{network(name).name}.npz"


def is_stored(name: str) -> bool:
    """Whether there is a file of that network; reading it may still fail."""
    return path_of(name).is_file()


def load(name: str) -> ModelFile:
    """Arrays of a network in the folder, verified."""
    wanted = network(name)
    path = path_of(name)
    if not path.is_file():
        raise MissingFileError(
            f"{path}: the network '{name}' is not there; get it with "
            f"'sms-diar models fetch {name}'"
        )
    found = read_model(path, KIND)
    if found.fingerprint != wanted.fingerprint:
        raise DataFormatError(
            f"holds other numbers than the network '{name}' of this version; "
            f"get it anew with 'sms-diar models fetch {name}'",
            path=path,
        )
    return found


def look_up(name: str) -> Stored:
    """What the folder knows of a network."""
    path = path_of(name)
    if not path.is_file():
        return Stored(network(name), path, "absent")
    try:
        load(name)
    except DataFormatError as error:
        return Stored(network(name), path, "damaged", error.problem)
    return Stored(network(name), path, "verified")


def store(name: str, file: str | Path) -> Path:
    """Check an original file, convert it and keep the result.

    Parameters
    ----------
    name : str
        The network.
    file : str or Path
        Its original file, known by its digest.
    """
    wanted = network(name)
    found = file_digest(file)
    if found != wanted.digest:
        raise DataFormatError(
            f"is not the file of the network '{name}': expected SHA-256 "
            f"{wanted.digest}, found {found}",
            path=file,
        )
    return save(wanted, wanted.convert(Path(file)))


def save(wanted: Network, arrays: dict[str, AnyArray]) -> Path:
    """Write converted arrays, whole or not at all."""
    words = {
        "network": wanted.name,
        "source": wanted.source,
        "digest": wanted.digest,
        "licence": wanted.licence,
        "attribution": wanted.attribution,
    }
    model = ModelFile(KIND, arrays, words)
    if model.fingerprint != wanted.fingerprint:
        raise NetworkError(
            f"network '{wanted.name}': conversion gave arrays of fingerprint "
            f"{model.fingerprint}, expected {wanted.fingerprint}; this is a fault of "
            f"sms_diar or of its installation"
        )
    path = path_of(wanted.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_model(path, model)
    except OSError as error:
        raise _refused(path, wanted.name, error) from error
    return path


def remove(name: str) -> Path | None:
    """Delete a network from the folder; None if it was not there."""
    path = path_of(name)
    try:
        path.unlink()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NetworkError(
            f"{path}: the network '{name}' cannot be deleted ({error.strerror})"
        ) from error
    return path


def check_writable(name: str) -> None:
    """Find out before the work whether a network can be kept."""
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
    """SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open_regular(Path(path)) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
