"""``sms-diar cluster`` with valid and invalid input."""

import json

import numpy as np
import pytest

import sms_diar
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.io.model import write_model
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.scoring import backend_to_model, plda_from_covariances, train_backend
from sms_diar.types import EmbeddingSet, Segment


def vectors(n_speakers=3, per_speaker=20, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.tile(np.arange(n_speakers), per_speaker)  # speakers alternate
    speakers = 3.0 * np.random.default_rng(7).standard_normal((60, 6))
    return speakers[truth] + 0.3 * rng.standard_normal((len(truth), 6)), truth


@pytest.fixture
def folder(tmp_path):
    X, _ = vectors()
    ids = tuple(f"seg-{i:02d}" for i in range(len(X)))
    write_embeddings(tmp_path / "x.ark", EmbeddingSet(ids, X))
    write_embeddings(tmp_path / "x.npz", EmbeddingSet(ids, X))
    write_embeddings(tmp_path / "x.csv", EmbeddingSet(ids, X))
    segments = {name: Segment("call", i, i + 1.5) for i, name in enumerate(ids)}
    write_segments(tmp_path / "segments", segments)
    return tmp_path


def speakers_of(text):
    return [line.split()[1] for line in text.splitlines()]


EXPECTED = ["spk-01", "spk-02", "spk-03"] * 20


@pytest.mark.parametrize("name", ["x.ark", "x.scp", "x.npz", "x.csv"])
def test_embeddings_alone_are_enough(folder, name, run_cli):
    result = run_cli("cluster", folder / name)
    assert result.returncode == 0, result.stderr
    assert speakers_of(result.stdout) == EXPECTED
    assert "60 segments of 6 dimensions, no model: space and noise" in result.stderr


def test_standard_input_is_read(folder, run_cli):
    result = run_cli("cluster", "-", stdin=(folder / "x.ark").read_bytes())
    assert speakers_of(result.stdout) == EXPECTED


def test_writes_labels_and_turns(folder, run_cli):
    result = run_cli(
        "cluster", folder / "x.ark", "--segments", folder / "segments",
        "-o", folder / "labels.csv", "--rttm", folder / "out.rttm",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "call" in result.stdout
    head, first = (folder / "labels.csv").read_text().splitlines()[:2]
    assert head == "id,speaker,recording,start,end,confidence"
    assert first.startswith("seg-00,call-spk-01,call,")
    turns = list(read_rttm(folder / "out.rttm"))
    # Windows overlap by half a second, so boundaries are 0.25 s before its end.
    assert [t.speaker[-1] for t in turns] == ["1", "2", "3"] * 20
    assert turns[0].segment.end == pytest.approx(1.25)
    assert turns[-1].segment.end == pytest.approx(60.5)


def test_prints_json_for_machines(folder, run_cli):
    result = run_cli("cluster", folder / "x.ark", "--json", "--num-speakers", 2)
    content = json.loads(result.stdout)
    assert len(set(content["labels"].values())) == 2
    assert content["sessions"][0]["n_speakers"] == 2
    assert content == sms_diar.cluster(folder / "x.ark", num_speakers=2).to_dict()


def write_crowd(folder, n_speakers=20, n_rows=4):
    """Write segments of many speakers."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((n_speakers, 64)), n_rows, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    ids = tuple(f"s{i}" for i in range(len(X)))
    write_embeddings(folder / "crowd.npz", EmbeddingSet(ids, X))
    return folder / "crowd.npz"


def test_doubts_are_lines_on_standard_error(folder, run_cli):
    crowd = write_crowd(folder)
    result = run_cli("cluster", crowd, "--method", "ahc", "--threshold", "-99")
    assert result.returncode == 0
    assert set(speakers_of(result.stdout)) == {"spk-01"}
    doubt = "all: in doubt: average linkage separates the segments much better"
    assert f"{doubt}, into about 20 clusters" in result.stderr


def test_doubts_are_in_the_json(folder, run_cli):
    crowd = write_crowd(folder)
    result = run_cli(
        "cluster", crowd, "--method", "ahc", "--threshold", "-99", "--json"
    )
    [session] = json.loads(result.stdout)["sessions"]
    assert session["rival"] == 20
    [doubt] = session["doubts"]
    assert doubt.endswith("several speakers may share a label")


def test_probabilities_are_in_the_json(folder, run_cli):
    content = json.loads(run_cli("cluster", write_crowd(folder, 3), "--json").stdout)
    [session] = content["sessions"]
    assert set(content["confidence"]) == set(content["labels"])
    assert sum(session["count_posterior"].values()) == pytest.approx(1.0)
    assert str(session["n_speakers"]) in session["count_posterior"]


def test_a_number_that_the_caller_fixed_raises_no_doubt(folder, run_cli):
    result = run_cli("cluster", write_crowd(folder), "--num-speakers", 1)
    assert result.returncode == 0
    assert "in doubt" not in result.stderr


def test_a_trained_back_end_is_used(folder, run_cli):
    X, truth = vectors(n_speakers=40, per_speaker=8, seed=1)
    backend = train_backend(X, truth, n_components=5)
    write_model(folder / "backend.npz", backend_to_model(backend))
    result = run_cli("cluster", folder / "x.ark", "--plda", folder / "backend.npz")
    assert speakers_of(result.stdout) == EXPECTED
    assert "plda scores of 5 dimensions" in result.stderr


def test_a_kaldi_plda_model_is_used(folder, run_cli):
    model = plda_from_covariances(np.zeros(6), 0.09 * np.eye(6), 9.0 * np.eye(6))
    write_plda(folder / "plda", model)
    result = run_cli("cluster", folder / "x.ark", "--plda", folder / "plda")
    assert speakers_of(result.stdout) == EXPECTED


@pytest.mark.parametrize("choice", [(), ("--method", "sms-paper", "-k", 4)])
def test_the_seed_decides(folder, choice, run_cli):
    first = run_cli("cluster", folder / "x.ark", *choice, "--seed", 1).stdout
    assert len(first.splitlines()) == 60
    assert first == run_cli("cluster", folder / "x.ark", *choice, "--seed", 1).stdout


def fails(result, message):
    assert result.returncode == 1, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert f"sms-diar: {message}" in result.stderr


def test_a_missing_file_is_named(tmp_path, run_cli):
    fails(
        run_cli("cluster", tmp_path / "no.ark"), f"{tmp_path / 'no.ark'}: no such file"
    )


def test_a_truncated_ark_is_named_and_nothing_is_written(folder, run_cli):
    data = (folder / "x.ark").read_bytes()
    (folder / "cut.ark").write_bytes(data[:-7])
    result = run_cli("cluster", folder / "cut.ark", "-o", folder / "labels")
    fails(result, f"{folder / 'cut.ark'}: ")
    assert "seg-59" in result.stderr
    assert not (folder / "labels").exists()


def test_nan_is_named(folder, run_cli):
    X, _ = vectors()
    X[5, 2] = np.nan
    np.savez(folder / "nan.npz", ids=[f"s{i}" for i in range(60)], vectors=X)
    fails(run_cli("cluster", folder / "nan.npz"), f"{folder / 'nan.npz'}: ")


def misused(result, message):
    """Check for a usage error with this message, which is printed in a box."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    # Boxes wrap long words such as paths, so whitespace is ignored.
    assert "".join(message.split()) in "".join(result.stderr.replace("│", "").split())


def test_rttm_needs_times(folder, run_cli):
    misused(
        run_cli("cluster", folder / "x.ark", "--rttm", folder / "o.rttm"),
        "--rttm: needs the times of the segments; add --segments",
    )
    misused(
        run_cli("cluster", folder / "x.ark", "--per-recording"),
        "--per-recording: needs the recording of each segment; add --segments",
    )


def test_a_wrong_command_line_is_found_before_anything_is_read(tmp_path, run_cli):
    """The embeddings do not exist, so reading them would fail."""
    for arguments, message in (
        (
            ("--min-speakers", 5, "--max-speakers", 3),
            "5 is greater than --max-speakers 3",
        ),
        (
            ("--num-speakers", 5, "--max-speakers", 9),
            "--num-speakers: cannot be combined with",
        ),
        (("-k", 5), "-k: is not an option of sms; it applies to sms-paper, ms"),
        (("--method", "ms", "--threshold", 1), "--threshold: is not an option of ms"),
        (("--method", "vbx"), "vbx needs a PLDA model; add --plda"),
        (("-o", tmp_path / "x.doc"), "x.doc: unknown suffix"),
    ):
        misused(run_cli("cluster", "none.ark", *arguments), message)
    for option in ("-o", "--rttm"):
        result = run_cli(
            "cluster", "none.ark", "--segments", "s", option, tmp_path / "no" / "x.csv"
        )
        fails(result, f"{tmp_path / 'no' / 'x.csv'}: no such folder {tmp_path / 'no'}")


def test_suffixes_of_labels_are_those_of_the_writer():
    from sms_diar.cli.commands.cluster import LABEL_SUFFIXES
    from sms_diar.io.labels import _SUFFIXES

    assert set(LABEL_SUFFIXES) == set(_SUFFIXES)


def test_files_in_each_others_place_are_recognised(folder, run_cli):
    X, truth = vectors(n_speakers=40, per_speaker=8, seed=1)
    write_model(folder / "model.npz", backend_to_model(train_backend(X, truth)))
    model = plda_from_covariances(np.zeros(6), 0.09 * np.eye(6), 9.0 * np.eye(6))
    write_plda(folder / "plda", model)
    np.savez(folder / "t.npz", mean1=np.zeros(6), lda=np.eye(6), mean2=np.zeros(6))
    (folder / "utt2spk").write_text("seg-00 ann\nseg-01 bob\n")
    (folder / "x.rttm").write_text("SPEAKER r 1 0 1 <NA> <NA> s <NA> <NA>\n")
    (folder / "x.wav").write_bytes(b"RIFF....WAVEfmt ")
    ark = folder / "x.ark"
    for words, wrong, message in (
        ((), "utt2spk", "this looks like utt2spk (expected here: embeddings)"),
        ((), "segments", "this is a segments table: --segments (expected here: emb"),
        ((), "plda", "this is a PLDA model: --plda"),
        (
            (),
            "model.npz",
            "this is a model of 'plda train' or 'ivectors train': --plda",
        ),
        ((), "t.npz", "this is a transform: --transform"),
        ((), "x.rttm", "this looks like turns (RTTM)"),
        ((), "x.wav", "this is a recording: sms-diar diarize"),
        ((ark, "--plda"), "t.npz", "this is a transform: --transform"),
        ((ark, "--plda"), "x.npz", "this looks like embeddings (expected here: a PLDA"),
        ((ark, "--plda"), "segments", "this is a segments table: --segments"),
        ((ark, "--transform"), "plda", "this is a PLDA model: --plda"),
        ((ark, "--segments"), "utt2spk", "this looks like utt2spk (expected here: a s"),
        ((ark, "--segments"), "x.ark", "this looks like embeddings"),
    ):
        result = run_cli("cluster", *words, folder / wrong)
        fails(result, f"{folder / wrong}: {message}")


def test_numbers_without_ids_are_clustered_whole(folder, run_cli):
    X, _ = vectors()
    np.savetxt(folder / "numbers.csv", X, delimiter=",")
    result = run_cli("cluster", folder / "numbers.csv")
    assert speakers_of(result.stdout) == EXPECTED
    assert "60 segments of 6 dimensions" in result.stderr
    assert result.stdout.startswith("row-00000 spk-01\n")


def test_bounds_of_all_recordings_are_checked_before_the_first(folder, run_cli):
    lines = (folder / "segments").read_text().splitlines()
    lines[-1] = lines[-1].replace(" call ", " other ")
    (folder / "segments").write_text("\n".join(lines) + "\n")
    fails_late = run_cli(
        "cluster", folder / "x.ark", "--segments", folder / "segments",
        "--min-speakers", 2, "--method", "ms", "-k", 3,
    )  # fmt: skip
    assert fails_late.returncode == 1
    assert "--min-speakers must be at most the number of segments (1), got 2" in (
        fails_late.stderr
    )


def test_ids_without_segment_are_named(folder, run_cli):
    lines = (folder / "segments").read_text().splitlines()
    (folder / "segments").write_text("\n".join(lines[2:]) + "\n")
    fails(
        run_cli("cluster", folder / "x.ark", "--segments", folder / "segments"),
        f"{folder / 'segments'}: must list all segments of {folder / 'x.ark'}, got "
        f"none for 2 of 60 ids ('seg-00', 'seg-01')",
    )


def test_segments_without_embedding_are_noted(folder, run_cli):
    with (folder / "segments").open("a") as file:
        file.write("seg-99 call 70 71\n")
    result = run_cli("cluster", folder / "x.ark", "--segments", folder / "segments")
    assert result.returncode == 0
    assert "1 segments have no embedding; ignored" in result.stderr


def test_a_plda_model_of_another_dimension_is_explained(folder, run_cli):
    model = plda_from_covariances(np.zeros(4), np.eye(4), np.eye(4))
    write_plda(folder / "plda", model)
    fails(
        run_cli("cluster", folder / "x.ark", "--plda", folder / "plda"),
        f"{folder / 'plda'}: a PLDA model of 4 dimensions cannot score the "
        f"6-dimensional vectors of {folder / 'x.ark'}; give the transform that comes "
        f"before it with --transform",
    )


def test_a_back_end_brings_its_own_transform(folder, run_cli):
    X, truth = vectors(n_speakers=40, per_speaker=8, seed=1)
    write_model(folder / "b.npz", backend_to_model(train_backend(X, truth)))
    np.savez(folder / "t.npz", mean1=np.zeros(6), lda=np.eye(6), mean2=np.zeros(6))
    fails(
        run_cli(
            "cluster", folder / "x.ark",
            "--plda", folder / "b.npz", "--transform", folder / "t.npz",
        ),
        f"--transform: {folder / 'b.npz'} has its own transform; omit --transform",
    )  # fmt: skip


def test_commands_in_an_scp_need_the_flag(folder, run_cli):
    (folder / "pipe.scp").write_text(f"a cat {folder / 'one.vec'} |\n")
    fails(run_cli("cluster", folder / "pipe.scp"), f"{folder / 'pipe.scp'}:1: ")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_sets_are_fine(folder, n, run_cli):
    X, _ = vectors()
    write_embeddings(
        folder / "small.npz", EmbeddingSet(tuple(f"s{i}" for i in range(n)), X[:n])
    )
    result = run_cli("cluster", folder / "small.npz")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == n


def test_equal_vectors_are_one_speaker(folder, run_cli):
    ids = tuple(f"s{i}" for i in range(30))
    write_embeddings(folder / "equal.npz", EmbeddingSet(ids, np.full((30, 4), 0.5)))
    result = run_cli("cluster", folder / "equal.npz")
    assert set(speakers_of(result.stdout)) == {"spk-01"}


def test_more_speakers_than_segments_is_refused(folder, run_cli):
    fails(
        run_cli("cluster", folder / "x.ark", "--num-speakers", 61),
        "--num-speakers must be at most the number of segments (60), got 61",
    )


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("choice", "most"),
    [
        pytest.param((), 5, marks=pytest.mark.soak),
        (("--method", "sms-paper", "-k", 100), 8),
    ],
)
def test_a_real_meeting_gives_a_valid_rttm(
    corpus_data, tmp_path, choice, most, run_cli
):
    ami = corpus_data / "ami-es2005a"
    result = run_cli(
        "cluster", ami / "xvectors.ark", "--segments", ami / "segments",
        "--plda", ami / "plda", "--transform", ami / "transform.npz",
        "--rttm", tmp_path / "out.rttm", *choice,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    turns = list(read_rttm(tmp_path / "out.rttm"))
    assert 3 <= len({turn.speaker for turn in turns}) <= most
    # All speech of the windows is covered exactly once.
    speech = sum(turn.segment.duration for turn in turns)
    reference = list(read_rttm(ami / "vbx.rttm"))
    assert speech == pytest.approx(
        sum(turn.segment.duration for turn in reference), abs=0.1
    )


def test_across_says_who_appears_in_several_recordings(folder, run_cli):
    lines = [f"seg-{i:02d} call{i % 2}\n" for i in range(60)]
    (folder / "utt2rec").write_text("".join(lines))
    result = run_cli(
        "cluster", folder / "x.ark", "--across", "--utt2rec", folder / "utt2rec",
        "-o", folder / "labels",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "3 of 3 speakers appear in several of 2 recordings" in result.stdout
    result = run_cli("cluster", folder / "x.ark", "--utt2rec", folder / "utt2rec")
    assert result.returncode == 2
    assert "requires --across" in result.stderr
