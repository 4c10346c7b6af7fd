"""Conditions of windows in time."""

import numpy as np
import pytest

from benchmarks.compare.conversations import prepare_conversations
from benchmarks.compare.timed import (
    MEETINGS,
    SIMULATED,
    TimedCondition,
    TimedSettings,
    draw_timed,
    length_conditions,
    runnable_timed,
    timed_sources,
    window_conditions,
)
from sms_diar.errors import InvalidParameterError

SETTINGS = TimedSettings(
    stand_in=1,
    cuts=(20.0, 120.0),
    crowded=60.0,
    most=2,
    runs_cuts=2,
    repeated=20.0,
    repeats=10,
    minutes=(2.0, 180.0),
    speakers=(2,),
    runs=3,
    longest=60.0,
)


@pytest.fixture
def catalogue(tmp_path):
    found = {}
    for name, (source, words) in timed_sources(tmp_path, SETTINGS, 1).items():
        found |= prepare_conversations(name=name, source=source, words=words)
    return found


def test_rows_are_cuts_a_repeat_and_splices():
    rows = length_conditions(SETTINGS)
    assert [(row.name, row.law, row.runs) for row in rows] == [
        ("20 s", "cut", 2),
        ("120 s", "cut", 2),
        ("20 s x 10", "repeat", 1),
        ("2 min, 2 spk", "splice", 3),
        ("3 h, 2 spk", "splice", 1),
    ]
    assert rows[2].doubles == "20 s"
    assert [row.most for row in rows] == [2, 0, 2, 0, 0]
    # Windows every .75 s: 20 s, ten times 20 s, three hours.
    assert [rows[i].expected_segments for i in (0, 2, 4)] == [27, 267, 14_400]


def test_sessions_are_recordings_that_are_long_enough(catalogue):
    lengths = {"a": (30.0, 1), "b": (10.0, 1), "c": (20.0, 3)}
    recordings = {
        name: {"seconds": long, "speakers": count}
        for name, (long, count) in lengths.items()
    }
    source = {"recordings": recordings}
    cuts = TimedCondition("x", "g", "s", "lengths", "cut", 20.0, runs=2)
    assert cuts.sessions(source) == [("a", 0), ("c", 0), ("a", 1), ("c", 1)]
    few = TimedCondition("x", "g", "s", "lengths", "cut", 20.0, most=2)
    assert few.sessions(source) == [("a", 0)]
    whole = TimedCondition("x", "g", "s", "windows", "whole", 30.0)
    assert whole.sessions(source) == [("a", 0), ("b", 0), ("c", 0)]
    spliced = TimedCondition("x", "g", "s", "lengths", "splice", 1e5, 2, runs=2)
    assert spliced.sessions(source) == [("", 0), ("", 1)]


def test_rows_without_source_or_recordings_are_left_out(catalogue):
    rows = [*window_conditions(), *length_conditions(SETTINGS)]
    long = TimedCondition("long", "g", SIMULATED, "lengths", "cut", 1e5)
    names = [row.name for row in runnable_timed([*rows, long], catalogue)]
    # No clips in the stand-in, and no conversation of a day.
    assert names == [
        SIMULATED,
        *(row.name for row in length_conditions(SETTINGS)[:1]),
        "20 s x 10",
        "2 min, 2 spk",
        "3 h, 2 spk",
    ]


def test_what_is_repeated_is_what_was_cut(catalogue):
    once, _, again, _, _ = length_conditions(SETTINGS)
    source = catalogue[SIMULATED]
    for recording in source["recordings"]:
        short = draw_timed(once, source, recording, 0, seed=1)
        long = draw_timed(again, source, recording, 0, seed=1)
        assert len(long.X) == 10 * len(short.X)
        np.testing.assert_array_equal(long.X[: len(short.X)], short.X)


def test_sessions_follow_from_seed_and_run(catalogue):
    spliced = length_conditions(SETTINGS)[3]
    source = catalogue[SIMULATED]
    one = draw_timed(spliced, source, "", 0, seed=1)
    assert len(one.X) == 160
    np.testing.assert_array_equal(one.X, draw_timed(spliced, source, "", 0, 1).X)
    for other in (
        draw_timed(spliced, source, "", 1, 1),
        draw_timed(spliced, source, "", 0, 2),
    ):
        assert not np.array_equal(one.X, other.X)
    whole = window_conditions()[0]
    found = draw_timed(whole, source, "c2_0", 0, seed=1)
    assert len(np.unique(found.speakers)) == 2


def test_corpora_are_where_they_are_said_to_be(tmp_path):
    settings = TimedSettings(**{**vars(SETTINGS), "stand_in": 0})
    found = timed_sources(tmp_path, settings, 1)
    windows, _ = found["AMI clips"]
    assert windows == {
        "windows": str(tmp_path / "conversations" / "campplus_windows.npz"),
        "reference": str(tmp_path / "conversations" / "ref.rttm"),
    }


def test_an_unknown_law_is_refused():
    with pytest.raises(InvalidParameterError, match="TimedCondition: law must be"):
        TimedCondition("x", "g", "s", "lengths", "half", 20.0)


def test_meetings_are_whole_and_in_quarters(tmp_path):
    folder = tmp_path / MEETINGS
    folder.mkdir()
    order = np.random.default_rng(0).permutation(9)  # files need not be in order
    start = np.arange(9.0)[order]
    np.savez(
        folder / "m.npz", x=start[:, None], spk=start > 4, start=start, end=start + 1.0
    )
    settings = TimedSettings(**{**vars(SETTINGS), "stand_in": 0})
    source, words = timed_sources(tmp_path, settings, 1)[MEETINGS]
    catalogue = prepare_conversations(name=MEETINGS, source=source, words=words)
    whole, quarters = runnable_timed(window_conditions(), catalogue)
    own = catalogue[MEETINGS]
    assert whole.sessions(own) == [("m", 0)]
    np.testing.assert_array_equal(
        draw_timed(whole, own, "m", 0, 1).X[:, 0], np.arange(9)
    )
    # Two of nine windows each; the last is left over.
    parts = [draw_timed(quarters, own, *one, 1) for one in quarters.sessions(own)]
    assert [part.X[:, 0].tolist() for part in parts] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [len(set(part.speakers)) for part in parts] == [1, 1, 2, 1]
    assert parts[3].segments[0].start == 0.0
