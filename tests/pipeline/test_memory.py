"""Memory is predicted from above, and a budget is kept."""

import tracemalloc

import numpy as np
import pytest

import sms_diar
from sms_diar._progress import Silence
from sms_diar.clustering.methods import build_method
from sms_diar.embeddings import (
    FrameStore,
    collect_statistics,
    train_total_variability,
    train_ubm,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.trials import count_trials, read_trials
from sms_diar.pipeline import memory
from sms_diar.pipeline.train.plda import score_trials
from sms_diar.scoring.backend_plda import phi_of, plda_of, trial_terms
from sms_diar.scoring.backend_training import train_backend
from sms_diar.types import EmbeddingSet


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def session(n, d, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((5, d))
    return means[rng.integers(0, 5, n)] + 0.4 * rng.standard_normal((n, d))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2G", 2 * 1024**3),
        ("500M", 500 * 1024**2),
        ("1.5 GiB", 3 * 1024**3 // 2),
        ("800MB", 800_000_000),
        ("4096", 4096),
        ("10 kib", 10240),
    ],
)
def test_sizes_are_read_as_they_are_written(text, size):
    assert memory.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "G", "-1G", "2X", "1e9", "2 G B", "nan"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InvalidParameterError, match="must be a size such as 2G"):
        memory.parse_size(text)


@pytest.mark.parametrize("method", ["sms", "sms-paper", "bms", "ahc", "spectral"])
def test_clustering_takes_no_more_than_predicted(method):
    estimator = build_method(method)
    sms_diar.cluster(session(40, 6), method=method)  # compiles
    for n, d in ((60, 8), (400, 32), (800, 16)):
        X = session(n, d)
        found = peak_of(lambda X=X: sms_diar.cluster(X, method=method))
        predicted = memory.clustering_memory([n], d, estimator)
        assert found <= predicted
    if method not in ("sms-paper",):  # holds no scores of all pairs once it moves
        assert predicted <= 4 * found


def test_training_takes_no_more_than_predicted():
    rng = np.random.default_rng(0)
    c, d, r, n = 16, 20, 30, 300
    with FrameStore(d) as store:
        store.extend((f"s{i}", rng.standard_normal((40, d))) for i in range(n))

        def train():
            mixture = train_ubm(store, c, n_iter=2).mixture
            statistics = collect_statistics(mixture, store.segments())
            train_total_variability(statistics, mixture, r, n_iter=2)

        found = peak_of(train)
    predicted = memory.training_memory(n, d, c, r)
    assert found <= predicted <= 6 * found


@pytest.mark.parametrize("key", ["", " nontarget"])
def test_scoring_a_list_takes_no_more_than_predicted(tmp_path, key):
    n, d, count = 300, 12, 20_000
    X = session(n, d)
    ids = tuple(f"a{i:03d}" for i in range(n))
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, n, (count, 2)).tolist()
    keys = [key, key.replace("non", "")]  # both kinds, for the error rate
    path = tmp_path / "trials"
    path.write_text("".join(f"{ids[a]} {ids[b]}{keys[a % 2]}\n" for a, b in pairs))
    backend = train_backend(X, np.arange(n) % 20)
    phi = phi_of(backend, X)
    written = []

    def score():
        terms = trial_terms(plda_of(backend), phi, phi)
        asked = read_trials(path, ids, ids)
        score_trials(terms, asked, lambda text: written.append(len(text)), Silence())

    found = peak_of(score)
    assert count_trials(path) in (count, count + 1)
    predicted = memory.trial_memory(n, n, d, trials=count)
    assert found <= predicted <= 6 * found
    assert sum(written) > 10 * count


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "x.npz"
    X = session(200, 8)
    write_embeddings(path, EmbeddingSet(tuple(f"a{i:03d}" for i in range(200)), X))
    return path


def test_a_small_budget_is_refused_before_the_work(
    run_cli, vectors, noise_corpora, tmp_path, monkeypatch
):
    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("sms_diar.pipeline.cluster.sessions.clone", work)
    monkeypatch.setattr("sms_diar.pipeline.train.ivectors.features_of_segments", work)
    out = tmp_path / "out.npz"
    for words in (
        ("cluster", vectors),
        ("ivectors", "train", noise_corpora[0], "-o", out, "--workers", 1),
    ):
        result = run_cli(*words, "--max-memory", "300M")
        assert (result.returncode, result.stdout) == (1, "")
        last = result.stderr.splitlines()[-1]
        assert last.startswith("sms-diar: --max-memory must be at least ")
        assert "got 300 MiB; " in last
    assert not out.exists()


def test_labels_do_not_depend_on_the_budget(run_cli, vectors):
    without = run_cli("cluster", vectors)
    within = run_cli("cluster", vectors, "--max-memory", "1G")
    assert without.returncode == within.returncode == 0
    assert without.stdout == within.stdout


def test_scores_do_not_depend_on_the_budget(run_cli, vectors, tmp_path):
    model = tmp_path / "plda.npz"
    (tmp_path / "utt2spk").write_text(
        "".join(f"a{i:03d} s{i % 20}\n" for i in range(200))
    )
    words = ("plda", "train", vectors, tmp_path / "utt2spk", "-o", model)
    result = run_cli(*words)
    assert result.returncode == 0, result.stderr
    words = ("plda", "score", model, vectors, "--all-pairs")
    whole = run_cli(*words)
    assert (whole.returncode, whole.stdout.count("\n")) == (0, 200 * 199 // 2)
    assert run_cli(*words, "--max-memory", "1G").stdout == whole.stdout
    refused = run_cli(*words, "--max-memory", "300M")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "200 and 200 vectors of 8 dimensions" in refused.stderr

    listed = tmp_path / "trials"
    listed.write_text("a000 a001\n" * 20_000)
    words = ("plda", "score", model, vectors, "--trials", listed)
    for budget, code in (("420M", 0), ("390M", 1)):
        result = run_cli(*words, "--max-memory", budget)
        assert (result.returncode, bool(result.stdout)) == (code, code == 0)
    assert "8 dimensions, 20001 trials" in result.stderr


def test_a_recording_that_may_not_fit_is_refused_before_its_clustering(
    run_cli, noise_corpora, noise_model, tmp_path, monkeypatch
):
    out = tmp_path / "out.rttm"
    words = ("diarize", noise_corpora[0] / "a0.wav", "--model", noise_model)
    words += ("--vad", "none", "--rttm", out)
    assert run_cli(*words).returncode == 0
    without = out.read_bytes()
    assert run_cli(*words, "--max-memory", "1G").returncode == 0
    assert out.read_bytes() == without

    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("sms_diar.pipeline.cluster.sessions.clone", work)
    result = run_cli(*words, "--max-memory", "300M")
    assert result.returncode == 1
    assert "--max-memory must be at least " in result.stderr
    assert out.read_bytes() == without
