"""Repetitions on sessions of speakers, and choices made before them."""

import numpy as np
import pytest

from sms_diar.errors import (
    ConfigError,
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.io.arrays import write_npz
from sms_diar.io.model import write_model
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.studies._shared import speaker_sessions as speakers
from sms_diar.studies._shared import speaker_sources, speaker_tables
from sms_diar.studies._shared.speaker_report import read_printed
from sms_diar.studies._shared.speaker_sources import Files, digits_files, prepare_data
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

WORLD = {"dim": 12, "eer": 0.08}
METHOD = {
    "k": 17,
    "dsms_low": 10,
    "dsms_high": 24,
    "tol": 1e-3,
    "merge_threshold": 0.0,
    "steps_per_segment": 60,
}


@pytest.fixture(scope="module")
def training():
    return PldaWorld(**WORLD).draw_training(60, 10, random_state=9)


@pytest.fixture(scope="module")
def backend(training, tmp_path_factory):
    path = tmp_path_factory.mktemp("backend") / "backend.npz"
    write_model(path, backend_to_model(train_backend(training.X, training.speakers)))
    return str(path)


@pytest.fixture
def corpus(tmp_path):
    """Four speakers with ten segments each, every vector different."""
    names = [f"s{i // 10}" for i in range(40)]
    ids = tuple(f"u{i:02d}" for i in range(40))
    vectors = np.random.default_rng(0).standard_normal((40, 3))
    path = tmp_path / "corpus.npz"
    write_npz(
        path, EmbeddingSet(ids, vectors), speakers=dict(zip(ids, names, strict=True))
    )
    return str(path)


def repetition(backend, run=0, seed=1, n_speakers=3, methods=speakers.METHODS):
    result = speakers.session_repetition(
        n_speakers=n_speakers,
        run=run,
        source={"world": WORLD},
        backend=backend,
        methods=methods,
        method=METHOD,
        merge_thresholds=(0.1, 0.2),
        seed=seed,
    )
    for figures in result["methods"].values():
        assert figures.pop("seconds") >= 0.0
    return result


def test_a_repetition_follows_from_its_seed_and_number(backend):
    first = repetition(backend)
    assert first == repetition(backend)
    assert first != repetition(backend, run=1)
    assert first != repetition(backend, seed=2)


def test_a_method_does_not_depend_on_its_company(backend):
    alone = repetition(backend, methods=("SMS",))
    assert alone["methods"]["SMS"] == repetition(backend)["methods"]["SMS"]
    assert alone["session"] == repetition(backend)["session"]


def test_easy_speakers_are_found_and_figures_are_complete(backend):
    result = repetition(backend)
    assert 0.0 <= result["session"]["eer"] < 0.2
    assert 60 < result["session"]["n_segments"] < 140
    for figures in result["methods"].values():
        assert figures["k"] > 0.85
        assert figures["n_solid"] <= figures["n_clusters"]
        # 0.2 is what the estimators take for vectors of unit length.
        assert figures["k@0.2"] == pytest.approx(figures["k"], abs=1e-12)
        assert figures["g@0.2"] == pytest.approx(figures["g"], abs=1e-12)


def test_without_a_back_end_cosine_scores_are_used():
    assert repetition("")["methods"]["SMS"]["n_clusters"] >= 1


def test_a_session_of_a_corpus_has_all_segments_of_its_speakers(corpus):
    session = speakers.draw_session(2, 0, {"corpus": corpus, "law": []}, 1)
    names, counts = np.unique(session.speakers, return_counts=True)
    assert len(names) == 2
    assert counts.tolist() == [10, 10]
    assert len(np.unique(session.X, axis=0)) == 20


def test_a_law_bounds_the_segments_of_a_speaker(corpus):
    source = {"corpus": corpus, "law": [4.0, 0.0]}
    counts = np.unique(
        speakers.draw_session(3, 0, source, 1).speakers, return_counts=True
    )[1]
    assert counts.tolist() == [4, 4, 4]
    source["law"] = [100.0, 0.0]  # more than there are
    assert len(speakers.draw_session(3, 0, source, 1).X) == 30


def test_more_speakers_than_there_are_is_an_error(corpus):
    with pytest.raises(InvalidParameterError) as caught:
        speakers.draw_session(5, 0, {"corpus": corpus, "law": []}, 1)
    assert str(caught.value) == (
        "draw_session: speakers must be at most the 4 of the corpus, got 5"
    )
    with pytest.raises(ConfigError, match="'speakers' must be at most the 4"):
        speaker_sources.check_speakers([2, 5], {"corpus_speakers": 4})


def test_components_are_chosen_by_speakers_held_out(training):
    choice = speakers.choose_components(
        training.X, training.speakers, [12, 2, 99], n_folds=3, seed=1
    )
    assert choice.candidates == (2, 12)  # 99 is above the dimensions
    assert choice.mean[1] < choice.mean[0]
    assert choice.best == 12
    again = speakers.choose_components(
        training.X, training.speakers, [2, 12], n_folds=3, seed=1
    )
    assert again == choice


def test_pairs_across_corpora_do_not_count(training):
    # Far shifts tell the corpora apart at a glance, but no two speakers within one.
    groups = training.speakers % 2
    X = training.X + 50.0 * groups[:, None]
    options = {"n_folds": 3, "seed": 1}
    apart = speakers.choose_components(
        X, training.speakers, [2], groups=groups, **options
    )
    pooled = speakers.choose_components(X, training.speakers, [2], **options)
    assert pooled.mean[0] < apart.mean[0] - 0.05


def test_components_need_speakers_and_candidates(training):
    with pytest.raises(InvalidParameterError) as caught:
        speakers.choose_components(training.X, training.speakers, [13])
    assert str(caught.value) == (
        "choose_components: candidates must hold a number in 1 .. 12, got [13]"
    )
    with pytest.raises(InvalidParameterError) as caught:
        speakers.choose_components(training.X[:50], training.speakers[:50], [2])
    assert str(caught.value) == (
        "choose_components: speakers must be at least two per fold, got 5 for 5 folds"
    )


def test_wins_ties_and_losses_are_counted_apart():
    runs = [{"SMS": {"k": a}, "MS": {"k": 0.5}} for a in (0.6, 0.7, 0.5, 0.4)]
    assert speakers.compare(runs, "SMS", "MS") == {"wins": 2, "ties": 1, "losses": 1}


def test_sign_test_by_hand():
    # 4 of 4: both ends of the binomial law have 1/16.
    assert speakers.sign_test(4, 0) == pytest.approx(2 / 16)
    assert speakers.sign_test(3, 3) == 1.0
    assert speakers.sign_test(0, 0) == 1.0


def test_printed_table_has_all_rows_of_the_paper(root):
    printed = read_printed(root / "recipes" / "speakers" / "paper.csv")
    assert list(printed) == ["3", "7", "15", "22", "30", "60"]
    assert sum(entry["wins"] for entry in printed.values()) == 88
    assert printed["60"]["methods"]["SMS"]["n_clusters"] == {"mean": 86.4, "std": 5.6}
    for entry in printed.values():
        for figures in entry["methods"].values():
            product = figures["acp"]["mean"] * figures["alp"]["mean"]
            # A mean of roots is not the root of means: printed K is .01 off at most.
            assert figures["k"]["mean"] == pytest.approx(np.sqrt(product), abs=0.015)


def test_a_broken_printed_table_is_named(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("speakers,method,acp\n3,MS,.9\n")
    with pytest.raises(DataFormatError, match=r"paper\.csv:2: expected the columns"):
        read_printed(path)


def test_figures_are_written_as_in_the_paper():
    assert speaker_tables.spread("k", {"mean": 0.857, "std": 0.081}) == ".86(.08)"
    assert speaker_tables.spread("k", {"mean": 0.999, "std": 0.0}) == "1.00(.00)"
    assert speaker_tables.spread("n_clusters", {"mean": 6.94, "std": 3.1}) == "6.9(3.1)"


def test_a_missing_corpus_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SMS_DIAR_DATA", str(tmp_path))
    for folder in ("audiomnist8k", "arabic8k"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ge2e_dvec_8k.npz").touch()
    missing = tmp_path / "libri-testother10-8k" / "ge2e_dvec_8k.npz"
    with pytest.raises(MissingFileError) as caught:
        digits_files("")
    assert str(caught.value) == (
        f"source = \"digits\": no {missing}; point the setting 'data' or SMS_DIAR_DATA "
        f'to the folder of the corpora, or take source = "simulated", which needs no '
        f"data"
    )


def test_a_vector_without_a_speaker_is_named(corpus, tmp_path):
    labels = tmp_path / "utt2spk"
    labels.write_text("u00 ann\nu01 bob\n")
    with pytest.raises(DataFormatError) as caught:
        prepare_data(tmp_path, Files(corpus, str(labels), "", "", ""))
    assert str(caught.value) == (
        f"{labels}: no speaker for 'u02' (38 of 40 ids of {corpus} have none)"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("x.ark", "", "b.npz", "plda", ""), "'backend' must be given without 'plda'"),
        (("x.ark", "", "", "", "t.h5"), "'transform' must be given with 'plda'"),
    ],
    ids=["both", "transform alone"],
)
def test_contradicting_files_are_refused(files, message):
    with pytest.raises(ConfigError, match=message):
        Files(*files)


def test_files_must_be_named_and_exist(tmp_path):
    with pytest.raises(ConfigError, match="'embeddings' must name a file"):
        Files("", "", "", "", "").digests()
    with pytest.raises(MissingFileError, match=r"nowhere\.ark: no such file"):
        Files(str(tmp_path / "nowhere.ark"), "", "", "", "").digests()
