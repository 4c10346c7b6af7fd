"""Decisions about frames, and the stretches of speech they add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import check_not_negative, check_positive
from sms_diar.types import BoolArray, FloatArray, Segment

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FrameGrid:
    """Where frames lie in time: `shift` apart, each `length` long, in seconds.

    Decisions about frames hold for the stretch of one shift around the middle of
    a frame; the first and last stretch reach to the ends of the signal.
    """

    length: float
    shift: float

    def __post_init__(self) -> None:
        check_positive("FrameGrid", "length", self.length)
        check_positive("FrameGrid", "shift", self.shift)

    def middles(self, n_frames: int) -> FloatArray:
        """Seconds from the start of the signal to the middle of each frame."""
        starts = np.arange(n_frames, dtype=np.float64) * self.shift
        return np.add(starts, self.length / 2)

    def spans(self, is_speech: BoolArray, duration: float) -> list[Span]:
        """Runs of speech frames as stretches of a signal of that duration."""
        edges = np.flatnonzero(np.diff(is_speech, prepend=False, append=False))
        margin = (self.length - self.shift) / 2
        n = len(is_speech)
        return [
            (
                0.0 if first == 0 else first * self.shift + margin,
                duration if last == n else last * self.shift + margin,
            )
            for first, last in edges.reshape(-1, 2).tolist()
        ]


def tidy(
    spans: Iterable[Span],
    duration: float,
    *,
    min_speech: float,
    min_pause: float,
    padding: float,
) -> list[Span]:
    """Bridge short pauses, drop short speech, then widen what is left.

    Parameters
    ----------
    spans : iterable of (start, end)
        In order, apart from each other.
    duration : float
        Of the signal; nothing reaches beyond it.
    min_speech, min_pause : float
        Shorter stretches of speech and of no speech do not count.
    padding : float
        Added on each side; stretches that then meet become one.

    Examples
    --------
    >>> tidy([(1.0, 2.0), (2.05, 3.0), (4.0, 4.05)], 9.0,
    ...      min_speech=0.1, min_pause=0.1, padding=0.5)
    [(0.5, 3.5)]
    """
    for name, value in (
        ("min_speech", min_speech),
        ("min_pause", min_pause),
        ("padding", padding),
    ):
        check_not_negative("tidy", name, value)
    long = [
        (start, end)
        for start, end in _joined(spans, min_pause)
        if end - start >= min_speech
    ]
    wide = [
        (max(start - padding, 0.0), min(end + padding, duration)) for start, end in long
    ]
    return _joined(wide, 0.0)


def to_segments(spans: Iterable[Span], recording: str, start: float) -> list[Segment]:
    """Turn stretches of a signal that begins at `start` into segments."""
    return [Segment(recording, start + low, start + high) for low, high in spans]


def speech_mask(
    segments: Iterable[Segment], n_frames: int, grid: FrameGrid, start: float
) -> BoolArray:
    """Tell which frames of a signal that begins at `start` lie in the segments."""
    middles = start + grid.middles(n_frames)
    mask = np.zeros(n_frames, dtype=np.bool_)
    for segment in segments:
        low, high = np.searchsorted(middles, (segment.start, segment.end))
        mask[low:high] = True
    return mask


def _joined(spans: Iterable[Span], gap: float) -> list[Span]:
    """Stretches with no more than touching, or less than `gap`, between them."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and (start <= joined[-1][1] or start - joined[-1][1] < gap):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
