"""What happens to speech on its way: a telephone's band, mu-law, 16 bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt

from sms_diar.io.audio.sphere import ULAW
from sms_diar.synthetic.noise import Noise
from sms_diar.types import FloatArray

BAND_HZ = (300.0, 3400.0)
"""What a telephone passes."""

FULL_SCALE = 32768.0


def band_filter(rate: int) -> FloatArray:
    """Second-order sections of the filter that passes a telephone's band."""
    sections: FloatArray = butter(4, BAND_HZ, btype="bandpass", fs=rate, output="sos")
    return sections


class Telephone:
    """A telephone line: its band, then mu-law, block after block.

    Parameters
    ----------
    rate : int
        Samples per second, more than twice 3400.
    """

    def __init__(self, rate: int) -> None:
        self._sections = band_filter(rate)
        self._state = np.zeros((len(self._sections), 2))

    def pass_on(self, block: FloatArray) -> FloatArray:
        """The next block as it arrives; cutting into blocks changes nothing."""
        passed, self._state = sosfilt(self._sections, block, zi=self._state)
        return companded(passed)


def companded(signal: FloatArray) -> FloatArray:
    """Samples after mu-law has left them 8 bits.

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
    """Level (root mean square) of noise this many decibels below that of speech."""
    return float(speech * 10.0 ** (-snr_db / 20.0))


def as_int16(signal: FloatArray) -> npt.NDArray[np.int16]:
    """Samples in [-1, 1) as 16-bit integers; what is beyond is clipped."""
    rounded = np.rint(FULL_SCALE * signal)
    return np.clip(rounded, -FULL_SCALE, FULL_SCALE - 1.0).astype(np.int16)


class Channel:
    """From the microphone to the file: noise, perhaps a telephone, 16 bits.

    Parameters
    ----------
    rate : int
        Samples per second.
    noise : Noise, optional
        What is added.
    level : float, default=0.0
        How loud the noise is.
    telephone : bool, default=False
        Whether speech and noise pass a telephone line.
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
        """The next block as it is stored; cutting into blocks changes nothing."""
        if self._noise is not None:
            block = block + self._level * self._noise.read(len(block))
        self.n_clipped += int(np.count_nonzero(np.abs(block) >= 1.0))
        if self._line is not None:
            block = self._line.pass_on(block)
        return as_int16(block)
