"""Recordings to turns: what is found, and what is left out."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.clustering.methods import build_method
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.features.vad import VadConfig
from sms_diar.io.turns.uem import read_uem
from sms_diar.pipeline.audio.inputs import find_recordings
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.api import diarize_all
from sms_diar.pipeline.diarize.diarizer import DiarizeSettings
from sms_diar.pipeline.diarize.models import choose_model
from sms_diar.pipeline.train.models import embedded_model_path

RATE = 8000

pytestmark = pytest.mark.usefixtures("no_networks")


@pytest.fixture
def embedded():
    return choose_model("embedded", vad=None).diarizer


class Bars:
    """Notes what is shown, and refuses one bar within another."""

    def __init__(self):
        self.labels = []
        self.ticks = {}
        self.open = False

    @contextmanager
    def track(self, label, total, done=0):
        assert not self.open, f"{label} within {self.labels[-1]}"
        self.open = True
        self.labels.append(label)

        def advance():
            self.ticks[label] = self.ticks.get(label, 0) + 1

        try:
            yield advance
        finally:
            self.open = False

    def say(self, message):
        pass


def test_the_settings_are_those_of_the_recipe(root, embedded):
    import tomllib

    content = tomllib.loads((root / "recipes/callhome/conf.toml").read_text())
    settings = DiarizeSettings()
    assert vars(embedded.layout(settings)) == content["windows"]
    assert settings.vad == VadConfig(method="energy", **content["vad"])
    assert settings.cmvn == content["cmvn"]
    assert settings.with_vad("none").vad == VadConfig(method="none", **content["vad"])


@pytest.mark.parametrize("count", [1, 2])
def test_no_bar_is_shown_within_another(embedded, one_voice, tmp_path, count):
    paths = [tmp_path / f"r{number}.wav" for number in range(count)]
    for seed, path in enumerate(paths):
        soundfile.write(path, one_voice(seed), RATE)
    bars, problems = Bars(), []
    estimator = build_method("ahc", embedded.backend)
    results = diarize_all(
        find_recordings(paths),
        embedded,
        estimator,
        problems=problems,
        context=RunContext(progress=bars),
    )
    assert problems == []
    assert [result.session.session for result in results] == ["r0", "r1"][:count]
    if count == 1:
        assert bars.labels == ["audio", "i-vectors", "clustering r0"]
    else:
        assert bars.labels == ["recordings"]
        assert bars.ticks == {"recordings": 2}


def test_a_recording_does_not_depend_on_its_company(embedded, one_voice, tmp_path):
    paths = [tmp_path / f"r{number}.wav" for number in range(2)]
    for seed, path in enumerate(paths):
        soundfile.write(path, one_voice(seed), RATE)
    estimator = build_method("sms", embedded.backend, seed=0)
    both = diarize_all(find_recordings(paths), embedded, estimator, problems=[])
    [second] = diarize_all(find_recordings(paths[1:]), embedded, estimator, problems=[])
    assert both[1] == second
    # The turns lie where the voice speaks, and nowhere twice.
    spans = [(turn.segment.start, turn.segment.end) for turn in second.turns]
    assert spans[0][0] == pytest.approx(0.5, abs=0.15)
    assert spans[-1][1] == pytest.approx(5.0, abs=0.15)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_samples_give_what_their_file_gives(one_voice, tmp_path):
    samples = np.round(one_voice(0) * 32767).astype(np.int16)
    path = tmp_path / "recording.wav"
    soundfile.write(path, samples, RATE)
    by_file = sms_diar.diarize(path, method="ahc")
    assert by_file.turns
    assert sms_diar.diarize((samples, RATE), method="ahc") == by_file
    assert sms_diar.diarize(((samples / 32768.0), RATE), method="ahc") == by_file
    assert sms_diar.diarize([path], method="ahc") == by_file
    named = sms_diar.diarize({"recording": (samples, RATE)}, method="ahc")
    assert named == by_file


def test_a_model_and_a_uem_are_taken_as_path_or_value(embedded, one_voice, tmp_path):
    (tmp_path / "x.uem").write_text("recording 1 1.0 4.0\n")
    source, uem = (one_voice(0), RATE), tmp_path / "x.uem"
    path = embedded_model_path()
    want = sms_diar.diarize(source, method="ahc", uem=uem, model=path)
    assert (want.turns[0].segment.start, want.turns[-1].segment.end) == (1.0, 4.0)
    got = sms_diar.diarize(source, method="ahc", uem=read_uem(uem), model=embedded)
    assert got == want


def test_what_is_wrong_with_a_single_recording_is_raised(tmp_path):
    path = tmp_path / "x.wav"
    soundfile.write(path, np.zeros(5 * RATE), RATE)
    for source, place in ((path, path), ((np.zeros(5 * RATE), RATE), "recording")):
        with pytest.raises(DataFormatError, match=r"no speech .* 5\.0 s") as caught:
            sms_diar.diarize(source)
        assert str(caught.value.path) == str(place)
    with pytest.raises(MissingFileError):
        sms_diar.diarize(tmp_path / "y.wav")


def test_what_is_wrong_with_some_of_several_is_collected(one_voice, tmp_path):
    soundfile.write(tmp_path / "a.wav", one_voice(0), RATE)
    (tmp_path / "b.wav").touch()
    (tmp_path / "wav.scp").write_text("a a.wav\nb b.wav\n")
    paths = [tmp_path / "a.wav", tmp_path / "b.wav"]
    for source in (paths, tmp_path, tmp_path / "wav.scp"):
        found = sms_diar.diarize(source, method="ahc")
        assert [one.recording for one in found.recordings] == ["a"]
        assert [str(problem) for problem in found.problems] == [
            f"b: {tmp_path / 'b.wav'}: is empty (0 bytes)"
        ]
    nothing = sms_diar.diarize(paths[1:])
    assert (nothing.recordings, nothing.turns) == ((), ())
    assert len(nothing.problems) == 1
    assert str(nothing).splitlines()[1:] == ["0 recordings, 0:00.0"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"vad": "loud"}, "method must be one of"),
        ({"channel": 0}, "^diarize: channel must be"),
        ({"workers": 0}, "^diarize: workers must be"),
        ({"max_gap": -1}, "^diarize: max_gap must be"),
        ({"threshold": 1.0}, "threshold must be left out"),
    ],
)
def test_wrong_options_are_refused_before_the_work(options, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sms_diar.diarize((np.zeros(RATE), RATE), **options)
