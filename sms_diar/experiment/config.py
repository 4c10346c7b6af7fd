"""Settings: strict conversion of TOML to a frozen dataclass.

A misspelled key is an error that suggests the closest valid key. Settings come in
layers: the recipe's ``conf.toml``, a file from the command line, and single
``key=value`` assignments. Later layers take precedence, and error messages name the
layer.
"""

from __future__ import annotations

import difflib
import inspect
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import sms_diar
from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.io.toml import parse_toml, read_toml

Settings = TypeVar("Settings")

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
}

_ASSIGNED = "assignments"
_SITE = ("site", "site.example")  # for corpora_place, not for recipes


@dataclass(frozen=True)
class Setting:
    """Description of one setting.

    `key` has dots for tables, `kind` is the type of its values in words, and `meaning`
    the text of the docstring of the class that declares it, empty if there is none.
    """

    key: str
    kind: str
    default: Any
    meaning: str


def describe_settings(kind: type, conf: Path | None = None) -> list[Setting]:
    """List all settings of a dataclass, in the order of the file of defaults.

    Without the file `conf`, the defaults are those of the dataclass itself.
    """
    return list(_described(kind, read_toml(conf) if conf else {}))


def _described(
    kind: type, defaults: Mapping[str, Any], prefix: str = ""
) -> Iterator[Setting]:
    hints, meanings = get_type_hints(kind), _meanings(kind)
    order = {key: index for index, key in enumerate(defaults)}
    for field in sorted(fields(kind), key=lambda f: order.get(f.name, len(order))):
        hint, key = hints[field.name], f"{prefix}{field.name}"
        if is_dataclass(hint):
            table = defaults.get(field.name, {})
            yield from _described(hint, table, f"{key}.")  # type: ignore[arg-type]
            continue
        default = defaults.get(field.name, field.default)
        yield Setting(
            key,
            _type_words(hint),
            None if default is MISSING else default,
            meanings.get(field.name, ""),
        )


def toml_value(value: Any) -> str:
    """Write a value as in TOML."""
    if isinstance(value, str | list | bool):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _type_words(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"list of {_type_words(get_args(hint)[0])}s"
    return _WORDS[hint].removeprefix("a ")


def _meanings(kind: type) -> dict[str, str]:
    """Read the section Parameters of a class and of its parents."""
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for parent in reversed(kind.__mro__):
        lines = inspect.cleandoc(parent.__doc__ or "").splitlines()
        start = lines.index("Parameters") + 2 if "Parameters" in lines else len(lines)
        for line in lines[start:]:
            if line.startswith(" "):
                for name in names:
                    texts[name].append(line.strip())
            else:  # a header such as "low, high : float"
                names = line.partition(" : ")[0].split(", ")
                texts |= {name: [] for name in names}
    return {name: " ".join(text) for name, text in texts.items()}


def conf_folders() -> list[Path]:
    """Folders with named configurations: here, in the checkout, in the wheel."""
    package = Path(sms_diar.__file__).parent
    return [Path.cwd() / "conf", package.parent / "conf", package / "_conf"]


def find_conf(name: str | Path) -> Path:
    """Find a configuration file by its path or by a name such as "small".

    A path is taken as it is if the file exists. A name without a folder, or with the
    folder ``conf``, is also looked up in `conf_folders`.
    """
    path = Path(name)
    if path.is_file():
        return path
    known: dict[str, Path] = {}
    for folder in conf_folders():
        for file in sorted(folder.glob("*.toml")):
            if file.stem not in _SITE:
                known.setdefault(file.stem, file)
    stem = path.name.removesuffix(".toml")
    if stem not in known or path.parent not in (Path(), Path("conf")):
        raise MissingFileError(
            f"{name}: no such file, and not one of the configurations "
            f"{', '.join(sorted(known)) or '(none found)'}"
        )
    return known[stem]


def load_config(
    kind: type[Settings],
    conf: Path,
    extra: Sequence[Path] = (),
    assignments: Sequence[str] = (),
) -> Settings:
    """Build settings from layers.

    Fields of `kind`, a dataclass, are numbers, strings, booleans, ``tuple[T, ...]`` or
    further dataclasses (TOML tables). `conf` has complete defaults. `extra` are further
    files, or names for `find_conf`; each overrides the settings in it. `assignments`
    are ``key=value`` with dots for tables and values as in TOML. A value that is not
    TOML is taken as text. A list may be a single value without brackets.
    """
    merged: dict[str, Any] = {}
    for path in (conf, *map(find_conf, extra)):
        _merge(merged, _checked(kind, read_toml(path), str(path)))
    for assignment in assignments:
        _merge(merged, _checked(kind, parse_assignment(assignment), _ASSIGNED))
    return _build(kind, merged, str(conf))


def parse_assignment(assignment: str) -> dict[str, Any]:
    """Turn ``a.b=1`` into ``{"a": {"b": 1}}``."""
    key, equals, text = assignment.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names):
        raise _wrong(
            _ASSIGNED,
            f"{assignment!r} must look like key=value, for instance runs=5",
        )
    try:
        value = parse_toml(f"value = {text}".encode(), _ASSIGNED)["value"]
    except (ConfigError, UnicodeEncodeError):
        value = text
    for name in reversed(names):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


def _wrong(origin: str, problem: str) -> ConfigError:
    """Return an error about a file or about the parameter `assignments`."""
    return ConfigError(f"{origin}: {problem}", mentions=(origin,))


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
            raise _wrong(
                origin,
                f"unknown key '{prefix}{key}'; did you mean '{prefix}{near[0]}'? Valid "
                f"keys: {', '.join(sorted(names))}",
            )
        checked[key] = _convert(hints[key], value, origin, f"{prefix}{key}")
    return checked


def _convert(hint: Any, value: Any, origin: str, key: str) -> Any:
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise _wrong(origin, f"'{key}' must be a table [{key}], got {value!r}")
        return _checked(hint, value, origin, f"{key}.")  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        numbers = (int, float) if inner is float else inner
        if origin == _ASSIGNED and isinstance(value, numbers):
            value = [value]
        if not isinstance(value, list):
            raise _wrong(
                origin,
                f"'{key}' must be a list, each entry {_WORDS[inner]}, got {value!r}",
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
        raise _wrong(origin, f"'{key}' must be {_WORDS[hint]}, got {value!r}")
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
