"""Audio at another rate, without holding it in memory.

The filter is that of ``scipy.signal.resample_poly``: a Kaiser window (beta 5)
of ten zero crossings on either side. A stretch is computed from the samples it
depends on and cut where input and output fall together, so any stretch is, to
the last bit, that of the whole file resampled.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
from scipy.signal import firwin, resample_poly

from sms_diar._validation import check_count
from sms_diar.io.audio.files import Samples
from sms_diar.types import FloatArray


class Resampled:
    """A recording at another rate.

    Parameters
    ----------
    audio : Samples
        The recording as it is.
    rate : int
        Samples per second wanted.
    """

    def __init__(self, audio: Samples, rate: int) -> None:
        check_count("Resampled", "rate", rate)
        common = math.gcd(audio.rate, rate)
        self._up, self._down = rate // common, audio.rate // common
        self._audio = audio
        self.rate = rate
        self.n_samples = -(-audio.n_samples * self._up // self._down)

    @property
    def path(self) -> Path:
        """The file, for messages."""
        return self._audio.path

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive)."""
        up, down, half = self._up, self._down, _half_length(self._up, self._down)
        low = max((first * down - half) // up, 0)
        low -= low % down  # where a sample of the input is one of the output
        high = min(((last - 1) * down + half) // up + 2, self._audio.n_samples)
        found = self._audio.read(low, high)
        out: FloatArray = resample_poly(found, up, down, window=_filter(up, down))
        offset = low * up // down
        return out[first - offset : last - offset]


def at_rate(audio: Samples, rate: int) -> Samples:
    """The recording at the given rate, itself if that is its own."""
    return audio if audio.rate == rate else Resampled(audio, rate)


def _half_length(up: int, down: int) -> int:
    return 10 * max(up, down)


@functools.lru_cache(maxsize=8)
def _filter(up: int, down: int) -> FloatArray:
    taps = firwin(
        2 * _half_length(up, down) + 1, 1.0 / max(up, down), window=("kaiser", 5.0)
    )
    return np.asarray(taps, dtype=np.float64)
