"""One channel in memory or in a temporary file."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features import mono
from sms_diar.features.mono import ArraySamples, MonoAudio
from sms_diar.features.resample import at_rate
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
    with pytest.raises(DataFormatError) as caught:
        MonoAudio([ArraySamples(samples, RATE, name="x")], RATE)
    assert str(caught.value) == (
        f"x: sample {mono.BLOCK + 3} is 1e+39, beyond 32-bit floating-point numbers; "
        f"samples should lie in [-1, 1)"
    )


@pytest.mark.parametrize("kind", [np.int16, np.int32])
def test_integers_are_brought_to_one(kind):
    top = np.iinfo(kind).max
    audio = ArraySamples(np.array([top, 0, -top - 1], dtype=kind), RATE)
    np.testing.assert_array_equal(whole(audio), [top / (top + 1.0), 0.0, -1.0])


@pytest.mark.parametrize(
    ("samples", "rate", "problem"),
    [
        (np.zeros((2, 3, 4)), RATE, "must be one or more numbers in a row, got shape "
         "(2, 3, 4)"),
        (np.zeros(0), RATE, "must be one or more numbers in a row, got shape (0,)"),
        (np.zeros(9, dtype=np.uint8), RATE, "must be floating-point numbers in [-1, "
         "1), or integers of 16 or 32 bits, got uint8"),
        (np.array([0.0, np.nan]), RATE, "must be finite, got NaN at 1"),
        (np.array([np.inf, 0.0]), RATE, "must be finite, got infinity at 0"),
        (np.zeros(9), 0, "rate must be a whole number >= 1, got 0"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_samples_are_refused(samples, rate, problem):
    with pytest.raises(InvalidParameterError) as caught:
        ArraySamples(samples, rate, name="x")
    assert str(caught.value) == f"x: {problem}"
