"""Samples as telephones send them: the companding laws of ITU-T G.711."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def _ulaw() -> npt.NDArray[np.int16]:
    code = ~np.arange(256, dtype=np.uint8) & 0xFF
    exponent, mantissa = (code >> 4) & 7, code & 15
    size = (((mantissa.astype(np.int32) << 3) + 132) << exponent) - 132
    return np.where(code & 0x80, -size, size).astype(np.int16)


def _alaw() -> npt.NDArray[np.int16]:
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent, mantissa = ((code >> 4) & 7).astype(np.int32), code & 15
    step = (mantissa.astype(np.int32) << 4) + 8
    size = np.where(exponent > 0, (step + 256) << np.maximum(exponent - 1, 0), step)
    return np.where(code & 0x80, size, -size).astype(np.int16)


ULAW = _ulaw()
"""16-bit sample of each byte of mu-law."""

ALAW = _alaw()
"""16-bit sample of each byte of A-law."""
