"""Confidence of turns from that of windows."""

import pytest

from sms_diar.timeline.turns import turn_confidence
from sms_diar.types import Segment, Turn


def window(start, end):
    return Segment("r", start, end)


def turn(start, end, speaker):
    return Turn(window(start, end), speaker)


def test_windows_of_other_speakers_speak_against_a_turn():
    windows = [window(0, 4), window(4, 6), window(6, 10)]
    turns = [turn(0, 5, "a"), turn(5, 10, "b")]
    found = turn_confidence(turns, windows, ["x", "y", "y"], [0.9, 0.8, 1.0])
    # y stands for b, with 5 s against 1 s: (4 * 0.9 + 1 * (1 - 0.8)) / 5, and
    # (1 * 0.8 + 4 * 1.0) / 5.
    assert found == pytest.approx([0.76, 0.96])


def test_turns_without_windows_have_none():
    assert turn_confidence([turn(5, 6, "a")], [window(0, 5)], ["x"], [0.9]) == [None]
    assert turn_confidence([turn(5, 6, "a")], [], [], []) == [None]


def test_windows_that_overlap_count_by_the_time_they_share():
    windows = [window(0, 2), window(1, 3)]
    found = turn_confidence([turn(0, 3, "a")], windows, ["x", "x"], [0.5, 1.0])
    assert found == [0.75]
