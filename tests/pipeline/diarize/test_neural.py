"""From what two networks say to turns: here the networks are told what to say.

The level of the samples says who speaks: 0.1 is Ann, 0.2 is Bob, 0.4 is Cleo, and sums
are overlap. The segmenter numbers them by who speaks first in its window.
"""

from dataclasses import replace

import numpy as np
import pytest

import sms_diar
from sms_diar.clustering.methods import build_method
from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.pipeline.audio.inputs import GivenRecording
from sms_diar.pipeline.diarize import models
from sms_diar.pipeline.diarize.api import diarize_recording
from sms_diar.pipeline.diarize.diarizer import DiarizeSettings, states_of
from sms_diar.pipeline.diarize.models import as_diarizer, choose_model
from sms_diar.pipeline.diarize.neural import Networks
from sms_diar.preprocessing.chain import FoldedChain
from sms_diar.scoring.backend import build_backend

RATE = 8000
CLASSES = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))


class Segmenter:
    name, rate, window, frame_step, frame_offset = "toy", RATE, 10.0, 0.02, 0.01
    classes, fingerprint = CLASSES, "0" * 16

    def log_probabilities(self, windows, *, workers=1):
        codes = np.rint(10 * windows.reshape(len(windows), -1, 160).mean(axis=2))
        logs = np.full((*codes.shape, len(CLASSES)), -20.0)
        for row, found in zip(codes.astype(int), logs, strict=True):
            people = [bit for code in row for bit in range(3) if code >> bit & 1]
            local = {person: n for n, person in enumerate(dict.fromkeys(people))}
            for frame, code in enumerate(row):
                group = sorted(local[bit] for bit in range(3) if code >> bit & 1)
                found[frame, CLASSES.index(tuple(group))] = 0.0
        return logs


class Embedder:
    name, rate, dim, shortest, fingerprint = "toy", RATE, 8, 0.05, "1" * 16

    def embed(self, audio, segments, *, workers=1):
        rows = []
        for segment in segments:
            part = audio.read(int(segment.start * RATE), int(segment.end * RATE))
            codes = np.rint(10 * part).astype(int)
            voice = [np.mean(codes >> bit & 1) for bit in range(3)]
            rng = np.random.default_rng(int(1000 * segment.start))
            rows.append([*voice, *(0.1 * rng.standard_normal(5))])
        return np.array(rows)


@pytest.fixture
def networks():
    return Networks(Segmenter(), Embedder())


def talk(*spans, seconds):
    """Samples in which ``(code, start, end)`` speak."""
    samples = np.zeros(int(seconds * RATE))
    for code, start, end in spans:
        samples[int(start * RATE) : int(end * RATE)] += 0.1 * code
    return samples


def turns_of(samples, networks, method="ahc", settings=None, **bounds):
    bounds = bounds or {"num_speakers": 2}
    estimator = build_method(method, **bounds)
    recording = GivenRecording("talk", samples, RATE)
    found = diarize_recording(recording, as_diarizer(networks), estimator, settings)
    return [
        (
            round(turn.segment.start, 2),
            round(turn.segment.end, 2),
            turn.speaker.removeprefix("spk-"),
        )
        for turn in found.turns
    ]


def test_overlap_is_put_back(networks):
    samples = talk((1, 1.0, 9.0), (2, 7.0, 14.0), (1, 16.0, 19.0), seconds=20.0)
    want = [(1.0, 9.0, "01"), (7.0, 14.0, "02"), (16.0, 19.0, "01")]
    for step in (1.0, 2.0, 5.0):
        settings = DiarizeSettings(step=step)
        assert turns_of(samples, networks, settings=settings) == want


def test_fragments_go_to_the_turns_around_them_by_default(networks):
    samples = talk((1, 1.0, 9.0), (2, 4.0, 4.06), (2, 9.0, 14.0), seconds=15.0)
    whole = [(1.0, 9.0, "01"), (9.0, 14.0, "02")]
    assert turns_of(samples, networks, num_speakers=2) == whole
    untouched = DiarizeSettings(min_turn=0.0, max_gap=0.0)
    found = turns_of(samples, networks, settings=untouched, num_speakers=2)
    assert (4.0, 4.06) in [(start, end) for start, end, _ in found]


class Unsteady(Segmenter):
    """Takes the second half of each window for another local speaker."""

    def log_probabilities(self, windows, *, workers=1):
        logs = super().log_probabilities(windows)
        half = logs.shape[1] // 2
        logs[:, half:, [1, 2]] = logs[:, half:, [2, 1]]
        return logs


def test_a_person_whom_the_segmenter_takes_for_two_is_one_speaker():
    networks = Networks(Unsteady(), Embedder())
    found = turns_of(
        talk((1, 1.0, 19.0), seconds=20.0), networks, "sms", min_speakers=1
    )
    assert {name for _, _, name in found} == {"01"}


def test_speakers_are_numbered_as_they_are_first_heard(networks):
    samples = talk((2, 1.0, 3.0), (1, 4.0, 14.0), (2, 14.5, 16.0), seconds=17.0)
    found = turns_of(samples, networks, num_speakers=2)
    assert [name for _, _, name in found] == ["01", "02", "01"]


def test_names_in_several_recordings_are_equal_only_for_one_person(networks, tmp_path):
    samples = talk((1, 1.0, 9.0), (2, 9.0, 14.0), seconds=15.0), RATE
    given = {"model": networks, "method": "ahc", "num_speakers": 2}
    alone = sms_diar.diarize({"mon": samples}, **given)
    assert [turn.speaker for turn in alone.turns] == ["spk-01", "spk-02"]
    both = sms_diar.diarize({"mon": samples, "tue": samples}, **given)
    distinct = ["mon-spk-01", "mon-spk-02", "tue-spk-01", "tue-spk-02"]
    assert [turn.speaker for turn in both.turns] == distinct
    assert list(both.to_dataframe()["speaker"]) == distinct
    listed = [turn for one in both.to_dict()["recordings"] for turn in one["turns"]]
    assert [turn["speaker"] for turn in listed] == distinct
    # Within a recording, and in files of single recordings, no prefix is needed.
    assert both.recordings[0].turns == alone.turns
    assert both.recordings[0].voices == alone.recordings[0].voices
    [mon, tue] = both.write(tmp_path, "srt")
    assert "[spk-01]" in tue.read_text()
    assert mon.read_text() == alone.text("srt")
    linked = sms_diar.diarize({"mon": samples, "tue": samples}, link=True, **given)
    assert [turn.speaker for turn in linked.turns] == ["spk-01", "spk-02"] * 2


def test_an_enrolled_name_that_looks_like_ours_is_given_to_one_speaker(networks):
    samples = talk((1, 1.0, 9.0), (2, 9.0, 14.0), seconds=15.0), RATE
    bob = talk((2, 0.0, 5.0), seconds=6.0), RATE
    found = sms_diar.diarize(
        {"mon": samples},
        model=networks,
        method="ahc",
        num_speakers=2,
        enrol={"spk-01": bob},
    )
    assert [turn.speaker for turn in found.turns] == ["mon-spk-01", "spk-01"]


def test_brief_pauses_are_bridged_by_default_and_brief_turns_in_subtitles(networks):
    spans = (1, 1.0, 6.0), (2, 4.0, 4.4), (1, 6.4, 9.0), (2, 9.3, 14.0)
    samples = talk(*spans, seconds=15.0)
    given = {"model": networks, "method": "ahc", "num_speakers": 2}
    found = sms_diar.diarize({"mon": (samples, RATE)}, **given)
    assert len(found.turns) == found.text("rttm").count("\n") == 3
    for name in ("srt", "vtt"):
        assert found.text(name).count("-->") == 2
    asked = sms_diar.diarize({"mon": (samples, RATE)}, min_turn=0, **given)
    assert asked.text("srt").count("-->") == 3  # the pause is still bridged
    asked = sms_diar.diarize({"mon": (samples, RATE)}, min_turn=1, max_gap=0, **given)
    assert len(asked.turns) == asked.text("srt").count("-->") == 3


def test_printing_a_result_shows_who_spoke_how_long(networks):
    samples = talk((1, 1.0, 9.0), (2, 10.0, 12.0), (1, 13.0, 15.0), seconds=90.0), RATE
    given = {"model": networks, "method": "ahc", "num_speakers": 2}
    alone = sms_diar.diarize({"mon": samples}, **given)
    assert str(alone).splitlines() == [
        "mon: 2 speakers, 0:12.0 of speech in 1:30.0",
        "speaker    time  share  turns",
        "spk-01   0:10.0    83%      2",
        "spk-02   0:02.0    17%      1",
    ]
    both = sms_diar.diarize({"mon": samples, "tue": samples}, **given)
    assert str(both).splitlines() == [
        "recording  length  speech  speakers  turns",
        "mon        1:30.0  0:12.0         2      3",
        "tue        1:30.0  0:12.0         2      3",
        "2 recordings, 3:00.0",
    ]


def test_somebody_whom_clustering_overlooked_is_found(networks):
    """Agglomeration that stops late finds one cluster."""
    samples = talk((1, 0.0, 8.0), (2, 8.0, 10.0), (1, 10.0, 18.0), seconds=18.0)
    estimator = build_method("ahc").set_params(threshold=-9.0)
    recording = GivenRecording("talk", samples, RATE)
    found = diarize_recording(recording, as_diarizer(networks), estimator)
    assert found.session.n_speakers == 2
    assert [turn.speaker[-2:] for turn in found.turns] == ["01", "02", "01"]


def test_probabilities_describe_the_turns_that_are_written(networks):
    """Clustering finds one voice; the turns have two, so the number is in doubt."""
    samples = talk((1, 0.0, 8.0), (2, 8.0, 10.0), (1, 10.0, 18.0), seconds=18.0)
    recording = GivenRecording("talk", samples, RATE)
    diarizer = as_diarizer(networks)
    result = diarize_recording(recording, diarizer, build_method("sms"))
    assert result.session.n_speakers == len({turn.speaker for turn in result.turns})
    posterior = result.session.count_posterior
    assert posterior[result.session.n_speakers] > 0.0
    doubts = [f"talk: in doubt: {doubt}" for doubt in result.session.doubts]
    assert list(result.notes) == doubts
    assert all(remark.kind == "doubt" for remark in result.remarks)
    if posterior[result.session.n_speakers] < 0.5:
        assert doubts


def test_a_number_that_is_given_leaves_room_for_brief_speakers(networks):
    """Cleo says a word, too little for clustering to know her by."""
    samples = talk(
        (1, 0.0, 8.0), (2, 8.0, 14.0), (4, 14.0, 14.6), (1, 14.6, 22.0), seconds=22.0
    )
    want = [(0.0, 8.0, "01"), (8.0, 14.0, "02"), (14.0, 14.6, "03")]
    turns = turns_of(samples, networks, num_speakers=3)
    assert turns == [*want, (14.6, 22.0, "01")]


@pytest.mark.parametrize("method", ["ahc", "sms"])
@pytest.mark.parametrize("number", [1, 2, 5, 8])
def test_bounds_are_exact_in_the_turns(networks, method, number):
    samples = talk((1, 0.0, 5.0), (2, 5.0, 6.0), (1, 6.0, 9.0), seconds=9.0)
    for bounds in (
        {"num_speakers": number},
        {"min_speakers": number},
        {"max_speakers": number},
        {"min_speakers": number, "max_speakers": number + 1},
    ):
        turns = turns_of(samples, networks, method, **bounds)
        found = len({name for _, _, name in turns})
        low = bounds.get("num_speakers") or bounds.get("min_speakers") or 1
        high = bounds.get("num_speakers") or bounds.get("max_speakers") or 99
        assert low <= found <= high


def test_speech_that_is_never_of_one_person_alone_is_still_found(networks):
    samples = talk((3, 1.0, 5.0), seconds=6.0)
    turns = turns_of(samples, networks, num_speakers=1)
    assert turns == [(1.0, 5.0, "01")]


def test_regions_bound_speech_vectors_and_turns(networks, tmp_path):
    (tmp_path / "x.uem").write_text("recording 1 2.0 6.0\n")
    samples = talk((1, 1.0, 9.0), (2, 5.0, 14.0), seconds=16.0)
    found = sms_diar.diarize(
        (samples, RATE), model=networks, uem=tmp_path / "x.uem", method="ahc"
    )
    spans = [(turn.segment.start, turn.segment.end) for turn in found.turns]
    assert min(start for start, _ in spans) == pytest.approx(2.0)
    assert max(end for _, end in spans) == pytest.approx(6.0)


def test_a_detector_beside_networks_is_refused(networks):
    with pytest.raises(InvalidParameterError, match="vad must be omitted"):
        choose_model(networks, vad="energy")
    with pytest.raises(InvalidParameterError, match="vad must be omitted"):
        choose_model("neural", vad="none")


def test_without_networks_auto_is_the_embedded_model_and_says_so(no_networks):
    chosen = choose_model("auto", vad=None)
    assert chosen.diarizer.name == "i-vectors"
    weak = (
        "model: embedded i-vectors, which are not good at rooms, distant microphones "
        "and overlap"
    )
    assert chosen.note == (
        f"{weak}; 'sms-diar models fetch' gets networks that do better on real "
        "recordings"
    )
    assert choose_model("embedded", vad=None).note == weak


def test_networks_that_are_not_here_are_never_downloaded(no_networks):
    with pytest.raises(MissingFileError, match="sms-diar models fetch"):
        choose_model("neural", vad=None)


def test_with_networks_auto_takes_them_and_says_so(stored_network):
    for name in ("campplus", "segmentation", "segmentation-2022"):
        stored_network(name)
    chosen = choose_model("auto", vad=None)
    names = "campplus, segmentation, segmentation-2022"
    networks = f"model: neural networks ({names}), with overlap"
    assert chosen.note.startswith(f"{networks}; quality balanced")
    assert chosen.diarizer.backend is not None  # that of this very network
    assert choose_model("auto", vad="energy").diarizer.name == "i-vectors"


class Crowded(Segmenter):
    """Where Ann, Bob and Cleo talk at once, all pairs are equally probable."""

    def log_probabilities(self, windows, *, workers=1):
        codes = np.rint(10 * windows.reshape(len(windows), -1, 160).mean(axis=2))
        logs = super().log_probabilities(
            np.where(np.rint(10 * windows) == 7, 0, windows)
        )
        pairs = [len(group) == 2 for group in CLASSES]
        logs[codes == 7] = np.where(pairs, np.log(1 / 3), -20.0)
        return logs


def test_regions_of_more_speakers_than_the_segmenter_knows_are_reported(tmp_path):
    spans = (1, 1.0, 8.0), (6, 5.0, 8.0), (2, 9.0, 12.0), (4, 12.0, 14.0)
    given = {"model": Networks(Crowded(), Embedder()), "method": "ahc"}
    samples = talk(*spans, seconds=15.0), RATE
    found = sms_diar.diarize(samples, **given)
    [recording] = found.recordings
    [region] = recording.unresolved
    # All three have 2/3 (a little less in half precision) from frame 250 on, at 5 s.
    # The mean of 50 frames, 25 before and 24 after frame i, has 0.2 with 16 of them:
    # at i = 241, 4.82 s. After 8 s nobody talks.
    assert (region.start, region.end) == pytest.approx((4.82, 8.0))
    record = {"kind": "overlap-unresolved", "start": region.start, "end": region.end}
    assert found.to_dict()["recordings"][0]["regions"] == [record]
    page = sms_diar.report_page(found).page.recordings[0]
    assert page.to_dict()["unresolved"] == [(region.start, region.end)]
    (tmp_path / "x.uem").write_text("recording 1 0.0 6.0\n")
    within = sms_diar.diarize(samples, uem=tmp_path / "x.uem", **given)
    assert within.recordings[0].unresolved[0].end == pytest.approx(6.0)


class Deaf(Segmenter):
    """Hears Ann with a probability of 0.7, and the others not at all."""

    def log_probabilities(self, windows, *, workers=1):
        codes = np.rint(10 * windows.reshape(len(windows), -1, 160).mean(axis=2))
        heard = 0.7 * (codes.astype(int) & 1)
        logs = np.full((*codes.shape, len(CLASSES)), -20.0)
        logs[..., 0], logs[..., 1] = np.log(1.0 - heard), np.log(heard + 1e-9)
        return logs


def test_two_segmenters_count_together_and_the_first_chooses_the_windows(networks):
    # At least one: Ann (1 + .7) / 2, Bob alone 1 / 2; at least two: 1 / 2 or 0. With
    # .6 for two, one voice is left where both speak.
    samples = talk((1, 1.0, 6.0), (2, 6.0, 11.0), (3, 11.0, 14.0), seconds=15.0)
    both = replace(networks, second=Deaf())
    assert turns_of(samples, both) == turns_of(samples, networks)
    strict = DiarizeSettings(share=0.6)
    alone = turns_of(samples, both, settings=strict, max_speakers=2)
    assert alone == [(1.0, 6.0, "01"), (6.0, 11.0, "02"), (11.0, 14.0, "01")]
    given = samples, RATE
    windows = [
        sms_diar.diarize(given, model=each, method="ahc").recordings[0].details.windows
        for each in (networks, both)
    ]
    assert windows[0] == windows[1]


def test_two_speakers_at_once_are_resolved(networks):
    samples = talk((1, 1.0, 9.0), (2, 5.0, 14.0), seconds=15.0), RATE
    found = sms_diar.diarize(samples, model=networks, method="ahc")
    assert found.recordings[0].unresolved == ()
    assert found.to_dict()["recordings"][0]["regions"] == []


@pytest.fixture
def installed(monkeypatch):
    """Make toy networks pass for those of the catalogue; returns the stored names."""
    stored = {"campplus", "segmentation"}
    monkeypatch.setattr(models, "is_stored", stored.__contains__)
    monkeypatch.setattr(models, "load_segmenter", lambda *_: Segmenter())
    monkeypatch.setattr(models, "load_embedder", lambda name: Embedder())
    return stored


def test_a_quality_is_a_step_a_layout_and_networks(installed):
    installed.update({"resnet34", "segmentation-2022"})
    samples = talk((1, 1.0, 9.0), (2, 9.0, 21.0), seconds=22.0), RATE
    windows = {}
    for quality, step in (("fast", 5.0), ("balanced", 2.0), ("best", 2.0), (None, 2.0)):
        result = sms_diar.diarize(samples, quality=quality, method="ahc")
        name = quality or "balanced"
        assert (result.settings["quality"], result.settings["step"]) == (name, step)
        assert result.to_dict()["quality"] == name
        assert f"quality {name}" in result.notes[0]
        windows[quality] = result.recordings[0].details.windows
    # 8 and 12 s: windows every 1, 0.75 and 0.5 s
    n_windows = [len(windows[name]) for name in ("fast", "balanced", "best")]
    assert sorted(set(n_windows)) == n_windows
    assert windows[None] == windows["balanced"]
    slower = sms_diar.diarize(samples, quality="fast", step=1.0, method="ahc")
    assert slower.settings["step"] == 1.0


def test_best_has_the_vectors_of_two_embedders(installed):
    installed.update({"resnet34", "segmentation-2022"})
    chosen = choose_model("neural", vad=None, quality="best")
    assert chosen.diarizer.networks.embedder.dim == 2 * Embedder.dim
    assert isinstance(chosen.diarizer.networks.second, Segmenter)
    assert chosen.note == ""
    usual = choose_model("auto", vad=None).diarizer.networks
    assert usual.embedder.dim == Embedder.dim
    assert isinstance(usual.second, Segmenter)
    fast = choose_model("neural", vad=None, quality="fast").diarizer.networks
    assert fast.second is None


def test_what_best_lacks_is_named_with_the_command_that_gets_it(installed):
    # With the networks of fast alone, the default is fast, and says what is missing.
    for model in ("auto", "neural"):
        assert choose_model(model, vad=None).quality.name == "fast"
    assert choose_model("auto", vad=None).note.endswith(
        "quality fast; 'sms-diar models fetch' gets what quality balanced needs"
    )
    installed.add("segmentation-2022")
    command = "'sms-diar models fetch best'"
    assert choose_model("auto", vad=None).note.endswith(
        f"quality balanced; {command} gets what quality best needs"
    )
    missing = rf"\(resnet34\); .* {command}"
    for model in ("auto", "neural"):
        with pytest.raises(MissingFileError, match=missing):
            choose_model(model, vad=None, quality="best")
    installed.clear()
    with pytest.raises(MissingFileError, match=r"with 'sms-diar models fetch'$"):
        choose_model("auto", vad=None, quality="fast")


def test_a_quality_is_refused_where_it_would_change_nothing(networks, installed):
    for options in (
        {"model": "embedded", "quality": "fast"},
        {"model": "auto", "vad": "energy", "quality": "fast"},
        {"model": networks, "quality": "best"},
        {"model": "auto", "quality": "better"},
    ):
        with pytest.raises(InvalidParameterError) as error:
            choose_model(**{"vad": None, **options})
        assert error.value.parameter == "quality"
    assert choose_model(networks, vad=None, quality="fast").quality.step == 5.0


def test_a_back_end_applies_to_the_columns_that_it_knows():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 40, 3))
    chain = FoldedChain(np.eye(3), np.zeros(3), 1.0, None)
    backend = build_backend(chain, center=np.ones(3))
    states = states_of(np.hstack([first, second]), backend)
    centred = first - 1.0
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(states, centred / lengths, rtol=1e-12)


@pytest.mark.corpus
def test_meetings_of_real_rooms(corpus_data, stored_network):
    """Four of the fourteen clips, without any setting."""
    for name in ("campplus", "segmentation"):
        stored_network(name)
    folder = corpus_data / "conversations"
    names = ["dev00", "trn03", "trn05", "trn06"]
    found = sms_diar.diarize(
        [folder / "flac" / f"{name}.flac" for name in names], model="neural"
    )
    wanted = [
        turn
        for turn in sms_diar.read_rttm(folder / "ref.rttm")
        if turn.segment.recording in names
    ]
    assert sms_diar.score(wanted, found.turns, collar=0.25).overall["der"] < 0.15
