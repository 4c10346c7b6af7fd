"""What the settings ask for."""

from pathlib import Path

import pytest

from benchmarks.compare.plan import (
    conditions_of_development,
    conditions_of_test,
    prepare_tasks,
    timed_of_development,
    untrained_of_development,
    untrained_of_test,
)
from benchmarks.compare.settings import Config
from sms_diar.experiment.config import load_config


@pytest.fixture
def config(root, tmp_path):
    """The recipe's own settings, with folders that are there and empty."""
    for name in (
        "arabic8k",
        "libri-testother10-8k",
        "libri251-8k",
        "conversations",
        "ami-es2005a",
    ):
        (tmp_path / name).mkdir()
    conf = Path(root) / "benchmarks" / "compare" / "conf.toml"

    def load(*assignments):
        return load_config(Config, conf, (), [f"data={tmp_path}", *assignments])

    return load


def test_names_of_rows_are_unique(config):
    settings = config()
    names = [
        row.name
        for rows in (
            conditions_of_development(settings),
            untrained_of_development(settings),
            timed_of_development(settings),
            conditions_of_test(settings),
            untrained_of_test(settings),
        )
        for row in rows
    ]
    assert len(set(names)) == len(names)


def test_rows_without_a_plda_model_are_those_that_were_wanted(config):
    rows = untrained_of_development(config())
    plain = [row for row in rows if row.part == "untrained"]
    isotropic = [row for row in plain if row.group == "isotropic"]
    changing = [row for row in plain if row.group == "voice changes"]
    # Three kinds; seven and six numbers under four laws, of which one speaker has two;
    # and two numbers of each of the two pools.
    segments = 3 * ((4 * 7 - 2) + (4 * 6 - 2) + 4 * 2 + 4 * 2)
    assert len(plain) - len(isotropic) - len(changing) == segments
    assert len(changing) == 3 * 2
    # Three worlds; two segments' numbers for all but the two speakers.
    assert len(isotropic) == 3 * (1 + 2 * 4)
    assert {row.source for row in isotropic} < set(prepare_tasks(config(), Path()))
    doubled = {row.name: row for row in rows if row.doubles}
    assert "testother GE2E 7 spk, doubled" in doubled
    # The corpus has ten speakers, so that fifteen are left to the other.
    assert "testother GE2E 15 spk, doubled" not in doubled
    assert doubled["arabic CAM++ 15 spk, doubled"].doubles == (
        "arabic CAM++ 15 spk, half"
    )


def test_the_test_is_declared_but_its_corpus_is_not_looked_at(config, tmp_path):
    settings = config()
    assert not (tmp_path / "audiomnist8k").exists()
    rows = untrained_of_test(settings)
    assert {row.speakers for row in rows} == {1, 3, 7, 15, 30, 60}
    assert {row.law for row in rows} == {"all", "uneven", "zipf", "4"}
    assert len(rows) == 3 * (4 * 6 - 2)
    assert {row.source for row in rows} == {
        f"audiomnist8k-{kind}-raw" for kind in ("campplus", "ge2e", "ivectors")
    }


def test_vectors_alone_need_no_neural_back_end(config, tmp_path):
    (tmp_path / "arabic8k" / "campplus_8k.npz").touch()
    tasks = prepare_tasks(config('groups=["untrained"]'), tmp_path)
    assert set(tasks) == {
        "arabic8k-campplus-raw",
        "arabic8k-ivectors",
        "libri-testother10-8k-ivectors",
    }
    some = prepare_tasks(
        config('groups=["doubled"]', 'untrained.kinds=["campplus"]'), tmp_path
    )
    assert set(some) == {"arabic8k-campplus-raw"}


def test_a_stand_in_takes_the_place_of_corpora(config, tmp_path):
    settings = config("untrained.stand_in=[2]", "timed.stand_in=2")
    rows = untrained_of_development(settings)
    corpora = {row.source for row in rows if row.group != "isotropic"}
    assert corpora == {"stand-in-vectors-raw"}
    tasks = prepare_tasks(settings, tmp_path)
    assert "stand_in" in tasks["simulated conversations"]["source"]
    assert "AMI clips" not in tasks
