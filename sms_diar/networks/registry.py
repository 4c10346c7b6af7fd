"""Names of embedders and segmenters: those of this package, and of packages beside it.

Another package offers one by an entry point of the group ``sms_diar.embedders`` or
``sms_diar.segmenters`` that names a function without arguments. Names of this package
cannot be taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TypeVar

from sms_diar.errors import InvalidParameterError, NetworkError

T = TypeVar("T")


def names(group: str, own: Mapping[str, Callable[[], T]]) -> list[str]:
    """All names of a group, those of this package first."""
    others = {point.name for point in entry_points(group=group)} - set(own)
    return [*own, *sorted(others)]


def load_named(
    group: str, own: Mapping[str, Callable[[], T]], name: str, protocol: type[T]
) -> T:
    """What a name of the group stands for.

    Parameters
    ----------
    group : str
        The group of entry points.
    own : mapping from str to callable
        Names of this package.
    name : str
        The name.
    protocol : type
        What the result has to satisfy.
    """
    if name in own:
        return own[name]()
    for point in entry_points(group=group, name=name):
        found = point.load()()
        if not isinstance(found, protocol):
            raise NetworkError(
                f"{name}: '{point.value}' gave a {type(found).__name__}, which is no "
                f"{protocol.__name__}; this is a fault of the package that offers it"
            )
        return found
    listed = ", ".join(names(group, own))
    raise InvalidParameterError(f"{group}: name must be one of {listed}, got {name!r}")
