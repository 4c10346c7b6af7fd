"""Acoustics of a simulated conversation: levels, room and noise.

Reverberation is a direct sound followed by a decaying tail of noise (Polack's model):
after the first moments the echoes of a room are so dense that they are Gaussian noise
under an exponential envelope, which falls by 60 dB in the reverberation time. The level
of the tail depends on the distance of the speaker: direct sound decreases with the
distance, echoes do not, and both are equal at the critical distance of
``0.057 * sqrt(volume / rt60)`` metres. Each speaker has a position and therefore a
response of its own. The direct sound is not delayed, so the start times of speech stay
exact. The model has no distinct early echoes, and all frequencies decay equally.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import (
    check_count,
    check_not_negative,
    check_positive,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.channel import noise_level
from sms_diar.synthetic.rendering import SpokenEnergy
from sms_diar.types import FloatArray


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
