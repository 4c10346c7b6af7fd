"""How a conversation sounds: levels, positions in a room, noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import check_not_negative, check_positive, is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.channel import noise_level
from sms_diar.synthetic.rendering import SpokenEnergy
from sms_diar.synthetic.room import draw_distance, impulse_response
from sms_diar.types import FloatArray


@dataclass(frozen=True)
class Acoustics:
    """What is wanted.

    Parameters
    ----------
    level : float, optional
        Level of each speaker's speech in dB relative to full scale, before the room;
        by default that of the source.
    level_spread : float, default=0.0
        Standard deviation over speakers, in dB.
    rt60 : float, optional
        Reverberation time in seconds; no room by default.
    snr : float, optional
        Mean level of speech over that of noise, in dB; no noise by default.
    telephone : bool, default=False
        Whether all of it passes a telephone line.
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
                raise InvalidParameterError(
                    f"simulate: {name} must be a finite number of dB, got {value!r}"
                )
        if self.level is not None and self.level > 0.0:
            raise InvalidParameterError(
                f"simulate: level must be at most 0 dB of full scale, got "
                f"{self.level!r}"
            )
        check_not_negative("simulate", "level_spread", self.level_spread)
        if self.rt60 is not None:
            check_positive("simulate", "rt60", self.rt60)

    @property
    def depends_on_speech(self) -> bool:
        """Whether the level of the source must be known."""
        return self.level is not None or self.snr is not None


@dataclass(frozen=True)
class Scene:
    """What is drawn for one conversation.

    Parameters
    ----------
    gains : mapping from str to float
        Factor of each speaker's samples.
    distances : mapping from str to float, or None
        Metres of each speaker to the microphone.
    responses : mapping from str to ndarray, or None
        What the room makes of a click at that place.
    noise : float
        Level (root mean square) of the noise.
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
    """Draw levels and places of the speakers.

    Parameters
    ----------
    speakers : sequence of str
        Who takes part.
    acoustics : Acoustics
        What is wanted.
    energies : mapping from str to SpokenEnergy
        How loud the speakers are in the source, where that matters.
    rate : int
        Samples per second.
    stream : function
        Random generator for a purpose.
    """
    spread = acoustics.level_spread * stream("levels").standard_normal(len(speakers))
    gains = {
        name: 10.0 ** (more / 20.0) for name, more in zip(speakers, spread, strict=True)
    }
    if acoustics.level is not None:
        wanted = 10.0 ** (acoustics.level / 20.0)
        gains = {name: gains[name] * wanted / energies[name].level for name in speakers}
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
