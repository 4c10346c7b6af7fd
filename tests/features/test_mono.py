"""One channel in memory or in a temporary file."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from scipy.signal import resample_poly

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features import mono
from sms_diar.features.mono import ArraySamples, MonoAudio, Resampled, at_rate
from sms_diar.io.audio.files import AudioFile

RATE = 8000


def noise(n, seed=0):
    return 0.1 * np.random.default_rng(seed).standard_normal(n)


def whole(audio):
    return audio.read(0, audio.n_samples)


def test_samples_are_those_of_a_wav_file_of_32_bits(tmp_path):
    samples = noise(1000)
    with soundfile.SoundFile(
        tmp_path / "x.wav", "w", RATE, 1, subtype="FLOAT", format="WAV"
    ) as file:
        file.write(samples)
    with (
        MonoAudio([ArraySamples(samples, RATE)], RATE) as held,
        AudioFile(tmp_path / "x.wav") as written,
    ):
        assert (held.rate, held.n_samples, held.duration) == (RATE, 1000, 0.125)
        np.testing.assert_array_equal(whole(held), whole(written))
        np.testing.assert_array_equal(held.read(17, 40), written.read(17, 40))


def test_long_recordings_go_to_a_file(monkeypatch):
    samples = noise(3 * mono.BLOCK + 7)
    with MonoAudio([ArraySamples(samples, RATE)], RATE) as held:
        want = whole(held)
        assert not held._file._rolled
    monkeypatch.setattr(mono, "IN_MEMORY", 1 << 20)
    with MonoAudio([ArraySamples(samples, RATE)], RATE) as held:
        assert held._file._rolled
        np.testing.assert_array_equal(whole(held), want)


def test_channels_are_mixed_and_resampled():
    left, right = (ArraySamples(noise(4000, seed), 2 * RATE) for seed in (1, 2))
    middle = ArraySamples((whole(left) + whole(right)) / 2, 2 * RATE)
    with MonoAudio([left, right], RATE) as mixed:
        want = whole(at_rate(middle, RATE)).astype(np.float32)
        np.testing.assert_array_equal(whole(mixed), want)


def test_samples_beyond_single_precision_are_refused():
    samples = noise(mono.BLOCK + 10)
    samples[mono.BLOCK + 3] = 1e39
    with pytest.raises(DataFormatError, match=rf"x: sample {mono.BLOCK + 3} is 1e\+39"):
        MonoAudio([ArraySamples(samples, RATE, name="x")], RATE)


@pytest.mark.parametrize("kind", [np.int16, np.int32])
def test_integers_are_brought_to_one(kind):
    top = np.iinfo(kind).max
    audio = ArraySamples(np.array([top, 0, -top - 1], dtype=kind), RATE)
    np.testing.assert_array_equal(whole(audio), [top / (top + 1.0), 0.0, -1.0])


@pytest.mark.parametrize(
    ("samples", "rate", "problem"),
    [
        (np.zeros((2, 3, 4)), RATE, "must be a non-empty row of numbers"),
        (np.zeros(0), RATE, "must be a non-empty row of numbers, got shape (0,)"),
        (np.zeros(9, dtype=np.uint8), RATE, "must be floating-point numbers in [-1,"),
        (np.array([0.0, np.nan]), RATE, "must be finite, got NaN at 1"),
        (np.array([np.inf, 0.0]), RATE, "must be finite, got infinity at 0"),
        (np.zeros(9), 0, "rate must be a whole number >= 1, got 0"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_samples_are_refused(samples, rate, problem):
    with pytest.raises(InvalidParameterError) as caught:
        ArraySamples(samples, rate, name="x")
    assert str(caught.value).startswith(f"x: {problem}")


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
