"""The recipe `callhome` on two conversations of synthetic voices."""

import json
import shutil

import numpy as np
import pytest
import soundfile

from recipes.callhome.steps import (
    ClusterSettings,
    count_speakers,
    read_turns,
)
from sms_diar._random import named_generator
from sms_diar.clustering.methods import DEFAULT_METHOD, METHODS, build_method
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.errors import ConfigError, DataFormatError, InvalidParameterError
from sms_diar.experiment.recipe import find_recipe, run_recipe
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments, read_utt2spk
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.io.turns.uem import write_vad_lab
from sms_diar.pipeline.cluster.api import cluster_embeddings
from sms_diar.pipeline.train.models import read_backend
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


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A data directory of two calls, and its reference."""
    folder = tmp_path_factory.mktemp("calls")
    reference = []
    for call in CALLS:
        turns = turns_of(call)
        spoken = [(turn.segment, VOICES[turn.speaker]) for turn in turns]
        samples = converse(spoken, SECONDS, named_generator(6, call), rate=RATE)
        soundfile.write(folder / f"{call}.wav", samples, RATE)
        reference += turns
    table = "".join(f"{call} {folder / call}.wav\n" for call in CALLS)
    (folder / "wav.scp").write_text(table)
    write_rttm(folder / "ref.rttm", reference)
    return folder


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A data directory of sixteen other voices."""
    folder = tmp_path_factory.mktemp("training")
    lines = {"wav.scp": [], "segments": [], "utt2spk": []}
    for name in (f"train{i:02d}" for i in range(16)):
        rng = named_generator(7, name)
        turn = (Segment(name, 0.0, 12.0), Voice.draw(rng))
        soundfile.write(folder / f"{name}.wav", converse([turn], 12.0, rng), RATE)
        lines["wav.scp"].append(f"{name} {folder / name}.wav")
        for i in range(8):
            at = 1.5 * i
            lines["segments"].append(f"{name}-{i} {name} {at} {at + 1.5}")
            lines["utt2spk"].append(f"{name}-{i} {name}")
    for table, rows in lines.items():
        (folder / table).write_text("\n".join(rows) + "\n")
    return folder


def run(root, folder, *assignments):
    recipe = find_recipe(str(root / "recipes" / "callhome"))
    return run_recipe(recipe, folder, assignments=assignments)


@pytest.fixture(scope="module")
def outcome(pytestconfig, corpus, training, tmp_path_factory):
    return run(
        pytestconfig.rootpath,
        tmp_path_factory.mktemp("callhome") / "exp",
        f"data={corpus}",
        f"reference={corpus / 'ref.rttm'}",
        f"train=['{training}']",
        *TINY,
    )


@pytest.fixture
def given(corpus, outcome):
    """Settings of a further run with the model of the first."""
    return (
        f"data={corpus}",
        f"reference={corpus / 'ref.rttm'}",
        f"model={outcome.folder / 'ivectors' / 'model.npz'}",
        *TINY,
    )


def test_finds_who_spoke_when_in_each_recording(outcome):
    assert outcome.ran == ("speech", "ivectors", "cluster", "score", "report")
    results = outcome.results
    for call in CALLS:
        figures = results["recordings"][call]
        assert (figures["n_ref"], figures["n_hyp"]) == (2, 2)
        assert figures["der"] < 0.05
        # Windows lie in reference speech, so nothing is missed or made up.
        assert figures["missed"] == pytest.approx(0.0, abs=1e-6)
        assert figures["false_alarm"] == pytest.approx(0.0, abs=1e-6)
    assert results["overall"]["der"] < 0.05
    turns = list(read_rttm(outcome.folder / "cluster" / "hypothesis.rttm"))
    assert {turn.segment.recording for turn in turns} == set(CALLS)
    assert all(turn.speaker.startswith(turn.segment.recording) for turn in turns)


def test_the_default_is_that_of_the_product(root, given, tmp_path):
    conf = (root / "recipes" / "callhome" / "conf.toml").read_text(encoding="utf-8")
    assert f'method = "{DEFAULT_METHOD}"' in conf
    default = (f"method={DEFAULT_METHOD}", "k=0")
    folder = run(root, tmp_path / "exp", *given, *default).folder
    vectors = read_embeddings(folder / "ivectors" / "ivectors.ark")
    windows = read_segments(folder / "speech" / "segments")
    backend = read_backend(folder / "ivectors" / "backend.npz")
    product = cluster_embeddings(
        vectors,
        build_method(DEFAULT_METHOD, backend, seed=1),
        segments=windows,
        per_recording=True,
    )
    assert read_utt2spk(folder / "cluster" / "labels") == product.labels
    record = json.loads((folder / "cluster" / "clusters.json").read_text())
    for session in product.sessions:
        own = [w for w in windows.values() if w.recording == session.session]
        assert record["sessions"][session.session]["row_weight"] == row_weight_of(own)


def test_windows_cover_the_reference_speech(outcome, corpus):
    windows = read_segments(outcome.folder / "speech" / "segments")
    durations = [window.duration for window in windows.values()]
    assert max(durations) == pytest.approx(1.5)
    assert min(durations) >= 0.5
    covered = speech_of_turns([Turn(w, "x") for w in windows.values()])
    reference = speech_of_turns(read_rttm(corpus / "ref.rttm"))
    assert [r.recording for r in covered] == [r.recording for r in reference]
    for found, true in zip(covered, reference, strict=True):
        assert (found.start, found.end) == pytest.approx((true.start, true.end))


def test_the_report_names_the_rules_and_every_recording(outcome):
    report = outcome.folder / "report"
    text = (report / "report.md").read_text()
    assert "collar 0.25 s on each side of a reference boundary" in text
    assert "overlapped reference speech ignored" in text
    assert "windows of 1.5 s every 0.75 s" in text
    assert "| call1 | 2 | 2 |" in text
    head, *rows = (report / "table.csv").read_text().splitlines()
    assert head == (
        "recording,speakers,found,speech s,missed,false alarm,confusion,DER,JER"
    )
    assert [row.split(",")[0] for row in rows] == ["call1", "call2", "all"]
    assert "hypothesis.rttm" in outcome.summary


def test_a_second_run_repeats_nothing_and_a_new_collar_only_scores(
    root, outcome, corpus, training, tmp_path
):
    folder = tmp_path / "exp"
    shutil.copytree(outcome.folder, folder)
    same = (
        f"data={corpus}",
        f"reference={corpus / 'ref.rttm'}",
        f"train=['{training}']",
        *TINY,
    )
    assert run(root, folder, *same).ran == ()
    again = run(root, folder, *same, "collar=0.0", "overlap=scored")
    assert again.ran == ("score", "report")
    assert "no collar; overlapped speech scored" in again.summary.replace("\n", " ")
    scored = sum(turn.segment.duration for call in CALLS for turn in turns_of(call))
    assert again.results["overall"]["scored"] == pytest.approx(scored)


def test_speech_may_be_found_by_energy(root, given, tmp_path):
    outcome = run(root, tmp_path / "exp", *given, "speech=energy")
    overall = outcome.results["overall"]
    assert overall["der"] < 0.08
    assert overall["n_hyp"] == 4


def test_speech_may_be_given_as_labels(root, given, tmp_path):
    # The first half of each call only: the rest of the reference is missed.
    folder = tmp_path / "labels"
    folder.mkdir()
    for call in CALLS:
        regions = [t.segment for t in turns_of(call) if t.segment.end < SECONDS / 2]
        write_vad_lab(folder / f"{call}.lab", regions)
    labels = ("speech=labels", f"vad_labels={folder}", "collar=0.0", "speakers=found")
    outcome = run(root, tmp_path / "exp", *given, *labels)
    late = sum(
        turn.segment.duration
        for call in CALLS
        for turn in turns_of(call)
        if turn.segment.end >= SECONDS / 2
    )
    assert outcome.results["overall"]["missed"] == pytest.approx(late)
    (folder / "call2.lab").unlink()
    with pytest.raises(DataFormatError) as caught:
        run(root, tmp_path / "exp", *given, *labels)
    assert str(caught.value) == (
        f"{folder}: 1 of 2 recordings have no file: {folder / 'call2.lab'}"
    )


def test_the_number_of_speakers_can_be_an_oracle(root, given, tmp_path):
    # With k = 3 there are more resting places than speakers; they are merged.
    outcome = run(root, tmp_path / "exp", *given, "speakers=reference", "k=3")
    found = [f["n_hyp"] for f in outcome.results["recordings"].values()]
    assert found == [2, 2]
    assert "that of the reference (an oracle)" in outcome.summary.replace("\n", " ")


def test_a_uem_limits_what_is_scored(root, given, tmp_path):
    uem = tmp_path / "half.uem"
    uem.write_text("".join(f"{call} 1 0.0 30.0\n" for call in CALLS))
    outcome = run(root, tmp_path / "exp", *given, f"uem={uem}", "collar=0.0")
    expected = sum(
        max(0.0, min(turn.segment.end, 30.0) - turn.segment.start)
        for call in CALLS
        for turn in turns_of(call)
    )
    assert outcome.results["overall"]["scored"] == pytest.approx(expected)


@pytest.mark.parametrize("speech", ["reference", "energy"])
def test_a_broken_recording_leaves_the_others_intact(
    root, given, corpus, outcome, tmp_path, speech
):
    data = tmp_path / "data"
    data.mkdir()
    (data / "empty.wav").write_bytes(b"")
    (data / "wav.scp").write_text(
        f"call1 {corpus / 'call1.wav'}\ncall2 {data / 'empty.wav'}\n"
    )
    broken = (*given, f"data={data}", f"speech={speech}")
    result = run(root, tmp_path / "exp", *broken).results
    alone = run(root, tmp_path / "whole", *given, f"speech={speech}").results
    assert result["recordings"]["call1"] == alone["recordings"]["call1"]
    assert result["recordings"]["call2"]["der"] == pytest.approx(1.0)  # all missed
    [line] = result["left_out"]
    assert line == f"call2: {data / 'empty.wav'}: is empty (0 bytes)"


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("truncated", "the WAV header promises"),
        ("nan", "is NaN; repair the file"),
        ("stereo", "has 2 channels; choose channel=1"),
        ("short", "but the recording ends at 20 s"),
        ("missing", "no audio file"),
    ],
)
def test_every_kind_of_broken_audio_costs_only_its_recording(
    root, given, corpus, outcome, tmp_path, kind, problem
):
    data = tmp_path / "data"
    data.mkdir()
    path = data / "call2.wav"
    samples, _ = soundfile.read(corpus / "call2.wav")
    if kind == "truncated":
        path.write_bytes((corpus / "call2.wav").read_bytes()[:5000])
    elif kind == "nan":
        samples[:] = np.nan
        soundfile.write(path, samples, RATE, subtype="FLOAT")
    elif kind == "stereo":
        soundfile.write(path, np.stack([samples, samples], axis=1), RATE)
    elif kind == "short":
        soundfile.write(path, samples[: 20 * RATE], RATE)
    (data / "wav.scp").write_text(f"call1 {corpus / 'call1.wav'}\ncall2 {path}\n")
    result = run(root, tmp_path / "exp", *given, f"data={data}").results
    assert result["recordings"]["call1"] == outcome.results["recordings"]["call1"]
    assert result["recordings"]["call2"]["missed"] > 20.0
    assert result["left_out"]
    assert all(line.startswith("call2") for line in result["left_out"])
    assert any(problem in line for line in result["left_out"])


def test_recordings_without_reference_are_named(root, given, corpus, tmp_path):
    reference = tmp_path / "ref.rttm"
    write_rttm(reference, turns_of("call1"))
    with pytest.raises(DataFormatError) as caught:
        run(root, tmp_path / "exp", *given, f"reference={reference}")
    assert str(caught.value) == f"{reference}: no turn of 1 of 2 recordings: call2"


def test_references_of_other_recordings_are_left_out(corpus):
    turns = read_turns(str(corpus / "ref.rttm"), ["call2"])
    assert {turn.segment.recording for turn in turns} == {"call2"}
    assert count_speakers(turns) == {"call2": 2}


@pytest.mark.parametrize("method", ["sms-paper", "ms", "bms"])
def test_settings_reach_the_methods_that_take_them(method):
    estimator = ClusterSettings(method, 5, 1e-2, 0.3, 1).build(None, 2)
    assert (estimator.k, estimator.merge_threshold, estimator.num_speakers) == (
        5,
        0.3,
        2,
    )


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        ((), "'data' must be given, got an empty text"),
        (("data=d",), "'reference' must be given, got an empty text"),
        (
            ("data=d", "reference=r", "speech=ears"),
            "'speech' must be one of reference, labels, energy, neural, got 'ears'",
        ),
        (
            ("data=d", "reference=r", "speakers=two"),
            "'speakers' must be one of found, reference, got 'two'",
        ),
        (
            ("data=d", "reference=r", "overlap=no"),
            "'overlap' must be one of ignored, scored, got 'no'",
        ),
        (
            ("data=d", "reference=r", "speech=labels"),
            "'vad_labels' must be a folder if, and only if, 'speech' is labels, got '' "
            "with 'labels'",
        ),
        (
            ("data=d", "reference=r", "backend=b", "plda=p"),
            "'backend' must be given without 'plda' and 'transform', got 'b' and 'p'",
        ),
        (
            ("data=d", "reference=r", "transform=t"),
            "'transform' must be given with 'plda', got it alone",
        ),
    ],
)
def test_wrong_settings_are_named(root, tmp_path, assignments, message):
    with pytest.raises(ConfigError) as caught:
        run(root, tmp_path / "exp", *assignments)
    assert str(caught.value) == message


def test_an_unknown_method_is_named(root, given, tmp_path):
    with pytest.raises(ConfigError) as caught:
        run(root, tmp_path / "exp", *given, "method=SMS")
    assert str(caught.value) == (
        "'method' must be one of sms, sms-paper, ms, bms, dsms, ahc, nme-sc, spectral, "
        "kmeans, hdbscan, vbx, got 'SMS'"
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_registry_can_be_built(method):
    estimator = ClusterSettings(method, 0, 0.0, 0.0, 1).build(None, 2)
    assert type(estimator) is METHODS[method].load()
    assert estimator.num_speakers == 2


def test_settings_that_the_method_does_not_have_are_refused(root, given, tmp_path):
    with pytest.raises(InvalidParameterError) as caught:
        run(root, tmp_path / "exp", *given, "method=sms", "k=5")
    assert str(caught.value) == (
        "method sms: k must be left out, got 5; it is for sms-paper, ms, bms, dsms"
    )


def test_labels_and_record_are_written(outcome):
    folder = outcome.folder / "cluster"
    labels = read_utt2spk(folder / "labels")
    windows = read_segments(outcome.folder / "speech" / "segments")
    assert set(labels) == set(windows)
    record = json.loads((folder / "clusters.json").read_text())
    assert record["backend"] == "plda"
    assert {s["n_speakers"] for s in record["sessions"].values()} == {2}
