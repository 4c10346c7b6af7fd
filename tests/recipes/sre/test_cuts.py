"""Random segments by the paper's law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipes.sre.cuts import SegmentLaw, cut_segments
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment


def test_numbers_and_lengths_follow_the_paper():
    # N(34, 6^2) segments of 0.7 s + Exp(1.8 s): 2.5 s on average. With 2000
    # speakers standard errors are 6 / sqrt(2000) = 0.13 and 1.8 / sqrt(68000) =
    # 0.007; four of each are allowed.
    rng = np.random.default_rng(1)
    drawn = [SegmentLaw().draw_lengths(rng) for _ in range(2000)]
    counts = np.array([len(lengths) for lengths in drawn])
    lengths = np.concatenate(drawn)
    assert counts.mean() == pytest.approx(34.0, abs=0.54)
    assert counts.std() == pytest.approx(6.0, abs=0.4)
    assert lengths.min() >= 0.7
    assert lengths.mean() == pytest.approx(2.5, abs=0.028)
    assert lengths.std() == pytest.approx(1.8, abs=0.04)


def test_with_room_enough_every_segment_has_the_length_that_was_drawn():
    law = SegmentLaw(mean_count=10.0, std_count=2.0)
    regions = [Segment("a", 0.0, 500.0), Segment("b", 100.0, 400.0)]
    cuts = cut_segments(regions, law, np.random.default_rng(3))
    expected = law.draw_lengths(np.random.default_rng(3))
    found = sorted(segment.duration for segment in cuts.segments)
    assert found == pytest.approx(sorted(expected))
    assert (cuts.n_shortened, cuts.n_dropped) == (0, 0)
    assert {segment.recording for segment in cuts.segments} == {"a", "b"}


def test_what_fits_nowhere_takes_the_longest_place_left_or_is_dropped():
    # Ten segments of exactly 2 s, and two regions that hold one each: what is left
    # of them is too short, so eight are dropped.
    law = SegmentLaw(shortest=2.0, mean_excess=0.0, mean_count=10.0, std_count=0.0)
    regions = [Segment("a", 0.0, 2.5), Segment("a", 10.0, 12.1)]
    cuts = cut_segments(regions, law, np.random.default_rng(0))
    assert [s.duration for s in cuts.segments] == pytest.approx([2.0, 2.0])
    assert (cuts.n_shortened, cuts.n_dropped) == (0, 8)
    # Four segments of days, and three regions, of which 0.5 s is too short.
    law = SegmentLaw(shortest=0.7, mean_excess=1e6, mean_count=4.0, std_count=0.0)
    regions = [Segment("a", 10.0 * i, 10.0 * i + d) for i, d in enumerate((1, 2, 0.5))]
    cuts = cut_segments(regions, law, np.random.default_rng(0))
    assert cuts.segments == (Segment("a", 0.0, 1.0), Segment("a", 10.0, 12.0))
    assert (cuts.n_shortened, cuts.n_dropped) == (2, 2)


def test_without_speech_there_are_no_segments():
    cuts = cut_segments([], SegmentLaw(std_count=0.0), np.random.default_rng(0))
    assert cuts.segments == ()
    assert cuts.n_dropped == 34


@given(durations=st.lists(st.floats(0.1, 20.0), max_size=12), seed=st.integers(0, 1000))
def test_segments_lie_in_regions_apart_from_each_other(durations, seed):
    law = SegmentLaw(mean_count=12.0, std_count=3.0)
    regions = [Segment("r", 30.0 * i, 30.0 * i + d) for i, d in enumerate(durations)]
    cuts = cut_segments(regions, law, np.random.default_rng(seed))
    for segment in cuts.segments:
        assert segment.duration >= law.shortest - 1e-9
        assert any(
            region.start <= segment.start and segment.end <= region.end
            for region in regions
        )
    ends = [segment.end for segment in cuts.segments]
    starts = [segment.start for segment in cuts.segments]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    n_drawn = len(law.draw_lengths(np.random.default_rng(seed)))
    assert len(cuts.segments) + cuts.n_dropped == n_drawn


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("shortest", 0.0),
        ("mean_excess", -1.0),
        ("mean_count", 0.0),
        ("std_count", -1.0),
    ],
)
def test_wrong_laws_are_named(parameter, value):
    with pytest.raises(InvalidParameterError, match=f"{parameter} must .* {value}"):
        SegmentLaw(**{parameter: value})
