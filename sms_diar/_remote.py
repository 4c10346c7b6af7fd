"""What a worker of a Dask cluster does for :mod:`sms_diar._scheduler`.

One item at a time, whatever the number of its threads: the folder of a process, its
warnings and the threads of BLAS are one for all threads, and results must not depend
on what else a worker has to do.
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
"""Packages whose versions may change last digits, or what is sent."""

_turn = threading.Lock()


class UnfitWorkerError(Exception):
    """A worker is not like the machine that sent the work."""


def inspector(folder: str) -> Callable[[], tuple[dict[str, str], bool]]:
    """A function that tells versions, and whether there is the folder.

    It is defined within, and so travels as code: a worker with another version of this
    package, or without any, can run it and say so.
    """
    packages = PACKAGES

    def inspect() -> tuple[dict[str, str], bool]:
        import importlib.metadata  # noqa: PLC0415
        import pathlib  # noqa: PLC0415
        import platform  # noqa: PLC0415

        import sms_diar  # noqa: PLC0415

        found = {"sms_diar": sms_diar.__version__}
        found["Python"] = ".".join(platform.python_version_tuple()[:2])
        for name in packages:
            found[name] = importlib.metadata.version(name)
        return found, pathlib.Path(folder).is_dir()

    return inspect


@functools.cache
def versions() -> dict[str, str]:
    """Versions here of all that results depend on."""
    return inspector(".")()[0]


@dataclass(frozen=True)
class Home:
    """Where, and with which versions, the caller works."""

    folder: str = field(default_factory=lambda: str(Path.cwd()))
    versions: dict[str, str] = field(default_factory=versions)

    def unlike(self, found: dict[str, str]) -> str | None:
        """What is wrong with a worker that has these versions."""
        for name, version in self.versions.items():
            if found.get(name) != version:
                return (
                    f"has {name} {found.get(name)} where this machine has {version}; "
                    f"install the same versions everywhere, for results depend on them"
                )
        return None

    @property
    def unshared(self) -> str:
        """What to say if a worker does not know the folder."""
        return (
            f"has no folder {self.folder}; workers must see the files of this machine "
            f"under the same names (a shared file system)"
        )

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work in the folder, in which relative paths are meant."""
        before = Path.cwd()
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise UnfitWorkerError(f"a worker {self.unshared}") from error
        try:
            yield
        finally:
            os.chdir(before)


def own(value: A) -> A:
    """A copy whose arrays begin where they would begin on one machine.

    A message of Dask is one stretch of bytes, and the arrays that it brings are parts
    of it, which may begin at any byte. NumPy does not hand such arrays to BLAS but
    multiplies them by loops of its own, whose sums differ in the last bit. Arrays in
    objects, methods and `functools.partial` are copied, those in closures are not.
    """
    return copy.deepcopy(value)


class _Kept:
    """The function at hand, copied once for all items that come for it."""

    def __init__(self) -> None:
        self._sent: object = None
        self._copy: object = None

    def copy_of(self, function: A) -> A:
        if function is not self._sent:
            self._sent, self._copy = function, own(function)
        return cast(A, self._copy)


_kept = _Kept()


def hold(value: A) -> A:
    """A function or a block, as a task: kept where it is needed, and made again."""
    return value


def apply(
    function: Callable[[A], R], item: A, home: Home
) -> tuple[R, tuple[Caught, ...]]:
    """Result of an item, and the warnings on the way, which the caller shows."""
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
        result = _kept.copy_of(function)(own(item))
    return result, tuple(
        (one.category, _message(one), one.filename, one.lineno) for one in caught
    )


def _message(one: warnings.WarningMessage) -> Warning:
    return one.message if isinstance(one.message, Warning) else Warning(one.message)
