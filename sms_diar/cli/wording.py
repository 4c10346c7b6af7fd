"""Translation of parameter names in messages to command-line options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_OWNER = re.compile(r"(?:(?<=^)|(?<=: ))[A-Za-z_]\w*: (?=([A-Za-z_]\w*) must )")
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|(?:(?<=^)|(?<=: ))[a-z]+(?= must )")


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Replace names of parameters in a message by command-line options.

    Parameters
    ----------
    text : str
        Message such as ``cluster: num_speakers must be ...``.
    options : mapping from str to str
        Command-line option of each parameter.

    Examples
    --------
    >>> in_options("Foo: min_speakers must be below max_speakers",
    ...            {"min_speakers": "--min-speakers", "max_speakers": "--max-speakers"})
    '--min-speakers must be below --max-speakers'
    """
    text = _OWNER.sub(lambda match: "" if match[1] in options else match[0], text)
    return _NAME.sub(lambda match: options.get(match[0], match[0]), text)


def options_of(command: Any, words: Sequence[str]) -> dict[str, str]:
    """Map parameters of the invoked command to their options.

    Parameters
    ----------
    command : click command or group
        Application.
    words : sequence of str
        Command-line arguments without the program name.
    """
    rest = list(words)
    while rest and (inner := getattr(command, "commands", {}).get(rest[0])):
        command, rest = inner, rest[1:]
    return written(command)


def written(command: Any) -> dict[str, str]:
    """Map parameters of a command to their long options or argument names."""
    return {
        parameter.name: (
            max(parameter.opts, key=len)
            if parameter.opts[0].startswith("-")
            else parameter.name
        )
        for parameter in command.params
        if parameter.name
    }
