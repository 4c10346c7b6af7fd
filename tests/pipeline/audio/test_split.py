"""Audio of single speakers, beside the recordings it is taken from."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import OutputError
from sms_diar.pipeline.audio.split import split_speakers
from sms_diar.types import Segment, Turn

TURNS = [Turn(Segment("a", 0.1, 0.4), "ann")]


@pytest.fixture
def recordings(tmp_path):
    paths = [tmp_path / "a.wav", tmp_path / "a-ann.wav"]
    for path in paths:
        soundfile.write(path, np.full(8000, 0.25), 8000)
    return paths


@pytest.mark.parametrize("form", ["list", "folder"])
def test_the_file_of_a_speaker_does_not_replace_a_recording(recordings, form):
    folder = recordings[0].parent
    before = recordings[1].read_bytes()
    with pytest.raises(OutputError, match=r"a-ann\.wav: is read as an input"):
        split_speakers(TURNS, recordings if form == "list" else folder, folder)
    assert recordings[1].read_bytes() == before


def test_an_earlier_file_of_a_speaker_is_replaced(recordings):
    folder = recordings[0].parent
    assert split_speakers(TURNS, recordings[0], folder) == [folder / "a-ann.wav"]
    assert len(soundfile.read(folder / "a-ann.wav")[0]) == 2400


def test_samples_in_memory_are_split(tmp_path):
    source = {"a": (np.zeros(8000), 8000)}
    assert split_speakers(TURNS, source, tmp_path) == [tmp_path / "a-ann.wav"]
