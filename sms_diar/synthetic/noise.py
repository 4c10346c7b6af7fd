"""Noise without end, of level (root mean square) 1, block after block.

How it is cut into blocks changes nothing, not even the last bit.
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

_LOWEST_HZ = 20.0  # below, pink noise is white
_POLES_PER_DECADE = 2.0


class Noise(Protocol):
    """Noise that can be read on and on."""

    def read(self, n: int) -> FloatArray:
        """The next `n` samples."""
        ...


class WhiteNoise:
    """Gaussian noise, all frequencies alike."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def read(self, n: int) -> FloatArray:
        """The next `n` samples."""
        return self._rng.standard_normal(n)


class PinkNoise:
    """Gaussian noise, all octaves above 20 Hz alike.

    Poles and zeros by turns, at equal distances on a logarithmic scale, make a slope
    of 10 dB per decade.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the noise.
    rate : int
        Samples per second.
    """

    def __init__(self, rng: np.random.Generator, rate: int) -> None:
        self._rng = rng
        count = int(np.ceil(_POLES_PER_DECADE * np.log10(rate / 2 / _LOWEST_HZ)))
        places = _LOWEST_HZ * 10.0 ** (np.arange(2 * count) / (2 * _POLES_PER_DECADE))
        roots = np.exp(-2.0 * np.pi * places / rate)
        self._sections = zpk2sos(roots[1::2], roots[::2], 1.0)
        self._state = np.zeros((len(self._sections), 2))
        # Response to a click until it has faded, which is also how long the noise
        # takes to reach its level.
        click = np.zeros(rate)
        click[0] = 1.0
        self._gain = 1.0 / np.sqrt(np.sum(sosfilt(self._sections, click) ** 2))
        self.read(rate)

    def read(self, n: int) -> FloatArray:
        """The next `n` samples."""
        white = self._rng.standard_normal(n)
        pink, self._state = sosfilt(self._sections, white, zi=self._state)
        scaled: FloatArray = self._gain * pink
        return scaled


class RecordedNoise:
    """Recordings in random order, each brought to level 1, the first from anywhere.

    Parameters
    ----------
    names : sequence of str
        Recordings.
    open_one : function
        Opens a recording by name, at the rate wanted.
    rng : numpy.random.Generator
        Draws order and beginning.
    """

    def __init__(
        self,
        names: Sequence[str],
        open_one: Callable[[str], Samples],
        rng: np.random.Generator,
    ) -> None:
        self._names = [names[place] for place in rng.permutation(len(names))]
        self._open = open_one
        self._levels: dict[str, float] = {}
        self._number = 0
        self._at = int(rng.integers(open_one(self._names[0]).n_samples))

    def read(self, n: int) -> FloatArray:
        """The next `n` samples."""
        parts = []
        while n > 0:
            name = self._names[self._number % len(self._names)]
            audio = self._open(name)
            part = audio.read(self._at, min(self._at + n, audio.n_samples))
            parts.append(part / self._level(name, audio))
            n -= len(part)
            self._at += len(part)
            if self._at == audio.n_samples:
                self._number, self._at = self._number + 1, 0
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
