"""Arrays that are made again and again, in the same memory.

Fresh memory comes from the system page by page, which takes longer than filling it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sms_diar.types import AnyArray

_LINE = 64  # bytes of a cache line
_SIZES = {np.int64: 8, float: 8}  # bytes of a number


class Buffers:
    """Memory by name. What was taken under a name is overwritten by the next."""

    def __init__(self) -> None:
        self._bytes: dict[str, AnyArray] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = np.int64) -> Any:
        """Return an array with arbitrary entries that begins a cache line."""
        size = math.prod(shape) * _SIZES[dtype]
        room = self._bytes.get(name)
        if room is None or len(room) < size:
            room = np.empty(size + size // 4 + _LINE, dtype=np.uint8)
            room = room[-room.ctypes.data % _LINE :]
            self._bytes[name] = room
        return room[:size].view(dtype).reshape(shape)
