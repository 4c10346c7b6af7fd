"""Settings: strict conversion of TOML to a frozen dataclass.

A misspelled key is an error that suggests the closest valid key. Settings come in
layers: the recipe's ``conf.toml``, a file from the command line, and single
``key=value`` assignments. Later layers take precedence, and error messages name the
layer.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from sms_diar.errors import ConfigError
from sms_diar.io.toml import parse_toml, read_toml

Settings = TypeVar("Settings")

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
}


def load_config(
    kind: type[Settings],
    conf: Path,
    extra: Sequence[Path] = (),
    assignments: Sequence[str] = (),
) -> Settings:
    """Build settings from layers.

    Parameters
    ----------
    kind : dataclass type
        Type of the settings. Fields are numbers, strings, booleans, ``tuple[T, ...]``
        or further dataclasses (TOML tables).
    conf : Path
        File with complete defaults.
    extra : sequence of Path
        Further files that override some settings.
    assignments : sequence of str
        Assignments ``key=value`` with dots for tables and values as in TOML. A value
        that is not valid TOML is used as a string.
    """
    merged: dict[str, Any] = {}
    for path in (conf, *extra):
        _merge(merged, _checked(kind, read_toml(path), str(path)))
    for assignment in assignments:
        _merge(merged, _checked(kind, parse_assignment(assignment), "--set"))
    return _build(kind, merged, str(conf))


def parse_assignment(assignment: str) -> dict[str, Any]:
    """Turn ``a.b=1`` into ``{"a": {"b": 1}}``."""
    key, equals, text = assignment.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names):
        raise ConfigError(
            f"--set {assignment}: must look like key=value, for instance runs=5"
        )
    try:
        value = parse_toml(f"value = {text}".encode(), "--set")["value"]
    except (ConfigError, UnicodeEncodeError):
        value = text
    for name in reversed(names):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


def _checked(
    kind: type, data: Mapping[str, Any], origin: str, prefix: str = ""
) -> dict[str, Any]:
    """Convert the values of one layer to the types of `kind`; keys may be missing."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    checked: dict[str, Any] = {}
    for key, value in data.items():
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)
            raise ConfigError(
                f"{origin}: unknown key '{prefix}{key}'; did you mean "
                f"'{prefix}{near[0]}'? Valid keys: {', '.join(sorted(names))}"
            )
        checked[key] = _convert(hints[key], value, origin, f"{prefix}{key}")
    return checked


def _convert(hint: Any, value: Any, origin: str, key: str) -> Any:
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ConfigError(
                f"{origin}: '{key}' must be a table [{key}], got {value!r}"
            )
        return _checked(hint, value, origin, f"{key}.")  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if not isinstance(value, list):
            raise ConfigError(
                f"{origin}: '{key}' must be a list, each entry {_WORDS[inner]}, "
                f"got {value!r}"
            )
        return tuple(
            _convert(inner, entry, origin, f"{key}[{position}]")
            for position, entry in enumerate(value)
        )
    if get_origin(hint) is types.UnionType:  # "float | None": TOML has no null
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{origin}: '{key}' must be {_WORDS[hint]}, got {value!r}")
    return value


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def _build(
    kind: type[Settings], data: Mapping[str, Any], origin: str, prefix: str = ""
) -> Settings:
    hints = get_type_hints(kind)
    missing = [
        f"'{prefix}{field.name}'"
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name not in data
    ]
    if missing:
        raise ConfigError(f"{origin}: missing {', '.join(missing)}")
    values = {
        key: _build(hints[key], value, origin, f"{prefix}{key}.")
        if is_dataclass(hints[key])
        else value
        for key, value in data.items()
    }
    return kind(**values)
