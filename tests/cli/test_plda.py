"""``sms-diar plda``: files, output and usage errors."""

import json
import re

import numpy as np
import pytest

from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.plda import read_plda, write_plda
from sms_diar.io.kaldi.transform import Centering, VbxTransform, write_transform
from sms_diar.io.model import ModelFile, read_model, write_model
from sms_diar.pipeline.train.models import read_backend
from sms_diar.preprocessing import paper_chain
from sms_diar.scoring import PldaScorer, adapt_plda, fit_plda
from sms_diar.scoring.backend import backend_from_transform
from sms_diar.scoring.backend_plda import phi_of, plda_of
from sms_diar.scoring.backend_training import (
    KIND,
    backend_from_model,
    backend_to_model,
    train_backend,
)
from sms_diar.types import EmbeddingSet

N_SPEAKERS, EACH, DIM = 12, 4, 5


@pytest.fixture(name="vectors")
def some_vectors():
    rng = np.random.default_rng(2)
    speaker = np.repeat(np.arange(N_SPEAKERS), EACH)
    X = 2.0 * rng.standard_normal((N_SPEAKERS, DIM))[speaker]
    X += rng.standard_normal((len(speaker), DIM))
    ids = tuple(f"s{s:02d}-{row % EACH}" for row, s in enumerate(speaker))
    return EmbeddingSet(ids, X, extractor="f00d")


@pytest.fixture(name="speakers")
def some_speakers(vectors):
    return {name: name[:3] for name in vectors.ids}


@pytest.fixture(name="here")
def folder(tmp_path, monkeypatch, vectors, speakers):
    """Working folder with x.npz (speakers inside), x.ark, utt2spk and models."""
    monkeypatch.chdir(tmp_path)
    write_npz("x.npz", vectors, speakers=speakers)
    write_embeddings("x.ark", vectors)
    rows = "".join(f"{name} {speaker}\n" for name, speaker in speakers.items())
    (tmp_path / "utt2spk").write_text(rows)
    labels = list(speakers.values())
    backend = train_backend(vectors.vectors, labels, n_components=3)
    write_model("b.npz", backend_to_model(backend.with_extractor("f00d")))
    write_plda("k.plda", fit_plda(vectors.vectors, labels).model)
    return tmp_path


@pytest.fixture(name="sms_diar")
def command_line(here, run_cli):
    """Run a command; return exit code, standard output and standard error."""

    def run(*arguments):
        result = run_cli("plda", *arguments)
        return result.returncode, result.stdout, result.stderr

    return run


@pytest.fixture(name="refused")
def refusal(here, sms_diar):
    """Run a command that must fail without output files; return its message."""

    def run(*arguments, code=1):
        before = {path: path.read_bytes() for path in here.iterdir()}
        got, out, err = sms_diar(*arguments)
        assert (got, out) == (code, "")
        assert {path: path.read_bytes() for path in here.iterdir()} == before
        if code == 2:
            return " ".join(re.sub("[─│╭╮╰╯]", " ", err).split())
        assert err.startswith("sms-diar: ")
        return err.removeprefix("sms-diar: ").removesuffix("\n")

    return run


def backend_in(path):
    return backend_from_model(read_model(path, KIND))


def score_lines(text):
    rows = [line.split(" ") for line in text.splitlines()]
    return {(enrol, test): float(score) for enrol, test, score in rows}


# --- train -------------------------------------------------------------------


def test_train_writes_the_back_end_that_train_backend_gives(
    sms_diar, vectors, speakers
):
    code, out, err = sms_diar("train", "x.ark", "utt2spk", "-o", "m.npz", "--dim", 3)
    assert (code, err) == (0, "")
    got = backend_in("m.npz")
    want = train_backend(vectors.vectors, list(speakers.values()), n_components=3)
    assert got.score_matrix(vectors.vectors).tobytes() == (
        want.score_matrix(vectors.vectors).tobytes()
    )
    assert got.extractor == "f00d"
    start, end = (got.notes[f"log_likelihood_{at}"] for at in ("start", "end"))
    assert start < end
    assert out == (
        f"wrote m.npz: 48 vectors of 12 speakers, 5 -> 3 dimensions, log-likelihood "
        f"{start:.6g} -> {end:.6g}\n"
    )
    assert got.notes["chain"] == "length, PCA, whitening, length"
    assert (got.notes["estimation"], got.notes["iterations"]) == ("ml", 20)
    assert got.notes["source"] == "x.ark"


def test_train_takes_speakers_from_the_npz_and_answers_machines(sms_diar):
    code, out, _ = sms_diar("train", "x.npz", "-o", "m.npz", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["model"] == "m.npz"
    assert answer["notes"]["speakers"] == 12
    assert answer["extractor"] is None  # the npz does not name an extractor
    assert answer["fingerprint"] == read_model("m.npz", KIND).fingerprint


def test_train_options_reach_the_training(sms_diar, vectors, speakers):
    options = ["--energy", 0.8, "--shrinkage", "auto", "--iterations", 3]
    sms_diar("train", "x.npz", "-o", "m.npz", *options, "--estimation", "kaldi")
    chain = paper_chain(0.8, shrinkage="auto").fit(vectors.vectors)
    want = fit_plda(
        chain.transform(vectors.vectors),
        list(speakers.values()),
        n_iter=3,
        estimation="kaldi",
    ).model
    got = plda_of(backend_in("m.npz"))
    assert got.dim == want.dim < DIM
    np.testing.assert_allclose(got.psi, want.psi, rtol=1e-10)
    assert backend_in("m.npz").notes["iterations"] == 3


@pytest.mark.parametrize("option", ["-o", "--kaldi-plda"])
def test_train_writes_a_kaldi_file_for_vectors_as_they_are(
    sms_diar, vectors, speakers, option
):
    code, out, _ = sms_diar("train", "x.npz", "utt2spk", option, "new.plda")
    want = fit_plda(vectors.vectors, list(speakers.values()), n_iter=20).model
    got = read_plda("new.plda")
    assert code == 0
    assert out.startswith("wrote new.plda: 48 vectors of 12 speakers, 5 -> 5 dim")
    assert got.psi.tobytes() == want.psi.tobytes()
    assert got.transform.tobytes() == want.transform.tobytes()


def test_train_raw_writes_both_and_they_score_alike(sms_diar, vectors):
    code, out, _ = sms_diar(
        "train", "x.npz", "--raw", "-o", "m.npz", "--kaldi-plda", "k"
    )
    assert code == 0
    assert out.startswith("wrote k and m.npz: ")
    want = PldaScorer(read_plda("k")).score_matrix(vectors.vectors)
    got = backend_in("m.npz").score_matrix(vectors.vectors)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    assert backend_in("m.npz").notes["chain"] == "none"


def test_train_names_ids_of_one_side_only(here, sms_diar, refused, speakers):
    lines = (here / "utt2spk").read_text().splitlines(keepends=True)
    (here / "utt2spk").write_text("".join([*lines[5:], "zz1 zz\n", "zz2 zz\n"]))
    message = refused("train", "x.npz", "utt2spk", "-o", "m.npz")
    assert message.startswith("x.npz: 5 of 48 vectors have no speaker in utt2spk (s00-")
    assert "2 of 45 labels have no vector (zz1, zz2)" in message
    code, out, _ = sms_diar("train", "x.npz", "utt2spk", "-o", "m.npz", "--intersect")
    assert code == 0
    assert out.startswith("wrote m.npz: 43 vectors of 11 speakers")


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("train gone.npz -o m.npz", "gone.npz: "),
        ("train x.npz gone -o m.npz", "gone: "),
        ("train x.npz -o no/m.npz", "no/m.npz: no such folder"),
        ("train bare.npz -o m.npz", "bare.npz: no array of speakers"),
        ("train x.npz other -o m.npz --intersect", "x.npz: no id is in other"),
        ("train x.npz each -o m.npz", "labels must name some speaker twice"),
        ("adapt k.plda x.npz -o no/a.plda", "no/a.plda: no such folder"),
        ("adapt b.npz y.ark -o a.npz", "y.ark: vectors must come from the extractor"),
        ("adapt k.plda short.npz -o a", "k.plda: a PLDA model of 5 dimensions"),
        ("adapt c.npz x.npz -o a.npz", "plda_of: backend must score by PLDA"),
        ("score b.npz x.npz short.npz --all-pairs", "short.npz: vectors must have"),
        ("score b.npz space.npz --all-pairs -o s", "plda score: id must be a name"),
        ("score b.npz x.npz --all-pairs --average other", "other: 1 of 1 ids"),
        ("score b.npz x.npz --all-pairs --average empty", "empty: names no ids"),
        ("info gone", "gone: "),
        ("info x.npz", "x.npz: not a model file"),
        ("info other.npz", "other.npz: contains a model of kind 'extractor'"),
        ("info utt2spk", "utt2spk: not a Kaldi PLDA model"),
        ("info cut.npz", "cut.npz: "),
    ],
)
def test_wrong_files_are_named_and_nothing_is_written(
    here, refused, vectors, words, start
):
    write_npz("bare.npz", vectors)
    write_npz("short.npz", EmbeddingSet(vectors.ids, vectors.vectors[:, :2]))
    write_npz("space.npz", EmbeddingSet(("a b", "c"), vectors.vectors[:2]))
    write_embeddings("y.ark", EmbeddingSet(vectors.ids, vectors.vectors, "beef"))
    write_model("c.npz", backend_to_model(backend_from_transform(None, None, DIM)))
    write_model("other.npz", ModelFile("extractor", {}, {}))
    (here / "cut.npz").write_bytes((here / "b.npz").read_bytes()[:200])
    (here / "empty").write_text("")
    (here / "other").write_text("a b\n")
    (here / "each").write_text("".join(f"{name} {name}\n" for name in vectors.ids))
    assert refused(*words.split()).startswith(start)


def test_commands_of_an_scp_are_run_only_if_allowed(here, sms_diar, refused, vectors):
    for row in range(2):
        write_transform(f"{row}.vec", Centering(vectors.vectors[row]))
    (here / "c.scp").write_text("a cat 0.vec |\nb cat 1.vec |\n")
    message = refused("train", "c.scp", "utt2spk", "-o", "m.npz")
    assert message.startswith("c.scp:1: ")
    assert "command" in message
    code, out, _ = sms_diar(
        "score", "k.plda", "c.scp", "--all-pairs", "--allow-commands"
    )
    want = PldaScorer(read_plda("k.plda")).score(*vectors.vectors[:2])
    assert code == 0
    assert score_lines(out)["a", "b"] == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("train x.npz", "-o"),
        ("train x.npz -o m --dim 0", "'--dim'"),
        ("train x.npz -o m --dim 2 --energy 0.5", "--dim and --energy"),
        ("train x.npz -o m --energy 1", "--energy"),
        ("train x.npz -o m --shrinkage some", "--shrinkage"),
        ("train x.npz -o m --shrinkage nan", "--shrinkage"),
        ("train x.npz -o m.plda --dim 2", "--dim, --energy and --shrinkage"),
        ("train x.npz -o m.npz --raw --shrinkage 0", "--dim, --energy and --shrinkage"),
        ("train x.npz -o m.npz --kaldi-plda k", "--kaldi-plda"),
        ("train x.npz -o m.plda --kaldi-plda k", "--kaldi-plda"),
        ("train x.ark -o m.npz", "LABELS"),
        ("adapt k.plda x.npz -o a.npz", "-o"),
        ("adapt b.npz x.npz -o a.plda", "-o"),
        ("adapt k.plda x.npz -o a --within-scale -0.1", "'--within-scale'"),
        ("score b.npz x.npz", "--trials or --all-pairs"),
        ("score b.npz x.npz --all-pairs --trials t", "--trials or --all-pairs"),
        ("score b.npz x.npz --all-pairs --json", "--json"),
        ("score b.npz x.npz --all-pairs --transform t", "--transform"),
    ],
)
def test_a_wrong_command_line_is_refused(refused, words, options):
    assert f"Invalid value for {options}: " in refused(*words.split(), code=2)


# --- adapt -------------------------------------------------------------------


def test_adapt_a_kaldi_file(sms_diar, vectors):
    shifted = EmbeddingSet(vectors.ids, 3.0 * vectors.vectors + 1.0)
    write_npz("new.npz", shifted)
    scales = ["--within-scale", 0.1, "--between-scale", 0.9, "--mean-scale", 0.5]
    code, out, _ = sms_diar("adapt", "k.plda", "new.npz", "-o", "a.plda", *scales)
    assert (code, out) == (0, "wrote a.plda: adapted to 48 vectors\n")
    want = adapt_plda(
        read_plda("k.plda"),
        shifted.vectors,
        within_covar_scale=0.1,
        between_covar_scale=0.9,
        mean_diff_scale=0.5,
    )
    got = read_plda("a.plda")
    assert got.psi.tobytes() == want.psi.tobytes()
    assert got.mean.tobytes() == want.mean.tobytes()


def test_adapt_a_back_end_where_its_chain_ends(sms_diar, vectors):
    turned = EmbeddingSet(vectors.ids, vectors.vectors[:, ::-1] + 1.0)
    write_npz("new.npz", turned)
    code, out, _ = sms_diar("adapt", "b.npz", "new.npz", "-o", "a.npz", "--json")
    old, new = backend_in("b.npz"), backend_in("a.npz")
    assert code == 0
    assert json.loads(out) == {
        "model": "a.npz",
        "vectors": 48,
        "fingerprint": read_model("a.npz", KIND).fingerprint,
    }
    want = adapt_plda(plda_of(old), phi_of(old, turned.vectors))
    np.testing.assert_allclose(plda_of(new).psi, want.psi, rtol=1e-10)
    np.testing.assert_allclose(plda_of(new).mean, want.mean, rtol=1e-10)
    assert new.matrix.tolist() == old.matrix.tolist()
    assert new.extractor == "f00d"
    assert new.notes == {
        "adapted_to": "new.npz",
        "adapted_vectors": 48,
        "adapted_scales": [0.3, 0.7, 1.0],
    }


# --- score -------------------------------------------------------------------


def test_score_every_pair_once(sms_diar, vectors):
    code, out, err = sms_diar("score", "b.npz", "x.ark", "--all-pairs")
    got = score_lines(out)
    want = backend_in("b.npz").score_matrix(vectors.vectors)
    assert (code, err) == (0, "1128 trials\n")
    assert len(got) == len(out.splitlines()) == 48 * 47 // 2
    for i, one in enumerate(vectors.ids):
        for j in range(i + 1, len(vectors)):
            expected = pytest.approx(want[i, j], rel=1e-8, abs=1e-8)
            assert got[one, vectors.ids[j]] == expected


def test_score_all_of_one_set_with_all_of_another(here, sms_diar, vectors):
    write_npz("few.npz", vectors.select([3, 1]))
    code, out, _ = sms_diar(
        "score", "k.plda", "x.npz", "few.npz", "--all-pairs", "-o", "s"
    )
    assert (code, out) == (0, "wrote s: 96 trials\n")
    got = score_lines((here / "s").read_text())
    want = PldaScorer(read_plda("k.plda")).score_matrix(vectors.vectors)
    assert list(got)[:2] == [("s00-0", "s00-3"), ("s00-0", "s00-1")]
    assert got["s05-2", "s00-1"] == pytest.approx(want[22, 1], rel=1e-8)


def test_score_length_normalisation_is_kaldis(here, sms_diar, vectors):
    sms_diar("score", "k.plda", "x.npz", "--all-pairs", "--normalize-length", "-o", "s")
    scorer = PldaScorer(read_plda("k.plda"), normalize_length=True)
    got = score_lines((here / "s").read_text())
    want = scorer.score_matrix(vectors.vectors)[0, 7]
    assert got["s00-0", "s01-3"] == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("length", ["unit", "sqrt-dim"])
def test_score_after_a_vbx_transform(here, sms_diar, vectors, length):
    rng = np.random.default_rng(1)
    parts = rng.standard_normal(DIM), rng.standard_normal((DIM, DIM)), np.ones(DIM)
    write_transform("t.npz", VbxTransform(*parts))
    options = ["--transform", "t.npz", "--transform-length", length, "--all-pairs"]
    code, out, _ = sms_diar("score", "k.plda", "x.npz", *options)
    phi = VbxTransform(*parts, length=length).apply(vectors.vectors)
    want = PldaScorer(read_plda("k.plda")).score_matrix(phi)[0, 1]
    assert code == 0
    assert score_lines(out)["s00-0", "s00-1"] == pytest.approx(want, rel=1e-8)


def test_score_trials_in_their_order_with_error_rate(here, sms_diar, vectors):
    # One target below one nontarget out of two each: EER 50 %; s00-0 with itself is
    # the best target, and the other target is a pair of different speakers.
    scores = backend_in("b.npz").score_matrix(vectors.vectors)
    order = np.argsort(scores[0])
    worst, middle, better = (vectors.ids[order[at]] for at in (0, 10, 20))
    (here / "trials").write_text(
        f"s00-0 {middle} target\ns00-0 {worst} nontarget\n"
        f"s00-0 {better} nontarget\ns00-0 s00-0 target\n"
    )
    code, out, err = sms_diar(
        "score", "b.npz", "x.ark", "--trials", "trials", "-o", "s"
    )
    assert (code, err) == (0, "")
    assert out == "wrote s: 4 trials, 2 of targets, EER 50.00 %\n"
    got = score_lines((here / "s").read_text())
    assert [pair[1] for pair in got] == [middle, worst, better, "s00-0"]
    assert got["s00-0", worst] == pytest.approx(scores[0, order[0]], rel=1e-8)
    code, out, _ = sms_diar(
        "score", "b.npz", "x.ark", "--trials", "trials", "-o", "s", "--json"
    )
    assert json.loads(out) == {"scores": "s", "trials": 4, "targets": 2, "eer": 0.5}


@pytest.mark.parametrize("name", ["utt2spk", "spk2utt"])
def test_score_speakers_enrolled_by_several_vectors(here, sms_diar, vectors, name):
    text = {
        "utt2spk": "s00-0 ann\ns00-1 ann\ns00-2 ann\ns03-0 bob\n",
        "spk2utt": "ann s00-0 s00-1 s00-2\nbob s03-0\n",
    }
    (here / name).write_text(text[name])
    (here / "trials").write_text("bob s03-1\nann s00-3\nann s03-1\n")
    code, out, err = sms_diar(
        "score", "b.npz", "x.npz", "--trials", "trials", "--average", name
    )
    assert (code, err) == (0, "3 trials\n")
    backend = backend_in("b.npz")
    phi = phi_of(backend, vectors.vectors)
    scorer = PldaScorer(plda_of(backend))
    want = {
        ("bob", "s03-1"): scorer.score(phi[12], phi[13]),
        ("ann", "s00-3"): scorer.score(phi[:3], phi[3]),
        ("ann", "s03-1"): scorer.score(phi[:3], phi[13]),
    }
    assert score_lines(out) == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "trials: contains no trials"),
        ("s00-0\n", "trials:1: a line has 2 or more fields"),
        ("s00-0 s00-1\nno s00-0\n", "trials:2: 'no' is not among the models of the em"),
        ("s00-0 no\n", "trials:1: 'no' is not among the tests of the emb"),
        ("s00-0 s00-1 yes\n", "trials:1: a trial is target or nontarget"),
        ("s00-0 s00-1 target\ns00-0 s00-2\n", "trials:2: this line has 2 fields"),
        ("s00-0 s00-2\ns00-0 s00-1 target\n", "trials:2: this line has 3 fields"),
    ],
)
def test_score_refuses_broken_trials(here, refused, text, start):
    (here / "trials").write_text(text)
    command = ["score", "b.npz", "x.npz", "--trials", "trials", "-o", "s"]
    assert refused(*command).startswith(start)


# --- info --------------------------------------------------------------------


def test_info_of_a_kaldi_file(here, sms_diar):
    # psi 4 and 1: quantiles are interpolated linearly from 1 to 4
    (here / "k").write_text("<Plda> [ 0 0 ]\n[\n1 0\n0 1 ]\n[ 4 1 ]\n</Plda> ")
    code, out, _ = sms_diar("info", "k")
    rows = [line.rsplit("  ", 1) for line in out.splitlines()[1:]]
    shown = {name.strip(): value for name, value in rows}
    assert code == 0
    assert (shown["kind"], shown["dimensions"]) == ("Kaldi PLDA", "2 -> 2")
    assert (shown["psi 90%"], shown["psi median"], shown["psi 10%"]) == (
        *("3.7", "2.5", "1.3"),
    )
    answer = json.loads(sms_diar("info", "k", "--json")[1])
    assert (answer["psi"]["largest"], answer["psi"]["sum"]) == (4.0, 5.0)
    assert (answer["kind"], answer["fingerprint"]) == ("Kaldi PLDA", None)


def test_info_of_a_back_end(sms_diar):
    sms_diar("train", "x.ark", "utt2spk", "-o", "m.npz", "--dim", 3)
    code, out, _ = sms_diar("info", "m.npz")
    fingerprint = read_model("m.npz", KIND).fingerprint
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert code == 0
    assert ["kind", "back end (plda)"] in lines
    assert ["dimensions", "5 -> 3"] in lines
    assert ["fingerprint", fingerprint] in lines
    assert ["extractor", "f00d"] in lines
    assert ["source", "x.ark"] in lines
    assert max(len(line) for line in out.splitlines()) <= 80
    answer = json.loads(sms_diar("info", "m.npz", "--json")[1])
    assert answer["fingerprint"] == fingerprint
    assert answer["notes"]["vectors"] == 48
    psi = plda_of(backend_in("m.npz")).psi
    assert answer["psi"]["sum"] == pytest.approx(psi.sum(), rel=1e-12)


def test_info_of_back_ends_without_psi_or_with_lengths(sms_diar):
    write_model("c.npz", backend_to_model(backend_from_transform(None, None, DIM)))
    answer = json.loads(sms_diar("info", "c.npz", "--json")[1])
    assert answer["kind"] == "back end (cosine)"
    assert "psi" not in answer
    kaldi = backend_from_transform(
        None, read_plda("k.plda"), DIM, normalize_length=True
    )
    write_model("n.npz", backend_to_model(kaldi))
    out = sms_diar("info", "n.npz")[1]
    assert "  lengths       normalised in the PLDA space\n" in out


def test_the_back_end_of_an_ivector_model_is_shown_and_scores(
    here, sms_diar, noise_model
):
    backend = read_backend(noise_model)
    code, out, _ = sms_diar("info", noise_model, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["kind"] == f"back end ({backend.kind})"
    assert (answer["dim_in"], answer["extractor"]) == (backend.dim, backend.extractor)
    rows = np.random.default_rng(0).standard_normal((3, backend.dim))
    write_npz("v.npz", EmbeddingSet(("a", "b", "c"), rows))
    write_model("alone.npz", backend_to_model(backend))
    want = sms_diar("score", "alone.npz", "v.npz", "--all-pairs")
    assert sms_diar("score", noise_model, "v.npz", "--all-pairs") == want
    assert want[0] == 0
    assert len(want[1].splitlines()) == 3
    assert answer["fingerprint"] == read_model("alone.npz", KIND).fingerprint
