"""Sliding windows over the speech of a recording, one embedding for each.

Windows begin every `shift` seconds and are `length` seconds long. The handling of the
last window determines whether all speech is covered and whether remainders are too
short for an embedding. The rule here is the one of Kaldi's diarization recipes: a
remainder that is long enough becomes a window; a shorter one is covered by a full
window that is moved back so that it ends with the region::

    region   |------------------|      |-------------------------|
             [-------]                 [-------]
                  [-------]                    [-------]
                       [----]                          [-------]
                                                        [-------]
             long remainder            short remainder

A region that is not longer than a window is one window. If windows overlap by at least
`shortest`, like 1.5 s every 0.75 s, there are never short remainders.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sms_diar._validation import check_not_negative, check_positive, refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment

_DECIMALS = 9
_NANOSECOND = 10.0**-_DECIMALS  # smaller differences are rounding errors

# Window ids as written by Kaldi and VBx, in hundredths of a second.
_ID = "{}-{:08d}-{:08d}"
_ID_PATTERN = re.compile(r"(.+)-(\d{8})-(\d{8})")


@dataclass(frozen=True)
class WindowLayout:
    """Layout of windows over speech, in seconds; see `windows_of_regions`.

    Parameters
    ----------
    length : float, default=1.5
        Length of a window in seconds.
    shift : float, default=0.75
        Distance from one window to the next.
    shortest : float, default=0.5
        A shorter rest of a region is covered by a whole window.
    least : float, default=0.1
        Regions shorter than this are dropped.
    """

    length: float = 1.5
    shift: float = 0.75
    shortest: float = 0.5
    least: float = 0.1


def sliding_windows(
    region: Segment, *, length: float = 1.5, shift: float = 0.75, shortest: float = 0.5
) -> list[Segment]:
    """Divide one region into windows that cover it exactly.

    `length` and `shift` are the length of a window and the distance between window
    starts, in seconds. The shift is at most the length; otherwise some speech would not
    be covered. `shortest` is the minimum length of a remainder that becomes the last
    window; if it is shorter, the last window is the last `length` seconds of the
    region.

    Starts and ends of the windows increase. No window is longer than `length`, and none
    is shorter than `shortest` unless the region is.
    """
    _check(length, shift, shortest)
    beyond = region.duration - length - _NANOSECOND
    if beyond <= 0.0:
        return [region]
    # Windows before the last one, which covers the remainder.
    count = math.ceil(beyond / shift)
    starts = [_rounded(number * shift) for number in range(count)]
    last = _rounded(count * shift)
    if region.duration - last < shortest:
        last = region.duration - length
    windows = [
        Segment(
            region.recording,
            region.start + start,
            region.start + _rounded(start + length),
        )
        for start in starts
    ]
    return [*windows, Segment(region.recording, region.start + last, region.end)]


def windows_of_regions(
    regions: Iterable[Segment],
    *,
    length: float = 1.5,
    shift: float = 0.75,
    shortest: float = 0.5,
    least: float = 0.1,
) -> dict[str, Segment]:
    """Divide all regions into windows with ids, sorted by recording and time.

    Regions do not overlap. Those shorter than `least` seconds are skipped, because an
    embedding of a few frames is uninformative; see `sliding_windows` for the other
    times. Ids consist of the recording and of start and end in hundredths of a second
    (``call-00000150-00000300``), and sort in the same order. Windows that differ by
    less than that are merged.
    """
    rule, remedy = "an iterable of Segment", "read it with read_vad_lab"
    refuse_path("windows_of_regions", "regions", regions, rule, remedy)
    _check(length, shift, shortest)
    check_not_negative("windows_of_regions", "least", least)
    windows: dict[str, Segment] = {}
    for region in _check_disjoint(sorted(regions)):
        if region.duration < least:
            continue
        for window in sliding_windows(
            region, length=length, shift=shift, shortest=shortest
        ):
            start, end = (round(100.0 * time) for time in (window.start, window.end))
            name = _ID.format(window.recording, start, end)
            begin = min(window.start, windows.get(name, window).start)
            windows[name] = Segment(window.recording, begin, window.end)
    return windows


def times_of_ids(ids: Sequence[str]) -> dict[str, Segment] | None:
    """Parse start and end from ids as written by `windows_of_regions`.

    Returns None unless all ids end in two increasing eight-digit numbers. Kaldi and VBx
    write the same form, but relative to the start of a speech region and prefixed with
    the name of that region. Such times show which windows overlap, but neither the
    position of the region nor its recording.

    >>> times_of_ids(["call-00000150-00000300"])
    {'call-00000150-00000300': Segment(recording='call', start=1.5, end=3.0)}
    >>> times_of_ids(["speaker-00012-00013"]) is None
    True
    """
    segments = {}
    for name in ids:
        match = _ID_PATTERN.fullmatch(name)
        if match is None or int(match[2]) >= int(match[3]):
            return None
        segments[name] = Segment(match[1], int(match[2]) / 100, int(match[3]) / 100)
    return segments or None


def _check_disjoint(regions: list[Segment]) -> Iterator[Segment]:
    previous: Segment | None = None
    for region in regions:
        if (
            previous is not None
            and region.recording == previous.recording
            and region.start < previous.end
        ):
            problem = f"must not overlap, got {previous} and {region}; merge them first"
            raise InvalidParameterError(
                problem, owner="windows_of_regions", parameter="regions"
            )
        yield region
        previous = region


def _rounded(seconds: float) -> float:
    """Round a time so that windows that should touch have equal times."""
    return round(seconds, _DECIMALS)


def _check(length: float, shift: float, shortest: float) -> None:
    check_positive("windows", "length", length)
    check_positive("windows", "shift", shift)
    check_positive("windows", "shortest", shortest)
    for name, value in (("shift", shift), ("shortest", shortest)):
        if value > length:
            problem = f"must be at most the length of {length:g} seconds, got {value!r}"
            raise InvalidParameterError(problem, owner="windows", parameter=name)
