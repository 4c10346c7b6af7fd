"""Packages whose public names load when they are first used (PEP 562).

Importing such a package is cheap: a name costs the import of its module, once. For
type checkers and editors the package imports the names under ``TYPE_CHECKING``::

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from package.module import name
    else:
        __getattr__, __dir__ = _lazy_names(__name__, {"name": "package.module"})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping from str to str
        The module of each public name.
    """

    def getattribute(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next time it is just there
        return value

    def directory() -> list[str]:
        special = (name for name in vars(sys.modules[package]) if name[:2] == "__")
        return sorted({*modules, *special})

    return getattribute, directory
