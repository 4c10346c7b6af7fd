"""When rows were spoken."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sms_diar.clustering.speakers.times import RowTimes

from sms_diar.types import Segment


def pairs(found):
    return list(zip(*(side.tolist() for side in found), strict=True))


def test_recordings_lie_far_apart_on_one_axis():
    times = RowTimes.of_segments(
        [Segment("b", 0.0, 2.0), Segment("a", 1.0, 2.0), Segment("b", 1.0, 3.0)]
    )
    # "a" is the first recording by name; "b" comes an age later.
    assert times.start[1] == 1.0
    assert times.start[0] - times.end[1] > 1e6
    assert times.start[2] - times.start[0] == 1.0
    np.testing.assert_allclose(times.end - times.start, [2.0, 1.0, 2.0])


def test_steps_bring_as_much_new_speech_as_rows_weigh():
    times = RowTimes.of_steps(4, 0.25)
    np.testing.assert_array_equal(times.start, [0.0, 0.25, 0.5, 0.75])
    np.testing.assert_array_equal(times.end, [1.0, 1.25, 1.5, 1.75])
    # A window of length 1 is followed by the one that begins at its end.
    assert pairs(RowTimes.of_steps(6, 0.25).successors(0.5)) == [(0, 4), (1, 5)]


def test_rows_are_taken_in_the_order_asked_for():
    taken = RowTimes.of_steps(4, 0.5).take(np.array([3, 0]))
    np.testing.assert_array_equal(taken.start, [1.5, 0.0])
    np.testing.assert_array_equal(taken.end, [2.5, 1.0])


def test_the_successor_is_the_first_row_that_does_not_overlap():
    starts = [0.0, 0.5, 1.0, 1.2, 3.0]
    times = RowTimes(np.array(starts), np.array(starts) + 1.0)
    # 0-1 s: the row from 1.0; .5-1.5 s, 1-2 s and 1.2-2.2 s: the one from 3.0, after
    # 1.5, 1 and .8 s of silence.
    assert pairs(times.successors(0.5)) == [(0, 2)]
    assert pairs(times.successors(0.9)) == [(0, 2), (3, 4)]
    assert pairs(times.successors(2.0)) == [(0, 2), (1, 4), (2, 4), (3, 4)]


def test_nothing_follows_into_another_recording():
    times = RowTimes.of_segments([Segment("a", 0.0, 1.0), Segment("b", 1.0, 2.0)])
    assert pairs(times.successors(0.5)) == []
    assert pairs(times.overlapping()) == []


def test_rows_next_to_each_other_overlap_or_touch():
    times = RowTimes(np.array([2.0, 0.0, 0.5, 4.0]), np.array([3.0, 1.0, 2.0, 5.0]))
    # In order of time: rows 1, 2, 0, 3; 1 and 2 overlap, 2 and 0 touch.
    assert pairs(times.overlapping()) == [(1, 2), (2, 0)]


def test_a_single_row_has_no_company():
    times = RowTimes.of_steps(1, 1.0)
    assert pairs(times.successors(10.0)) == []
    assert pairs(times.overlapping()) == []


TENTHS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12
)


@given(TENTHS, st.integers(1, 30))
def test_successors_are_those_that_a_loop_finds(spans, gap):
    times = RowTimes(
        np.array([first / 10 for first, _ in spans]),
        np.array([(first + long) / 10 for first, long in spans]),
    )
    want = []
    for row, (first, long) in enumerate(spans):
        behind = [
            (other[0], place)
            for place, other in enumerate(spans)
            if other[0] >= first + long
        ]
        if behind and 10 * (min(behind)[0] - first - long) < 10 * gap:
            want.append((row, min(behind)[1]))
    # Half a tenth more than a whole number, so that no rounding decides.
    assert pairs(times.successors((gap - 0.5) / 10)) == want
