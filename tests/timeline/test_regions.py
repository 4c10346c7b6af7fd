"""Stretches of recordings, cut and joined."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.turns.uem import read_uem
from sms_diar.timeline.regions import joined, regions_of, speech_of_turns, within
from sms_diar.types import Segment, Turn


def test_regions_of_a_uem_are_those_of_the_recording(tmp_path):
    (tmp_path / "x.uem").write_text("b 1 0 9\na 1 5.1 7.3\na 2 0 4\n")
    uem = read_uem(tmp_path / "x.uem")
    assert regions_of(uem, "a") == [Segment("a", 0.0, 4.0), Segment("a", 5.1, 7.3)]
    assert regions_of(uem, "c") == []


def test_regions_are_cut_at_bounds():
    speech = [Segment("a", 0.0, 2.0), Segment("a", 3.0, 6.0), Segment("a", 8.0, 9.0)]
    bounds = [Segment("a", 1.0, 4.0), Segment("a", 5.0, 7.0)]
    assert within(speech, bounds) == [
        Segment("a", 1.0, 2.0),
        Segment("a", 3.0, 4.0),
        Segment("a", 5.0, 6.0),
    ]


tenths = st.lists(st.integers(0, 30), min_size=2, max_size=8, unique=True).map(sorted)


@given(
    speech=tenths,
    bounds=st.lists(
        st.tuples(st.integers(0, 29), st.integers(1, 9)), min_size=1, max_size=5
    ),
)
def test_what_lies_in_bounds_is_kept_once(speech, bounds):
    regions = [
        Segment("a", start, end)
        for start, end in zip(speech[::2], speech[1::2], strict=False)
    ]
    limits = sorted(Segment("a", start, start + size) for start, size in bounds)
    parts = within(regions, limits)
    for second in np.arange(0.5, 40.0):
        inside = [
            any(s.start < second < s.end for s in some) for some in (regions, limits)
        ]
        times = sum(part.start < second < part.end for part in parts)
        assert times == int(all(inside))


def test_speech_is_the_union_of_turns():
    turns = [
        Turn(Segment("b", 0.0, 1.0), "x"),
        Turn(Segment("a", 4.0, 6.0), "y"),
        Turn(Segment("a", 0.0, 2.0), "x"),
        Turn(Segment("a", 1.0, 3.0), "y"),
        Turn(Segment("a", 3.0, 3.5), "x"),
    ]
    assert speech_of_turns(turns) == [
        Segment("a", 0.0, 3.5),
        Segment("a", 4.0, 6.0),
        Segment("b", 0.0, 1.0),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 29), st.integers(1, 9)),
        max_size=6,
    )
)
def test_a_union_covers_the_same_time_in_regions_that_are_apart(rows):
    regions = [Segment(name, start, start + size) for name, start, size in rows]
    union = joined(regions)
    for name in "ab":
        for second in np.arange(0.5, 40.0):
            times = [
                sum(r.recording == name and r.start < second < r.end for r in some)
                for some in (regions, union)
            ]
            assert times[1] == min(times[0], 1)
    for one, other in pairwise(union):
        assert one.recording < other.recording or one.end < other.start


def test_paths_in_place_of_values_are_refused():
    with pytest.raises(InvalidParameterError, match=r"uem must be .*'x\.uem'"):
        regions_of("x.uem", "a")
    with pytest.raises(InvalidParameterError, match=r"turns must be .*'x\.rttm'"):
        speech_of_turns("x.rttm")
