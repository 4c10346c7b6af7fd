"""Names of speakers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.naming import merge_speakers, name_speakers
from sms_diar.types import Segment, Turn


def test_numbers_follow_first_appearance():
    names = name_speakers(np.array([5, -1, 5, 0]), prefix="")
    assert names == ["01", "02", "01", "03"]
    assert name_speakers([]) == []


def test_numbers_follow_speech_time_and_ties_first_appearance():
    # cluster 0: 1 s, cluster 1: 1 + 2 = 3 s, cluster 2: 3 s but seen after cluster 1
    names = name_speakers([0, 1, 2, 1], durations=[1.0, 1.0, 3.0, 2.0], prefix="")
    assert names == ["03", "01", "02", "01"]


@pytest.mark.parametrize(
    ("labels", "durations", "message"),
    [
        ([0, 1], [1.0], "durations must be one number for each of 2 labels"),
        ([0], [float("nan")], "durations must be finite and >= 0"),
        ("utt2spk", None, "labels must be a sequence of labels"),
    ],
)
def test_wrong_arguments_are_refused(labels, durations, message):
    with pytest.raises(InvalidParameterError, match=f"^name_speakers: {message}"):
        name_speakers(labels, durations=durations)


drawn_turns = st.lists(
    st.builds(
        lambda recording, start, length, speaker: Turn(
            Segment(recording, float(start), float(start + length)), speaker
        ),
        st.sampled_from("rs"),
        st.integers(0, 20),
        st.integers(1, 5),
        st.sampled_from("abc"),
    ),
    max_size=12,
)


def seconds(turns, speakers):
    return {
        (turn.segment.recording, second)
        for turn in turns
        if turn.speaker in speakers
        for second in range(int(turn.segment.start), int(turn.segment.end))
    }


@given(drawn_turns)
def test_merged_speakers_speak_when_either_did_and_never_twice_at_once(turns):
    turns += [Turn(Segment("r", 30.0, 31.0), name) for name in "ab"]
    merged = merge_speakers(turns, ["b", "a"])
    own = [turn for turn in merged if turn.speaker == "b"]
    assert seconds(merged, "b") == seconds(turns, "ab")
    assert sum(turn.segment.duration for turn in own) == len(seconds(merged, "b"))
    others = sorted(turn for turn in turns if turn.speaker == "c")
    assert sorted(set(merged) - set(own)) == sorted(set(others))
    assert {turn.speaker for turn in merged} <= {"b", "c"}


def test_turns_that_touch_stay_apart_when_merged():
    turns = [Turn(Segment("r", 0.0, 1.0), "a"), Turn(Segment("r", 1.0, 2.0), "b")]
    assert [turn.segment for turn in merge_speakers(turns, "ab")] == [
        turn.segment for turn in turns
    ]
