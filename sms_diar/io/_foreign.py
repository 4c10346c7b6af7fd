"""Conversion of exceptions of other libraries to errors of this package.

On damaged files, NumPy, zipfile, pyarrow, h5py and similar libraries raise exceptions
of many types, so all types are converted.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sms_diar._text import shown
from sms_diar.errors import DataFormatError, MissingExtraError, MissingFileError

_LONGEST = 200  # maximum number of characters quoted from a message


@contextmanager
def foreign_errors(path: str | Path, problem: str, remedy: str = "") -> Iterator[None]:
    """Convert any exception to a DataFormatError about `path`.

    Its message is `problem`, the original message in brackets, and `remedy`.
    """
    try:
        yield
    except (DataFormatError, MissingExtraError, MissingFileError):
        raise
    except Exception as error:
        first_line = shown(str(error).strip().partition("\n")[0])[:_LONGEST]
        reason = first_line or type(error).__name__
        raise DataFormatError(f"{problem} ({reason}){remedy}", path=path) from error


@contextmanager
def opened_archive(
    stream: BinaryIO, path: str | Path, problem: str, remedy: str = ""
) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; see `foreign_errors`."""
    with foreign_errors(path, problem, remedy), zipfile.ZipFile(stream) as archive:
        yield archive
