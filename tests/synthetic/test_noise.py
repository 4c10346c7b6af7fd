"""Noise: its level and colour, and that blocks do not matter."""

from itertools import pairwise

import numpy as np
import pytest

from sms_diar.errors import DataFormatError
from sms_diar.features.mono import ArraySamples
from sms_diar.synthetic.channel import PinkNoise, RecordedNoise, WhiteNoise

RATE = 8000


def recorded(rng):
    hums = {
        "low": np.sin(2 * np.pi * 100 * np.arange(3000) / RATE),
        "high": 0.1 * np.sin(2 * np.pi * 1000 * np.arange(5000) / RATE),
    }
    return RecordedNoise(
        list(hums), lambda name: ArraySamples(hums[name], RATE, name=name), rng
    )


KINDS = {
    "white": WhiteNoise,
    "pink": lambda rng: PinkNoise(rng, RATE),
    "recorded": recorded,
}


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_level_one(kind):
    noise = KINDS[kind](np.random.default_rng(0)).read(40 * RATE)
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_matter(kind):
    whole = KINDS[kind](np.random.default_rng(0)).read(20_000)
    source = KINDS[kind](np.random.default_rng(0))
    parts = [source.read(n) for n in (1, 999, 7000, 12_000)]
    assert np.array_equal(whole, np.concatenate(parts))


def octave_powers(noise):
    power = np.abs(np.fft.rfft(noise)) ** 2
    hertz = np.fft.rfftfreq(len(noise), 1 / RATE)
    edges = 62.5 * 2.0 ** np.arange(7)  # up to 4000 Hz
    return [
        power[(hertz >= low) & (hertz < high)].sum() for low, high in pairwise(edges)
    ]


def test_pink_noise_has_the_same_power_in_all_octaves():
    powers = octave_powers(PinkNoise(np.random.default_rng(0), RATE).read(60 * RATE))
    assert np.ptp(10 * np.log10(powers)) < 1.5


def test_white_noise_has_twice_the_power_in_the_next_octave():
    powers = octave_powers(WhiteNoise(np.random.default_rng(0)).read(60 * RATE))
    assert np.diff(10 * np.log10(powers)) == pytest.approx(3.01, abs=0.5)


def test_recordings_follow_each_other_from_anywhere():
    firsts = {
        float(recorded(np.random.default_rng(seed)).read(1)[0]) for seed in range(9)
    }
    assert len(firsts) > 4
    noise = recorded(np.random.default_rng(0)).read(8000)  # both, as long as they are
    spectrum = np.abs(np.fft.rfft(noise))
    assert set(np.argsort(spectrum)[-2:]) == {100, 1000}


def test_silent_noise_is_refused():
    def opened(name):
        return ArraySamples(np.zeros(100), RATE, name=name)

    with pytest.raises(DataFormatError) as caught:
        RecordedNoise(["mute"], opened, np.random.default_rng(0)).read(10)
    assert str(caught.value) == "mute: the noise 'mute' is silent; remove it"
