"""Sliding windows over the speech of a recording, one vector for each.

Windows begin every `shift` seconds and are `length` long. The last one decides
whether all speech is covered and whether scraps too short for a vector are left.
Here it is Kaldi's for diarization: what remains is a window of its own if it is
long enough; a scrap is covered by a whole window that is moved back to end where
the region ends::

    region   |------------------|      |-------------------------|
             [-------]                 [-------]
                  [-------]                    [-------]
                       [----]                          [-------]
                                                        [-------]
             the rest is a window      the rest is a scrap

A region no longer than a window is one window. Where windows overlap by at least
`shortest`, as 1.5 s every 0.75 s do, there are no scraps.
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
_NANOSECOND = 10.0**-_DECIMALS  # finer differences are rounding, not time

# Ids of windows as Kaldi and VBx write them, in hundredths of a second.
_ID = "{}-{:08d}-{:08d}"
_ID_PATTERN = re.compile(r"(.+)-(\d{8})-(\d{8})")


@dataclass(frozen=True)
class WindowLayout:
    """Layout of windows over speech, in seconds; see `windows_of_regions`.

    Parameters
    ----------
    length : float, default=1.5
        Length of a window.
    shift : float, default=0.75
        Distance from one window to the next.
    shortest : float, default=0.5
        A shorter rest of a region is covered by a whole window.
    least : float, default=0.1
        Shorter regions are dropped.
    """

    length: float = 1.5
    shift: float = 0.75
    shortest: float = 0.5
    least: float = 0.1


def sliding_windows(
    region: Segment,
    *,
    length: float = 1.5,
    shift: float = 0.75,
    shortest: float = 0.5,
) -> list[Segment]:
    """Cut one region into windows that cover it exactly.

    Parameters
    ----------
    region : Segment
        Where there is speech.
    length, shift : float, default=1.5 and 0.75
        Seconds of a window, and from one window to the next; the shift is at most
        the length, or speech would be left out.
    shortest : float, default=0.5
        The last window is what the others leave if that is at least this many
        seconds, and the last `length` seconds of the region otherwise. It is at
        most the length.

    Returns
    -------
    windows : list of Segment
        Starts and ends both increase. None is longer than `length`, and none is
        shorter than `shortest` unless the region is.

    Examples
    --------
    >>> for window in sliding_windows(Segment("call", 10.0, 12.5)):
    ...     print(window.start, window.end)
    10.0 11.5
    10.75 12.25
    11.5 12.5
    >>> [(w.start, w.end) for w in sliding_windows(Segment("call", 0.0, 1.9))]
    [(0.0, 1.5), (0.75, 1.9)]
    """
    _check(length, shift, shortest)
    beyond = region.duration - length - _NANOSECOND
    if beyond <= 0.0:
        return [region]
    # Whole windows that leave something behind, and one that takes the rest.
    whole = math.ceil(beyond / shift)
    starts = [_rounded(number * shift) for number in range(whole)]
    last = _rounded(whole * shift)
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
    """Windows of all regions, each with an id.

    Parameters
    ----------
    regions : iterable of Segment
        Speech of any recordings, without overlaps.
    length, shift, shortest : float
        As in `sliding_windows`.
    least : float, default=0.1
        Regions shorter than this many seconds are left out: a vector of a few
        frames says nothing about a speaker.

    Returns
    -------
    windows : dict from str to Segment
        In order of recording and time. Ids consist of the recording and of start and
        end in hundredths of a second (``call-00000150-00000300``), and sort in the
        same order. Windows that differ by less than that are joined.
    """
    rule, remedy = "an iterable of Segment", "read it with read_vad_lab"
    refuse_path("windows_of_regions", "regions", regions, rule, remedy)
    _check(length, shift, shortest)
    check_not_negative("windows_of_regions", "least", least)
    windows: dict[str, Segment] = {}
    for region in _apart(sorted(regions)):
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
    """Read start and end from ids of the form that `windows_of_regions` writes.

    Kaldi and VBx write the same form, with times from the start of a speech region
    and the name of that region in front. Such times show which windows overlap, but
    neither where the region lies nor to which recording it belongs.

    Parameters
    ----------
    ids : sequence of str
        All ids of a session.

    Returns
    -------
    segments : dict from str to Segment, or None
        None unless all ids end in two numbers of eight digits, the second one larger.

    Examples
    --------
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


def _apart(regions: list[Segment]) -> Iterator[Segment]:
    before: Segment | None = None
    for region in regions:
        if (
            before is not None
            and region.recording == before.recording
            and region.start < before.end
        ):
            raise InvalidParameterError(
                f"windows_of_regions: regions must not overlap, got {before} and "
                f"{region}; join them first"
            )
        yield region
        before = region


def _rounded(seconds: float) -> float:
    """Same time for windows that should touch, however it was computed."""
    return round(seconds, _DECIMALS)


def _check(length: float, shift: float, shortest: float) -> None:
    check_positive("windows", "length", length)
    check_positive("windows", "shift", shift)
    check_positive("windows", "shortest", shortest)
    for name, value in (("shift", shift), ("shortest", shortest)):
        if value > length:
            raise InvalidParameterError(
                f"windows: {name} must be at most the length of {length:g} seconds, "
                f"got {value!r}"
            )
