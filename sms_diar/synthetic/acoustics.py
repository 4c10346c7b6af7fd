"""Acoustics of a simulated conversation: levels, room, noise and transmission.

Reverberation is a direct sound followed by a decaying tail of noise (Polack's model):
after the first moments the echoes of a room are so dense that they are Gaussian noise
under an exponential envelope, which falls by 60 dB in the reverberation time. The level
of the tail depends on the distance of the speaker: direct sound decreases with the
distance, echoes do not, and both are equal at the critical distance of
``0.057 * sqrt(volume / rt60)`` metres. Each speaker has a position and therefore a
response of its own. The direct sound is not delayed, so the start times of speech stay
exact. The model has no distinct early echoes, and all frequencies decay equally.

Noise is endless, has level (root mean square) 1 and is read block by block. The block
sizes do not change the samples, not even the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt, zpk2sos

from sms_diar._validation import (
    check_count,
    check_not_negative,
    check_positive,
    is_real,
)
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.files import Samples, blocks
from sms_diar.io.audio.sphere import ULAW
from sms_diar.synthetic.rendering import SpokenEnergy
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


@dataclass(frozen=True)
class Acoustics:
    """Acoustic settings; None leaves a property of the source as it is.

    `level` of each speaker's speech is in dB relative to full scale, before the room,
    and `level_spread` is its standard deviation over speakers in dB. `rt60` is the
    reverberation time in seconds and `snr` the mean ratio of speech level to noise
    level in dB. `telephone` simulates a telephone line.
    """

    level: float | None = None
    level_spread: float = 0.0
    rt60: float | None = None
    snr: float | None = None
    telephone: bool = False

    def __post_init__(self) -> None:
        for name in ("level", "snr"):
            value = getattr(self, name)
            if value is not None and not is_real(value):
                problem = f"must be a finite number of dB, got {value!r}"
                raise InvalidParameterError(problem, owner="simulate", parameter=name)
        if self.level is not None and self.level > 0.0:
            problem = f"must be at most 0 dB of full scale, got {self.level!r}"
            raise InvalidParameterError(problem, owner="simulate", parameter="level")
        check_not_negative("simulate", "level_spread", self.level_spread)
        if self.rt60 is not None:
            check_positive("simulate", "rt60", self.rt60)

    @property
    def depends_on_speech(self) -> bool:
        """True if the level of the source must be measured."""
        return self.level is not None or self.snr is not None


@dataclass(frozen=True)
class Scene:
    """Random acoustic properties of one conversation.

    By speaker: `gains` are factors applied to the samples, `distances` to the
    microphone are in metres, and `responses` are impulse responses of the room. `noise`
    is the level (root mean square) of the noise.
    """

    gains: Mapping[str, float]
    distances: Mapping[str, float] | None
    responses: Mapping[str, FloatArray] | None
    noise: float


def draw_scene(
    speakers: Sequence[str],
    acoustics: Acoustics,
    energies: Mapping[str, SpokenEnergy],
    *,
    rate: int,
    stream: Callable[[str], np.random.Generator],
) -> Scene:
    """Draw levels and positions of the speakers.

    `energies` of the speakers in the source are used if the settings depend on them.
    `rate` is in hertz, and `stream` returns a random generator for a named purpose.
    """
    spread = acoustics.level_spread * stream("levels").standard_normal(len(speakers))
    gains = {
        name: 10.0 ** (more / 20.0) for name, more in zip(speakers, spread, strict=True)
    }
    if acoustics.level is not None:
        target = 10.0 ** (acoustics.level / 20.0)
        gains = {name: gains[name] * target / energies[name].level for name in speakers}
    distances = responses = None
    if acoustics.rt60 is not None:
        room = stream("room")
        distances = {name: draw_distance(room) for name in speakers}
        responses = {
            name: impulse_response(acoustics.rt60, distances[name], rate, room)
            for name in speakers
        }
    noise = 0.0
    if acoustics.snr is not None:
        squares = sum(gains[name] ** 2 * energies[name].squares for name in speakers)
        n_samples = sum(energies[name].n_samples for name in speakers)
        noise = noise_level(float(np.sqrt(squares / n_samples)), acoustics.snr)
    return Scene(gains, distances, responses, noise)


VOLUME = 60.0
"""Volume in cubic metres: a meeting room for a few people."""

DISTANCES = (0.5, 3.0)
"""Range of distances between speakers and microphone in metres."""

_FIRST_ECHO = 0.003  # seconds after the direct sound: one metre of extra path


def draw_distance(rng: np.random.Generator) -> float:
    """Draw the distance of a speaker to the microphone in metres."""
    return float(rng.uniform(*DISTANCES))


def impulse_response(
    rt60: float, distance: float, rate: int, rng: np.random.Generator
) -> FloatArray:
    """Draw the impulse response of a room, normalised to energy 1.

    `rt60` is the time in seconds until echoes have decayed by 60 dB, `distance` that
    between speaker and microphone in metres, and `rate` the sampling rate in hertz. The
    response has about ``rt60 * rate`` samples; sample 0 is the direct sound.
    """
    check_positive("impulse_response", "rt60", rt60)
    check_positive("impulse_response", "distance", distance)
    check_count("impulse_response", "rate", rate)
    first = max(1, round(_FIRST_ECHO * rate))
    time = np.arange(max(round(rt60 * rate), first + 1)) / rate
    # shape: (rt60 * rate,), like time
    tail = rng.standard_normal(len(time)) * 10.0 ** (-3.0 * time / rt60)
    tail[:first] = 0.0
    critical = 0.057 * np.sqrt(VOLUME / rt60)
    tail *= distance / critical / np.sqrt(np.sum(tail**2))
    tail[0] = 1.0
    response: FloatArray = tail / np.sqrt(np.sum(tail**2))
    return response
