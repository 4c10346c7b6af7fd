"""Transmission channel: telephone band, mu-law and 16-bit quantisation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt

from sms_diar.io.audio.sphere import ULAW
from sms_diar.synthetic.noise import Noise
from sms_diar.types import FloatArray

BAND_HZ = (300.0, 3400.0)
"""Lowest and highest frequency of a telephone line in hertz."""

FULL_SCALE = 32768.0


def band_filter(rate: int) -> FloatArray:
    """Return the second-order sections of the telephone band-pass filter."""
    sections: FloatArray = butter(4, BAND_HZ, btype="bandpass", fs=rate, output="sos")
    return sections


class Telephone:
    """Telephone line that band-passes and compands a signal block by block.

    Parameters
    ----------
    rate : int
        Sampling rate in hertz, more than twice 3400.
    """

    def __init__(self, rate: int) -> None:
        self._sections = band_filter(rate)
        self._state = np.zeros((len(self._sections), 2))

    def pass_on(self, block: FloatArray) -> FloatArray:
        """Process the next block; the block sizes do not change the result."""
        passed, self._state = sosfilt(self._sections, block, zi=self._state)
        return companded(passed)


def companded(signal: FloatArray) -> FloatArray:
    """Quantise samples to 8 bits by mu-law companding.

    Examples
    --------
    >>> (FULL_SCALE * companded(np.array([0.0, 0.001, 0.5]))).tolist()
    [0.0, 32.0, 16764.0]
    """
    levels = np.unique(ULAW) / FULL_SCALE
    between = (levels[1:] + levels[:-1]) / 2
    rounded: FloatArray = levels[np.searchsorted(between, signal)]
    return rounded


def noise_level(speech: float, snr_db: float) -> float:
    """Return the level (RMS) of noise that is `snr_db` decibels below the speech."""
    return float(speech * 10.0 ** (-snr_db / 20.0))


def as_int16(signal: FloatArray) -> npt.NDArray[np.int16]:
    """Convert samples in [-1, 1) to 16-bit integers, with clipping."""
    rounded = np.rint(FULL_SCALE * signal)
    return np.clip(rounded, -FULL_SCALE, FULL_SCALE - 1.0).astype(np.int16)


class Channel:
    """Channel from microphone to file: noise, optional telephone line, 16 bits.

    Parameters
    ----------
    rate : int
        Sampling rate in hertz.
    noise : Noise, optional
        Noise to add.
    level : float, default=0.0
        Level (root mean square) of the noise.
    telephone : bool, default=False
        If True, speech and noise pass through a telephone line.
    """

    def __init__(
        self,
        rate: int,
        *,
        noise: Noise | None = None,
        level: float = 0.0,
        telephone: bool = False,
    ) -> None:
        self._noise = noise
        self._level = level
        self._line = Telephone(rate) if telephone else None
        self.n_clipped = 0

    def pass_on(self, block: FloatArray) -> npt.NDArray[np.int16]:
        """Process the next block; the block sizes do not change the result."""
        if self._noise is not None:
            block = block + self._level * self._noise.read(len(block))
        self.n_clipped += int(np.count_nonzero(np.abs(block) >= 1.0))
        if self._line is not None:
            block = self._line.pass_on(block)
        return as_int16(block)
