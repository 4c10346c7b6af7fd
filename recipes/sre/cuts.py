"""Random segments of speech by the paper's law of lengths and numbers.

The paper clusters segments of 0.7 s + Exp(1.8 s), about 34 of each speaker. Here they
are cut out of detected speech: each within one region, without overlap. Long segments
are placed first, because few regions are long enough. Segments that fit nowhere are
shortened to the longest free region, or dropped; both are counted, because they distort
the law.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import check_not_negative, check_positive
from sms_diar.types import Segment


@dataclass(frozen=True, slots=True)
class SegmentLaw:
    """Lengths and numbers of segments per speaker.

    Parameters
    ----------
    shortest : float, default=0.7
        Minimum length of a segment in seconds.
    mean_excess : float, default=1.8
        Mean of the exponential part that is added to it, in seconds.
    mean_count : float, default=34
        Mean number of segments per speaker; drawn from a normal distribution, rounded,
        at least 1.
    std_count : float, default=6
        Standard deviation of that number.
    """

    shortest: float = 0.7
    mean_excess: float = 1.8
    mean_count: float = 34.0
    std_count: float = 6.0

    def __post_init__(self) -> None:
        check_positive("SegmentLaw", "shortest", self.shortest)
        check_positive("SegmentLaw", "mean_count", self.mean_count)
        check_not_negative("SegmentLaw", "mean_excess", self.mean_excess)
        check_not_negative("SegmentLaw", "std_count", self.std_count)

    def draw_lengths(self, rng: np.random.Generator) -> list[float]:
        """Draw the lengths of the segments of one speaker, in seconds."""
        count = max(1, round(rng.normal(self.mean_count, self.std_count)))
        excess = rng.exponential(self.mean_excess, size=count)
        return [float(length) for length in self.shortest + excess]


@dataclass(frozen=True)
class Cuts:
    """Segments of one speaker, sorted, and how many do not follow the law."""

    segments: tuple[Segment, ...]
    n_shortened: int
    n_dropped: int


def cut_segments(
    regions: Iterable[Segment], law: SegmentLaw, rng: np.random.Generator
) -> Cuts:
    """Cut the segments of one speaker out of the regions of that speaker's speech.

    Regions, in one or more recordings, must not overlap.
    """
    free = sorted(region for region in regions if region.duration >= law.shortest)
    taken: list[Segment] = []
    n_late = 0
    for length in sorted(law.draw_lengths(rng), reverse=True):
        room = np.array([place.duration - length for place in free])
        if not (room > 0.0).any():
            n_late += 1
            continue
        # The probability of a region is proportional to the room to move in it.
        share = np.cumsum(np.maximum(room, 0.0))
        number = int(np.searchsorted(share, rng.uniform(0.0, share[-1]), side="right"))
        place = free.pop(min(number, len(free) - 1))
        start = place.start + rng.uniform(0.0, place.duration - length)
        end = min(start + length, place.end)
        taken.append(Segment(place.recording, start, end))
        free += _left(place, start, end, law.shortest)
    late = sorted(free, key=lambda place: place.duration, reverse=True)[:n_late]
    segments = tuple(sorted([*taken, *late]))
    return Cuts(segments, n_shortened=len(late), n_dropped=n_late - len(late))


def _left(place: Segment, start: float, end: float, least: float) -> list[Segment]:
    """Return the remaining parts on both sides that are long enough for a segment."""
    return [
        Segment(place.recording, first, last)
        for first, last in ((place.start, start), (end, place.end))
        if last - first >= least
    ]
