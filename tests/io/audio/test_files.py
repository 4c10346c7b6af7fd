"""Audio files of all formats, whole and broken."""

import logging

import numpy as np
import pytest
import soundfile

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.files import AudioFile, blocks, stretch

RATE = 8000
SIGNAL = np.round(np.random.default_rng(3).uniform(-0.9, 0.9, 4000) * 32768) / 32768


def write(path, samples=SIGNAL, rate=RATE, **options):
    soundfile.write(path, samples, rate, **options)
    return path


def refusal(path, error=DataFormatError, **options):
    with pytest.raises(error) as caught, AudioFile(path, **options) as audio:
        audio.read(0, audio.n_samples)
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_sixteen_bit_files_come_back_to_the_last_bit(tmp_path, suffix):
    with AudioFile(write(tmp_path / f"a.{suffix}")) as audio:
        assert (audio.rate, audio.n_samples, audio.duration) == (8000, 4000, 0.5)
        np.testing.assert_array_equal(audio.read(0, 4000), SIGNAL)
        np.testing.assert_array_equal(audio.read(1000, 1003), SIGNAL[1000:1003])
        np.testing.assert_array_equal(audio.read(7, 9), SIGNAL[7:9])


def test_ogg_is_read_in_stretches_as_in_one_piece(tmp_path):
    path = write(tmp_path / "a.ogg")
    whole, _ = soundfile.read(path)
    with AudioFile(path) as audio:
        np.testing.assert_array_equal(audio.read(3000, 3100), whole[3000:3100])


def test_the_format_is_told_from_the_content_not_the_name(tmp_path):
    path = write(tmp_path / "a.flac")
    renamed = path.rename(tmp_path / "a.sph")
    with AudioFile(renamed) as audio:
        np.testing.assert_array_equal(audio.read(0, 4000), SIGNAL)


@pytest.mark.parametrize("size", [1, 7, 3999, 4000, 10_000])
def test_blocks_of_any_size_add_up_to_the_whole(tmp_path, size):
    with AudioFile(write(tmp_path / "a.flac")) as audio:
        got = np.concatenate(list(blocks(audio, 10, 700, size=size)))
    np.testing.assert_array_equal(got, SIGNAL[10:700])


@pytest.mark.parametrize("channel", [1, 2])
def test_channels_count_from_one(tmp_path, channel):
    path = write(tmp_path / "a.wav", np.stack([SIGNAL, -SIGNAL / 2], axis=1))
    want, _ = soundfile.read(path)
    with AudioFile(path, channel=channel) as audio:
        np.testing.assert_array_equal(audio.read(0, 4000), want[:, channel - 1])


def test_stereo_needs_a_choice(tmp_path):
    path = write(tmp_path / "a.wav", np.stack([SIGNAL, SIGNAL], axis=1))
    assert "has 2 channels; choose channel=1" in refusal(path)
    assert "channel 3 does not exist" in refusal(path, channel=3)
    assert "got 0" in refusal(path, InvalidParameterError, channel=0)


def test_files_without_audio_are_refused(tmp_path, refused):
    refused(AudioFile, b"", "is empty")
    refused(AudioFile, b"hello, this is no audio at all", "cannot be read as audio")
    write(tmp_path / "a.wav", np.zeros(0))
    refused(AudioFile, None, "contains no samples", name="a.wav")


def test_a_truncated_flac_is_refused_where_it_breaks(tmp_path):
    path = write(tmp_path / "a.flac")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert refusal(path).startswith(f"{path}: cannot be decoded near 0.000 s (")
    path.write_bytes(content[:30])
    assert refusal(path).startswith(f"{path}: cannot be read as audio (")


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_samples_that_are_not_numbers_are_refused_with_their_place(
    tmp_path, value, word
):
    samples = SIGNAL.copy()
    samples[2000] = value
    path = write(tmp_path / "a.wav", samples, subtype="FLOAT")
    assert refusal(path) == (
        f"{path}: sample 2000 (0.250 s) is {word}; repair the file"
    )
    with AudioFile(path) as audio:  # the rest can be used
        np.testing.assert_array_equal(
            audio.read(0, 2000), SIGNAL[:2000].astype(np.float32)
        )


def test_seconds_become_the_nearest_samples(tmp_path):
    with AudioFile(write(tmp_path / "a.wav")) as audio:
        assert stretch(audio, 0.0, 0.5, owner="segment 'a'") == (0, 4000)
        assert stretch(audio, 0.1, None, owner="segment 'a'") == (800, 4000)
        # 0.00115 * 8000 = 9.2, 0.0020 * 8000 = 16
        assert stretch(audio, 0.00115, 0.002, owner="segment 'a'") == (9, 16)


def test_a_small_overshoot_is_cut_with_a_warning(tmp_path, caplog):
    path = write(tmp_path / "a.wav")
    with AudioFile(path) as audio, caplog.at_level(logging.WARNING):
        assert stretch(audio, 0.1, 0.9, owner="segment 'a'") == (800, 4000)
    assert caplog.messages == [
        f"{path}: segment 'a' ends 0.4 s after the recording, cut"
    ]


@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [
        (0.1, 1.0, "ends at 1 s, 0.5 s after the end of the recording"),
        (0.5, 0.6, "starts at 0.5 s, but the recording ends at 0.5 s"),
        (0.1, 0.10001, "contains no samples at 8000 Hz"),
    ],
)
def test_segments_outside_the_recording_are_refused(tmp_path, start, end, problem):
    path = write(tmp_path / "a.wav")
    with AudioFile(path) as audio, pytest.raises(DataFormatError, match=problem):
        stretch(audio, start, end, owner="segment 'a'")


@pytest.mark.corpus
def test_real_flac_is_eight_kilohertz_mono(corpus_data):
    with AudioFile(corpus_data / "audiomnist8k" / "flac" / "am01.flac") as audio:
        assert audio.rate == 8000
        part = audio.read(8000, 16000)
    assert 0.0 < np.abs(part).max() < 1.0
