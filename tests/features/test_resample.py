"""Stretches of resampled audio are those of the whole file resampled."""

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import resample_poly

from sms_diar.features.resample import Resampled, at_rate


class Held:
    """Audio in memory."""

    path = Path("memory")

    def __init__(self, samples, rate):
        self.samples, self.rate, self.n_samples = samples, rate, len(samples)

    def read(self, first, last):
        assert 0 <= first <= last <= self.n_samples
        return self.samples[first:last]


@pytest.mark.parametrize("size", [1, 500, 4001])
@pytest.mark.parametrize("rate", [16000, 11025, 44100, 6000])
def test_any_blocks_are_bit_for_bit_the_whole(rate, size):
    n = 5000 if size > 1 else 300
    audio = Held(np.random.default_rng(rate).standard_normal(n), rate)
    up, down = np.array([8000, rate]) // np.gcd(8000, rate)
    want = resample_poly(audio.samples, up, down)
    resampled = Resampled(audio, 8000)
    assert resampled.n_samples == len(want)
    parts = [
        resampled.read(start, min(start + size, len(want)))
        for start in range(0, len(want), size)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), want)


def test_a_tone_in_the_band_stays_and_one_above_it_goes():
    t = np.arange(16000) / 16000
    for hertz, level in ((1000, 1.0), (5000, 0.0)):
        tone = Resampled(Held(np.sin(2 * np.pi * hertz * t), 16000), 8000)
        middle = tone.read(1000, 7000)
        assert np.sqrt(2 * np.mean(middle**2)) == pytest.approx(level, abs=2e-3)


def test_audio_of_the_right_rate_is_left_alone():
    audio = Held(np.zeros(10), 8000)
    assert at_rate(audio, 8000) is audio
