"""Sliding windows: by hand, then what holds for all regions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.windows import sliding_windows, times_of_ids, windows_of_regions
from sms_diar.types import Segment


def times(windows):
    return [(w.start, w.end) for w in windows]


@pytest.mark.parametrize(
    ("region", "windows"),
    [
        # 1.5 s every 0.75 s: whole windows up to 3.75 s; what begins at 3 is 1 s long.
        ((0.0, 4.0), [(0.0, 1.5), (0.75, 2.25), (1.5, 3.0), (2.25, 3.75), (3.0, 4.0)]),
        # 1.5 + 2 x 0.75 = 3: no rest
        ((2.0, 5.0), [(2.0, 3.5), (2.75, 4.25), (3.5, 5.0)]),
    ],
)
def test_windows_begin_every_shift_and_the_last_takes_the_rest(region, windows):
    assert times(sliding_windows(Segment("r", *region))) == windows


def test_a_scrap_is_covered_by_a_whole_window_moved_back():
    # 1 s every 1 s in 3.2 s: 0.2 s are left, less than 0.5, so the last window is
    # the last second.
    windows = sliding_windows(Segment("r", 0.0, 3.2), length=1.0, shift=1.0)
    assert times(windows)[:3] == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert times(windows)[3] == pytest.approx((2.2, 3.2))
    longer = sliding_windows(Segment("r", 0.0, 3.6), length=1.0, shift=1.0)
    assert times(longer)[3] == (3.0, 3.6)


def test_a_region_no_longer_than_a_window_is_one():
    for end in (0.3, 1.0, 1.5):
        assert times(sliding_windows(Segment("r", 0.0, end))) == [(0.0, end)]


@given(
    start=st.floats(0.0, 1e4),
    duration=st.floats(0.01, 60.0),
    length=st.floats(0.1, 5.0),
    share=st.floats(0.05, 1.0),
    least=st.floats(0.05, 1.0),
)
def test_windows_cover_the_region_exactly_and_none_is_a_scrap(
    start, duration, length, share, least
):
    region = Segment("r", start, start + duration)
    shift, shortest = length * share, length * least
    windows = sliding_windows(region, length=length, shift=shift, shortest=shortest)
    starts = np.array([w.start for w in windows])
    ends = np.array([w.end for w in windows])
    assert starts[0] == region.start
    assert ends[-1] == region.end
    assert (np.diff(starts) > 0.0).all()
    assert (np.diff(ends) > 0.0).all()
    rounding = 1e-8  # times are counted in nanoseconds
    assert (starts[1:] <= ends[:-1] + rounding).all()  # no gap
    assert (np.diff(starts) <= shift + rounding).all()
    durations = ends - starts
    assert (durations <= length + rounding).all()
    assert (durations >= min(shortest, region.duration) - rounding).all()


@given(st.integers(1, 60), st.sampled_from([0.1, 0.25, 0.7, 1.1]))
def test_windows_side_by_side_touch_to_the_last_bit(count, length):
    region = Segment("r", 0.0, count * length)
    windows = sliding_windows(region, length=length, shift=length, shortest=length)
    assert len(windows) == count
    assert [w.end for w in windows[:-2]] == [w.start for w in windows[1:-1]]


def test_windows_of_all_regions_have_ids_in_order_of_time():
    regions = [
        Segment("b", 0.0, 1.0),
        Segment("a", 100.0, 102.0),
        Segment("a", 3.0, 4.0),
        Segment("a", 5.0, 5.05),  # shorter than 0.1 s
    ]
    windows = windows_of_regions(regions)
    assert windows == {
        "a-00000300-00000400": Segment("a", 3.0, 4.0),
        "a-00010000-00010150": Segment("a", 100.0, 101.5),
        "a-00010075-00010200": Segment("a", 100.75, 102.0),
        "b-00000000-00000100": Segment("b", 0.0, 1.0),
    }
    assert list(windows) == sorted(windows)


def test_overlapping_regions_are_refused():
    regions = [Segment("a", 0.0, 2.0), Segment("a", 1.0, 3.0)]
    with pytest.raises(
        InvalidParameterError, match="regions must not overlap"
    ) as caught:
        windows_of_regions(regions)
    assert all(str(region) in str(caught.value) for region in regions)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shift": 2.0}, "shift must be at most the length of 1.5 seconds, got 2.0"),
        ({"shortest": 1.6}, "shortest must be at most the length of 1.5 seconds"),
        ({"length": 0.0}, "length must be"),
        ({"shift": -1}, "shift must be"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    for function in (sliding_windows, lambda r, **s: windows_of_regions([r], **s)):
        with pytest.raises(InvalidParameterError, match=f"^windows: {message}"):
            function(Segment("r", 0.0, 1.0), **settings)


@given(st.floats(0.0, 90_000.0), st.floats(0.2, 20.0))
def test_times_in_ids_of_windows_are_the_times_of_the_windows(start, duration):
    windows = windows_of_regions([Segment("a-b", start, start + duration)])
    times = times_of_ids(list(windows))
    assert list(times) == list(windows)
    for name, window in windows.items():
        assert times[name].recording == "a-b"
        assert times[name].start == pytest.approx(window.start, abs=0.00501)
        assert times[name].end == pytest.approx(window.end, abs=0.00501)


def test_windows_with_the_same_id_are_joined_and_no_speech_is_lost():
    # The last window would begin 4 ms after the first one.
    windows = windows_of_regions([Segment("a", 0.0, 1.504)], shortest=1.0)
    assert windows == {"a-00000000-00000150": Segment("a", 0.0, 1.504)}


@pytest.mark.parametrize(
    "name",
    [
        "utt1",
        "spk-utt-1",
        "2004-11-23",
        "speaker-00012-00013",  # numbers of a speaker and an utterance
        "call-0000000-0000150",  # seven digits
        "call-000000000-000000150",  # nine digits
        "call-00000150-000000300",
        "call-00000300-00000150",  # backwards
        "call-00000150-00000150",  # of length zero
        "-00000000-00000150",  # without a name
        "call-00000000-00000150x",
        "call_00000000_00000150",
        "",
    ],
)
def test_times_are_read_only_if_all_ids_have_the_form(name):
    assert times_of_ids([name]) is None
    assert times_of_ids(["call-00000000-00000150", name]) is None
    assert times_of_ids([]) is None
