"""Code that runs on the workers of a Dask cluster for :mod:`sms_diar._scheduler`.

A worker processes one item at a time, independent of its number of threads: the working
directory, warnings and BLAS threads are shared by the process, and results must not
depend on other tasks.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

A = TypeVar("A")
R = TypeVar("R")
Caught: TypeAlias = tuple[type[Warning], Warning, str, int]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "distributed")
"""Packages whose versions may change last digits or the serialisation."""

_turn = threading.Lock()


class UnfitWorkerError(Exception):
    """A worker does not match the machine that sent the work."""


def inspector(folder: str) -> Callable[[], tuple[dict[str, str], bool]]:
    """Return a function that reports versions, and whether `folder` exists.

    It is a nested function and is therefore sent as code, so that a worker with another
    version of this package, or without it, can also run it.
    """
    packages = PACKAGES

    def inspect() -> tuple[dict[str, str], bool]:
        import importlib.metadata  # noqa: PLC0415
        import pathlib  # noqa: PLC0415
        import platform  # noqa: PLC0415

        import sms_diar  # noqa: PLC0415

        versions = {"sms_diar": sms_diar.__version__}
        versions["Python"] = ".".join(platform.python_version_tuple()[:2])
        for name in packages:
            versions[name] = importlib.metadata.version(name)
        return versions, pathlib.Path(folder).is_dir()

    return inspect


@functools.cache
def versions() -> dict[str, str]:
    """Return the local versions of all packages that results depend on."""
    return inspector(".")()[0]


@dataclass(frozen=True)
class Home:
    """Working directory and package versions of the caller."""

    folder: str = field(default_factory=lambda: str(Path.cwd()))
    versions: dict[str, str] = field(default_factory=versions)

    def unlike(self, versions: dict[str, str]) -> str | None:
        """Describe the first difference in versions, or return None."""
        for name, version in self.versions.items():
            if versions.get(name) != version:
                return (
                    f"has {name} {versions.get(name)} where this machine has "
                    f"{version}; install the same versions everywhere, because results "
                    f"depend on them"
                )
        return None

    @property
    def unshared(self) -> str:
        """Message for a worker that cannot access the folder."""
        return (
            f"has no folder {self.folder}; workers must see the files of this machine "
            f"under the same names (a shared file system)"
        )

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Enter the folder that relative paths refer to."""
        before = Path.cwd()
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise UnfitWorkerError(f"a worker {self.unshared}") from error
        try:
            yield
        finally:
            os.chdir(before)


def aligned_copy(value: A) -> A:
    """Copy a value so that its arrays are aligned as on the local machine.

    A message of Dask is one buffer, and its arrays are views that may begin at any
    byte. NumPy does not pass such arrays to BLAS but multiplies them in its own loops,
    whose sums differ in the last bit. Arrays in objects, methods and
    `functools.partial` are copied; arrays in closures are not.
    """
    return copy.deepcopy(value)


class _CopyCache:
    """Cached copy of the current function, made once for all of its items."""

    def __init__(self) -> None:
        self._sent: object = None
        self._copy: object = None

    def copy_of(self, function: A) -> A:
        if function is not self._sent:
            self._sent, self._copy = function, aligned_copy(function)
        return cast(A, self._copy)


_cache = _CopyCache()


def hold(value: A) -> A:
    """Return a function or a block; as a task it can be recomputed if it is lost."""
    return value


def apply(
    function: Callable[[A], R], item: A, home: Home
) -> tuple[R, tuple[Caught, ...]]:
    """Return the result of an item, and the warnings, which the caller shows."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - loads NumPy

    problem = home.unlike(versions())
    if problem:
        raise UnfitWorkerError(f"a worker {problem}")
    with (
        _turn,
        home.entered(),
        threadpool_limits(limits=1, user_api="blas"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        result = _cache.copy_of(function)(aligned_copy(item))
    return result, tuple(
        (warning.category, _message(warning), warning.filename, warning.lineno)
        for warning in caught
    )


def _message(warning: warnings.WarningMessage) -> Warning:
    return (
        warning.message
        if isinstance(warning.message, Warning)
        else Warning(warning.message)
    )
