"""The recipe `speakers` in a size for tests, on each of its sources."""

import json

import numpy as np
import pytest

from sms_diar.errors import ConfigError
from sms_diar.experiment.recipe import find_recipe, run_recipe
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.plda import write_plda
from sms_diar.io.kaldi.tables import write_utt2spk
from sms_diar.io.model import write_model
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

TINY = ("speakers=[3, 4]", "runs=2", "figures=false", 'methods=["ms", "sms-paper"]')


def run(root, folder, *assignments, conf=(), workers=1):
    recipe = find_recipe(str(root / "recipes" / "speakers"))
    return run_recipe(
        recipe, folder, conf=conf, assignments=assignments, workers=workers
    )


def figures(outcome):
    """All results but times and stamps."""

    def strip(value):
        if isinstance(value, dict):
            return {
                key: strip(inner)
                for key, inner in value.items()
                if key not in ("stamp", "seconds")
            }
        return value

    return strip(outcome.results)


@pytest.fixture(scope="module")
def small(pytestconfig, tmp_path_factory):
    conf = pytestconfig.rootpath / "conf" / "speakers-small.toml"
    folder = tmp_path_factory.mktemp("small")
    return run(pytestconfig.rootpath, folder, conf=[conf]), conf


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Embeddings of six speakers as an ark, their labels and a back end."""
    folder = tmp_path_factory.mktemp("files")
    world = PldaWorld(dim=8, eer=0.05)
    session = world.draw_session(6, 1)
    ids = tuple(f"seg{i:04d}" for i in range(len(session.X)))
    write_embeddings(folder / "vectors.ark", EmbeddingSet(ids, session.X))
    names = {i: f"spk{n}" for i, n in zip(ids, session.speakers, strict=True)}
    write_utt2spk(folder / "utt2spk", names)
    training = world.draw_training(50, 10, 2)
    backend = train_backend(training.X, training.speakers)
    write_model(folder / "backend.npz", backend_to_model(backend))
    write_plda(folder / "plda", world.model)
    return folder


def test_writes_every_kind_of_output(small):
    outcome, _ = small
    written = {path.name for path in (outcome.folder / "report").iterdir()}
    assert written >= {
        "results.json",
        "table.csv",
        "table.tex",
        "report.md",
        "summary.txt",
        "curves.png",
        "curves.pdf",
    }
    assert (outcome.folder / "view" / "view.png").stat().st_size > 10_000
    assert (outcome.folder / "prepare" / "backend.npz").exists()
    lines = outcome.summary.splitlines()
    assert max(len(line) for line in lines if "exp" not in line) <= 100
    assert ".91(.08)" in outcome.summary  # printed, SMS with 3 speakers


def test_results_hold_figures_wins_and_the_choice_of_dimensions(small):
    results = small[0].results
    group = results["sessions"]["7"]
    assert group["runs"] == 4
    assert set(group["methods"]) == {"ms", "bms", "sms-paper", "dsms"}
    assert group["methods"]["sms-paper"]["k"]["mean"] > 0.8
    assert group["printed"]["ms"]["n_clusters"]["mean"] == 13.4
    assert sum(group["wins"][name] for name in ("wins", "ties", "losses")) == 4
    total = results["total"]
    assert sum(total[name] for name in ("wins", "ties", "losses")) == 8
    assert total["printed"] == 13 + 16
    assert results["prepare"]["choice"]["candidates"] == [10, 20, 30]
    for name in ("k@0.05", "g@0.5"):
        counted = results["total_at"][name]
        assert sum(counted[part] for part in ("wins", "ties", "losses")) == 8


@pytest.mark.soak
def test_the_number_of_workers_does_not_change_the_figures(small, root, tmp_path):
    outcome, conf = small
    again = run(root, tmp_path / "exp", conf=[conf], workers=2)
    assert figures(again) == figures(outcome)


def test_a_second_run_repeats_nothing(small, root):
    outcome, conf = small
    assert run(root, outcome.folder, conf=[conf]).ran == ()


def test_runs_on_the_users_embeddings_and_back_end(root, files, tmp_path):
    given = (
        "source=data",
        f"embeddings={files / 'vectors.ark'}",
        f"labels={files / 'utt2spk'}",
        f"backend={files / 'backend.npz'}",
    )
    outcome = run(root, tmp_path / "exp", *TINY, *given)
    assert outcome.results["prepare"]["corpus_speakers"] == 6
    assert outcome.results["sessions"]["3"]["methods"]["sms-paper"]["k"]["mean"] > 0.9
    assert "6 speakers" in outcome.summary
    # The same settings on changed labels: noticed, and done again.
    labels = tmp_path / "utt2spk"
    lines = (files / "utt2spk").read_text().replace("spk5", "spk4")
    labels.write_text(lines)
    given = (*given[:2], f"labels={labels}", given[3])
    changed = run(root, tmp_path / "exp", *TINY, *given)
    assert changed.ran == ("prepare", "sessions", "view", "report")
    assert changed.results["prepare"]["corpus_speakers"] == 5


@pytest.mark.parametrize("scoring", ["plda", "none"])
def test_runs_on_a_kaldi_model_and_without_any(root, files, tmp_path, scoring):
    given = ["source=data", f"embeddings={files / 'vectors.ark'}"]
    given.append(f"labels={files / 'utt2spk'}")
    if scoring == "plda":
        given.append(f"plda={files / 'plda'}")
    outcome = run(root, tmp_path / "exp", *TINY, *given)
    kind = outcome.results["prepare"]["backend"]
    assert kind.startswith("plda from" if scoring == "plda" else "cosine")
    rate = outcome.results["sessions"]["4"]["session"]["eer"]["mean"]
    assert 0.0 <= rate < 0.3


def test_the_picture_takes_as_many_speakers_as_there_are(root, files, tmp_path):
    given = (
        "source=data",
        f"embeddings={files / 'vectors.ark'}",
        f"labels={files / 'utt2spk'}",
        "figures=true",
        "view_speakers=50",
    )
    outcome = run(root, tmp_path / "exp", *TINY, *given)
    assert (outcome.folder / "view" / "view.pdf").exists()


def test_sessions_of_the_whole_corpus_are_not_tested_for_significance(
    root, files, tmp_path
):
    given = (
        "source=data",
        f"embeddings={files / 'vectors.ark'}",
        f"labels={files / 'utt2spk'}",
        f"backend={files / 'backend.npz'}",
        "speakers=[3, 6]",
    )
    results = run(root, tmp_path / "exp", *TINY[1:], *given).results
    assert results["sessions"]["6"]["wins"]["p"] is None
    assert results["sessions"]["3"]["wins"]["p"] is not None
    total = results["total"]
    assert total["wins"] + total["ties"] + total["losses"] == 2


def test_more_speakers_than_the_corpus_has_are_refused(root, files, tmp_path):
    with pytest.raises(ConfigError) as caught:
        run(
            root,
            tmp_path / "exp",
            "source=data",
            f"embeddings={files / 'vectors.ark'}",
            f"labels={files / 'utt2spk'}",
        )
    assert str(caught.value) == "'speakers' must be at most the 6 of the corpus, got 60"


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "source=nist",
            "'source' must be one of simulated, bundled, data, digits, got 'nist'",
        ),
        (
            'methods=["ms", "SMS"]',
            "'methods' must be some of sms, sms-paper, ms, bms, dsms, ahc, nme-sc, "
            "spectral, kmeans, hdbscan, vbx, got ms, SMS",
        ),
        (
            "runs=0",
            "'speakers' must be numbers >= 2 and 'runs' one >= 1, got "
            "[3, 7, 15, 22, 30, 60] and 0",
        ),
    ],
    ids=["source", "methods", "runs"],
)
def test_wrong_settings_are_named(root, tmp_path, assignment, message):
    with pytest.raises(ConfigError) as caught:
        run(root, tmp_path / "exp", assignment)
    assert str(caught.value) == message


@pytest.mark.corpus
@pytest.mark.soak
def test_runs_on_the_digits(root, corpus_data, tmp_path):
    outcome = run(
        root,
        tmp_path / "exp",
        *TINY,
        "source=digits",
        f"data={corpus_data}",
        "training.candidates=[20, 40]",
        "training.rounds=1",
    )
    record = outcome.results["prepare"]
    assert (record["corpus_speakers"], record["corpus_segments"]) == (60, 2013)
    assert (record["training_speakers"], record["training_segments"]) == (40, 1365)
    assert outcome.results["sessions"]["3"]["methods"]["sms-paper"]["k"]["mean"] > 0.7
    with np.load(tmp_path / "exp" / "prepare" / "corpus.npz") as content:
        assert content["vectors"].shape == (2013, 256)
    # Nothing in the journal but plain numbers.
    journal = (tmp_path / "exp" / "sessions" / "journal.jsonl").read_text()
    assert len([json.loads(line) for line in journal.splitlines()]) == 5
