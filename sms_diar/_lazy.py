"""Packages whose public names are loaded on first use (PEP 562).

Importing such a package is cheap: each name imports its module once, on first use. For
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
    """Return ``__getattr__`` and ``__dir__`` for a package, from the names' modules."""

    def getattribute(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # cached for the next access
        return value

    def directory() -> list[str]:
        special = (name for name in vars(sys.modules[package]) if name[:2] == "__")
        return sorted({*modules, *special})

    return getattribute, directory
