"""Errors of other libraries' parsers on damaged files, as errors of this package.

NumPy, zipfile, pyarrow, h5py and the like raise whatever they run into: a list of
their exceptions would never be complete.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sms_diar._text import shown
from sms_diar.errors import DataFormatError, MissingExtraError, MissingFileError

_SAID = 200  # characters of what a parser said that are worth a message


@contextmanager
def foreign_errors(path: str | Path, problem: str, remedy: str = "") -> Iterator[None]:
    """Turn any error into a DataFormatError, also that of a value it was read into.

    Parameters
    ----------
    path : str or Path
        The file, for the message.
    problem : str
        What is wrong if anything is; what the parser said goes in brackets.
    remedy : str, default=""
        What else to say.
    """
    try:
        yield
    except (DataFormatError, MissingExtraError, MissingFileError):
        raise
    except Exception as error:
        said = shown(str(error).strip().partition("\n")[0])[:_SAID]
        why = said or type(error).__name__
        raise DataFormatError(f"{problem} ({why}){remedy}", path=path) from error


@contextmanager
def opened_archive(
    stream: BinaryIO, path: str | Path, problem: str, remedy: str = ""
) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; any error while it is open becomes a DataFormatError.

    Parameters
    ----------
    stream : binary file object
        The archive, which can be rewound.
    path, problem, remedy
        As in `foreign_errors`.
    """
    with foreign_errors(path, problem, remedy), zipfile.ZipFile(stream) as archive:
        yield archive
