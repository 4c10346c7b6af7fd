"""Reverberation: a direct sound and a decaying tail of noise.

The model is Polack's: after the first moments the echoes of a room are so dense that
they are Gaussian noise under an exponential, which falls by 60 dB in the
reverberation time. How loud they are follows from the distance of the speaker: direct
sound falls with the distance, echoes do not, and both are equal at the critical
distance, ``0.057 * sqrt(volume / rt60)`` metres. Each speaker sits somewhere else and
therefore has another response. Echoes do not move the direct sound, so speech begins
where it began without them.

There is no single wall in it, hence no early echo that stands out, and all
frequencies fade alike.
"""

from __future__ import annotations

import numpy as np

from sms_diar._validation import check_count, check_positive
from sms_diar.types import FloatArray

VOLUME = 60.0
"""Cubic metres: a room for a meeting of a few people."""

DISTANCES = (0.5, 3.0)
"""Metres between which speakers sit from the microphone."""

_FIRST_ECHO = 0.003  # seconds after the direct sound: a metre of detour


def draw_distance(rng: np.random.Generator) -> float:
    """Draw how far a speaker sits from the microphone, in metres."""
    return float(rng.uniform(*DISTANCES))


def impulse_response(
    rt60: float, distance: float, rate: int, rng: np.random.Generator
) -> FloatArray:
    """Response of a room to a click, with energy 1.

    Parameters
    ----------
    rt60 : float
        Seconds in which echoes fall by 60 dB.
    distance : float
        Metres between speaker and microphone.
    rate : int
        Samples per second.
    rng : numpy.random.Generator
        Draws the echoes.

    Returns
    -------
    response : ndarray
        As long as the reverberation time. Sample 0 is the direct sound.

    Examples
    --------
    >>> response = impulse_response(0.4, 1.0, 8000, np.random.default_rng(0))
    >>> len(response), round(float(np.sum(response**2)), 9)
    (3200, 1.0)
    """
    check_positive("impulse_response", "rt60", rt60)
    check_positive("impulse_response", "distance", distance)
    check_count("impulse_response", "rate", rate)
    first = max(1, round(_FIRST_ECHO * rate))
    time = np.arange(max(round(rt60 * rate), first + 1)) / rate
    tail = rng.standard_normal(len(time)) * 10.0 ** (-3.0 * time / rt60)
    tail[:first] = 0.0
    critical = 0.057 * np.sqrt(VOLUME / rt60)
    tail *= distance / critical / np.sqrt(np.sum(tail**2))
    tail[0] = 1.0
    response: FloatArray = tail / np.sqrt(np.sum(tail**2))
    return response
