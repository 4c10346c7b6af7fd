"""Frames and speech of one recording, on values."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.cmvn import CmvnStats
from sms_diar.features.extract import (
    features_of_segments,
    session_statistics,
    speech_of_recordings,
)
from sms_diar.features.frames import frames_of, speech_of
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mono import ArraySamples
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.types import Segment

RATE = 8000
SEGMENTS = {"w1": Segment("a", 0.4, 2.0), "w2": Segment("a", 1.5, 5.5)}


@pytest.fixture
def data(tmp_path, one_voice):
    """A data directory of one recording, on the 16-bit grid."""
    samples = np.round(one_voice(3) * 32767) / 32768
    soundfile.write(tmp_path / "a.wav", samples, RATE)
    (tmp_path / "wav.scp").write_text("a a.wav\n")
    return DataDir(tmp_path), samples


def front_end(method, vad="none"):
    return FrontEnd.from_dict({"cmvn": {"method": method}, "vad": {"method": vad}})


def check_same(got, want):
    assert list(got) == list(want)
    for name, frames in want.items():
        np.testing.assert_array_equal(got[name], frames)


@pytest.mark.parametrize("method", ["recording", "session", "segment", "sliding"])
@pytest.mark.parametrize("vad", ["none", "energy"])
def test_an_array_a_file_and_a_data_directory_give_the_same(data, method, vad):
    folder, samples = data
    config = front_end(method, vad)
    want = dict(features_of_segments(folder, config, segments=SEGMENTS))
    assert list(want) == ["w1", "w2"]
    array = ArraySamples(samples, RATE)
    check_same(dict(frames_of(array, SEGMENTS, config)), want)
    with AudioFile(folder.path / "a.wav") as file:
        check_same(dict(frames_of(file, SEGMENTS, config)), want)


def test_without_segments_the_recording_is_one(data):
    folder, samples = data
    want = dict(features_of_segments(folder))
    check_same(dict(frames_of(ArraySamples(samples, RATE), recording="a")), want)


def test_statistics_of_a_session_can_be_given(data):
    folder, samples = data
    config = front_end("session")
    stats = session_statistics(folder, config)
    want = dict(features_of_segments(folder, config, segments=SEGMENTS, stats=stats))
    array = ArraySamples(samples, RATE)
    check_same(dict(frames_of(array, SEGMENTS, config, stats=stats)), want)
    with pytest.raises(InvalidParameterError, match="frames_of: stats must contain"):
        frames_of(array, SEGMENTS, config, stats=CmvnStats.none(20))


def test_speech_is_that_of_the_data_directory(data):
    folder, samples = data
    [(name, want)] = speech_of_recordings(folder)
    array = ArraySamples(samples, RATE)
    assert speech_of(array, recording=name) == want
    [whole] = speech_of(array, VadConfig(method="none"))
    assert whole == Segment("recording", 0.0, 6.0)


def test_a_bad_segment_leaves_the_others_intact(data):
    _, samples = data
    array, config = ArraySamples(samples, RATE, name="x"), front_end("segment")
    bad = {"w0": Segment("a", 7.0, 8.0), **SEGMENTS}
    problems = []
    found = dict(frames_of(array, bad, config, recording="a", problems=problems))
    check_same(found, dict(frames_of(array, SEGMENTS, config)))
    [problem] = problems
    assert (problem.recording, problem.segment) == ("a", "w0")
    words = "segment 'w0' starts at 7 s, but the recording ends at 6 s"
    assert problem.text == f"x: {words}; correct its times"
    got = []
    with pytest.raises(DataFormatError, match=rf"1 problem\(s\).*\n    w0: x: {words}"):
        got.extend(name for name, _ in frames_of(array, bad, config))
    assert got == ["w1", "w2"]


@pytest.mark.parametrize("function", [frames_of, speech_of])
def test_a_path_in_place_of_samples_is_refused(function):
    problem = f"^{function.__name__}: audio must be .* got the path 'call.wav'; open"
    with pytest.raises(InvalidParameterError, match=problem):
        function("call.wav")


@pytest.mark.parametrize(
    "function", [features_of_segments, session_statistics, speech_of_recordings]
)
def test_a_path_in_place_of_a_data_directory_is_refused(function, tmp_path):
    problem = f"^{function.__name__}: data must be a DataDir, got the path '{tmp_path}'"
    with pytest.raises(InvalidParameterError, match=problem):
        list(function(tmp_path))
