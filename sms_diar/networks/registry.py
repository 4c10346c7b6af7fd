"""Lookup of embedders, segmenters and recognisers by name.

Another package provides one by an entry point in the group ``sms_diar.embedders`` or
``sms_diar.segmenters`` that refers to a function without arguments, or in the group
``sms_diar.recognisers`` (see `sms_diar.pipeline.transcribe.recognisers`). Built-in
names cannot be overridden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from sms_diar.errors import InvalidParameterError, NetworkError

T = TypeVar("T")


def names(group: str, built_in: Mapping[str, Callable[..., T]]) -> list[str]:
    """List all names of a group, built-in names first."""
    others = {point.name for point in entry_points(group=group)} - set(built_in)
    return [*built_in, *sorted(others)]


def load_named(
    group: str,
    built_in: Mapping[str, Callable[..., T]],
    name: str,
    protocol: type[T],
    **options: Any,
) -> T:
    """Load the object with the given name, built in or from a group of entry points.

    The function behind the name is called with `options`; the result must implement
    `protocol`.
    """
    if name in built_in:
        return built_in[name](**options)
    for point in entry_points(group=group, name=name):
        loaded = point.load()(**options)
        if not isinstance(loaded, protocol):
            raise NetworkError(
                f"{name}: '{point.value}' gave a {type(loaded).__name__}, which is not "
                f"a {protocol.__name__}; this is a bug in the package that provides it"
            )
        return loaded
    listed = ", ".join(names(group, built_in))
    problem = f"must be one of {listed}, got {name!r}"
    raise InvalidParameterError(problem, owner=group, parameter="name")
