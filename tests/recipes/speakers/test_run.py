"""The recipe `speakers` in a size for tests, on each of its sources."""

import pytest

from sms_diar.errors import ConfigError
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.model import write_model
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld

TINY = ("speakers=[3, 4]", "runs=2", "figures=false", 'methods=["ms", "sms-paper"]')


@pytest.fixture(scope="module")
def conf(pytestconfig):
    return [pytestconfig.rootpath / "conf" / "speakers-small.toml"]


@pytest.fixture(scope="module")
def small(run, conf, tmp_path_factory):
    return run(tmp_path_factory.mktemp("small"), conf=conf)


@pytest.fixture(scope="module")
def backends(tmp_path_factory):
    """A trained back end, and the true model in Kaldi's format."""
    folder = tmp_path_factory.mktemp("backends")
    world = PldaWorld(dim=8, eer=0.05)
    training = world.draw_training(50, 10, 2)
    backend = train_backend(training.X, training.speakers)
    write_model(folder / "backend.npz", backend_to_model(backend))
    write_plda(folder / "plda", world.model)
    return folder


@pytest.fixture
def given(vectors):
    files = (f"embeddings={vectors / 'vectors.ark'}", f"labels={vectors / 'utt2spk'}")
    return ("source=data", *files)


def test_writes_every_kind_of_output(small):
    written = {path.name for path in (small.folder / "report").iterdir()}
    texts = {"results.json", "table.csv", "table.tex", "report.md", "summary.txt"}
    assert written >= texts | {"curves.png", "curves.pdf"}
    assert (small.folder / "view" / "view.png").stat().st_size > 10_000
    assert (small.folder / "prepare" / "backend.npz").exists()
    assert ".91(.08)" in small.summary  # printed, SMS with 3 speakers


def test_results_hold_figures_wins_and_the_choice_of_dimensions(small):
    results = small.results
    group = results["sessions"]["7"]
    assert group["runs"] == 4
    assert set(group["methods"]) == {"ms", "bms", "sms-paper", "dsms"}
    assert group["methods"]["sms-paper"]["k"]["mean"] > 0.8
    assert group["printed"]["ms"]["n_clusters"]["mean"] == 13.4
    total = results["total"]
    assert total["printed"] == 13 + 16
    for counted, n in (
        (group["wins"], 4),
        (total, 8),
        (results["total_at"]["g@0.5"], 8),
    ):
        assert sum(counted[part] for part in ("wins", "ties", "losses")) == n
    assert results["prepare"]["choice"]["candidates"] == [10, 20, 30]


@pytest.mark.soak
def test_the_number_of_workers_does_not_change_the_figures(
    run, small, conf, tmp_path, without_times
):
    again = run(tmp_path / "exp", conf=conf, workers=2)
    assert without_times(again.results) == without_times(small.results)


def test_runs_on_the_users_embeddings_and_notices_changes(
    run, given, backends, vectors, tmp_path
):
    given = (*TINY, *given, f"backend={backends / 'backend.npz'}")
    outcome = run(tmp_path / "exp", *given)
    assert outcome.results["prepare"]["corpus_speakers"] == 6
    assert outcome.results["sessions"]["3"]["methods"]["sms-paper"]["k"]["mean"] > 0.9
    labels = tmp_path / "utt2spk"
    labels.write_text((vectors / "utt2spk").read_text().replace("spk5", "spk4"))
    changed = run(tmp_path / "exp", *given, f"labels={labels}")
    assert changed.ran == ("prepare", "sessions", "view", "report")
    assert changed.results["prepare"]["corpus_speakers"] == 5


@pytest.mark.parametrize("scoring", ["plda", "cosine"])
def test_runs_on_a_kaldi_model_and_without_any(run, given, backends, tmp_path, scoring):
    given = (*TINY, *given)
    if scoring == "plda":
        # The picture cannot have more speakers than there are.
        drawn = ("figures=true", "view_speakers=50")
        given = (*given, f"plda={backends / 'plda'}", *drawn)
    outcome = run(tmp_path / "exp", *given)
    assert outcome.results["prepare"]["backend"].startswith(scoring)
    assert 0.0 <= outcome.results["sessions"]["4"]["session"]["eer"]["mean"] < 0.3
    assert (outcome.folder / "view" / "view.pdf").exists() == (scoring == "plda")


def test_sessions_of_the_whole_corpus_are_not_tested_for_significance(
    run, given, backends, tmp_path
):
    given = (*given, f"backend={backends / 'backend.npz'}", "speakers=[3, 6]")
    results = run(tmp_path / "exp", *TINY[1:], *given).results
    assert results["sessions"]["6"]["wins"]["p"] is None
    assert results["sessions"]["3"]["wins"]["p"] is not None
    total = results["total"]
    assert total["wins"] + total["ties"] + total["losses"] == 2


def test_more_speakers_than_the_corpus_has_are_refused(run, given, tmp_path):
    with pytest.raises(ConfigError, match="'speakers' must be at most the 6"):
        run(tmp_path / "exp", *given)


@pytest.mark.corpus
@pytest.mark.soak
def test_runs_on_the_digits(run, corpus_data, tmp_path):
    digits = ("source=digits", f"data={corpus_data}", "training.rounds=1")
    outcome = run(tmp_path / "exp", *TINY, *digits, "training.candidates=[20, 40]")
    record = outcome.results["prepare"]
    assert (record["corpus_speakers"], record["corpus_segments"]) == (60, 2013)
    assert (record["training_speakers"], record["training_segments"]) == (40, 1365)
    assert outcome.results["sessions"]["3"]["methods"]["sms-paper"]["k"]["mean"] > 0.7
