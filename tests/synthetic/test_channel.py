"""From the microphone to the file: noise, band, mu-law, 16 bits."""

from itertools import pairwise

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError
from sms_diar.features.mono import ArraySamples
from sms_diar.synthetic.acoustics import (
    FULL_SCALE,
    Channel,
    PinkNoise,
    RecordedNoise,
    Telephone,
    WhiteNoise,
    as_int16,
    companded,
)

RATE = 8000


def tone(hertz, seconds=1.0, rate=RATE):
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize(
    ("hertz", "low", "high"),
    [(100.0, 0.0, 0.02), (1000.0, 0.9, 1.1), (3000.0, 0.8, 1.1)],
)
def test_a_telephone_passes_its_band(hertz, low, high, rate):
    signal = tone(hertz, rate=rate)
    passed = Telephone(rate).pass_on(signal)[rate // 4 :]
    assert low <= np.mean(passed**2) / np.mean(signal**2) <= high


def test_mu_law_is_that_of_others(tmp_path):
    signal = np.random.default_rng(0).uniform(-0.99, 0.99, 4000)
    path = tmp_path / "x.wav"
    soundfile.write(path, signal, RATE, subtype="ULAW")
    theirs, _ = soundfile.read(path)
    # libsndfile cuts off what is below a 16-bit sample first; the steps are the same,
    # so we are never farther away from the signal.
    assert np.isin(companded(signal), theirs).mean() > 0.99
    assert np.abs(companded(signal) - signal).max() <= np.abs(theirs - signal).max()
    assert np.mean(companded(signal) == theirs) > 0.9
    assert len(np.unique(companded(np.linspace(-1, 1, 100_000)))) <= 255


def test_samples_of_16_bits_round_and_clip():
    signal = np.array([0.0, 1.4 / 32768, -1.6 / 32768, 1.5, -1.5])
    assert as_int16(signal).tolist() == [0, 1, -2, 32767, -32768]


def test_clipped_samples_are_counted():
    channel = Channel(RATE)
    channel.pass_on(np.array([0.5, 1.5]))
    channel.pass_on(np.array([-2.0, 0.0, 1.0 - 1 / FULL_SCALE]))
    assert channel.n_clipped == 2


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


def octave_decibels(kind):
    noise = KINDS[kind](np.random.default_rng(0)).read(60 * RATE)
    power = np.abs(np.fft.rfft(noise)) ** 2
    hertz = np.fft.rfftfreq(len(noise), 1 / RATE)
    edges = 62.5 * 2.0 ** np.arange(7)  # up to 4000 Hz
    octaves = [(hertz >= low) & (hertz < high) for low, high in pairwise(edges)]
    return 10 * np.log10([power[octave].sum() for octave in octaves])


def test_pink_noise_has_the_same_power_in_all_octaves_and_white_noise_does_not():
    assert np.ptp(octave_decibels("pink")) < 1.5
    assert np.diff(octave_decibels("white")) == pytest.approx(3.01, abs=0.5)


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

    with pytest.raises(DataFormatError, match="the noise 'mute' is silent"):
        RecordedNoise(["mute"], opened, np.random.default_rng(0)).read(10)
