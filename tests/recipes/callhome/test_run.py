"""The recipe `callhome` on two conversations of synthetic voices."""

import json
import shutil

import numpy as np
import pytest
import soundfile

from recipes.callhome.steps import ClusterSettings, Folds, count_speakers, read_turns
from sms_diar._random import named_generator
from sms_diar.clustering.methods import DEFAULT_METHOD, build_method
from sms_diar.clustering.speakers.rows import row_weight_of
from sms_diar.errors import ConfigError, DataFormatError
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments, read_utt2spk
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.io.turns.uem import write_vad_lab
from sms_diar.pipeline.cluster.api import cluster_embeddings
from sms_diar.pipeline.train.models import read_backend
from sms_diar.pipeline.train.plda import adapt_backend
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.timeline.regions import speech_of_turns
from sms_diar.types import Segment, Turn

RATE = 8000
SECONDS = 60.0
VOICES = {
    "ann": Voice(pitch=190.0, tract=1.15, tilt=0.6),
    "bob": Voice(pitch=95.0, tract=0.88, tilt=0.9),
    "cid": Voice(pitch=120.0, tract=0.95, tilt=0.75),
    "dot": Voice(pitch=220.0, tract=1.22, tilt=0.85),
}
CALLS = {"call1": ("ann", "bob"), "call2": ("cid", "dot")}
TINY = (
    "method=sms-paper",
    "k=17",
    "training.components=16",
    "training.rank=12",
    "training.ubm_iter=4",
    "training.tv_iter=3",
)


def turns_of(call):
    """Turns of 3 to 6 s, by turns, with pauses between them."""
    rng = named_generator(5, call)
    turns, at, number = [], 0.5, 0
    while at < SECONDS - 7.0:
        end = round(at + rng.uniform(3.0, 6.0), 2)
        turns.append(Turn(Segment(call, at, end), CALLS[call][number % 2]))
        at, number = round(end + rng.uniform(0.5, 0.9), 2), number + 1
    return turns


TURNS = [turn for call in CALLS for turn in turns_of(call)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A data directory of two calls, and its reference."""
    folder = tmp_path_factory.mktemp("calls")
    for call in CALLS:
        spoken = [(turn.segment, VOICES[turn.speaker]) for turn in turns_of(call)]
        samples = converse(spoken, SECONDS, named_generator(6, call), rate=RATE)
        soundfile.write(folder / f"{call}.wav", samples, RATE)
    table = "".join(f"{call} {folder / call}.wav\n" for call in CALLS)
    (folder / "wav.scp").write_text(table)
    write_rttm(folder / "ref.rttm", TURNS)
    return folder


@pytest.fixture(scope="module")
def trained(corpus, write_voices, tmp_path_factory):
    """Settings of a run that trains its model on sixteen other voices."""
    names = [f"train{i:02d}" for i in range(16)]
    training = write_voices(tmp_path_factory.mktemp("training"), names, 12.0, 1.5)
    files = (f"data={corpus}", f"reference={corpus / 'ref.rttm'}")
    return (*files, f"train=['{training}']", *TINY)


@pytest.fixture(scope="module")
def outcome(run, trained, tmp_path_factory):
    return run(tmp_path_factory.mktemp("callhome") / "exp", *trained)


@pytest.fixture
def given(trained, outcome):
    """Settings of a further run with the model of the first."""
    return (*trained, "train=[]", f"model={outcome.folder / 'ivectors' / 'model.npz'}")


def test_finds_who_spoke_when_in_each_recording(outcome):
    assert outcome.ran == ("speech", "ivectors", "cluster", "score", "report")
    for call in CALLS:
        figures = outcome.results["recordings"][call]
        assert (figures["n_ref"], figures["n_hyp"]) == (2, 2)
        assert figures["der"] < 0.05
        # Windows lie in reference speech, so nothing is missed or made up.
        assert figures["missed"] == pytest.approx(0.0, abs=1e-6)
        assert figures["false_alarm"] == pytest.approx(0.0, abs=1e-6)
    folder = outcome.folder / "cluster"
    turns = list(read_rttm(folder / "hypothesis.rttm"))
    assert {turn.segment.recording for turn in turns} == set(CALLS)
    assert all(turn.speaker.startswith(turn.segment.recording) for turn in turns)
    windows = read_segments(outcome.folder / "speech" / "segments")
    assert set(read_utt2spk(folder / "labels")) == set(windows)
    record = json.loads((folder / "clusters.json").read_text())
    assert record["backend"] == "plda"
    assert {s["n_speakers"] for s in record["sessions"].values()} == {2}


def test_the_default_is_that_of_the_product(root, run, given, tmp_path):
    conf = (root / "recipes" / "callhome" / "conf.toml").read_text(encoding="utf-8")
    assert f'method = "{DEFAULT_METHOD}"' in conf
    folder = run(tmp_path / "exp", *given, f"method={DEFAULT_METHOD}", "k=0").folder
    windows = read_segments(folder / "speech" / "segments")
    product = cluster_embeddings(
        read_embeddings(folder / "ivectors" / "ivectors.ark"),
        build_method(
            DEFAULT_METHOD, read_backend(folder / "ivectors" / "backend.npz"), seed=1
        ),
        segments=windows,
        per_recording=True,
    )
    assert read_utt2spk(folder / "cluster" / "labels") == product.labels
    record = json.loads((folder / "cluster" / "clusters.json").read_text())
    for session in product.sessions:
        own = [w for w in windows.values() if w.recording == session.session]
        assert record["sessions"][session.session]["row_weight"] == row_weight_of(own)


def test_windows_cover_the_reference_speech(outcome):
    windows = read_segments(outcome.folder / "speech" / "segments").values()
    assert max(window.duration for window in windows) == pytest.approx(1.5)
    assert min(window.duration for window in windows) >= 0.5
    covered = speech_of_turns([Turn(window, "x") for window in windows])
    for found, true in zip(covered, speech_of_turns(TURNS), strict=True):
        assert found.recording == true.recording
        assert (found.start, found.end) == pytest.approx((true.start, true.end))


def test_the_report_has_every_recording(outcome):
    report = outcome.folder / "report"
    assert "| call1 | 2 | 2 |" in (report / "report.md").read_text()
    _, *rows = (report / "table.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["call1", "call2", "all"]
    assert "hypothesis.rttm" in outcome.summary


def test_a_second_run_repeats_nothing_and_a_new_collar_only_scores(
    run, outcome, trained, tmp_path
):
    folder = tmp_path / "exp"
    shutil.copytree(outcome.folder, folder)
    assert run(folder, *trained).ran == ()
    again = run(folder, *trained, "collar=0.0", "overlap=scored")
    assert again.ran == ("score", "report")
    scored = sum(turn.segment.duration for turn in TURNS)
    assert again.results["overall"]["scored"] == pytest.approx(scored)


def test_speech_may_be_found_by_energy(run, given, tmp_path):
    overall = run(tmp_path / "exp", *given, "speech=energy").results["overall"]
    assert overall["der"] < 0.08
    assert overall["n_hyp"] == 4


def test_speech_may_be_given_as_labels(run, given, tmp_path):
    # The first half of each call only: the rest of the reference is missed.
    (folder := tmp_path / "labels").mkdir()
    early = [turn.segment for turn in TURNS if turn.segment.end < SECONDS / 2]
    for call in CALLS:
        regions = [segment for segment in early if segment.recording == call]
        write_vad_lab(folder / f"{call}.lab", regions)
    labels = ("speech=labels", f"vad_labels={folder}", "collar=0.0", "speakers=found")
    outcome = run(tmp_path / "exp", *given, *labels)
    late = sum(turn.segment.duration for turn in TURNS)
    late -= sum(segment.duration for segment in early)
    assert outcome.results["overall"]["missed"] == pytest.approx(late)
    (folder / "call2.lab").unlink()
    with pytest.raises(DataFormatError, match=r"call2\.lab") as caught:
        run(tmp_path / "exp", *given, *labels)
    assert caught.value.path == str(folder)


def test_the_number_of_speakers_can_be_an_oracle(run, given, tmp_path):
    # With k = 3 there are more resting places than speakers; they are merged.
    outcome = run(tmp_path / "exp", *given, "speakers=reference", "k=3")
    found = [f["n_hyp"] for f in outcome.results["recordings"].values()]
    assert found == [2, 2]


def test_a_uem_limits_what_is_scored(run, given, tmp_path):
    uem = tmp_path / "half.uem"
    uem.write_text("".join(f"{call} 1 0.0 30.0\n" for call in CALLS))
    outcome = run(tmp_path / "exp", *given, f"uem={uem}", "collar=0.0")
    expected = sum(
        max(0.0, min(turn.segment.end, 30.0) - turn.segment.start) for turn in TURNS
    )
    assert outcome.results["overall"]["scored"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("empty", "is empty (0 bytes)"),
        ("short", "but the recording ends at 20 s"),
        ("missing", "no audio file"),
    ],
)
def test_broken_audio_costs_only_its_recording(
    run, given, corpus, outcome, tmp_path, kind, problem
):
    (data := tmp_path / "data").mkdir()
    path = data / "call2.wav"
    samples, _ = soundfile.read(corpus / "call2.wav")
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "short":
        soundfile.write(path, samples[: 20 * RATE], RATE)
    (data / "wav.scp").write_text(f"call1 {corpus / 'call1.wav'}\ncall2 {path}\n")
    result = run(tmp_path / "exp", *given, f"data={data}").results
    assert result["recordings"]["call1"] == outcome.results["recordings"]["call1"]
    assert result["recordings"]["call2"]["missed"] > 20.0
    assert all(line.startswith("call2") for line in result["left_out"])
    assert any(problem in line for line in result["left_out"])


def test_references_are_those_of_the_recordings(corpus):
    reference = str(corpus / "ref.rttm")
    turns = read_turns(reference, ["call2"])
    assert {turn.segment.recording for turn in turns} == {"call2"}
    assert count_speakers(turns) == {"call2": 2}
    with pytest.raises(DataFormatError, match="1 of 2 recordings: call3") as caught:
        read_turns(reference, ["call2", "call3"])
    assert caught.value.path == reference


@pytest.mark.parametrize("method", ["sms-paper", "ms", "bms"])
def test_settings_reach_the_methods_that_take_them(method):
    estimator = ClusterSettings(method, 5, 1e-2, 0.3, 1).build(None)
    assert (estimator.k, estimator.tol, estimator.merge_threshold) == (5, 1e-2, 0.3)


@pytest.fixture
def halves(corpus, tmp_path):
    """Data directories of one call each, as Kaldi has callhome1 and callhome2."""
    for number, call in enumerate(CALLS, 1):
        (folder := tmp_path / f"callhome{number}").mkdir()
        (folder / "wav.scp").write_text(f"{call} {corpus / call}.wav\n")
    return f"halves=['{tmp_path / 'callhome1'}', '{tmp_path / 'callhome2'}']"


def test_each_half_uses_the_best_threshold_of_the_other(run, given, halves, tmp_path):
    # With the threshold 1e6 every window is a speaker, with -1e6 all are one speaker,
    # who is right about half of the time.
    extremes = "thresholds=[-1e6, 1e6]"
    ahc = (*given, "method=ahc", "k=0", halves)
    results = run(tmp_path / "exp", *ahc, extremes).results
    for half in results["clusters"]["halves"]:
        rates = half["der_of_other"]
        assert rates["-1000000.0"] < rates["1000000.0"]
        assert half["threshold"] == -1e6
    assert {f["n_hyp"] for f in results["recordings"].values()} == {1}
    rates = [h["der_of_other"]["-1000000.0"] for h in results["clusters"]["halves"]]
    ders = [results["recordings"][call]["der"] for call in CALLS]
    assert rates == pytest.approx(ders[::-1])
    # A further threshold repeats the clustering, and is used if it is better.
    again = run(tmp_path / "exp", *ahc, "thresholds=[-1e6, 0.0, 1e6]")
    assert again.ran == ("cluster", "score", "report")
    chosen = {half["threshold"] for half in again.results["clusters"]["halves"]}
    assert chosen <= {-1e6, 0.0}
    assert again.results["overall"]["der"] <= results["overall"]["der"]


def test_the_back_end_of_each_half_is_adapted_to_the_other(
    run, given, halves, outcome, tmp_path
):
    results = run(tmp_path / "exp", *given, halves, "adapt=true").results
    assert results["overall"]["der"] < 0.05
    vectors = read_embeddings(outcome.folder / "ivectors" / "ivectors.ark")
    names = [name.rsplit("-", 2)[0] for name in vectors.ids]
    first, second = (frozenset([call]) for call in CALLS)
    backend = read_backend(outcome.folder / "ivectors" / "backend.npz")
    folds = Folds((first, second), True, (), lambda *_: 0.0)
    for scorer, other in zip(
        folds.scorers(backend, vectors, names), (second, first), strict=True
    ):
        rows = [row for row, name in enumerate(names) if name in other]
        expected = adapt_backend(backend, backend, vectors.select(rows))
        np.testing.assert_array_equal(scorer.shift, expected.shift)
        assert not np.array_equal(scorer.shift, backend.shift)


def test_halves_must_share_out_the_recordings(run, given, corpus, halves, tmp_path):
    (tmp_path / "callhome2" / "wav.scp").write_text("call1 x.wav\ncall3 x.wav\n")
    with pytest.raises(ConfigError, match=r"3 that are .*: call1, call2, call3"):
        run(tmp_path / "exp", *given, halves)
