"""Stretches of recordings: where there is speech, and what is scored.

As segments, in seconds, where there are few; as columns of exact times where whole
corpora are scored.
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
    """Regions to be scored, as a UEM file (un-partitioned evaluation map) has them.

    Parameters
    ----------
    recordings, channels : tuple of str
        Names of each region's recording and channel, as in the file.
    start, end : ndarray of shape (n,)
        Times in ticks, start before end.
    line : ndarray of shape (n,)
        Where each region was read; 0 if it was not read from a file.
    path : str
        The file.
    problems : tuple of Problem
        What was noticed while reading, no errors among it.
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
    """Regions of one recording, in order; its channels do not matter."""
    refuse_path("regions_of", "uem", uem, "a Uem", "read it with read_uem")
    rows = zip(uem.recordings, uem.start, uem.end, strict=True)
    return sorted(
        Segment(name, seconds_of(start), seconds_of(end))
        for name, start, end in rows
        if name == recording
    )


def within(regions: Iterable[Segment], bounds: Sequence[Segment]) -> list[Segment]:
    """Parts of regions that lie in bounds, each once.

    Parameters
    ----------
    regions, bounds : sequence of Segment
        Of one recording, in order.

    Examples
    --------
    >>> speech = [Segment("a", 0.0, 4.0)]
    >>> bounds = [Segment("a", 1.0, 3.0), Segment("a", 2.0, 3.5)]
    >>> [(part.start, part.end) for part in within(speech, bounds)]
    [(1.0, 3.0), (3.0, 3.5)]
    """
    parts = []
    for region in regions:
        at = region.start
        for bound in bounds:
            start, end = max(at, bound.start), min(region.end, bound.end)
            if start < end:
                parts.append(Segment(region.recording, start, end))
                at = end
    return parts


def joined(regions: Iterable[Segment]) -> list[Segment]:
    """Union of regions, sorted: those that overlap or touch become one.

    Examples
    --------
    >>> [(part.start, part.end) for part in joined(
    ...     [Segment("a", 2.0, 3.0), Segment("a", 5.0, 6.0), Segment("a", 0.0, 2.0)])]
    [(0.0, 3.0), (5.0, 6.0)]
    """
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
    """Where anybody speaks: the union of turns, recording by recording."""
    refuse_turns_path("speech_of_turns", turns)
    return joined(turn.segment for turn in turns)
