"""Recordings to turns: what is found, and what is left out."""

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.methods import build_method
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.vad import VadConfig
from sms_diar.io.uem import read_uem
from sms_diar.pipeline.diarize import (
    DiarizeSettings,
    diarize_all,
    regions_of,
    within,
)
from sms_diar.pipeline.models import read_ivector_model
from sms_diar.pipeline.sources import find_recordings
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment

RATE = 8000


def some_speech(seed):
    rng = np.random.default_rng(seed)
    turns = [(Segment("x", 0.5, 5.0), Voice.draw(rng))]
    return converse(turns, 6.0, rng, rate=RATE)


@pytest.fixture
def embedded():
    return read_ivector_model()


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
    with pytest.raises(InvalidParameterError) as caught:
        find_recordings([tmp_path / "a.wav", tmp_path / "a.flac"])
    assert str(caught.value) == (
        f"find_recordings: recordings must have different names, got 'a' for "
        f"{tmp_path / 'a.wav'} and {tmp_path / 'a.flac'}; name them in a wav.scp"
    )


def test_a_bad_line_of_a_table_is_named(tmp_path):
    (tmp_path / "wav.scp").write_text("a a.wav\nb\n")
    with pytest.raises(DataFormatError, match=r"wav\.scp:2: "):
        find_recordings([tmp_path])


def test_the_settings_are_those_of_the_recipe(root):
    import tomllib

    content = tomllib.loads((root / "recipes/callhome/conf.toml").read_text())
    settings = DiarizeSettings()
    assert vars(settings.windows) == content["windows"]
    assert settings.vad == VadConfig(method="energy", **content["vad"])
    assert settings.cmvn == content["cmvn"]
    assert settings.with_vad("none").vad == VadConfig(method="none", **content["vad"])


def test_regions_of_a_uem_are_those_of_the_recording(tmp_path):
    (tmp_path / "x.uem").write_text("b 1 0 9\na 1 5.1 7.3\na 2 0 4\n")
    uem = read_uem(tmp_path / "x.uem")
    assert regions_of(uem, "a") == [Segment("a", 0.0, 4.0), Segment("a", 5.1, 7.3)]
    assert regions_of(uem, "c") == []


def test_regions_are_cut_at_bounds():
    speech = [Segment("a", 0.0, 2.0), Segment("a", 3.0, 6.0), Segment("a", 8.0, 9.0)]
    bounds = [Segment("a", 1.0, 4.0), Segment("a", 5.0, 7.0)]
    assert within(speech, bounds) == [
        Segment("a", 1.0, 2.0),
        Segment("a", 3.0, 4.0),
        Segment("a", 5.0, 6.0),
    ]


tenths = st.lists(st.integers(0, 30), min_size=2, max_size=8, unique=True).map(sorted)


@given(
    speech=tenths,
    bounds=st.lists(
        st.tuples(st.integers(0, 29), st.integers(1, 9)), min_size=1, max_size=5
    ),
)
def test_what_lies_in_bounds_is_kept_once(speech, bounds):
    regions = [
        Segment("a", start, end)
        for start, end in zip(speech[::2], speech[1::2], strict=False)
    ]
    limits = sorted(Segment("a", start, start + size) for start, size in bounds)
    parts = within(regions, limits)
    for second in np.arange(0.5, 40.0):
        inside = [
            any(s.start < second < s.end for s in some) for some in (regions, limits)
        ]
        times = sum(part.start < second < part.end for part in parts)
        assert times == int(all(inside))


@pytest.mark.parametrize("count", [1, 2])
def test_no_bar_is_shown_within_another(embedded, tmp_path, count):
    paths = [tmp_path / f"r{number}.wav" for number in range(count)]
    for seed, path in enumerate(paths):
        soundfile.write(path, some_speech(seed), RATE)
    bars, problems = Bars(), []
    estimator = build_method("ahc", embedded.backend)
    results = diarize_all(
        find_recordings(paths), embedded, estimator, problems=problems, progress=bars
    )
    assert problems == []
    assert [result.session.session for result in results] == ["r0", "r1"][:count]
    if count == 1:
        assert bars.labels == ["audio", "i-vectors", "r0"]
    else:
        assert bars.labels == ["recordings"]
        assert bars.ticks == {"recordings": 2}


def test_a_recording_does_not_depend_on_its_company(embedded, tmp_path):
    paths = [tmp_path / f"r{number}.wav" for number in range(2)]
    for seed, path in enumerate(paths):
        soundfile.write(path, some_speech(seed), RATE)
    estimator = build_method("sms", embedded.backend, seed=0)
    both = diarize_all(find_recordings(paths), embedded, estimator, problems=[])
    [second] = diarize_all(find_recordings(paths[1:]), embedded, estimator, problems=[])
    assert both[1] == second
    # The turns lie where the voice speaks, and nowhere twice.
    spans = [(turn.segment.start, turn.segment.end) for turn in second.turns]
    assert spans[0][0] == pytest.approx(0.5, abs=0.15)
    assert spans[-1][1] == pytest.approx(5.0, abs=0.15)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
