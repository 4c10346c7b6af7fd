"""Confidences of turns, from the probabilities of labelled windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from sms_diar.types import Segment, Turn


def turn_confidence(
    turns: Sequence[Turn],
    windows: Sequence[Segment],
    labels: Sequence[Hashable],
    confidence: Sequence[float],
) -> list[float | None]:
    """Estimate the probability that each turn has the right speaker.

    A label is matched to the speaker with whom its windows share most time. A window
    supports its speaker with its confidence, and any other speaker with one minus its
    confidence. The confidence of a turn is the mean over its windows, weighted by
    shared time.

    Parameters
    ----------
    turns : sequence of Turn
        Turns of one recording.
    windows : sequence of Segment
        Labelled windows.
    labels, confidence : sequences of equal length
        Label of each window, and the probability that the label is right.

    Returns
    -------
    confidence : list of float or None
        Confidence of each turn; None if it shares no time with a window.

    Examples
    --------
    >>> windows = [Segment("r", 0.0, 2.0), Segment("r", 2.0, 4.0)]
    >>> turns = [Turn(Segment("r", 0.0, 3.0), "a"), Turn(Segment("r", 3.0, 4.0), "b")]
    >>> confidence = turn_confidence(turns, windows, ["x", "y"], [0.9, 0.6])
    >>> [round(value, 2) for value in confidence]  # (2 x .9 + .4) / 3, and .6
    [0.73, 0.6]
    """
    shared = list(_shared(turns, windows))
    time: dict[tuple[Hashable, str], float] = defaultdict(float)
    for turn, window, seconds in shared:
        time[labels[window], turns[turn].speaker] += seconds
    matched: dict[Hashable, str] = {}
    for (label, speaker), _ in sorted(time.items(), key=lambda item: item[1]):
        matched[label] = speaker  # the last one shares most time
    support = np.zeros(len(turns))
    weight = np.zeros(len(turns))
    for turn, window, seconds in shared:
        probability = float(confidence[window])
        agrees = matched[labels[window]] == turns[turn].speaker
        support[turn] += seconds * (probability if agrees else 1.0 - probability)
        weight[turn] += seconds
    return [
        float(np.round(value / total, 12)) if total else None
        for value, total in zip(support, weight, strict=True)
    ]


def _shared(
    turns: Sequence[Turn], windows: Sequence[Segment]
) -> Iterator[tuple[int, int, float]]:
    """Yield indices of turns and windows that share time, and the shared seconds."""
    order = sorted(range(len(windows)), key=lambda index: windows[index].start)
    starts = np.array([windows[index].start for index in order])
    longest = max((window.duration for window in windows), default=0.0)
    for number, turn in enumerate(turns):
        begin, end = turn.segment.start, turn.segment.end
        first = int(np.searchsorted(starts, begin - longest))
        last = int(np.searchsorted(starts, end))
        for index in order[first:last]:
            window = windows[index]
            seconds = min(end, window.end) - max(begin, window.start)
            if seconds > 0.0:
                yield number, index, seconds
