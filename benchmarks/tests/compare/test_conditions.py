"""Who speaks how much, and where it is drawn from."""

import numpy as np
import pytest

from benchmarks.compare.conditions import (
    Condition,
    corpus_conditions,
    draw,
    draw_isotropic,
    draw_world,
    fitting,
    segments_of,
    simulated_conditions,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.io.embeddings.arrays import write_npz
from sms_diar.synthetic import PldaWorld
from sms_diar.types import EmbeddingSet

WORLD = {"dim": 6, "eer": 0.1}


@pytest.fixture
def corpus(tmp_path):
    """Four speakers with 10, 20, 30 and 40 vectors; the first column counts them."""
    speakers = np.repeat(["a", "b", "c", "d"], [10, 20, 30, 40])
    X = np.column_stack([np.arange(100.0), np.ones(100)])
    ids = tuple(f"seg{i:03d}" for i in range(100))
    path = tmp_path / "corpus.npz"
    known = dict(zip(ids, speakers.tolist(), strict=True))
    write_npz(path, EmbeddingSet(ids, X), speakers=known)
    return {"corpus": str(path)}


def counts(session):
    return np.unique(session.speakers, return_counts=True)[1].tolist()


@pytest.mark.parametrize(
    ("law", "available", "rank", "number"),
    [
        ("all", 34, 3, 34),
        ("half", 34, 3, 17),
        ("half", 33, 3, 17),  # rounded up: a speaker stays
        ("half", 1, 3, 1),
        ("zipf", 34, 1, 34),
        ("zipf", 34, 3, 11),  # 34 / 3 = 11.3
        ("zipf", 34, 30, 2),  # 34 / 30 = 1.1, but at least 2
        ("zipf", 1, 30, 1),
        ("5", 34, 3, 5),
        ("40", 34, 3, 34),
    ],
)
def test_laws_give_the_numbers_they_say(law, available, rank, number):
    assert segments_of(law, available, rank, np.random.default_rng(0)) == number


def test_uneven_numbers_go_from_six_to_all():
    rng = np.random.default_rng(0)
    drawn = {segments_of("uneven", 9, 1, rng) for _ in range(200)}
    assert drawn == {6, 7, 8, 9}
    assert {segments_of("uneven", 4, 1, rng) for _ in range(20)} == {4}


def test_a_session_has_whole_speakers_in_random_order(corpus):
    session = draw(Condition("x", "g", "s", 2), corpus, 0, seed=1)
    available = {"a": 10, "b": 20, "c": 30, "d": 40}
    names = np.unique(session.speakers)
    assert counts(session) == [available[name] for name in names]
    assert len(np.unique(session.X[:, 0])) == len(session.X)
    assert np.count_nonzero(session.speakers[1:] != session.speakers[:-1]) > 5


def test_sessions_follow_from_seed_name_and_run(corpus):
    condition = Condition("x", "g", "s", 2, "uneven")
    one = draw(condition, corpus, 0, seed=1)
    np.testing.assert_array_equal(one.X, draw(condition, corpus, 0, seed=1).X)
    others = [
        draw(condition, corpus, 1, seed=1),
        draw(condition, corpus, 0, seed=2),
        draw(Condition("y", "g", "s", 2, "uneven"), corpus, 0, seed=1),
    ]
    assert all(not np.array_equal(one.X, other.X) for other in others)


def test_conditions_of_one_stream_draw_the_same(corpus):
    one = draw(Condition("x", "g", "s", 2, stream="z"), corpus, 0, seed=1)
    other = draw(Condition("y", "g", "s", 2, stream="z"), corpus, 0, seed=1)
    np.testing.assert_array_equal(one.X, other.X)


def test_sessions_of_all_speakers_have_nine_tenths_of_the_segments(corpus):
    sessions = [draw(Condition("x", "g", "s", 4), corpus, run, 1) for run in (0, 1)]
    assert [len(session.X) for session in sessions] == [90, 90]
    assert set(sessions[0].X[:, 0]) != set(sessions[1].X[:, 0])


def test_worlds_follow_the_laws_too():
    source = {"world": WORLD, "tail": 0.0}
    even = draw(Condition("x", "g", "s", 3, "7"), source, 0, 1)
    assert counts(even) == [7, 7, 7]
    zipf = draw(Condition("x", "g", "s", 20, "zipf"), source, 0, 1)
    assert counts(zipf)[10:] == [max(2, c) for c in counts(zipf)[10:]]
    assert counts(zipf)[0] > 5 * counts(zipf)[10]


def test_heavy_tails_keep_the_covariance_and_raise_the_kurtosis():
    world = PldaWorld(**WORLD, duration_share=0.0)
    kurtosis = {}
    for tail in (0.0, 6.0):
        rng = np.random.default_rng(0)
        session = draw_world(world, [20_000], tail, rng)
        residual = session.X - session.X.mean(axis=0)
        # Residuals have unit variance on every axis, whatever the tail.
        np.testing.assert_allclose(residual.var(axis=0), 1.0, atol=0.06)
        kurtosis[tail] = float(np.mean(residual**4))
    # 3 for the normal, 3 (v - 2) / (v - 4) = 6 for t with v = 6.
    assert kurtosis[0.0] == pytest.approx(3.0, abs=0.1)
    assert kurtosis[6.0] > 4.5


def test_conditions_without_source_or_speakers_are_left_out():
    rows = corpus_conditions(
        "c", "digits", "g", (3, 30), [(15, "5")], runs=4, runs_large=2, large=30
    )
    assert [(row.name, row.runs) for row in rows] == [
        ("digits 3 spk", 4),
        ("digits 30 spk", 2),
        ("digits 15 spk x 5", 4),
    ]
    assert fitting(rows, {"c": 15}) == [rows[0], rows[2]]
    assert fitting(rows, {"c": 0}) == rows
    assert fitting(rows, {}) == []


def test_simulated_conditions_vary_one_thing_at_a_time():
    rows = simulated_conditions(
        (0.05, 0.1),
        (1, 15, 60),
        (5,),
        base_eer=0.1,
        base_speakers=15,
        runs=10,
        runs_large=5,
        large=60,
    )
    assert [row.name for row in rows] == [
        "sim EER 5 %, 15 spk",
        "sim EER 10 %, 15 spk",
        "sim heavy tails, 15 spk",
        "sim mismatched, 15 spk",
        "sim 1 spk",
        "sim 60 spk",
        "sim 15 uneven",
        "sim 15 zipf",
        "sim 15 spk x 5",
    ]
    assert [row.runs for row in rows if row.speakers == 60] == [5]
    assert len({row.name for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("law", "segments"),
    [("all", 102), ("half", 51), ("uneven", 60), ("5", 15), ("zipf", 62)],
    # uneven: 3 (6 + 34) / 2; zipf: 34 + 17 + 11.3
)
def test_sizes_are_foreseen(law, segments):
    assert Condition("x", "g", "s", 3, law).expected_segments == segments


def test_impossible_conditions_are_refused(corpus):
    with pytest.raises(InvalidParameterError, match="speakers must be at most the 4"):
        draw(Condition("x", "g", "s", 5), corpus, 0, 1)
    with pytest.raises(InvalidParameterError, match="tail must"):
        draw_world(PldaWorld(**WORLD), [2], 2.0, np.random.default_rng(0))
    with pytest.raises(InvalidParameterError, match=r"law must .* 'pareto'"):
        Condition("x", "g", "s", 3, "pareto")


def test_a_voice_that_changes_has_the_outer_thirds_of_its_segments(tmp_path):
    # Two speakers along the first axis, at 0 to 8 and at 100 to 108.
    X = np.zeros((18, 3))
    X[:, 0] = np.concatenate([np.arange(9.0), 100.0 + np.arange(9.0)])
    X[:, 1] = 0.01 * (np.arange(18) % 2)
    ids = tuple(f"seg{i:02d}" for i in range(18))
    speakers = dict(zip(ids, ["a"] * 9 + ["b"] * 9, strict=True))
    write_npz(tmp_path / "c.npz", EmbeddingSet(ids, X), speakers=speakers)
    row = Condition("x", "g", "s", 2, "extremes")
    drawn = draw(row, {"corpus": str(tmp_path / "c.npz")}, 0, 1)
    wanted = {0, 1, 2, 6, 7, 8}
    assert set(drawn.X[:, 0]) == wanted | {100 + value for value in wanted}


def test_isotropic_speakers_have_the_wanted_variances():
    rng = np.random.default_rng(0)
    drawn = draw_isotropic([10] * 300, rng, dim=20, separation=2.0)
    means = drawn.X.reshape(300, 10, 20).mean(axis=1)
    within = drawn.X - means[drawn.speakers]
    # Nine of ten degrees of freedom; 4 between speakers and 1 / 10 of the means.
    assert within.var() == pytest.approx(0.9, rel=0.03)
    assert means.var() == pytest.approx(4.1, rel=0.05)


def test_sessions_of_isotropic_speakers_have_as_many_segments_as_wanted():
    source = {"isotropic": {"dim": 8, "separation": 1.0}}
    drawn = draw(Condition("x", "g", "s", 5, "4"), source, 0, 1)
    assert drawn.X.shape == (20, 8)
    assert np.bincount(drawn.speakers).tolist() == [4] * 5
