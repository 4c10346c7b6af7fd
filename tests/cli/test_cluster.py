"""``sms-diar cluster`` with valid and invalid input."""

import json

import numpy as np
import pytest

import sms_diar
from sms_diar.cli.commands.cluster import LABEL_SUFFIXES
from sms_diar.cli.options.methods import SWITCHES, method_table
from sms_diar.clustering.methods import METHODS
from sms_diar.io import labels
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.kaldi.tables import write_segments
from sms_diar.io.model import write_model
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.scoring import backend_to_model, plda_from_covariances
from sms_diar.scoring.backend import backend_from_transform
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
    model = plda_from_covariances(np.zeros(6), 0.09 * np.eye(6), 9.0 * np.eye(6))
    write_plda(tmp_path / "plda", model)
    return tmp_path


def speakers_of(text):
    return [line.split()[1] for line in text.splitlines()]


EXPECTED = ["spk-01", "spk-02", "spk-03"] * 20
WITH_K = ("sms-paper", "ms", "bms", "dsms")


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


def test_doubts_are_lines_on_standard_error_and_in_the_json(folder, run_cli):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((20, 64)), 4, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    ids = tuple(f"s{i}" for i in range(len(X)))
    write_embeddings(folder / "crowd.npz", EmbeddingSet(ids, X))
    merged = ("cluster", folder / "crowd.npz", "--method", "ahc", "--threshold", "-99")
    result = run_cli(*merged)
    assert result.returncode == 0
    assert set(speakers_of(result.stdout)) == {"spk-01"}
    assert "sms-diar: all: in doubt: " in result.stderr
    [session] = json.loads(run_cli(*merged, "--json").stdout)["sessions"]
    assert session["rival"] == 20
    assert len(session["doubts"]) == 1


def fails(result, message):
    assert result.returncode == 1, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert f"sms-diar: {message}" in result.stderr


@pytest.mark.parametrize("name", ["cut.ark", "gone.ark", "nan.npz", "pipe.scp"])
def test_a_wrong_file_is_named_and_nothing_is_written(folder, name, run_cli):
    (folder / "cut.ark").write_bytes((folder / "x.ark").read_bytes()[:-7])
    np.savez(folder / "nan.npz", ids=["a", "b"], vectors=[[1.0, 2.0], [np.nan, 3.0]])
    (folder / "pipe.scp").write_text("a cat x.vec |\n")  # needs --allow-commands
    result = run_cli("cluster", folder / name, "-o", folder / "labels")
    fails(result, f"{folder / name}:")
    assert not (folder / "labels").exists()


def test_files_that_do_not_fit_together_are_refused(folder, run_cli):
    cosine = backend_from_transform(None, None, 6)
    write_model(folder / "b.npz", backend_to_model(cosine))
    np.savez(folder / "t.npz", mean1=np.zeros(6), lda=np.eye(6), mean2=np.zeros(6))
    short = plda_from_covariances(np.zeros(4), np.eye(4), np.eye(4))
    write_plda(folder / "short", short)
    lines = (folder / "segments").read_text().splitlines(keepends=True)
    (folder / "segments").write_text("".join(lines[2:]))
    for options, start in (
        (("--plda", folder / "short"), f"{folder / 'short'}: "),
        (("--plda", folder / "b.npz", "--transform", folder / "t.npz"), "--transform"),
        (("--segments", folder / "segments"), f"{folder / 'segments'}: "),
        (("--num-speakers", 61), "--num-speakers must be at most"),
    ):
        fails(run_cli("cluster", folder / "x.ark", *options), start)


def misused(result, message):
    """Check for a usage error with this message, which is printed in a box."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    # Boxes wrap long words such as paths, so whitespace is ignored.
    assert "".join(message.split()) in "".join(result.stderr.replace("│", "").split())


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
        (("-k", 5), "-k: is not an option of sms"),
        (("--method", "ms", "--threshold", 1), "--threshold: is not an option of ms"),
        (("--method", "vbx"), "--method: vbx needs a PLDA model"),
        (("-o", tmp_path / "x.doc"), "x.doc: unknown suffix"),
        (("--rttm", tmp_path / "o.rttm"), "--rttm: needs the times"),
        (("--per-recording",), "--per-recording: needs the recording"),
    ):
        misused(run_cli("cluster", "none.ark", *arguments), message)
    for option in ("-o", "--rttm"):
        result = run_cli(
            "cluster", "none.ark", "--segments", "s", option, tmp_path / "no" / "x.csv"
        )
        fails(result, f"{tmp_path / 'no' / 'x.csv'}: no such folder {tmp_path / 'no'}")


def test_suffixes_of_labels_are_those_of_the_writer():
    assert set(LABEL_SUFFIXES) == set(labels._SUFFIXES)


def test_files_in_each_others_place_are_recognised(folder, run_cli):
    cosine = backend_from_transform(None, None, 6)
    write_model(folder / "model.npz", backend_to_model(cosine))
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


# --- methods -----------------------------------------------------------------


def summary(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_its_options(folder, method, run_cli):
    """All but VBx need no model; bounds are kept; k is shown where there is one."""
    given = ("cluster", folder / "x.ark", "--method", method, "--max-speakers", 2)
    if method == "vbx":
        given = (*given, "--plda", folder / "plda")
    content = summary(run_cli(*given, "--json"))
    [session] = content["sessions"]
    assert (content["method"], len(content["labels"])) == (method, 60)
    assert session["n_speakers"] <= 2
    table = run_cli(*given, "-o", folder / "labels").stdout
    head, *_, last = (line.split() for line in table.splitlines())
    with_k = run_cli(*given, "-k", 5, "--json")
    if method in WITH_K:
        # DSMS draws k of 10 to 24, or of 3 to 7, and names the largest.
        assert session["k"] == (24 if method == "dsms" else 17)
        assert (head[-1], last[-1]) == ("k", str(session["k"]))
        assert summary(with_k)["sessions"][0]["k"] == (7 if method == "dsms" else 5)
    else:
        assert session["k"] is None
        assert head == ["session", "segments", "speakers"]
        misused(with_k, f"-k: is not an option of {method}; it applies to sms-paper")


def test_the_threshold_decides_where_ahc_stops(folder, run_cli):
    given = ("cluster", folder / "x.ark", "--plda", folder / "plda", "--json")
    high = run_cli(*given, "--method", "ahc", "--threshold", "1e9")
    low = run_cli(*given, "--method", "ahc", "--threshold", "-1e9")
    assert summary(high)["sessions"][0]["n_speakers"] == 60
    assert summary(low)["sessions"][0]["n_speakers"] == 1


def test_the_page_about_embeddings_has_the_table_of_the_registry(root):
    page = root / "docs" / "use" / "embeddings.md"
    assert method_table() in page.read_text(encoding="utf-8")


def test_the_command_has_a_switch_for_some_options_only():
    offered = {name for method in METHODS.values() for name in method.options}
    assert set(SWITCHES) <= offered
    assert offered - set(SWITCHES) == {"merge_threshold", "max_steps"}
