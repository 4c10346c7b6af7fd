"""The only place that talks to numba.

``kernel`` compiles a serial function with IEEE semantics: no ``fastmath``, so no
reordered sums and no fused multiply-adds. A kernel and its NumPy reference that
do the same operations in the same order therefore agree to the last bit, and
NaN stays visible. ``inlined`` is for helpers that exist inside their callers only.
``whole_sums`` is for helpers whose sums are of whole numbers and therefore exact in
any order: it lets the compiler reorder additions, which is what vectorising them
needs, and nothing else.

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

P = ParamSpec("P")
R = TypeVar("R")

_IMPORT = re.compile(
    r"^\s*(?:from|import)\s+([\w.]+)(?:\s+import\s+(\([^)]*\)|.*))?", re.MULTILINE
)
_NAME = re.compile(r"\w+")

CACHE = os.environ.get("SMS_DIAR_NUMBA_CACHE", "1") == "1"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a serial kernel that releases the interpreter lock."""
    if CACHE:
        named = cast("Any", function)
        named.__qualname__ += "-" + sources_digest(function.__module__)
    compiled = numba.njit(cache=CACHE, nogil=True, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a helper into each of its callers.

    For helpers of innermost loops that take many arrays: handing those over costs more
    than the work. Without it, steps of stochastic mean shift take 1.3 times as long at
    4,500 and at 30,000 points.
    """
    compiled = numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)
    return cast("Callable[P, R]", compiled)


def whole_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a helper whose additions may be made in any order.

    Only for functions that add whole numbers below ``2**53``, and whose other sums have
    no more than two terms or are compared with a margin.
    """
    compiled = numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=True,
        fastmath={"reassoc", "nsz"},
    )(function)
    return cast("Callable[P, R]", compiled)


@functools.cache
def sources_digest(module: str) -> str:
    """Digest of the source of a module and of all that it imports from its package.

    Parameters
    ----------
    module : str
        Full name of a module that is being imported, or has been.

    Returns
    -------
    digest : str
        Ten hexadecimal digits.
    """
    package = module.partition(".")[0]
    total = hashlib.sha256()
    found = [module]
    for name in found:  # grows while it is read
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            continue
        source, imported = _read(file)
        total.update(f"{name}\0{source}\0".encode())
        for other in imported:
            is_ours = other.partition(".")[0] in (package, __package__)
            if is_ours and other in sys.modules and other not in found:
                found.append(other)
    return total.hexdigest()[:10]


@functools.cache
def _read(file: str) -> tuple[str, list[str]]:
    """Source of a module, and what it imports: some may be functions or constants."""
    source = Path(file).read_text(encoding="utf-8")
    imported = []
    for module, names in _IMPORT.findall(source):
        imported.append(module)
        imported += [f"{module}.{name}" for name in _NAME.findall(names)]
    return source, imported
