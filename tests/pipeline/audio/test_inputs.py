"""What is meant by recordings: files, tables, samples."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.audio.inputs import (
    find_recordings,
    is_single,
    open_channels,
    recordings_of,
)

RATE = 8000


def test_a_file_is_named_without_suffix_and_spaces(tmp_path):
    (tmp_path / "my call 1.wav").touch()
    [recording] = find_recordings([tmp_path / "my call 1.wav"])
    assert recording.id == "my_call_1"
    assert recording.source.text == str(tmp_path / "my call 1.wav")


def test_files_and_tables_can_be_mixed(tmp_path):
    (tmp_path / "z.wav").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wav.scp").write_text("b b.wav\na sox x.wav -t wav - |\n")
    found = find_recordings([tmp_path / "z.wav", tmp_path / "data"])
    assert [recording.id for recording in found] == ["z", "b", "a"]
    assert found[2].source.is_command


def test_a_name_given_twice_is_refused(tmp_path):
    (tmp_path / "a.wav").touch()
    (tmp_path / "a.flac").touch()
    with pytest.raises(InvalidParameterError, match="different names, got 'a' for"):
        find_recordings([tmp_path / "a.wav", tmp_path / "a.flac"])


def test_a_path_several_paths_and_samples_are_recordings(tmp_path):
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).touch()
    paths = [tmp_path / "a.wav", str(tmp_path / "b.wav")]
    assert [one.id for one in recordings_of(paths)] == ["a", "b"]
    assert [one.id for one in recordings_of(paths[1])] == ["b"]
    samples = np.zeros(10)
    assert [one.id for one in recordings_of((samples, RATE))] == ["recording"]
    named = recordings_of({"x": (samples, RATE), "y": (samples, RATE)})
    assert [one.id for one in named] == ["x", "y"]


def test_a_source_is_single_by_its_form(tmp_path):
    assert is_single(tmp_path / "a.wav")
    assert is_single(str(tmp_path / "a.wav"))
    assert is_single((np.zeros(10), RATE))
    for several in (tmp_path, tmp_path / "wav.scp", [tmp_path / "a.wav"]):
        assert not is_single(several)
    assert not is_single({"x": (np.zeros(10), RATE)})


def test_what_is_no_source_is_refused():
    with pytest.raises(InvalidParameterError, match=r"source must be .*got tuple"):
        recordings_of([(np.zeros(10), RATE)])
    with pytest.raises(InvalidParameterError, match=r"source\['x'\] must be .*got str"):
        recordings_of({"x": "call.wav"})


def channels_of(source, channel=None):
    [recording] = recordings_of(source)
    with open_channels(recording, channel=channel) as channels:
        return [channel.read(0, channel.n_samples) for channel in channels]


def test_channels_of_arrays_are_those_of_files(tmp_path):
    both = np.round(np.random.default_rng(0).normal(0, 3000, (50, 2))) / 32768
    soundfile.write(tmp_path / "x.wav", both, RATE)
    for channel in (None, 1, 2):
        from_file = channels_of(tmp_path / "x.wav", channel)
        given = channels_of((both, RATE), channel)
        assert len(from_file) == (2 if channel is None else 1)
        np.testing.assert_array_equal(given, from_file)
    [alone] = channels_of((both[:, 0], RATE))
    np.testing.assert_array_equal(alone, both[:, 0])


@pytest.mark.parametrize(
    ("shape", "channel", "problem"),
    [
        ((2, 50), None, r"samples must be of shape .* got \(2, 50\)"),
        ((), None, r"samples must be of shape .* got \(\)"),
        ((50, 2), 3, "there is no channel 3"),
    ],
)
def test_arrays_of_another_shape_are_refused(shape, channel, problem):
    with pytest.raises(InvalidParameterError, match=f"^recording: .*{problem}"):
        channels_of((np.zeros(shape), RATE), channel)
