"""Getting the file of a network: from its wheel, or from a file the user has.

The wheel comes through the user's own pip, with whatever index, proxy and certificates
that is set up for, or through uv where there is no pip. Neither is asked to install
anything where this package runs: pip only downloads, and uv, which cannot, unpacks into
a temporary folder. No code of the wheel is ever run.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePath

from sms_diar._files import protecting
from sms_diar._progress import Progress, Silence
from sms_diar.errors import DataFormatError, NetworkError
from sms_diar.io._bytes import open_regular
from sms_diar.io._foreign import opened_archive
from sms_diar.networks import store
from sms_diar.networks.catalogue import NETWORKS, Network, network

_DAMAGED = "is a damaged wheel"
_STEPS = 3
_UV_PLATFORM = "x86_64-manylinux_2_28"  # of any platform, since no code is wanted


def fetch(
    name: str, *, again: bool = False, progress: Progress | None = None
) -> store.Stored:
    """Download a network, check it, convert it and keep it.

    Parameters
    ----------
    name : str
        The network.
    again : bool, default=False
        Download even if it is there and whole.
    progress : Progress, optional
        Receives progress.
    """
    wanted = network(name)
    known = store.look_up(name)
    if known.state == "verified" and not again:
        return known
    store.check_writable(name)
    listener = progress or Silence()
    with (
        tempfile.TemporaryDirectory(prefix="sms-diar-") as made,
        listener.track(f"fetch {name}", _STEPS) as advance,
    ):
        folder = Path(made)
        listener.say(f"{name}: downloading {wanted.source}")
        try:
            _download(wanted, folder)
            advance()
            file = _unpacked(wanted, folder)
            advance()
            store.store(name, file)
        except OSError as error:
            raise NetworkError(
                f"network '{name}': the download cannot be kept in {folder.parent} "
                f"({error.strerror or error}); make room there"
            ) from error
        advance()
    return store.look_up(name)


def add(path: str | Path) -> list[store.Stored]:
    """Convert and keep the network of a file the user has.

    Parameters
    ----------
    path : str or Path
        The original file of a network, known by its digest, or a wheel that holds one.
    """
    path = Path(path)
    found = file_networks(path)
    for known in found:
        store.check_writable(known.name)
    with protecting([path]), tempfile.TemporaryDirectory(prefix="sms-diar-") as folder:
        if store.file_digest(path) == found[0].digest:
            store.store(found[0].name, path)
        else:
            for known in found:
                store.store(known.name, _taken(known, path, Path(folder)))
    return [store.look_up(known.name) for known in found]


def file_networks(path: Path) -> list[Network]:
    """Networks whose file this is, or that are in this wheel."""
    digest = store.file_digest(path)
    found = [known for known in NETWORKS.values() if known.digest == digest]
    if not found and zipfile.is_zipfile(path):
        with open_regular(path) as file, opened_archive(file, path, _DAMAGED) as wheel:
            names = set(wheel.namelist())
        found = [known for known in NETWORKS.values() if known.entry in names]
    if not found:
        listed = ", ".join(PurePath(known.entry).name for known in NETWORKS.values())
        raise DataFormatError(
            f"is neither the file of a known network ({listed}) nor a wheel with one; "
            f"its SHA-256 is {digest}",
            path=path,
        )
    return found


def _download(wanted: Network, folder: Path) -> None:
    """Have pip or uv put the wheel, or what is in it, into the folder."""
    program, command = _command(wanted, folder)
    try:
        done = subprocess.run(  # noqa: S603 a list of arguments, no shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise NetworkError(
            f"network '{wanted.name}': {program} cannot be started ({error.strerror})"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reasons = [line for line in lines if line.lower().startswith("error")] or lines
        reason = reasons[-1].strip() if reasons else f"exit code {done.returncode}"
        raise NetworkError(
            f"network '{wanted.name}': {program} could not get {wanted.source} "
            f"({reason}); check the connection and the settings of {program}, or get "
            f"the wheel elsewhere and name it to 'sms-diar models add'"
        )


def _command(wanted: Network, folder: Path) -> tuple[str, list[str]]:
    package = f"{wanted.package}=={wanted.version}"
    common = ["--no-deps", "--only-binary", ":all:", "--python-version", wanted.python]
    if importlib.util.find_spec("pip") is not None:
        platforms = [word for tag in wanted.platforms for word in ("--platform", tag)]
        asked = ["--implementation", "cp", *platforms, "--dest", str(folder), package]
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        return "pip", [
            *(sys.executable, "-m", "pip", "download"),
            *quiet,
            *common,
            *asked,
        ]
    uv = shutil.which("uv")
    if uv is None:
        raise NetworkError(
            f"network '{wanted.name}': neither pip nor uv is here to download "
            f"{wanted.source}; install one of them, or get the wheel elsewhere and "
            f"name it to 'sms-diar models add'"
        )
    asked = ["--python-platform", _UV_PLATFORM, "--target", str(folder / "unpacked")]
    interpreter = ["--python", sys.executable]
    return "uv", [uv, "pip", "install", *interpreter, *common, *asked, package]


def _unpacked(wanted: Network, folder: Path) -> Path:
    """The file of the network, from what was downloaded."""
    file = folder / "unpacked" / wanted.entry
    if file.is_file():
        return file
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise NetworkError(
            f"network '{wanted.name}': expected one wheel of {wanted.source}, got "
            f"{len(wheels)}"
        )
    return _taken(wanted, wheels[0], folder)


def _taken(wanted: Network, wheel: Path, folder: Path) -> Path:
    """One entry of a wheel as a file; its path in the wheel plays no part."""
    target = folder / f"{wanted.name}.original"
    with open_regular(wheel) as file, opened_archive(file, wheel, _DAMAGED) as archive:
        if wanted.entry not in archive.namelist():
            raise DataFormatError(f"is a wheel without {wanted.entry}", path=wheel.name)
        info = archive.getinfo(wanted.entry)
        if info.file_size != wanted.size:
            raise DataFormatError(
                f"its {wanted.entry} has {info.file_size} bytes, expected "
                f"{wanted.size}",
                path=wheel.name,
            )
        content = archive.read(info)
    target.write_bytes(content)  # a full disk is not the fault of the wheel
    return target
