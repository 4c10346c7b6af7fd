"""Names of speakers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.naming import merge_speakers, name_speakers, rename_speakers
from sms_diar.types import Segment, Turn


def test_numbers_follow_first_appearance():
    assert name_speakers(np.array([5, -1, 5, 0])) == [
        "spk-01",
        "spk-02",
        "spk-01",
        "spk-03",
    ]


def test_numbers_follow_speech_time_and_ties_first_appearance():
    # cluster 0: 1 s, cluster 1: 1 + 2 = 3 s, cluster 2: 3 s but seen after cluster 1
    names = name_speakers([0, 1, 2, 1], durations=[1.0, 1.0, 3.0, 2.0], prefix="")
    assert names == ["03", "01", "02", "01"]


def test_names_sort_like_numbers():
    names = name_speakers(range(100))
    assert names[0] == "spk-001"
    assert names == sorted(names)


def test_no_labels_have_no_names():
    assert name_speakers([]) == []


def test_durations_must_fit():
    with pytest.raises(InvalidParameterError) as caught:
        name_speakers([0, 1], durations=[1.0])
    assert str(caught.value) == (
        "name_speakers: durations must be one number for each of 2 labels, got shape "
        "(1,)"
    )
    with pytest.raises(InvalidParameterError, match="must be finite and >= 0"):
        name_speakers([0], durations=[float("nan")])


def test_a_path_is_not_taken_for_its_letters():
    with pytest.raises(
        InvalidParameterError,
        match=r"^name_speakers: labels must be a sequence of labels, got the path "
        r"'utt2spk'; read it with read_labels$",
    ):
        name_speakers("utt2spk")


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


def test_renaming_without_names_changes_nothing():
    turns = [Turn(Segment("r", 1.0, 2.0), "b"), Turn(Segment("r", 0.0, 1.5), "a")]
    assert rename_speakers(turns, {}) == turns
