"""Endless noise with level (root mean square) 1, read block by block.

The block sizes do not change the samples, not even the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from scipy.signal import sosfilt, zpk2sos

from sms_diar.errors import DataFormatError
from sms_diar.io.audio.files import Samples, blocks
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
    """Gaussian noise with equal power in all octaves above 20 Hz.

    Alternating poles and zeros, evenly spaced on a logarithmic scale, approximate a
    slope of -10 dB per decade.

    Parameters
    ----------
    rng : numpy.random.Generator
        Generator for the noise.
    rate : int
        Sampling rate in hertz.
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

    Parameters
    ----------
    names : sequence of str
        Names of the recordings.
    open_one : function
        Function that opens a recording by name at the required rate.
    rng : numpy.random.Generator
        Generator for the order and the start.
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
                raise DataFormatError(
                    f"the noise {name!r} is silent; remove it", path=audio.path
                )
            self._levels[name] = float(np.sqrt(squares / audio.n_samples))
        return self._levels[name]
