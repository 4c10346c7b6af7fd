"""Noise and transmission channel: telephone band, mu-law and 16-bit quantisation.

Noise is endless, has level (root mean square) 1 and is read block by block. The block
sizes do not change the samples, not even the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt, zpk2sos

from sms_diar.errors import DataFormatError
from sms_diar.io.audio.files import Samples, blocks
from sms_diar.io.audio.sphere import ULAW
from sms_diar.types import FloatArray

NOISES = ("white", "pink")

_LOWEST_HZ = 20.0  # below this frequency, pink noise is white
_POLES_PER_DECADE = 2.0


class Noise(Protocol):
    """Interface of endless noise sources."""

    def read(self, n: int) -> FloatArray:
        """Return the next `n` samples."""
        ...


class WhiteNoise:
    """Gaussian noise with equal power at all frequencies."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def read(self, n: int) -> FloatArray:
        """Return the next `n` samples."""
        return self._rng.standard_normal(n)


class PinkNoise:
    """Gaussian noise with equal power in all octaves above 20 Hz, at `rate` hertz.

    Alternating poles and zeros, evenly spaced on a logarithmic scale, approximate a
    slope of -10 dB per decade.
    """

    def __init__(self, rng: np.random.Generator, rate: int) -> None:
        self._rng = rng
        count = int(np.ceil(_POLES_PER_DECADE * np.log10(rate / 2 / _LOWEST_HZ)))
        corners = _LOWEST_HZ * 10.0 ** (np.arange(2 * count) / (2 * _POLES_PER_DECADE))
        roots = np.exp(-2.0 * np.pi * corners / rate)
        self._sections = zpk2sos(roots[1::2], roots[::2], 1.0)
        self._state = np.zeros((len(self._sections), 2))
        # Impulse response until it has decayed, which is also the time that the noise
        # needs to reach its level.
        click = np.zeros(rate)
        click[0] = 1.0
        self._gain = 1.0 / np.sqrt(np.sum(sosfilt(self._sections, click) ** 2))
        self.read(rate)

    def read(self, n: int) -> FloatArray:
        """Return the next `n` samples."""
        white = self._rng.standard_normal(n)
        pink, self._state = sosfilt(self._sections, white, zi=self._state)
        scaled: FloatArray = self._gain * pink
        return scaled


class RecordedNoise:
    """Recorded noise, in random order and from a random start, scaled to level 1.

    `open_one` opens a recording by name at the required rate.
    """

    def __init__(
        self,
        names: Sequence[str],
        open_one: Callable[[str], Samples],
        rng: np.random.Generator,
    ) -> None:
        self._names = [names[index] for index in rng.permutation(len(names))]
        self._open = open_one
        self._levels: dict[str, float] = {}
        self._number = 0
        self._position = int(rng.integers(open_one(self._names[0]).n_samples))

    def read(self, n: int) -> FloatArray:
        """Return the next `n` samples."""
        parts = []
        while n > 0:
            name = self._names[self._number % len(self._names)]
            audio = self._open(name)
            part = audio.read(self._position, min(self._position + n, audio.n_samples))
            parts.append(part / self._level(name, audio))
            n -= len(part)
            self._position += len(part)
            if self._position == audio.n_samples:
                self._number, self._position = self._number + 1, 0
        return np.concatenate(parts)

    def _level(self, name: str, audio: Samples) -> float:
        if name not in self._levels:
            squares = sum(
                float(np.sum(block**2)) for block in blocks(audio, 0, audio.n_samples)
            )
            if not squares:
                problem = f"the noise {name!r} is silent; remove it"
                raise DataFormatError(problem, path=audio.path)
            self._levels[name] = float(np.sqrt(squares / audio.n_samples))
        return self._levels[name]


BAND_HZ = (300.0, 3400.0)
"""Lowest and highest frequency of a telephone line in hertz."""

FULL_SCALE = 32768.0


def band_filter(rate: int) -> FloatArray:
    """Return the second-order sections of the telephone band-pass filter."""
    sections: FloatArray = butter(4, BAND_HZ, btype="bandpass", fs=rate, output="sos")
    return sections


class Telephone:
    """Telephone line that band-passes and compands a signal block by block.

    `rate` in hertz must be more than twice 3400.
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

    `rate` is in hertz, and `level` is the root mean square of the noise. With
    `telephone`, speech and noise pass through a telephone line.
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
