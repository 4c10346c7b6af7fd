"""All exceptions that this package raises deliberately.

* SmsDiarError
  - InvalidParameterError   (also a ValueError)
  - ConfigError             (also a ValueError; settings files and ``--set``)
  - DataFormatError         (also a ValueError; has file and line)
  - MissingFileError        (also a FileNotFoundError)
  - OutputError             (also an OSError; a result cannot be written)
  - MissingExtraError       (also an ImportError; names the extra to install)
  - NetworkError            (also a RuntimeError; download or storage failed)
  - ExperimentError         (also a RuntimeError; a recipe cannot continue)
  - SchedulerError          (also a RuntimeError; a cluster cannot do the work)

Catch ``SmsDiarError`` to catch them all. Anything else that escapes is a bug.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sms_diar._text import shown, shown_lines

_QUOTED = 200
"""Maximum number of characters of an offending line in a message."""


class SmsDiarError(Exception):
    """Root of the hierarchy; never raised itself.

    Messages quote files and their names, so control characters are spelled out.

    Parameters
    ----------
    *args : object
        Message.
    mentions : tuple of str
        Parts of the message that name parameters, as ``name`` or ``name=value``; the
        command line shows its options instead.
    """

    def __init__(self, *args: object, mentions: tuple[str, ...] = ()) -> None:
        super().__init__(*args)
        self.mentions = mentions

    def __str__(self) -> str:
        return shown_lines(super().__str__())


class InvalidParameterError(SmsDiarError, ValueError):
    """An argument is outside its documented range.

    The `problem`, such as "must be positive, got 0", is preceded by `owner`, the
    function or class that was called, and `parameter` as the owner declares it.
    `mentions` are other parameters that the problem names, see `SmsDiarError`.
    """

    def __init__(
        self,
        problem: str,
        *,
        owner: str | None = None,
        parameter: str | None = None,
        mentions: tuple[str, ...] = (),
    ) -> None:
        self.problem = problem
        self.owner = owner
        self.parameter = parameter
        head = "" if owner is None else f"{owner}: "
        name = "" if parameter is None else f"{parameter} "
        super().__init__(f"{head}{name}{problem}", mentions=mentions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, for errors of worker processes."""
        return _rebuild, (type(self), self.problem, _data(self, "owner", "parameter"))


def _data(error: SmsDiarError, *names: str) -> dict[str, Any]:
    return {name: getattr(error, name) for name in (*names, "mentions")}


def _rebuild(
    kind: type[SmsDiarError], problem: str, data: dict[str, Any]
) -> SmsDiarError:
    return kind(problem, **data)


class ConfigError(SmsDiarError, ValueError):
    """A setting is unknown, has the wrong type or contradicts another one."""


class DataFormatError(SmsDiarError, ValueError):
    """A file does not follow its format.

    The 1-based `line` is None for binary files; `text` is the offending line.
    `mentions` are parameters that the problem names, see `SmsDiarError`.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str,
        line: int | None = None,
        text: str | None = None,
        mentions: tuple[str, ...] = (),
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.text = text
        where = shown(path) if line is None else f"{shown(path)}:{line}"
        # Files can contain anything, such as endless lines or terminal control codes.
        quoted = "" if text is None else shown(text[:_QUOTED].rstrip())
        if text is not None and len(text) > _QUOTED:
            quoted += " ..."
        suffix = "" if text is None else f"\n    {quoted}"
        super().__init__(f"{where}: {problem}{suffix}", mentions=mentions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, for errors of worker processes."""
        return _rebuild, (type(self), self.problem, _data(self, "path", "line", "text"))


class MissingFileError(SmsDiarError, FileNotFoundError):
    """A file or folder does not exist."""


class OutputError(SmsDiarError, OSError):
    """A file cannot be written; the old content is unchanged."""


class MissingExtraError(SmsDiarError, ImportError):
    """An optional package is required but not installed."""


class NetworkError(SmsDiarError, RuntimeError):
    """A neural network cannot be downloaded, converted or stored."""


class ExperimentError(SmsDiarError, RuntimeError):
    """A recipe cannot be found, started or continued."""


class SchedulerError(SmsDiarError, RuntimeError):
    """A Dask cluster cannot be reached, or cannot do the work."""
