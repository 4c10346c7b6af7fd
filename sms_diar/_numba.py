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

import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

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
    compiled = numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)
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
