"""A hash of whole numbers for compiled tables."""

from __future__ import annotations

from sms_diar._numba import inlined


@inlined
def mix(key: int, value: int) -> int:
    """Stir a value into a key of 31 bits; no product exceeds 63."""
    low = 0x7FFFFFFF
    value ^= value >> 31
    key = ((key ^ (value & low)) * 0x9E3779B1) & 0x7FFFFFFFFFFFFFFF
    return (key ^ (key >> 29)) & low
