"""Errors of the package in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from sms_diar._text import shown_lines
from sms_diar.cli.terminal.output import note_each
from sms_diar.errors import SmsDiarError

if TYPE_CHECKING:
    from sms_diar.types import Problem


def error_text(error: SmsDiarError, options: Mapping[str, str]) -> str:
    """Return the message of an error, with `options` instead of parameters.

    >>> from sms_diar.errors import InvalidParameterError
    >>> error = InvalidParameterError(
    ...     "must be below high=5", owner="Foo", parameter="low", mentions=("high=5",)
    ... )
    >>> error_text(error, {"low": "--low", "high": "--high"})
    '--low must be below --high 5'
    """
    # Only the problem is translated; paths and lines of files stay as they are.
    original = shown_lines(getattr(error, "problem", str(error)))
    problem = original
    for mention in error.mentions:
        name, _, value = mention.partition("=")
        if name in options and mention in problem:
            option = _assignment(options[name], value)
            # Names of files come first, hints about parameters last.
            start, _, end = problem.rpartition(mention)
            problem = f"{start}{option}{end}"
    parameter = getattr(error, "parameter", None) or ""
    if parameter in options:
        # Functions and classes are dropped; files and formats are kept.
        owner = shown_lines(getattr(error, "owner", None) or "")
        where = f"{owner}: " if owner and not owner.isidentifier() else ""
        return f"{where}{options[parameter]} {problem}"
    return str(error).replace(original, problem)


def _assignment(option: str, value: str) -> str:
    """Return an option with a value in the syntax of Python, or as a flag."""
    flags = {"": option, "True": option, "False": f"--no-{option.removeprefix('--')}"}
    text = value.strip("'")
    return flags.get(value, f"{option} {text}")


def problem_text(problem: Problem, options: Mapping[str, str]) -> str:
    """Return a problem with its location, with options instead of parameters."""
    if problem.error is None:
        return str(problem)
    text = error_text(problem.error, options)
    return text if problem.where is None else f"{problem.where}: {text}"


def note_problems(
    context: typer.Context, problems: Sequence[Problem], most: int | None = 10
) -> None:
    """Print problems to standard error, with the options of the running command."""
    options = options_of(context.command)
    note_each([problem_text(problem, options) for problem in problems], most)


def options_of(command: Any, words: Sequence[str] = ()) -> dict[str, str]:
    """Map parameters of a click command to their long options or argument names.

    The first of the `words` may choose a command of a group, as on the command line.
    """
    rest = list(words)
    while rest and (inner := getattr(command, "commands", {}).get(rest[0])):
        command, rest = inner, rest[1:]
    return {
        parameter.name: (
            max(parameter.opts, key=len)
            if parameter.opts[0].startswith("-")
            else parameter.name
        )
        for parameter in command.params
        if parameter.name
    }
