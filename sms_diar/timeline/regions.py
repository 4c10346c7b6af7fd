"""Regions of recordings: where there is speech, and what is scored.

Small numbers of regions are lists of segments in seconds. For scoring whole corpora
they are columns of exact times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sms_diar._validation import refuse_path
from sms_diar.timeline.annotation import refuse_turns_path
from sms_diar.timeline.ticks import seconds_of
from sms_diar.types import IntArray, Problem, Segment, Turn


@dataclass(frozen=True, eq=False)
class Uem:
    """Regions to be scored, as in a UEM file (un-partitioned evaluation map).

    `recordings` and `channels` are those of each region, as in the file. `start`, `end`
    and `line` have shape (n,): times in ticks, each start before its end, and line
    numbers, 0 if not from a file. `problems` are warnings from reading.
    """

    recordings: tuple[str, ...]
    channels: tuple[str, ...]
    start: IntArray
    end: IntArray
    line: IntArray
    path: str = "uem"
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.recordings)


def regions_of(uem: Uem, recording: str) -> list[Segment]:
    """Return the regions of one recording in order, regardless of their channel."""
    refuse_path("regions_of", "uem", uem, "a Uem", "read it with read_uem")
    rows = zip(uem.recordings, uem.start, uem.end, strict=True)
    return sorted(
        Segment(name, seconds_of(start), seconds_of(end))
        for name, start, end in rows
        if name == recording
    )


def within(regions: Iterable[Segment], bounds: Sequence[Segment]) -> list[Segment]:
    """Intersect regions with bounds; overlapping bounds count once.

    Both are segments of one recording in temporal order.
    """
    parts = []
    for region in regions:
        position = region.start
        for bound in bounds:
            start, end = max(position, bound.start), min(region.end, bound.end)
            if start < end:
                parts.append(Segment(region.recording, start, end))
                position = end
    return parts


def joined(regions: Iterable[Segment]) -> list[Segment]:
    """Return the sorted union of regions; touching or overlapping ones are merged."""
    union: list[Segment] = []
    for region in sorted(regions):
        last = union[-1] if union else None
        if (
            last is not None
            and region.recording == last.recording
            and region.start <= last.end
        ):
            end = max(region.end, last.end)
            union[-1] = Segment(last.recording, last.start, end)
        else:
            union.append(region)
    return union


def speech_of_turns(turns: Iterable[Turn]) -> list[Segment]:
    """Return the union of all turns of each recording."""
    refuse_turns_path("speech_of_turns", turns)
    return joined(turn.segment for turn in turns)
