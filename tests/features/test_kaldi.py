"""Kaldi's front end: equal to Kaldi's own results, and to its formulas."""

import math

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.kaldi import (
    WINDOWS,
    KaldiDeltas,
    KaldiFrontEnd,
    KaldiMfcc,
    KaldiVad,
    kaldi_cmvn,
    kaldi_deltas,
    kaldi_mfcc,
    kaldi_vad,
)
from sms_diar.io.kaldi.data_dir import DataDir

QUIET = {"sample_frequency": 8000.0, "dither": 0.0}


@pytest.fixture
def front_end(kaldi_reference):
    folder = kaldi_reference.folder / "extractor"
    return KaldiFrontEnd(
        KaldiMfcc.read(folder / "conf" / "mfcc.conf"),
        KaldiVad.read(folder / "conf" / "vad.conf"),
        KaldiDeltas.read(folder / "delta_opts"),
    )


def test_cepstra_are_those_of_kaldi(kaldi_reference, front_end):
    expected = kaldi_reference.matrices("mfcc.ark")
    assert len(expected) == 4
    for name, cepstra in expected.items():
        computed = kaldi_mfcc(kaldi_reference.samples(name), front_end.mfcc)
        difference = np.abs(computed - cepstra)
        # Kaldi's transform has rounding errors of 1e-7 of the strongest line, which
        # weak filters show; half of all values agree to their last two digits.
        assert difference.max() < 1e-3
        assert np.median(difference) < 2e-5


def test_speech_decisions_are_those_of_kaldi(kaldi_reference, front_end):
    expected = kaldi_reference.matrices("vad.ark")
    assert len(expected) == 30
    for name, is_speech in expected.items():
        cepstra = kaldi_mfcc(kaldi_reference.samples(name), front_end.mfcc)
        assert kaldi_vad(cepstra, front_end.vad).tolist() == is_speech.tolist()


def test_frames_are_those_of_kaldi(kaldi_reference, front_end):
    for name, frames in kaldi_reference.matrices("feats.ark").items():
        computed = front_end.frames(kaldi_reference.samples(name))
        assert computed.dtype == np.float32
        assert computed.shape == (len(frames), front_end.dim)
        assert np.abs(computed - frames).max() < 1e-3


def test_derivatives_and_normalisation_round_like_those_of_kaldi(
    kaldi_reference, front_end
):
    cepstra = kaldi_reference.matrices("mfcc.ark")
    for name, frames in kaldi_reference.matrices("feats.ark").items():
        computed = kaldi_cmvn(kaldi_deltas(cepstra[name], front_end.deltas))
        speech = kaldi_vad(cepstra[name], front_end.vad)
        np.testing.assert_allclose(computed[speech], frames, rtol=0, atol=2e-5)


def slow_frames(samples, config):
    """Frames of a signal that is mirrored at its ends."""
    n, length, shift = len(samples), config.samples_per_frame, config.samples_per_shift
    if config.snip_edges:
        count, start = max(0, 1 + (n - length) // shift), 0
    else:
        count, start = (n + shift // 2) // shift, shift // 2 - length // 2
    mirrored = [*range(n), *reversed(range(n))]
    for frame in range(count):
        first = start + frame * shift
        indices = range(first, first + length)
        yield [32768 * samples[mirrored[at % (2 * n)]] for at in indices]


def slow_window(config):
    c, length = config.blackman_coeff, config.samples_per_frame
    formula = {
        "hamming": lambda a: 0.54 - 0.46 * math.cos(a),
        "hanning": lambda a: 0.5 - 0.5 * math.cos(a),
        "povey": lambda a: (0.5 - 0.5 * math.cos(a)) ** 0.85,
        "rectangular": lambda a: 1.0,
        "sine": lambda a: math.sin(0.5 * a),
        "blackman": lambda a: c - 0.5 * math.cos(a) + (0.5 - c) * math.cos(2 * a),
    }[config.window_type]
    return [formula(2 * math.pi * i / (length - 1)) for i in range(length)]


def slow_log_mel(x, config):
    size = len(x)
    if config.round_to_power_of_two:
        size = 2 ** math.ceil(math.log2(size))
    padded = np.array(x + [0.0] * (size - len(x)))
    lines, times = np.arange(size // 2), np.arange(size)
    power = np.abs(np.exp(-2j * np.pi * np.outer(lines, times) / size) @ padded) ** 2
    nyquist = config.sample_frequency / 2
    top = config.high_freq if config.high_freq > 0 else nyquist + config.high_freq

    def mel(hertz):
        return 1127 * math.log(1 + hertz / 700)

    step = (mel(top) - mel(config.low_freq)) / (config.num_mel_bins + 1)
    for b in range(config.num_mel_bins):
        left, total = mel(config.low_freq) + b * step, 0.0
        for i in range(size // 2):
            m = mel(i * config.sample_frequency / size)
            if left < m <= left + step:
                total += power[i] * (m - left) / step
            elif left + step < m < left + 2 * step:
                total += power[i] * (left + 2 * step - m) / step
        yield math.log(max(total, 2.0**-23))


def slow_cepstra(samples, config):
    """Cepstra frame by frame and line by line, from the definition."""
    rows, bins, q = [], config.num_mel_bins, config.cepstral_lifter
    for frame in slow_frames(samples, config):
        mean = sum(frame) / len(frame) if config.remove_dc_offset else 0.0
        x = [value - mean for value in frame]
        energy = sum(value**2 for value in x)
        x = [
            value - config.preemphasis_coefficient * x[max(i - 1, 0)]
            for i, value in enumerate(x)
        ]
        x = [value * w for value, w in zip(x, slow_window(config), strict=True)]
        if not config.raw_energy:
            energy = sum(value**2 for value in x)
        logs = list(slow_log_mel(x, config))
        row = []
        for k in range(config.num_ceps):
            angles = [math.pi / bins * (b + 0.5) * k for b in range(bins)]
            total = sum(np.cos(angles) * logs) * math.sqrt((1 if k == 0 else 2) / bins)
            row.append(total * (1 + q / 2 * math.sin(math.pi * k / q) if q else 1))
        if config.use_energy:
            row[0] = math.log(max(energy, 2.0**-23, config.energy_floor))
        rows.append(row)
    result = np.array(rows)
    return result - result.mean(axis=0) if config.subtract_mean else result


@pytest.mark.parametrize(
    "options",
    [
        *({"window_type": window} for window in WINDOWS),
        {"snip_edges": False},
        {"use_energy": False},
        {"raw_energy": False},
        {"energy_floor": 1e12},
        {"cepstral_lifter": 0.0},
        {"preemphasis_coefficient": 0.0, "remove_dc_offset": False},
        {"round_to_power_of_two": False},
        {"low_freq": 100.0, "high_freq": -300.0, "num_mel_bins": 15},
        {"frame_length": 32.0, "frame_shift": 12.5, "num_ceps": 20},
        {"sample_frequency": 11025.0, "subtract_mean": True},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_option_of_the_cepstra_follows_its_definition(options):
    rng = np.random.default_rng(3)
    samples = 0.1 * rng.standard_normal(630) + 0.02
    config = KaldiMfcc(**QUIET | options)
    expected = slow_cepstra(samples, config)
    computed = kaldi_mfcc(samples, config)
    np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-5)


def test_frames_mirror_a_signal_that_is_shorter_than_they_are():
    samples = np.random.default_rng(0).standard_normal(41)
    config = KaldiMfcc(**QUIET, snip_edges=False)  # frames of 200 samples, 80 apart
    computed = kaldi_mfcc(samples, config)
    assert computed.shape == (1, 13)  # (41 + 40) // 80
    np.testing.assert_allclose(computed, slow_cepstra(samples, config), atol=1e-4)
    assert kaldi_mfcc(samples[:39], config).shape == (0, 13)
    assert kaldi_mfcc(samples[:0], config).shape == (0, 13)


def test_frames_of_a_long_signal_do_not_depend_on_the_blocks_they_are_computed_in():
    samples = np.random.default_rng(0).standard_normal(80 * 1030)
    config = KaldiMfcc(**QUIET, snip_edges=False)
    whole = kaldi_mfcc(samples, config)
    assert len(whole) == 1030
    # Frame 1020 starts at sample 1020 * 80 + 40 - 100.
    part = kaldi_mfcc(samples[1020 * 80 - 60 :], KaldiMfcc(**QUIET))
    np.testing.assert_allclose(whole[1020:1028], part[:8], rtol=0, atol=1e-4)


def test_dither_is_noise_of_its_amplitude_and_the_same_every_time():
    config = KaldiMfcc(sample_frequency=8000.0, preemphasis_coefficient=0.0)
    silence = np.zeros(80_000)
    cepstra = kaldi_mfcc(silence, config)
    # 200 values of variance 1 without their mean: energy 199
    assert np.exp(cepstra[:, 0]).mean() == pytest.approx(199, rel=0.02)
    assert np.array_equal(cepstra, kaldi_mfcc(silence, config))


def test_speech_needs_a_share_of_loud_neighbours():
    energies = np.array([9, 9, 0, 0, 0, 9, 0, 9, 9, 0], dtype=np.float32)[:, None]
    config = KaldiVad(
        vad_energy_threshold=5.0,
        vad_energy_mean_scale=0.0,
        vad_frames_context=1,
        vad_proportion_threshold=0.6,
    )
    # needed: 2 of 2 at the ends (1.2), 2 of 3 elsewhere (1.8)
    expected = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0]
    assert kaldi_vad(energies, config).tolist() == expected
    # The threshold 0.5 + 2 * 4.5 is above all: nothing is speech.
    high = KaldiVad(vad_energy_threshold=0.5, vad_energy_mean_scale=2.0)
    assert not kaldi_vad(energies, high).any()
    assert kaldi_vad(energies[:0], config).shape == (0,)


def test_three_of_five_frames_are_a_share_of_six_tenths():
    energies = np.array([0, 9, 9, 9, 0], dtype=np.float32)[:, None]
    config = KaldiVad(vad_energy_mean_scale=0.0, vad_frames_context=2)
    assert kaldi_vad(energies, config)[2]


def test_second_derivatives_use_the_frames_beyond_the_end_only_once():
    # once: (x[t+1] - x[t-1]) / 2, twice: (x[t+2] - 2 x[t] + x[t-2]) / 4
    x = np.array([1.0, 2.0, 4.0, 8.0], dtype=np.float32)[:, None]
    computed = kaldi_deltas(x, KaldiDeltas(delta_order=2, delta_window=1))
    assert computed[:, 1].tolist() == [0.5, 1.5, 3.0, 2.0]
    assert computed[:, 2].tolist() == [0.75, 1.25, 0.25, -1.5]
    assert kaldi_deltas(x, KaldiDeltas(delta_order=0)).tolist() == x.tolist()


def slow_cmvn(x, window=300):
    """Means over the windows of apply-cmvn-sliding, one frame at a time."""
    n, rows = len(x), []
    for t in range(n):
        first = t - window // 2
        last = first + window
        if first < 0:
            first, last = 0, last - first
        if last > n:
            first, last = max(first - (last - n), 0), n
        rows.append(x[t] - x[first:last].mean(axis=0))
    return np.array(rows)


@pytest.mark.parametrize("n", [1, 40, 299, 301, 700])
def test_windows_of_the_normalisation_are_those_of_kaldi(n):
    x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
    expected = slow_cmvn(x.astype(np.float64))
    np.testing.assert_allclose(kaldi_cmvn(x), expected, rtol=0, atol=2e-6)


def test_option_files_are_read_like_by_kaldi(tmp_path):
    path = tmp_path / "mfcc.conf"
    path.write_text(
        "# telephone\n\n--Sample_Frequency=8000 # Hz\n  --use-energy=f\n--snip-edges\n"
        "--verbose=2\n--num-ceps=20\n"
    )
    assert KaldiMfcc.read(path) == KaldiMfcc(
        sample_frequency=8000.0, use_energy=False, snip_edges=True, num_ceps=20
    )
    path.write_text("--delta-window=3 --delta-order=1")
    assert KaldiDeltas.read(path) == KaldiDeltas(delta_order=1, delta_window=3)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("--num-ceps=20\n--num-cep=20\n", 2, "did you mean --num-ceps"),
        ("sample_frequency=8000\n", 1, "--name=value"),
        ("\n--num-ceps=2.5\n", 2, "a whole number"),
        ("--num-ceps=\n", 1, "no value"),
        ("--use-energy=maybe\n", 1, "true or false"),
        ("--low-freq=nan\n", 1, "a number"),
        ("--frame-shift=1_0\n", 1, "a number"),
        ("--num-mel-bins=10\n--num-ceps=11\n", 2, "<= 10"),
        ("--window-type=hann\n", 1, "hanning"),
        ("--htk-compat=true\n", 1, "false"),
        ("--vtln-warp=0.9\n", 1, "warp"),
        ("--num-mel-bins=1000\n", 1, "line of the spectrum"),
        ("--high-freq=9000\n", 1, "8000"),
        ("--frame-length=1e5\n", 1, "samples"),
        ("--frame-length=1e300\n", 1, "768000"),
        ("--sample-frequency=1e12\n", 1, "768000"),
        ("--frame-shift=1e-9\n", 1, "one sample"),
    ],
)
def test_a_wrong_option_is_reported_with_its_line(tmp_path, text, line, part):
    path = tmp_path / "mfcc.conf"
    path.write_text(text)
    with pytest.raises(DataFormatError, match=part) as caught:
        KaldiMfcc.read(path)
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_the_share_of_speech_frames_is_between_zero_and_one(share):
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        KaldiVad(vad_proportion_threshold=share)


def test_segments_without_frames_are_problems_of_their_own(tmp_path):
    tone = np.concatenate((np.zeros(8000), 3000.0 * np.sin(np.arange(8000))))
    samples = tone.astype(np.int16)
    soundfile.write(tmp_path / "r.wav", samples, 8000)
    (tmp_path / "wav.scp").write_text("r r.wav\n")
    (tmp_path / "segments").write_text("a r 0 2\nb r 0 0.02\nc r 0 1\n")
    config = KaldiMfcc(**QUIET)
    front_end = KaldiFrontEnd(config, KaldiVad(vad_energy_threshold=10.0))
    problems = []
    [(name, frames)] = features_of_segments(
        DataDir(tmp_path), front_end, problems=problems
    )
    assert name == "a"
    # The tone fills the frames that start at sample 8000 and later: 100 to 197, and
    # those before that contain some of it, from (8000 - 200) / 80 = 97.5 on.
    assert len(frames) == 1 + 197 - 98
    assert np.array_equal(frames, front_end.frames(samples / 32768))
    assert [problem.segment for problem in problems] == ["b", "c"]
    assert "shorter than a frame" in str(problems[0])
    assert "no speech" in str(problems[1])
