"""Times in ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.timeline.window_ids import times_of_ids
from sms_diar.types import Segment


def test_hundredths_of_seconds_are_read():
    assert times_of_ids(["a-b-00000000-00000150", "a-b-00000075-00000225"]) == {
        "a-b-00000000-00000150": Segment("a-b", 0.0, 1.5),
        "a-b-00000075-00000225": Segment("a-b", 0.75, 2.25),
    }


def test_recordings_may_be_several_and_have_numbers_in_their_names():
    found = times_of_ids(["2020-01-00000-00150", "sw02001-A-00100-00250"])
    assert [one.recording for one in found.values()] == ["2020-01", "sw02001-A"]


@pytest.mark.parametrize(
    "name",
    [
        "utt1",
        "spk-utt-1",
        "2004-11-23",  # a date: too short for a time
        "call-00150-000300",  # of different lengths
        "call-00300-00150",  # backwards
        "call-00150-00150",  # of no length
        "-00000-00150",  # of no recording
        "call-00000-00150x",
        "call-00000000000-00000000150",  # too long
        "call_00000_00150",
        "",
    ],
)
def test_one_id_of_another_form_is_enough_to_know_no_times(name):
    assert times_of_ids([name]) is None
    assert times_of_ids(["call-00000-00150", name]) is None


def test_no_ids_have_no_times():
    assert times_of_ids([]) is None


@given(
    st.text("ab-_9", min_size=1, max_size=8),
    st.integers(0, 99_999_998),
    st.integers(1, 1000),
)
def test_what_is_written_is_read(recording, start, long):
    end = min(start + long, 99_999_999)
    name = f"{recording}-{start:08d}-{end:08d}"
    found = times_of_ids([name])[name]
    assert found == Segment(recording, start / 100, end / 100)
