"""Cepstra: an independent computation, the library, and streams."""

import numpy as np
import pytest
import python_speech_features as psf
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.features.mfcc import (
    CHUNK,
    DeltaConfig,
    MfccConfig,
    add_deltas,
    delta,
    frame_chunks,
    frame_count,
    mfcc,
)

TELEPHONE = MfccConfig()
FULL = MfccConfig(low_hz=0.0, high_hz=4000.0)


def noise(n, seed=0):
    return np.round(np.random.default_rng(seed).normal(0, 1000, n)) / 32768


def whole(signal, config=TELEPHONE):
    return np.concatenate(list(mfcc([signal], config)))


def by_definition(signal, c):
    """The same definition, one frame and one filter at a time."""
    x = signal * 32768
    y = [x[0]] + [x[t] - c.preemphasis * x[t - 1] for t in range(1, len(x))]
    length, shift = round(c.length * c.rate), round(c.shift * c.rate)
    window = [0.54 - 0.46 * np.cos(2 * np.pi * n / (length - 1)) for n in range(length)]
    lines = np.arange(c.n_fft // 2 + 1)
    dft = np.exp(-2j * np.pi * np.outer(lines, np.arange(length)) / c.n_fft)
    mel = np.linspace(
        2595 * np.log10(1 + c.low_hz / 700),
        2595 * np.log10(1 + c.high_hz / 700),
        c.n_filters + 2,
    )
    hertz = 700 * (10 ** (mel / 2595) - 1)
    edges = np.floor((c.n_fft + 1) * hertz / c.rate)
    rows = []
    for start in range(0, len(x) - length + 1, shift):
        frame = np.array(y[start : start + length]) * window
        power = np.abs(dft @ frame) ** 2 / c.n_fft
        logs = []
        for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
            weights = np.where(
                lines < middle,
                (lines - low) / (middle - low),
                (high - lines) / (high - middle),
            )
            inside = (lines >= low) & (lines < high)
            logs.append(np.log(max(np.sum(power[inside] * weights[inside]), c.floor)))
        m = c.n_filters
        row = [np.log(max(power.sum(), c.floor))]
        for k in range(1, c.n_cepstra + 1):
            waves = np.cos(np.pi * k * (2 * np.arange(m) + 1) / (2 * m))
            lift = 1 + (c.lifter / 2) * np.sin(np.pi * k / c.lifter)
            row.append(lift * np.sqrt(2 / m) * np.dot(waves, logs))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("config", [MfccConfig(), FULL], ids=["telephone", "full"])
def test_an_independent_computation_agrees(config):
    signal = noise(1000)
    got = whole(signal, config)
    assert got.shape == (11, 20)  # 1 + (1000 - 200) // 80
    np.testing.assert_allclose(got, by_definition(signal, config), rtol=0, atol=1e-9)


@pytest.mark.parametrize("config", [MfccConfig(), FULL], ids=["telephone", "full"])
def test_python_speech_features_on_the_whole_signal_agrees(config):
    signal = noise(CHUNK * 80 * 2 + 12345)
    want = psf.mfcc(
        signal * 32768,
        samplerate=8000,
        numcep=20,
        nfilt=24,
        nfft=256,
        lowfreq=config.low_hz,
        highfreq=config.high_hz,
        winfunc=np.hamming,
    )
    got = whole(signal, config)
    assert len(got) == len(want) - 1  # its last frame is padded with zeros
    np.testing.assert_allclose(got, want[:-1], rtol=0, atol=1e-12)


@given(st.lists(st.integers(0, 40_000), max_size=12))
def test_a_stream_gives_bit_for_bit_what_the_whole_gives(sizes):
    signal = noise(CHUNK * 80 + 7777)
    cuts = np.minimum(np.cumsum(sizes), len(signal)).astype(int)
    stream = list(mfcc(np.split(signal, cuts), MfccConfig()))
    np.testing.assert_array_equal(np.concatenate(stream), whole(signal))


@given(st.integers(0, 3000), st.integers(1, 300), st.integers(1, 300))
def test_chunks_hold_the_frames_that_are_counted(n, length, shift):
    shift = min(shift, length)
    signal = np.arange(n, dtype=np.float64)
    chunks = list(frame_chunks([signal], length, shift))
    found = sum(frame_count(len(c.samples), length, shift) for c in chunks)
    assert found == len(range(0, n - length + 1, shift))


def test_the_level_moves_the_log_energy_only():
    # twice the samples: four times the energy, log 4 more; cepstra are unchanged
    signal = noise(4000)
    loud = whole(2 * signal) - whole(signal)
    np.testing.assert_allclose(loud[:, 0], np.log(4), atol=1e-12)
    np.testing.assert_allclose(loud[:, 1:], 0, atol=1e-9)


def test_digital_silence_is_floored():
    got = whole(np.zeros(400))
    assert got.shape == (3, 20)
    np.testing.assert_allclose(got[:, 0], np.log(0.001))
    np.testing.assert_allclose(got[:, 1:], 0.0, atol=1e-12)


@given(n=st.integers(1, 40), window=st.integers(1, 5))
def test_it_is_that_of_python_speech_features(n, window):
    features = np.random.default_rng(n).standard_normal((n, 3)) * 20
    want = psf.delta(features, window)
    np.testing.assert_allclose(delta(features, window), want, rtol=0, atol=1e-12)


def test_delta_delta_is_the_delta_of_the_delta():
    features = np.random.default_rng(0).standard_normal((30, 20))
    got = add_deltas(features, DeltaConfig())
    first = psf.delta(features, 2)
    want = np.hstack([features, first, psf.delta(first, 2)])
    assert got.shape == (30, 60)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
