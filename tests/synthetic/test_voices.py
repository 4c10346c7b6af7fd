"""Synthetic voices: what a front end needs of them."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment

LOW = Voice(pitch=100.0, tract=0.85, tilt=0.9)
HIGH = Voice(pitch=200.0, tract=1.2, tilt=0.6)


@pytest.mark.parametrize("rate", [8000, 16000])
def test_speech_has_the_length_and_level_that_were_asked_for(rate):
    spoken = HIGH.speak(1.25, np.random.default_rng(1), rate=rate)
    assert len(spoken) == 1.25 * rate
    assert np.sqrt(np.mean(spoken**2)) == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("voice", [LOW, HIGH])
def test_the_pitch_is_that_of_the_voice(voice):
    # The autocorrelation of a pulse train peaks at its period; the pitch wanders by
    # up to a fifth or so.
    spoken = voice.speak(0.4, np.random.default_rng(1))
    spoken = np.sign(spoken) * np.maximum(np.abs(spoken) - 0.15, 0.0)
    lags = np.correlate(spoken, spoken, "full")[len(spoken) :]
    shortest, longest = 8000 // 260, 8000 // 75
    period = shortest + int(np.argmax(lags[shortest:longest])) + 1
    ratio = 8000 / period / voice.pitch
    assert min(abs(ratio - 1.0), abs(2 * ratio - 1.0)) < 0.25


def test_voices_differ_in_their_spectra():
    def centroid(voice):
        power = np.abs(np.fft.rfft(voice.speak(4.0, np.random.default_rng(1)))) ** 2
        return np.average(np.fft.rfftfreq(32000, 1 / 8000), weights=power)

    assert centroid(HIGH) > 1.2 * centroid(LOW)


def test_pauses_are_quiet_and_turns_are_where_they_should_be():
    turns = [(Segment("r", 0.5, 1.0), LOW), (Segment("r", 1.5, 2.0), HIGH)]
    samples = converse(turns, 2.25, np.random.default_rng(1))
    level = np.sqrt(np.mean(samples.reshape(9, 2000) ** 2, axis=1))
    is_loud = level > 0.05
    assert is_loud.tolist() == [False] * 2 + [True] * 2 + [False] * 2 + [True] * 2 + [
        False
    ]
    assert level[~is_loud].max() < 0.001
    assert np.abs(samples).max() < 1.0


def test_a_turn_beyond_the_end_is_cut():
    samples = converse([(Segment("r", 0.5, 9.0), LOW)], 1.0, np.random.default_rng(1))
    assert len(samples) == 8000


def test_no_time_to_speak_is_refused():
    with pytest.raises(InvalidParameterError, match="Voice: seconds must be"):
        LOW.speak(0.0, np.random.default_rng(1))
