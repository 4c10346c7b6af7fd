"""What other people's parsers raise on damaged files, as our own error.

NumPy, zipfile, pyarrow, h5py and the like raise whatever they run into: a list of
their exceptions would never be complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
