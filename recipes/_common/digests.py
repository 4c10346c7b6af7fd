"""Digests of files and folders, to detect changes of the input of a stage."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sms_diar.errors import MissingFileError


def listing_digest(folder: Path) -> str:
    """Return a digest of the names and sizes of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            line = f"{path.relative_to(folder)} {path.stat().st_size}\n"
            digest.update(line.encode())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    if not path.is_file():
        raise MissingFileError(f"{path}: no such file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
