"""Artificial voices for tests and demonstrations: pulses, formants and pauses.

The signal is not speech, but similar enough for a front end: a glottal pulse train with
varying pitch, shaped by resonances that change every tenth of a second. A voice is
defined by its pitch, by the length of its vocal tract, which scales all resonances, and
by the tilt of its spectrum. The sequence of sounds is random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from sms_diar._validation import check_positive
from sms_diar.types import FloatArray, Segment

# Resonances of a few vowels in hertz, for a vocal tract of average length.
_VOWELS = np.array(
    [
        [300.0, 2250.0, 2950.0],
        [390.0, 1990.0, 2550.0],
        [530.0, 1840.0, 2480.0],
        [700.0, 1220.0, 2600.0],
        [570.0, 840.0, 2410.0],
        [440.0, 1020.0, 2240.0],
        [320.0, 900.0, 2240.0],
        [490.0, 1350.0, 1690.0],
    ]
)
_BANDWIDTHS = np.array([70.0, 110.0, 160.0])
_LEVEL = 0.1  # level of speech relative to full scale
_NOISE = 0.0005


@dataclass(frozen=True, slots=True)
class Voice:
    """Constant properties of a speaker."""

    pitch: float  # mean fundamental frequency in hertz
    tract: float  # factor of all resonances; 1 for a vocal tract of average length
    tilt: float  # pole of the low-pass filter of the pulses, in [0, 1)

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Voice:
        """Draw a random voice."""
        pitch = 110.0 * 2.0 ** rng.uniform(-0.4, 0.8)
        return cls(float(pitch), rng.uniform(0.8, 1.25), rng.uniform(0.5, 0.95))

    def speak(
        self, seconds: float, rng: np.random.Generator, *, rate: int = 8000
    ) -> FloatArray:
        """Produce sound without a pause; the sequence of sounds is random."""
        check_positive("Voice", "seconds", seconds)
        n = round(seconds * rate)
        source = lfilter([1.0], [1.0, -self.tilt], self._pulses(n, rng, rate))
        parts, position = [], 0
        while position < n:
            length = round(rng.uniform(0.07, 0.16) * rate)
            vowel = _VOWELS[rng.integers(len(_VOWELS))]
            part = source[position : position + length]
            for resonance, width in zip(
                vowel * self.tract, _BANDWIDTHS * self.tract, strict=True
            ):
                part = _resonate(part, resonance, width, rate)
            parts.append(part / max(float(np.sqrt(np.mean(part**2))), 1e-9))
            position += length
        spoken: FloatArray = _LEVEL * np.concatenate(parts)
        return spoken

    def _pulses(self, n: int, rng: np.random.Generator, rate: int) -> FloatArray:
        drift = np.cumsum(rng.normal(0.0, 0.02, size=n // 80 + 2))
        pitch = self.pitch * np.exp(
            np.interp(np.arange(n) / 80.0, np.arange(len(drift)), np.clip(drift, -1, 1))
            * 0.2
        )
        phase = np.cumsum(pitch / rate)
        pulses = np.diff(np.floor(phase), prepend=0.0)
        breath: FloatArray = pulses + 0.02 * rng.standard_normal(n)
        return breath


def converse(
    turns: list[tuple[Segment, Voice]],
    seconds: float,
    rng: np.random.Generator,
    *,
    rate: int = 8000,
) -> FloatArray:
    """Let voices speak at given times, over low noise.

    Simultaneous voices are added. Returns samples in [-1, 1), of shape (seconds *
    rate,).
    """
    samples: FloatArray = _NOISE * rng.standard_normal(round(seconds * rate))
    for segment, voice in turns:
        spoken = voice.speak(segment.duration, rng, rate=rate)
        first = round(segment.start * rate)
        window = samples[first : first + len(spoken)]
        window += spoken[: len(window)]
    return np.clip(samples, -1.0, 1.0 - 2.0**-15)


def _resonate(part: FloatArray, hertz: float, width: float, rate: int) -> FloatArray:
    if hertz >= rate / 2:
        return part
    radius = np.exp(-np.pi * width / rate)
    poles = [1.0, -2.0 * radius * np.cos(2.0 * np.pi * hertz / rate), radius**2]
    filtered: FloatArray = lfilter([1.0 - radius], poles, part)
    return filtered
