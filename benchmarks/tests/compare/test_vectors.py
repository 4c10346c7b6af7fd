"""Sessions without a PLDA model: sources, rows, doubled sessions."""

import numpy as np
import pytest

from benchmarks.compare.conditions import draw
from benchmarks.compare.vectors import (
    FILES,
    POOLS,
    STAND_IN,
    cosine_eer,
    doubled_conditions,
    prepare_stand_in,
    prepare_vectors,
    raw_name,
    untrained_conditions,
    without_backend,
)
from sms_diar.io.embeddings.arrays import read_npz, write_npz
from sms_diar.types import EmbeddingSet

SIZES = {"runs": 10, "runs_large": 3, "large": 30}


def write_corpus(path, n_speakers=4, each=10):
    """Speakers around corners of a cube; the last column counts the rows."""
    n = n_speakers * each
    voices = np.repeat(10.0 * np.eye(n_speakers), each, axis=0)
    X = np.column_stack([voices, np.arange(n) / n])
    ids = tuple(f"seg{i:03d}" for i in range(n))
    names = np.repeat([f"spk{i}" for i in range(n_speakers)], each).tolist()
    known = dict(zip(ids, names, strict=True))
    write_npz(path, EmbeddingSet(ids, X), speakers=known)
    return X, np.array(names)


def test_rows_have_every_kind_law_and_number():
    rows = untrained_conditions(
        "arabic8k",
        "arabic",
        {"campplus": "CAM++", "ge2e": "GE2E"},
        (1, 3, 30),
        ("all", "uneven", "zipf"),
        **SIZES,
    )
    # Of three numbers and three laws, Zipf's has no use for a single speaker.
    assert len(rows) == 2 * (3 * 3 - 1)
    assert len({row.name for row in rows}) == len(rows)
    assert {row.part for row in rows} == {"untrained"}
    first, last = rows[0], rows[-1]
    assert (first.name, first.group) == ("arabic CAM++ 1 even", "CAM++ even")
    assert (last.name, last.source) == ("arabic GE2E 30 zipf", "arabic8k-ge2e-raw")
    assert {row.runs for row in rows if row.speakers == 30} == {3}
    assert {row.runs for row in rows if row.speakers < 30} == {10}


def test_a_doubled_session_has_its_half_and_as_much_again(tmp_path):
    write_corpus(tmp_path / "c.npz", each=11)
    half, whole = doubled_conditions("c", "c", {"campplus": "CAM++"}, (2,), 3)
    assert whole.doubles == half.name
    assert half.doubles == ""
    source = {"corpus": str(tmp_path / "c.npz")}
    for run in range(3):
        short, long = draw(half, source, run, 1), draw(whole, source, run, 1)
        assert set(short.speakers) == set(long.speakers)
        # Six of eleven segments: half, rounded up.
        assert (len(short.X), len(long.X)) == (12, 22)
        assert set(short.X[:, -1]) < set(long.X[:, -1])


def test_vectors_of_a_corpus_are_a_source_without_a_back_end(tmp_path):
    place = tmp_path / "data" / "mine"
    place.mkdir(parents=True)
    write_corpus(place / FILES["ge2e"])
    made = prepare_vectors(
        corpus="mine",
        network="ge2e",
        root=str(tmp_path / "data"),
        folder=str(tmp_path),
    )
    (source,) = made.values()
    assert list(made) == [raw_name("mine", "ge2e")]
    assert source["backend"] == ""
    assert (source["speakers"], source["segments"]) == (4, 40)
    assert source["eer"] == 0.0
    assert source["words"] == "GE2E, no PLDA: cosine, fitted to the session"


def test_the_error_rate_without_a_back_end_is_that_of_cosines():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    assert cosine_eer(X, np.array(["a", "a", "b", "b"])) == 0.0
    # Every pair of one speaker scores below every pair of two.
    assert cosine_eer(X, np.array(["a", "b", "a", "b"])) == pytest.approx(1.0, abs=0.5)
    assert cosine_eer(X, np.array(["a"] * 4)) == 0.0


def test_a_back_end_can_be_left_out(tmp_path):
    write_corpus(tmp_path / "c.npz")
    trained = {
        "corpus": str(tmp_path / "c.npz"),
        "speakers": 4,
        "segments": 40,
        "eer": 0.3,
        "backend": "somewhere.npz",
        "words": "trained",
    }
    raw = without_backend(trained, "raw")
    assert (raw["backend"], raw["eer"], raw["words"]) == ("", 0.0, "raw")
    assert trained["backend"] == "somewhere.npz"


def test_a_simulated_corpus_can_stand_in(tmp_path):
    world = {"dim": 6, "eer": 0.05}
    one = prepare_stand_in(world=world, folder=str(tmp_path), seed=1)
    (source,) = one.values()
    assert list(one) == [raw_name(STAND_IN, "vectors")]
    assert source["speakers"] == 12
    assert 0.0 < source["eer"] < 0.5


def test_vectors_of_a_pool_are_those_of_all_its_corpora(tmp_path):
    parts = {}
    for number, corpus in enumerate(POOLS["pool"]):
        rng = np.random.default_rng(number)
        vectors = EmbeddingSet(("a", "b", "c"), rng.standard_normal((3, 4)))
        (tmp_path / corpus).mkdir()
        own = {"a": "x", "b": "x", "c": "y"}
        write_npz(tmp_path / corpus / FILES["campplus"], vectors, speakers=own)
        parts[corpus] = vectors.vectors
    made = prepare_vectors(
        corpus="pool", network="campplus", root=str(tmp_path), folder=str(tmp_path)
    )
    source = made[raw_name("pool", "campplus")]
    # Segments and speakers of one name in two corpora are two.
    assert (source["speakers"], source["segments"]) == (4, 6)
    together = read_npz(source["corpus"])
    np.testing.assert_array_equal(
        together.vectors, np.concatenate(list(parts.values()))
    )
