"""How sure turns are, from windows whose labels come with probabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from sms_diar.types import Segment, Turn


def turn_confidence(
    turns: Sequence[Turn],
    windows: Sequence[Segment],
    labels: Sequence[str],
    confidence: Sequence[float],
) -> list[float | None]:
    """Probability that each turn has the right speaker, by the windows in it.

    A label stands for the speaker with whom its windows share most time. A window
    speaks for the speaker of its label with its confidence, and against others with
    the same; what windows say about a turn is averaged over the time they share.

    Parameters
    ----------
    turns : sequence of Turn
        Of one recording.
    windows : sequence of Segment
        Stretches that were labelled.
    labels, confidence : sequences of equal length
        Label of each window, and the probability that it is right.

    Returns
    -------
    confidence : list of float or None
        For each turn; None where it shares no time with a window.

    Examples
    --------
    >>> windows = [Segment("r", 0.0, 2.0), Segment("r", 2.0, 4.0)]
    >>> turns = [Turn(Segment("r", 0.0, 3.0), "a"), Turn(Segment("r", 3.0, 4.0), "b")]
    >>> found = turn_confidence(turns, windows, ["x", "y"], [0.9, 0.6])
    >>> [round(sure, 2) for sure in found]  # (2 x .9 + .4) / 3, and .6
    [0.73, 0.6]
    """
    shared = list(_shared(turns, windows))
    time: dict[tuple[str, str], float] = defaultdict(float)
    for turn, window, seconds in shared:
        time[labels[window], turns[turn].speaker] += seconds
    stands: dict[str, str] = {}
    for (label, speaker), _ in sorted(time.items(), key=lambda item: item[1]):
        stands[label] = speaker  # the last one has most
    said = np.zeros(len(turns))
    weight = np.zeros(len(turns))
    for turn, window, seconds in shared:
        sure = float(confidence[window])
        agrees = stands[labels[window]] == turns[turn].speaker
        said[turn] += seconds * (sure if agrees else 1.0 - sure)
        weight[turn] += seconds
    return [
        float(np.round(one / all_, 12)) if all_ else None
        for one, all_ in zip(said, weight, strict=True)
    ]


def _shared(
    turns: Sequence[Turn], windows: Sequence[Segment]
) -> Iterator[tuple[int, int, float]]:
    """Places of turns and windows that share time, and how much."""
    order = sorted(range(len(windows)), key=lambda place: windows[place].start)
    starts = np.array([windows[place].start for place in order])
    longest = max((window.duration for window in windows), default=0.0)
    for number, turn in enumerate(turns):
        begin, end = turn.segment.start, turn.segment.end
        first = int(np.searchsorted(starts, begin - longest))
        last = int(np.searchsorted(starts, end))
        for place in order[first:last]:
            window = windows[place]
            seconds = min(end, window.end) - max(begin, window.start)
            if seconds > 0.0:
                yield number, place, seconds
