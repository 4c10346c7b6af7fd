"""Rooms: their reverberation time, and what distance does."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.acoustics import impulse_response


def decay_time(response, rate):
    """Reverberation time by backward integration (Schroeder): from -5 to -25 dB."""
    left = np.cumsum(response[::-1] ** 2)[::-1]
    level = 10.0 * np.log10(left / left[0])
    chosen = (level <= -5.0) & (level >= -25.0)
    slope = np.polyfit(np.flatnonzero(chosen) / rate, level[chosen], 1)[0]
    return -60.0 / slope


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("rt60", [0.2, 0.5, 1.2])
def test_echoes_fall_by_60_db_in_the_reverberation_time(rt60, rate):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        response = impulse_response(rt60, 2.0, rate, rng)
        echoes = response[round(0.004 * rate) :]  # behind the direct sound
        assert decay_time(echoes, rate) == pytest.approx(rt60, rel=0.15)


def test_direct_sound_and_echoes_are_equal_at_the_critical_distance():
    # 0.057 sqrt(60 / 0.6) = 0.57 m; twice as far echoes have 4 times its energy.
    for distance, ratio in ((0.57, 1.0), (1.14, 4.0)):
        response = impulse_response(0.6, distance, 8000, np.random.default_rng(0))
        assert np.sum(response[1:] ** 2) / response[0] ** 2 == pytest.approx(ratio)
        assert np.sum(response**2) == pytest.approx(1.0)


def test_the_direct_sound_comes_first_and_without_delay():
    response = impulse_response(0.5, 1.0, 8000, np.random.default_rng(0))
    assert response[0] == np.abs(response).max()
    assert not response[1:24].any()  # the first echo comes 3 ms later


def test_a_room_without_a_reverberation_time_is_refused():
    with pytest.raises(InvalidParameterError, match="impulse_response: rt60 must be"):
        impulse_response(0.0, 1.0, 8000, np.random.default_rng(0))
