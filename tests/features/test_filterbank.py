"""Log filterbank energies; their agreement with Kaldi's is in tests/networks."""

import numpy as np

from sms_diar.features.filterbank import FilterbankConfig, filterbank


def test_frames_that_the_samples_do_not_fill_are_left_out():
    config = FilterbankConfig()
    assert filterbank(np.zeros(399), config).shape == (0, 80)
    assert filterbank(np.zeros(400), config).shape == (1, 80)
    assert filterbank(np.zeros(400 + 2 * 160 - 1), config).shape == (2, 80)
    assert config.frames_of(24000) == 148  # 1 + (24000 - 400) // 160


def test_silence_and_a_constant_have_the_logarithm_of_the_floor():
    floor = np.log(float(np.finfo(np.float32).eps))
    for samples in (np.zeros(800), np.full(800, 0.3)):
        assert (filterbank(samples, FilterbankConfig()) == floor).all()


def test_a_factor_of_the_samples_is_a_summand_of_the_logarithms():
    samples = np.random.default_rng(0).standard_normal(800)
    quiet = filterbank(samples, FilterbankConfig())
    loud = filterbank(10 * samples, FilterbankConfig())
    np.testing.assert_allclose(loud - quiet, np.log(100.0), atol=1e-9)


def test_a_tone_is_strongest_in_the_filter_that_holds_it():
    config = FilterbankConfig()
    tone = np.sin(2 * np.pi * 1000.0 * np.arange(1600) / 16000)
    mel = 1127 * np.log1p(np.array([20.0, 8000.0, 1000.0]) / 700)
    # 81 equal steps between 20 and 8000 Hz; filter i peaks after step i + 1
    nearest = round((mel[2] - mel[0]) / (mel[1] - mel[0]) * 81) - 1
    assert (filterbank(tone, config).argmax(axis=1) == nearest).all()
