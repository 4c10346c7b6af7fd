"""Labelled windows to speaker turns.

Windows slide and overlap, so one moment has several labels; a turn needs one.
The label of a window speaks for its middle rather than its edges. So where two
windows overlap, the boundary lies half way in the overlap::

    window 1   aaaaaaaaaaaa
    window 2       bbbbbbbbbbbb
    turns      aaaaaaaabbbbbbbb

For windows sorted by time, cutting between neighbours is enough: starts and ends
both increase, hence so do the cuts. VBx puts its boundaries in the same places.
A window that begins after another and ends before it breaks that order and
would be lost by cutting; it is taken for an interjection and keeps its extent::

    outer      aaaaaaaaaaaaaaaa
    inner          bbbb
    turns      aaaabbbbaaaaaaaa
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from sms_diar._validation import check_not_negative, refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment, Turn


class _Window(NamedTuple):
    start: float
    end: float
    name: str  # decides between identical windows, whatever their labels
    speaker: str


class _Piece(NamedTuple):
    start: float
    end: float
    speaker: str


def labels_to_turns(
    segments: Mapping[str, Segment],
    labels: Mapping[str, str],
    *,
    max_gap: float = 0.0,
) -> list[Turn]:
    """Merge labelled windows into turns that do not overlap.

    Parameters
    ----------
    segments : mapping
        Window of each id. Windows without a label are left out.
    labels : mapping
        Speaker of each id; each must have a window.
    max_gap : float, default=0.0
        Bridge pauses of at most this many seconds between two turns of one
        speaker. With 0 the turns cover exactly what the windows cover. Times
        that were computed rather than read may need 1e-6 to touch.

    Returns
    -------
    turns : list of Turn
        Sorted by recording and start.

    Notes
    -----
    Windows are taken in order of start, end and id. Neighbours are cut half way
    in their overlap; this includes windows that share an edge, and of identical
    windows the one with the smallest id gets the first half and the one with
    the largest the second. Windows strictly inside others are cut among
    themselves and laid over the outer ones, innermost on top; if the outer ones
    are all of their own speaker they say nothing new and are ignored.

    The labels are only compared, so renaming speakers renames the turns. Cutting
    a window in two changes nothing unless another speaker's window covers or
    touches the place of the cut. Time O(n log n) for n windows.

    Examples
    --------
    >>> windows = {"w1": Segment("call", 0.0, 3.0), "w2": Segment("call", 1.0, 4.0)}
    >>> for turn in labels_to_turns(windows, {"w1": "ann", "w2": "bob"}):
    ...     print(turn.segment.start, turn.segment.end, turn.speaker)
    0.0 2.0 ann
    2.0 4.0 bob
    """
    for argument, value in (("segments", segments), ("labels", labels)):
        rule, remedy = "a mapping", f"read it with read_{argument}"
        refuse_path("labels_to_turns", argument, value, rule, remedy)
    max_gap = check_not_negative("labels_to_turns", "max_gap", max_gap)
    windows: dict[str, list[_Window]] = defaultdict(list)
    for name, speaker in labels.items():
        if name not in segments:
            raise InvalidParameterError(
                f"labels_to_turns: segments must cover all labels, got none for "
                f"{name!r}"
            )
        if not isinstance(speaker, str):
            raise InvalidParameterError(
                f"labels_to_turns: labels must be names, got {speaker!r} for {name!r}; "
                f"name the clusters with name_speakers"
            )
        window = segments[name]
        windows[window.recording].append(
            _Window(window.start, window.end, name, speaker)
        )
    turns = []
    for recording in sorted(windows):
        levels = _levels(_informative(sorted(windows[recording])))
        pieces = [list(_cut(level)) for level in levels]
        for start, end, speaker in _joined(_overlaid(pieces), max_gap):
            turns.append(Turn(Segment(recording, start, end), speaker))
    return turns


def _informative(windows: Iterable[_Window]) -> list[_Window]:
    """Leave out windows strictly inside windows of their own speaker alone.

    They would push away windows of others that overlap them and that lie, as
    they do, over the outer window.
    """
    kept: list[_Window] = []
    reach: dict[str, float] = {}  # latest end of each speaker's earlier windows
    farthest: dict[str, float] = {}  # the two latest of these
    for _, group in groupby(windows, key=lambda window: window.start):
        together = list(group)
        for w in together:
            others = (end for speaker, end in farthest.items() if speaker != w.speaker)
            if reach.get(w.speaker, 0.0) <= w.end or max(others, default=0.0) > w.end:
                kept.append(w)
        for w in together:
            reach[w.speaker] = max(w.end, reach.get(w.speaker, 0.0))
            farthest[w.speaker] = reach[w.speaker]
            if len(farthest) > 2:
                del farthest[min(farthest, key=farthest.__getitem__)]
    return kept


def _levels(windows: Iterable[_Window]) -> list[list[_Window]]:
    """Sort windows by how many windows they are strictly nested in, one in another.

    Within a level no window is strictly inside another. Of each level only the
    latest end so far matters; those ends decrease from level to level, so the
    level of a window is found by bisection, as in patience sorting.
    """
    levels: list[list[_Window]] = []
    latest: list[float] = []  # negated, hence increasing
    for _, group in groupby(windows, key=lambda window: window.start):
        placed = [(bisect_left(latest, -window.end), window) for window in group]
        for level, window in placed:  # an equal start is not strictly inside
            if level == len(levels):
                levels.append([])
                latest.append(-window.end)
            levels[level].append(window)
            latest[level] = min(latest[level], -window.end)
    return levels


def _cut(windows: Sequence[_Window]) -> Iterator[_Piece]:
    """Cut neighbours half way in their overlap; starts and ends both increase."""
    start = windows[0].start
    for window, following in pairwise(windows):
        end, next_start = window.end, following.start
        if following.start < window.end:
            end = next_start = (window.end + following.start) / 2.0
        if start < end:
            yield _Piece(start, end, window.speaker)
        start = next_start
    if start < windows[-1].end:
        yield _Piece(start, windows[-1].end, windows[-1].speaker)


def _overlaid(levels: Sequence[Sequence[_Piece]]) -> Iterator[_Piece]:
    """Lay the pieces of each level over those of the levels before it."""
    waiting = sorted(
        (piece, level) for level, row in enumerate(levels) for piece in row
    )
    waiting.reverse()
    times = sorted({t for piece, _ in waiting for t in (piece.start, piece.end)})
    active: list[tuple[int, float, str]] = []  # the highest level comes first
    for start, end in pairwise(times):
        while waiting and waiting[-1][0].start == start:
            piece, level = waiting.pop()
            heapq.heappush(active, (-level, piece.end, piece.speaker))
        while active and active[0][1] <= start:
            heapq.heappop(active)
        if active:
            yield _Piece(start, end, active[0][2])


def _joined(pieces: Iterable[_Piece], max_gap: float) -> Iterator[_Piece]:
    """Join pieces of one speaker that touch or are at most `max_gap` apart."""
    current: _Piece | None = None
    for piece in pieces:
        if (
            current is not None
            and piece.speaker == current.speaker
            and piece.start - current.end <= max_gap
        ):
            current = current._replace(end=piece.end)
            continue
        if current is not None:
            yield current
        current = piece
    if current is not None:
        yield current
