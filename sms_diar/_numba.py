"""The only place that talks to numba's decorators.

``kernel`` compiles a serial function with IEEE semantics: no ``fastmath``, so no
reordered sums and no fused multiply-adds. A kernel and its NumPy reference that
do the same operations in the same order therefore agree to the last bit, and
NaN stays visible. ``whole_sums`` is for loops whose sums are of whole numbers and
therefore exact in any order: it lets the compiler reorder additions, which is
what vectorising them needs, and nothing else. ``SMS_DIAR_NUMBA_CACHE=0`` turns the
disk cache off (on clusters whose home directories are slow or read-only).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic

P = ParamSpec("P")
R = TypeVar("R")

_IS_COMPILED = not cast("Any", numba.config).DISABLE_JIT
_BORROWING: dict[str, Any] = {"_nrt": False}  # numba's name for counted references
_KINDS = {"int": types.int64, "Whole": types.int64, "float": types.float64}
CACHE = os.environ.get("SMS_DIAR_NUMBA_CACHE", "1") == "1"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a serial kernel that releases the interpreter lock."""
    compiled = numba.njit(cache=CACHE, nogil=True, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel into each of its callers.

    For helpers of innermost loops that take many arrays: handing those over costs
    more than the work.
    """
    options = {"forceinline": True, **_BORROWING}
    compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
    return cast("Callable[P, R]", compiled)


def borrowing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that makes no arrays and does not count who uses those given.

    Counting takes an atomic operation for each array and call of a helper, which is
    more than a short step of a walk takes. What is called must be borrowing or
    inlined, too.
    """
    options = {"cache": CACHE, **_BORROWING}
    compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
    return cast("Callable[P, R]", compiled)


def whole_sums(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel whose additions may be made in any order.

    Only for functions that add whole numbers below ``2**53``, and whose other
    sums have no more than two terms.
    """
    compiled = numba.njit(
        cache=CACHE, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"}
    )(function)
    return cast("Callable[P, R]", compiled)


def vectorised(write: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let compiled callers of a function use instructions that `write` writes.

    `write` is called with numba's target context, an instruction builder, the
    signature and the arguments, and returns the result. The function itself says in
    Python what is to be computed; it is kept as the attribute ``plain`` and takes over
    where nothing is compiled. Numbers among its parameters must be annotated.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        function.plain = function  # type: ignore[attr-defined]
        if not _IS_COMPILED:
            return function
        hints = dict(function.__annotations__)
        result = _KINDS.get(hints.pop("return"), types.none)

        def typing(_context: Any, *kinds: Any) -> Any:
            wanted = map(_KINDS.get, hints.values(), kinds)
            return result(*wanted), write

        # numba asks the signature which arguments belong to which parameters.
        given = list(inspect.signature(typing).parameters.values())[:1]
        given += inspect.signature(function).parameters.values()
        named: Any = typing
        named.__signature__ = inspect.Signature(given)
        named.__name__ = function.__name__
        compiled: Any = intrinsic(named)
        compiled.plain = function
        return cast("Callable[P, R]", compiled)

    return decorate
