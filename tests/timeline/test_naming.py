"""Names for clusters."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.naming import name_speakers


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
