"""Decorators for kernels compiled by numba; no other module imports numba.

``kernel`` compiles a serial function with IEEE semantics: no ``fastmath``, so no
reordered sums and no fused multiply-adds. A kernel and its NumPy reference that
do the same operations in the same order therefore agree to the last bit, and
NaN stays visible. ``part`` is for functions that only kernels call, and ``inlined`` for
helpers that exist inside their callers only.
``whole_sums`` is for helpers whose sums are of whole numbers and therefore exact in
any order: it lets the compiler reorder additions, which is what vectorising them
needs, and nothing else.

Compiling is most of the first run. What is cheap in NumPy may be expensive here: a loop
over numbers compiles in 0.05 s, but assigning an array to a slice takes 1.8 s (it
brings the text of an error message with it), ``sort`` 0.9 s, ``max`` 0.5 s, and
``full``, ``arange`` and ``zeros`` 0.2 s each, once per program. Kernels spell these out
as loops.

Compiled kernels are kept on disk. numba takes a stored kernel for a fresh one as long
as the file of the function itself is unchanged, wherever the helpers and constants are
that were compiled into it. So the name of a kernel, from which numba makes the names
of its files, ends in a digest of the function's own file and of everything in the
package that it imports: after an edit of a helper the old files are not found.
``SMS_DIAR_NUMBA_CACHE=0`` turns the disk cache off (on clusters whose home directories
are slow or read-only).
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.extending import register_jitable

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

_IMPORT = re.compile(
    r"^\s*(?:from|import)\s+([\w.]+)(?:\s+import\s+(\([^)]*\)|.*))?", re.MULTILINE
)
_NAME = re.compile(r"\w+")

CACHE = os.environ.get("SMS_DIAR_NUMBA_CACHE", "1") == "1"

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a serial kernel that releases the interpreter lock."""
    if CACHE:
        named = cast("Any", function)
        named.__qualname__ += "-" + sources_digest(function.__module__)
    return cast("Callable[P, R]", numba.njit(cache=CACHE, **_OPTIONS)(function))


def part(function: F) -> F:
    """Compile a function where kernels call it; Python runs it as it is written.

    Such a function has no entry point from Python, which takes a fifth of the time of
    compiling, and literal arguments do not make more versions of it.
    """
    return _jitable(function)


def inlined(function: F) -> F:
    """Compile a helper into each of its callers.

    For helpers of innermost loops with many array arguments, where the call costs more
    than the work. Without it, steps of stochastic mean shift take 1.3 times as long at
    4,500 and at 30,000 points.
    """
    return _jitable(function, forceinline=True)


def whole_sums(function: F) -> F:
    """Compile a helper whose additions may be made in any order.

    Only for functions that add integers below ``2**53``, and whose other sums have at
    most two terms or are compared with a margin.
    """
    return _jitable(function, forceinline=True, fastmath={"reassoc", "nsz"})


def _jitable(function: F, **options: Any) -> F:
    return register_jitable(no_cfunc_wrapper=True, **_OPTIONS, **options)(function)


@functools.cache
def sources_digest(module: str) -> str:
    """Return a digest of the source of a module and of all its imports in the package.

    The module has been, or is being, imported; the digest has ten hexadecimal digits.
    """
    package = module.partition(".")[0]
    total = hashlib.sha256()
    modules = [module]
    for name in modules:  # the list grows during iteration
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            continue
        source, imported = _read(file)
        total.update(f"{name}\0{source}\0".encode())
        for other in imported:
            is_ours = other.partition(".")[0] in (package, __package__)
            if is_ours and other in sys.modules and other not in modules:
                modules.append(other)
    return total.hexdigest()[:10]


@functools.cache
def _read(file: str) -> tuple[str, list[str]]:
    """Return the source of a module and its imports (modules or other names)."""
    source = Path(file).read_text(encoding="utf-8")
    imported = []
    for module, names in _IMPORT.findall(source):
        imported.append(module)
        imported += [f"{module}.{name}" for name in _NAME.findall(names)]
    return source, imported
