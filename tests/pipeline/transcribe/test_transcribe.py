"""Recognition in parts, with recognisers whose words are known."""

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingExtraError,
    MissingFileError,
    NetworkError,
)
from sms_diar.features.mono import ArraySamples
from sms_diar.networks import registry
from sms_diar.pipeline.transcribe import api
from sms_diar.pipeline.transcribe.api import part_bounds, transcribe
from sms_diar.pipeline.transcribe.recognisers import (
    FasterWhisper,
    Recogniser,
    load_recogniser,
)
from sms_diar.timeline.transcript import Word

RATE = 100  # the fake needs few samples


@dataclass
class Beeps:
    """Recogniser that hears every sample above 0.5 as a word with its position."""

    name: str = "beeps"
    rate: int = RATE
    fingerprint: str = "0"
    stops_at: int | None = None  # part that is interrupted
    parts: list = field(default_factory=list)  # lengths of the parts

    def transcribe(self, samples):
        if len(self.parts) == self.stops_at:
            raise KeyboardInterrupt
        self.parts.append(len(samples))
        for index in np.flatnonzero(samples > 0.5):
            start = index / self.rate
            yield [Word(f"w{index}", start, start + 0.1, 0.5), Word("x", start, start)]


def recording(seconds=1000.0, *, beeps=(1.0, 299.0, 500.0, 999.99)):
    samples = np.full(round(seconds * RATE), 0.1, dtype=np.float32)
    for beep in beeps:
        samples[round(beep * RATE)] = 0.9
    return samples


@pytest.fixture(autouse=True)
def _slow_audio(monkeypatch):
    """Telephone speech has at least 8000 Hz; the fake does with less."""
    monkeypatch.setattr("sms_diar.pipeline.audio.inputs._LEAST_RATE", RATE)


class Said:
    """Progress that collects messages."""

    def __init__(self):
        self.messages = []
        self.ticks = []

    @contextmanager
    def track(self, label, total, done=0):
        ticks = []
        yield lambda: ticks.append(1)
        self.ticks.append((label, total, done, done + len(ticks)))

    def say(self, message):
        self.messages.append(message)


def test_parts_end_in_the_middle_of_the_quietest_half_second_of_their_last_minute():
    samples = np.full(700 * RATE, 0.1)
    samples[100 * RATE : 101 * RATE] = 0.0  # too early
    samples[round(270.2 * RATE) : round(270.7 * RATE)] = 0.0
    samples[280 * RATE : round(280.3 * RATE)] = 0.0  # too short
    # The second part may end until 270.45 + 300 s; the pause that begins before its
    # last minute, at 510.45 s, counts from there.
    samples[510 * RATE : 511 * RATE] = 0.0
    audio = ArraySamples(samples, RATE)
    # 510.45 is the first frame of the search, so the pause ends at 510.95.
    assert [bound / RATE for bound in part_bounds(audio)] == [0, 270.45, 510.7, 700]


@pytest.mark.parametrize("seconds", [0.3, 299.99, 300.0])
def test_a_short_recording_is_one_part(seconds):
    samples = recording(seconds, beeps=())
    assert part_bounds(ArraySamples(samples, RATE)) == [0, len(samples)]


def test_parts_cover_the_recording_and_none_is_too_long():
    noise = np.random.default_rng(3).standard_normal(2000 * RATE)
    bounds = part_bounds(ArraySamples(noise, RATE))
    lengths = [(last - first) / RATE for first, last in pairwise(bounds)]
    assert (bounds[0], bounds[-1]) == (0, 2000 * RATE)
    assert all(240.0 < length < 300.0 for length in lengths[:-1])


def test_times_are_those_of_the_recording_and_end_with_it():
    recogniser = Beeps()
    transcript = transcribe((recording(), RATE), recogniser)
    assert len(recogniser.parts) == 4
    assert [phrase.start for phrase in transcript] == [1.0, 299.0, 500.0, 999.99]
    assert [phrase.end for phrase in transcript] == [1.1, 299.1, 500.1, 1000.0]
    assert {phrase.recording for phrase in transcript} == {"recording"}
    assert {phrase.speaker for phrase in transcript} == {None}
    assert [len(phrase.words) for phrase in transcript] == [2] * 4
    assert transcript[0].words[0] == Word("w100", 1.0, 1.1, 0.5)


def test_a_recogniser_gets_one_channel_at_its_rate():
    stereo = np.zeros((500, 2), dtype=np.float32)
    stereo[100, 1] = 0.9  # 0.45 in the mean of both channels
    stereo[200] = 0.9
    assert [phrase.start for phrase in transcribe((stereo, RATE), Beeps())] == [2.0]
    right = transcribe((stereo, RATE), Beeps(), channel=2)
    assert [phrase.start for phrase in right] == [1.0, 2.0]
    recogniser = Beeps(rate=50)
    transcribe((recording(5.0, beeps=[1.0, 1.01, 1.02]), RATE), recogniser)
    assert recogniser.parts == [250]


def test_an_interrupted_run_continues_and_gives_the_same_words(tmp_path):
    source, checkpoint = (recording(), RATE), tmp_path / "out.checkpoint"
    complete = Beeps()
    expected = transcribe(source, complete)
    with pytest.raises(KeyboardInterrupt):
        transcribe(source, Beeps(stops_at=2), checkpoint=checkpoint)
    rest, said = Beeps(), Said()
    assert transcribe(source, rest, checkpoint=checkpoint, progress=said) == expected
    assert rest.parts == complete.parts[2:]
    [(label, total, done, count)] = [t for t in said.ticks if t[0] == "words"]
    assert (label, total) == ("words", 100)
    assert done == int(100 * sum(complete.parts[:2]) / 100_000)
    assert 99 <= count <= 100
    assert said.messages == []
    again = Beeps()
    assert transcribe(source, again, checkpoint=checkpoint) == expected
    assert again.parts == []


def test_of_several_recordings_the_finished_ones_are_not_repeated(tmp_path):
    checkpoint = tmp_path / "c"
    source = {
        name: (recording(350.0, beeps=[b]), RATE) for name, b in [("a", 1), ("b", 2)]
    }
    with pytest.raises(KeyboardInterrupt):
        transcribe(source, Beeps(stops_at=3), checkpoint=checkpoint)
    rest = Beeps()
    transcript = transcribe(source, rest, checkpoint=checkpoint)
    assert len(rest.parts) == 1
    assert [(p.recording, p.start) for p in transcript] == [("a", 1.0), ("b", 2.0)]


@pytest.mark.parametrize("change", ["audio", "recogniser"])
def test_parts_of_other_audio_or_another_recogniser_are_not_used(tmp_path, change):
    checkpoint, samples = tmp_path / "c", recording()
    transcribe((samples, RATE), Beeps(), checkpoint=checkpoint)
    other = Beeps(fingerprint="1" if change == "recogniser" else "0")
    if change == "audio":
        samples[-200] += 0.001
    transcribe((samples, RATE), other, checkpoint=checkpoint)
    assert len(other.parts) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[1]",
        lambda text: text.replace('"w100"', '"w 100"'),
        lambda text: text.replace("1.1", '"late"'),
        lambda text: text.replace("[[[[", "[[5, [["),
    ],
    ids=["half", "other", "word", "time", "phrase"],
)
def test_a_damaged_checkpoint_is_ignored_with_a_message(tmp_path, damage):
    checkpoint, source = tmp_path / "c", (recording(), RATE)
    expected = transcribe(source, Beeps(), checkpoint=checkpoint)
    text = checkpoint.read_text()
    assert damage(text) != text
    checkpoint.write_text(damage(text))
    said, again = Said(), Beeps()
    assert transcribe(source, again, checkpoint=checkpoint, progress=said) == expected
    assert len(again.parts) == 4
    [message] = said.messages
    assert message.startswith(f"{checkpoint}: ")
    assert message.endswith("ignored, recognition starts again")


def test_a_checkpoint_that_cannot_be_written_does_not_stop_the_work(tmp_path):
    said = Said()
    checkpoint = tmp_path / "no folder" / "c"
    transcript = transcribe(
        (recording(), RATE), Beeps(), checkpoint=checkpoint, progress=said
    )
    assert len(transcript) == 4
    [message] = said.messages
    assert "continues without checkpoints" in message


def test_memory_is_bounded_by_a_part():
    recogniser = Beeps()
    transcribe((recording(3000.0), RATE), recogniser)
    assert max(recogniser.parts) <= api.LONGEST_PART * RATE


def test_a_recording_without_words_is_an_error_as_one_without_speech():
    source = {"a": (recording(), RATE), "b": (recording(beeps=()), RATE)}
    transcript = transcribe(source, Beeps())
    assert transcript.recordings == ["a"]
    assert [problem.recording for problem in transcript.problems] == ["b"]
    with pytest.raises(DataFormatError, match=r"no words .* in 1000\.0 s"):
        transcribe(source["b"], Beeps())


def test_one_bad_recording_of_several_is_reported_and_a_single_one_raises(tmp_path):
    (tmp_path / "bad.wav").write_text("no audio")
    soundfile.write(tmp_path / "good.wav", recording(20.0, beeps=[3.0]), RATE)
    transcript = transcribe(tmp_path, Beeps())
    assert transcript.recordings == ["good"]
    assert [problem.recording for problem in transcript.problems] == ["bad"]
    with pytest.raises(DataFormatError, match=r"bad\.wav"):
        transcribe(tmp_path / "bad.wav", Beeps())


class Rubbish(Beeps):
    """Recogniser that returns something else."""

    def __init__(self, value):
        super().__init__(name="rubbish")
        self.value = value

    def transcribe(self, samples):
        return self.value


@pytest.mark.parametrize(
    "value", [None, "words", ["a phrase"], [[("word", 0.0, 1.0)]], [Word("a", 0, 1)]]
)
def test_rubbish_of_a_recogniser_is_a_fault_of_its_package(value):
    with pytest.raises(NetworkError, match=r"rubbish: .* got .* bug in the package"):
        transcribe((recording(10.0, beeps=()), RATE), Rubbish(value))


@pytest.fixture
def offered(monkeypatch):
    """Set what other packages provide as entry points."""

    @dataclass
    class Point:
        name: str
        load_value: object
        value: str = "package:function"

        def load(self):
            return self.load_value

    def offer(**functions):
        points = [Point(name, function) for name, function in functions.items()]

        def find(group, name=None):
            assert group == "sms_diar.recognisers"
            return [p for p in points if name in (None, p.name)]

        monkeypatch.setattr(registry, "entry_points", find)

    return offer


def test_other_packages_provide_recognisers_by_name(offered):
    calls = []

    def load(**options):
        calls.append(options)
        return Beeps()

    offered(beeps=load, broken=lambda **options: 5)
    recogniser = load_recogniser("beeps:some:model", language="de", workers=2)
    assert isinstance(recogniser, Beeps)
    assert isinstance(recogniser, Recogniser)
    assert calls == [{"model": "some:model", "language": "de", "workers": 2}]
    with pytest.raises(NetworkError, match=r"broken: .* is not a Recogniser"):
        load_recogniser("broken:x")
    assert len(transcribe((recording(), RATE), "beeps:x")) == 4


@dataclass
class FakeWhisper:
    """Module in place of faster-whisper."""

    __version__: str = "0"
    loaded: list = field(default_factory=list)

    def download_model(self, name, *, local_files_only):
        assert local_files_only
        raise FileNotFoundError(name)

    def WhisperModel(self, folder, **options):  # noqa: N802
        self.loaded.append((folder, options))
        if Path(folder, "model.bin").read_text() != "weights":
            raise RuntimeError("unsupported model\nsecond line")
        return self

    def set_random_seed(self, seed):
        self.seed = seed

    supported_languages = ("en", "de")


@pytest.fixture
def whisper(monkeypatch):
    module = FakeWhisper()
    monkeypatch.setitem(sys.modules, "faster_whisper", module)
    monkeypatch.setitem(sys.modules, "ctranslate2", module)
    return module


@pytest.fixture
def folder(tmp_path):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "model.bin").write_text("weights")
    return tmp_path


def test_without_the_extra_the_message_names_it(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(MissingExtraError, match=r"sms-diar\[asr\]"):
        load_recogniser(folder)


@pytest.mark.parametrize("prefix", ["", "faster-whisper:"])
def test_a_folder_is_a_model_of_faster_whisper(whisper, folder, prefix):
    recogniser = load_recogniser(f"{prefix}{folder}", workers=3)
    assert isinstance(recogniser, FasterWhisper)
    [(path, options)] = whisper.loaded
    assert (path, options["cpu_threads"]) == (str(folder), 3)


@pytest.mark.parametrize("model", ["large", "some/where", "unknown:model"])
def test_a_model_that_is_not_there_is_not_downloaded(whisper, model):
    with pytest.raises(MissingFileError, match=f"{model}: .*hf download"):
        load_recogniser(model)


@pytest.mark.parametrize("absent", ["config.json", "model.bin", "tokenizer.json"])
def test_a_folder_without_the_files_of_a_model_is_refused(whisper, folder, absent):
    # Without tokenizer.json, faster-whisper itself would download one.
    (folder / absent).unlink()
    with pytest.raises(DataFormatError, match=f"which has {absent};"):
        load_recogniser(folder)
    assert whisper.loaded == []


def test_a_model_that_cannot_be_loaded_is_named(whisper, folder):
    (folder / "model.bin").write_text("noise")
    with pytest.raises(DataFormatError, match=r"\(unsupported model\)"):
        load_recogniser(folder)


def test_a_language_that_the_model_does_not_have_is_refused(whisper, folder):
    with pytest.raises(InvalidParameterError) as caught:
        load_recogniser(folder, language="fr")
    assert caught.value.parameter == "language"
    assert "en, de" in str(caught.value)


def test_the_fingerprint_follows_the_files_and_the_language(whisper, folder):
    plain = load_recogniser(folder).fingerprint
    assert load_recogniser(folder).fingerprint == plain
    assert load_recogniser(folder, language="de").fingerprint != plain
    (folder / "config.json").write_text("{ }")
    assert load_recogniser(folder).fingerprint != plain


@dataclass
class Item:
    word: str
    start: float
    end: float
    probability: float = 0.9


def test_words_of_whisper_keep_punctuation_and_are_joined_without_a_space(
    whisper, folder
):
    segment = type("Segment", (), {})()
    segment.words = [
        Item(" twenty", 0.0, 0.4),
        Item("-five,", 0.4, 0.2),  # such times occur
        Item(" 你", -0.1, 1.0),
        Item("好", 1.0, 1.2),
        Item(" \u202e", 1.2, 1.3),
    ]
    options = {}

    def listen(samples, **chosen):
        options.update(chosen)
        assert samples.dtype == np.float32
        return [segment], None

    whisper.transcribe = listen
    recogniser = FasterWhisper(folder, "en", 1)
    [words] = recogniser.transcribe(np.zeros(10))
    assert words == [
        Word("twenty", 0.0, 0.4, 0.9),
        Word("-five,", 0.4, 0.4, 0.9, is_joined=True),
        Word("你", 0.0, 1.0, 0.9),
        Word("好", 1.0, 1.2, 0.9, is_joined=True),
    ]
    assert options["language"] == "en"
    assert options["word_timestamps"]
    # The random numbers of each part start with a new model.
    assert len(whisper.loaded) == 1
    assert [*recogniser.transcribe(np.zeros(10))] == [words]
    assert len(whisper.loaded) == 2


def test_the_function_is_offered_by_the_package():
    assert sms_diar.transcribe is transcribe
