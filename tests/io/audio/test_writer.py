"""Audio that is written block by block."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import write_audio

SAMPLES = np.array([0, 1, -1, 32767, -32768, 5], dtype=np.int16)


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_what_is_written_is_read(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    write_audio(path, np.split(SAMPLES, [1, 4]), 16000)
    read, rate = soundfile.read(path, dtype="int16")
    assert (read.tolist(), rate) == (SAMPLES.tolist(), 16000)
    info = soundfile.info(path)
    assert (info.channels, info.subtype, info.format) == (1, "PCM_16", suffix.upper())


def test_an_error_on_the_way_leaves_no_file(tmp_path):
    def blocks():
        yield SAMPLES
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_audio(tmp_path / "x.wav", blocks(), 8000)
    assert list(tmp_path.iterdir()) == []


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(InvalidParameterError) as caught:
        write_audio(tmp_path / "x.mp3", [SAMPLES], 8000)
    assert str(caught.value) == (
        "write_audio: suffix must be one of 'wav', 'flac', got 'mp3'"
    )
