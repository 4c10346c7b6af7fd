"""Option files of Kaldi programs, such as ``conf/mfcc.conf`` and ``delta_opts``.

Every line contains options of the form ``--name=value``; ``#`` starts a comment. As in
Kaldi, names are not case-sensitive, ``_`` in them is ``-``, and a flag without a value
is true.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import read_text, split_fields

T = TypeVar("T")

_FLAGS = {"true": True, "t": True, "1": True, "": True}
_FLAGS |= {"false": False, "f": False, "0": False}


def read_options(kind: type[T], path: str | Path, *, ignored: Collection[str]) -> T:
    """Read a file of options into a dataclass.

    Parameters
    ----------
    kind : type
        Dataclass with a field per option; the field ``num_ceps`` is the option
        ``--num-ceps``. Missing options get the default of their field.
    path : str or Path
        File of options.
    ignored : collection of str
        Other options of the program, which do not change its result.

    Raises
    ------
    DataFormatError
        If an option is unknown or has a value that is not possible, with its line.
    """
    types: dict[str, Any] = {
        field.name.replace("_", "-"): field.type
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    }
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        for word in split_fields(line.partition("#")[0]):
            name, equals, text = word.removeprefix("--").partition("=")
            name = name.lower().replace("_", "-")
            try:
                if not word.startswith("--") or not name:
                    raise ValueError(f"expected an option --name=value, got {word!r}")
                if name in ignored:
                    continue
                if name not in types:
                    [near] = difflib.get_close_matches(name, types, n=1, cutoff=0.0)
                    raise ValueError(
                        f"unknown option --{name}; did you mean --{near}? Known "
                        f"options: {', '.join(f'--{known}' for known in types)}"
                    )
                if equals and not text:
                    raise ValueError(f"option --{name} has no value after the '='")
                values[name.replace("-", "_")] = _value(name, text, types[name])
            except ValueError as error:
                raise DataFormatError(str(error), path=path, line=number) from None
            lines[name.replace("-", "_")] = number
    try:
        return kind(**values)
    except InvalidParameterError as error:
        option = (error.parameter or "").replace("_", "-")
        problem = f"option --{option} {error.problem}" if option else error.problem
        line_number = lines.get(error.parameter or "")
        raise DataFormatError(problem, path=path, line=line_number) from None


def _value(name: str, text: str, kind: str) -> object:
    if kind == "str":
        return text
    if kind == "bool":
        if text.lower() not in _FLAGS:
            raise ValueError(f"option --{name} must be true or false, got {text!r}")
        return _FLAGS[text.lower()]
    try:
        value = int(text) if kind == "int" else float(text)
        if "_" in text or not math.isfinite(value):
            raise ValueError
    except (ValueError, OverflowError):
        rule = "a whole number" if kind == "int" else "a number"
        raise ValueError(f"option --{name} must be {rule}, got {text!r}") from None
    return value
