"""The comparison in a size for tests, without data."""

import pytest

from benchmarks.compare import sources as compare_sources
from benchmarks.compare.plan import corpora_of
from benchmarks.compare.vectors import FILES
from recipes._common.corpora import TEST
from sms_diar.datasets import DigitsIvectors
from sms_diar.errors import ConfigError
from sms_diar.experiment.config import load_config
from sms_diar.experiment.recipe import find_recipe, run_recipe
from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.scoring import train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

TINY = (
    'methods=["sms", "ahc", "ahc-oracle", "nme-sc"]',
    'untrained.methods=["sms", "ahc"]',
    "world.eers=[0.05]",
    "world.speakers=[1, 3]",
    "figures=false",
)
TRAINED_ONLY = ('groups=["simulated"]', "untrained.test=[]")


def run(root, folder, *assignments, **options):
    recipe = find_recipe(str(root / "benchmarks" / "compare"))
    conf = [root / "benchmarks" / "compare" / "small.toml"]
    return run_recipe(
        recipe, folder, conf=conf, assignments=(*TINY, *assignments), **options
    )


def config_of(root, *assignments):
    recipe = find_recipe(str(root / "benchmarks" / "compare"))
    kind = recipe.load().Config
    return load_config(kind, recipe.folder / "conf.toml", (), assignments)


# Both stages with pictures, shared by the tests that look at them.
@pytest.fixture(scope="module")
def tested(pytestconfig, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "exp"
    return run(pytestconfig.rootpath, folder, "until=test", "figures=true")


def test_development_does_not_go_on_to_the_test_by_itself(root, tmp_path):
    outcome = run(
        root, tmp_path / "exp", *TRAINED_ONLY, "world.each=[]", "runs_simulated=1"
    )
    assert outcome.ran == ("prepare", "develop", "report")
    assert outcome.results["test"] is None
    rows = outcome.results["development"]["conditions"]
    assert rows["sim 1 spk"]["methods"]["sms"]["found"] == 1.0
    assert set(rows["sim 3 uneven"]["paired"]) == {"ahc", "ahc-oracle", "nme-sc"}


@pytest.mark.soak
def test_sessions_without_a_plda_model_have_tables_of_their_own(tested):
    results = tested.results
    rows = results["untrained"]["conditions"]
    assert {
        "sim vectors 1 even",
        "sim vectors 3 zipf",
        "sim vectors 2 changing",
        "isotropic 192-d 0.5, 5 spk x 12",
    } <= set(rows)
    assert set(rows["sim vectors 3 even"]["paired"]) == {"ahc"}
    assert set(results["windows"]["conditions"]) == {"simulated conversations"}
    assert set(results["lengths"]["conditions"]) == {"20 s", "20 s x 3", "1 min, 2 spk"}
    assert set(results["drift"]) == {
        "sim vectors 2 spk, doubled",
        "20 s x 3",
        "all",
    }
    # All rows of the test but those with a PLDA model; the stand-in serves all kinds.
    tested_rows = results["test_untrained"]["conditions"]
    assert set(tested_rows) == {
        f"stand-in {kind} 3 {law}"
        for kind in ("CAM++", "GE2E", "i-vectors")
        for law in ("even", "zipf", "few")
    }
    # Only the default says how sure it is.
    assert {name for part in results["reliability"].values() for name in part} == {
        "sms"
    }
    assert {"untrained", "windows", "lengths"} <= set(results["reliability"])


@pytest.mark.soak
def test_writes_every_kind_of_output(tested):
    assert tested.ran == ("prepare", "develop", "test", "report")
    written = {path.name for path in (tested.folder / "report").iterdir()}
    assert written >= {
        "results.json",
        "table.csv",
        "report.md",
        "summary.txt",
        "development-g.png",
        "development-differences.pdf",
        "test-g.png",
        "test-differences.pdf",
        "untrained.png",
        "untrained-number.png",
        "test-untrained.png",
        "lengths.png",
    }


@pytest.mark.soak
def test_a_second_run_repeats_nothing(tested, root):
    again = run(root, tested.folder, "until=test", "figures=true")
    assert again.ran == ()


def test_without_data_only_simulated_worlds_are_left(root, tmp_path):
    config = config_of(root, f"data={tmp_path}")
    there, left_out = corpora_of(config)
    assert there == ["simulated", "isotropic"]
    assert left_out[0].startswith("arabic8k ")
    # Worlds and isotropic speakers are what is left of eleven groups.
    assert len(left_out) == 9


@pytest.mark.parametrize(
    "assignment",
    [
        "until=end",
        "test_corpus=mine",
        "runs=0",
        'untrained.kinds=["xvectors"]',
        'untrained.laws=["half"]',
        "untrained.runs=0",
        "timed.repeated=90",
        'groups=["real"]',
    ],
)
def test_wrong_settings_are_named(root, assignment):
    with pytest.raises(ConfigError, match=f"'{assignment.partition('=')[0]}' must "):
        config_of(root, assignment)


def speakers_of(world, n_speakers, seed, prefix):
    """Vectors of simulated speakers as a corpus would have them."""
    drawn = world.draw_training(n_speakers, 8, seed)
    ids = tuple(f"{prefix}{i:04d}" for i in range(len(drawn.X)))
    names = [f"{prefix}{speaker}" for speaker in drawn.speakers]
    return EmbeddingSet(ids, drawn.X), names


@pytest.mark.soak
def test_the_way_to_the_real_corpus_on_simulated_vectors(root, tmp_path, monkeypatch):
    # The files and the loader of the test corpus are replaced, so that all of the
    # stage runs but nothing of the corpus is read.
    world = PldaWorld(dim=12, eer=0.05)
    for corpus, n in (("arabic8k", 12), ("libri-testother10-8k", 10), (TEST, 5)):
        vectors, names = speakers_of(world, n, n, corpus[:2])
        (tmp_path / "data" / corpus).mkdir(parents=True)
        known = dict(zip(vectors.ids, names, strict=True))
        for file in FILES.values():
            write_npz(tmp_path / "data" / corpus / file, vectors, speakers=known)
    digits, names = speakers_of(world, 5, 5, "d")
    training = world.draw_training(40, 8, 0)
    backend = train_backend(training.X, training.speakers)
    monkeypatch.setattr(
        compare_sources,
        "load_digits_ivectors",
        lambda: DigitsIvectors(digits, tuple(names)),
    )
    monkeypatch.setattr(compare_sources, "read_backend", lambda _: backend)
    outcome = run(
        root,
        tmp_path / "exp",
        "until=test",
        'groups=["simulated"]',
        f"test_corpus={TEST}",
        f"data={tmp_path / 'data'}",
        "test_speakers=[1, 5, 60]",
        'methods=["sms", "ahc"]',
        "runs=1",
        "runs_simulated=1",
        "world.each=[]",
        "training.candidates=[4, 8]",
        "training.rounds=1",
    )
    results = outcome.results
    rows = results["test"]["conditions"]
    assert {row["group"] for row in rows.values()} == {"i-vectors", "neural"}
    alone = results["test_untrained"]["conditions"]
    assert {row["source"] for row in alone.values()} == {
        f"{TEST}-{kind}-raw" for kind in ("campplus", "ge2e", "ivectors")
    }
    # All five speakers: 90 % of 40 segments.
    assert rows["digits iv 5 spk"]["session"]["n_segments"] == 36
    assert "digits nn 3 uneven" in rows
    assert "digits iv 60 spk, digits nn 60 spk" in results["left_out"][-1]
