"""People whom clustering has overlooked.

A window of a segmenter may tell three people apart where clustering knows of two in
all: somebody who says little has too few vectors to be a cluster. The local speakers
for whom no voice is left are then the only trace of that person. Windows overlap, so
the same person is left over in several; such traces are joined where they speak at the
same time, and count if enough of the windows agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.features.local_activity import LocalActivity
from sms_diar.pipeline.diarize.global_activity import NOBODY
from sms_diar.types import BoolArray, FloatArray, IntArray

ALONE = 0.3
"""Seconds, as a mean over windows, that a person must speak alone to count."""

_SEEN = 0.3  # share of the windows that must see a person in a frame
_LEAST = 0.25  # seconds alone below which a local speaker is no trace
_SAME = 0.5  # share of the longer trace that two must have in common


@dataclass(frozen=True, eq=False)
class LeftOver:
    """A person without a voice.

    Parameters
    ----------
    first : int
        Frame of the recording that `alone` begins with.
    alone : ndarray of bool
        Where the person is heard, and nobody else.
    seconds : float
        Spoken alone, as a mean over the windows that look.
    """

    first: int
    alone: BoolArray
    seconds: float


@dataclass(frozen=True, eq=False)
class _Trace:
    """A local speaker of a window for whom no voice is left."""

    first: int
    speaking: BoolArray


def left_over(
    local: LocalActivity, voices: IntArray, expected: FloatArray
) -> list[LeftOver]:
    """Find people who speak, but have no voice.

    Parameters
    ----------
    local : LocalActivity
        The windows.
    voices : ndarray of shape (n_windows, n_local)
        The voice of each local speaker, or `NOBODY`.
    expected : ndarray of shape (n_frames,)
        How many speak in each frame.

    Returns
    -------
    people : list of LeftOver
        Those who speak longest come first.
    """
    traces = _traces(local, voices)
    single, seen = expected < 1.5, local.seen()
    found = []
    for group in _joined(traces):
        first = min(traces[member].first for member in group)
        last = max(
            traces[member].first + len(traces[member].speaking) for member in group
        )
        total = np.zeros(last - first)
        for member in group:
            start = traces[member].first - first
            total[start : start + len(traces[member].speaking)] += traces[
                member
            ].speaking
        share = total / seen[first:last] * single[first:last]
        seconds = float(share.sum()) * local.frames.step
        if seconds >= ALONE:
            found.append(LeftOver(first, share > _SEEN, seconds))
    return sorted(found, key=lambda person: (-person.seconds, person.first))


def _traces(local: LocalActivity, voices: IntArray) -> list[_Trace]:
    least = _LEAST / local.frames.step
    return [
        _Trace(place.start, speaking[:, speaker] > 0.5)
        for row, (place, speaking, alone) in zip(voices, local.windows(), strict=True)
        for speaker in np.flatnonzero(row == NOBODY).tolist()
        if np.count_nonzero(alone[:, speaker] > 0.5) >= least
    ]


def _joined(traces: list[_Trace]) -> list[list[int]]:
    """Groups of traces that are one person's; traces come in order of time."""
    parents = list(range(len(traces)))

    def root(member: int) -> int:
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    oldest = 0
    for number, trace in enumerate(traces):
        while traces[oldest].first + len(traces[oldest].speaking) <= trace.first:
            oldest += 1
        for other in range(oldest, number):
            if traces[other].first < trace.first and _same(traces[other], trace):
                parents[root(number)] = root(other)
    groups: dict[int, list[int]] = {}
    for number in range(len(traces)):
        groups.setdefault(root(number), []).append(number)
    return list(groups.values())


def _same(before: _Trace, after: _Trace) -> bool:
    """Whether two traces speak together where both windows look."""
    earlier = before.speaking[after.first - before.first :]
    later = after.speaking[: len(earlier)]
    earlier = earlier[: len(later)]
    common = int(np.count_nonzero(earlier & later))
    longer = max(int(np.count_nonzero(earlier)), int(np.count_nonzero(later)))
    return common > _SAME * longer
