"""Messages of functions in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_OWNER = re.compile(r"(?:(?<=^)|(?<=: ))[A-Za-z_]\w*: (?=([A-Za-z_]\w*) must )")
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|(?:(?<=^)|(?<=: ))[a-z]+(?= must )")


def in_options(text: str, options: Mapping[str, str]) -> str:
    """A message that speaks of options, not of functions and their parameters.

    Parameters
    ----------
    text : str
        Such as ``cluster: num_speakers must be ...``.
    options : mapping from str to str
        How each parameter is written on the command line.

    Examples
    --------
    >>> in_options("Foo: min_speakers must be below max_speakers",
    ...            {"min_speakers": "--min-speakers", "max_speakers": "--max-speakers"})
    '--min-speakers must be below --max-speakers'
    """
    text = _OWNER.sub(lambda found: "" if found[1] in options else found[0], text)
    return _NAME.sub(lambda found: options.get(found[0], found[0]), text)


def options_of(command: Any, words: Sequence[str]) -> dict[str, str]:
    """How parameters of the command that `words` call are written.

    Parameters
    ----------
    command : click command or group
        The application.
    words : sequence of str
        Arguments of the program.
    """
    rest = list(words)
    while rest and (inner := getattr(command, "commands", {}).get(rest[0])):
        command, rest = inner, rest[1:]
    return written(command)


def written(command: Any) -> dict[str, str]:
    """How the parameters of a command are written: options by their long names."""
    return {
        one.name: max(one.opts, key=len) if one.opts[0].startswith("-") else one.name
        for one in command.params
        if one.name
    }
