"""Prediction of the cost of a training."""

import shutil
from collections import namedtuple

import numpy as np
import pytest
import soundfile

from sms_diar._progress import Silence
from sms_diar.errors import ExperimentError
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.memory import PROGRAM, training_memory
from sms_diar.pipeline.train import cost, ivectors
from sms_diar.pipeline.train.cost import TrainingCost, training_cost
from sms_diar.pipeline.train.extraction import Speech
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors

SETTINGS = IvectorSettings(n_components=4, rank=2, ubm_iter=10, tv_iter=3)


@pytest.fixture
def speech(tmp_path):
    """A recording of 4 s with two segments, and one of 2 s without a table of them."""
    for name, seconds in (("a", 4), ("b", 2)):
        (folder := tmp_path / name).mkdir()
        soundfile.write(folder / "x.wav", np.zeros(8000 * seconds), 8000)
        (folder / "wav.scp").write_text(f"{name} {folder / 'x.wav'}\n")
    (tmp_path / "a" / "segments").write_text("a1 a 0.0 1.5\na2 a 2.0 4.0\n")
    return [Speech(DataDir(tmp_path / name), FrontEnd()) for name in "ab"]


def test_lengths_come_from_segments_or_files(speech):
    # 1.5 + 2.0 + 2.0 = 5.5 s: 550 frames at 10 ms. Four components take one iteration
    # with one Gaussian, 4 with two and 10 with four, and one pass for the statistics:
    # 1 + 8 + 40 + 4 = 53. T takes 3 iterations and a look at 3 segments.
    predicted = training_cost(speech, SETTINGS)
    dim = FrontEnd().dim
    assert predicted.hours == pytest.approx(5.5 / 3600.0)
    assert (predicted.segments, predicted.disk) == (3, 4 * 550 * dim)
    assert predicted.memory == training_memory(3, dim, 4, 2) + PROGRAM
    seconds = (
        cost.FEATURES * 5.5 / 3600.0
        + cost.GAUSSIAN * 550 * dim * 53
        + cost.SUBSPACE * 3 * (4 * 2 * (2 + 2 * dim)) * 4
    )
    assert predicted.cpu == pytest.approx(seconds)


def test_recordings_of_unknown_length_are_not_counted(speech):
    (speech[1].data.path / "x.wav").unlink()
    predicted = training_cost(speech, SETTINGS)
    assert predicted.hours == pytest.approx(3.5 / 3600.0)
    assert predicted.segments == 3


@pytest.mark.parametrize(
    ("cpu", "shown"), [(120.0, "60 s"), (3600.0, "30 min"), (36000.0, "5.0 h")]
)
def test_the_cost_is_told_in_one_line(cpu, shown):
    line = TrainingCost(12.5, 300, 2**30, 2**29, cpu).sentence(2)
    assert line == (
        f"12.50 h of audio, 300 segments: about {shown} with 2 workers, at most "
        f"512 MiB of memory and 1.0 GiB on disk"
    )


def test_a_long_training_tells_its_cost_first_and_a_full_disk_stops_it(
    speech, monkeypatch
):
    said = []
    listener = Silence()
    monkeypatch.setattr(listener, "say", said.append)
    monkeypatch.setattr(ivectors, "LONG", 0.0)
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1000))
    with pytest.raises(ExperimentError, match="TMPDIR"):
        train_ivectors(speech, SETTINGS, progress=listener)
    [line] = said
    assert "3 segments" in line
