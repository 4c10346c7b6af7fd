"""Labelled windows to speaker turns, and turns without fragments.

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

A model that decides every 17 ms also leaves turns of 17 ms. `tidy_turns` gives their
time to the speech that covers or touches them::

    turns      aaaaaaabaaaaaac
                 b           ccccccc
    tidied     aaaaaaaaaaaaaacccccc
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from sms_diar._validation import check_not_negative, refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.annotation import refuse_turns_path
from sms_diar.timeline.regions import joined
from sms_diar.types import Segment, Turn

MIN_TURN = 0.2
"""Seconds of the shortest turn by default. Of shorter ones in silence, most are false
alarms: to drop them lowered the error of the AMI clips from 29.53 % to 29.46 %."""

MAX_GAP = 0.2
"""Seconds of the longest pause of a speaker that is bridged by default."""

_EQUAL = 1e-6  # seconds by which computed times may differ and mean the same


_Speech: TypeAlias = dict[str, list[Segment]]  # segments of each speaker


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


def tidy_turns(
    turns: Iterable[Turn], *, min_turn: float = 0.0, max_gap: float = 0.0
) -> list[Turn]:
    """Bridge short pauses and remove short turns.

    Parameters
    ----------
    turns : iterable of Turn
        Turns of any recordings; they may overlap.
    min_turn : float, default=0.0
        Minimum length of a turn in seconds. A shorter one is dropped where other
        speech covers it. The rest of it goes to the turns that it touches, or, in
        silence, is extended to the minimum; below 0.2 s it is dropped there. A
        speaker whose turns are all shorter keeps the longest, extended.
    max_gap : float, default=0.0
        Maximum length in seconds of a pause that is bridged: the speaker before it
        also speaks after it, and no other speaker talks in it.

    Returns
    -------
    turns : list of Turn
        Sorted by recording and start. Turns of one speaker neither touch nor overlap,
        every speaker of the input is there, and no turn reaches beyond the first start
        and the last end of its recording. Time O(n log n) for n turns.

    Examples
    --------
    >>> said = [(0.0, 3.0, "a"), (1.0, 1.1, "b"), (3.2, 4.0, "a"), (5.0, 6.0, "b")]
    >>> turns = [Turn(Segment("call", start, end), who) for start, end, who in said]
    >>> for turn in tidy_turns(turns, min_turn=0.2, max_gap=0.2):
    ...     print(turn.segment.start, turn.segment.end, turn.speaker)
    0.0 4.0 a
    5.0 6.0 b
    """
    refuse_turns_path("tidy_turns", turns)
    min_turn = check_not_negative("tidy_turns", "min_turn", min_turn)
    max_gap = check_not_negative("tidy_turns", "max_gap", max_gap)
    recordings: dict[str, _Speech] = {}
    for turn in turns:
        speech = recordings.setdefault(turn.segment.recording, {})
        speech.setdefault(turn.speaker, []).append(turn.segment)
    return sorted(
        Turn(segment, speaker)
        for speech in recordings.values()
        for speaker, segments in _tidied(speech, min_turn, max_gap).items()
        for segment in segments
    )


def _tidied(speech: _Speech, min_turn: float, max_gap: float) -> _Speech:
    """Tidy the turns of one recording."""
    speech = _bridged(speech, max_gap)
    everything = [segment for own in speech.values() for segment in own]
    extent = min(one.start for one in everything), max(one.end for one in everything)
    short: list[Turn] = []
    tidied: _Speech = {}
    for speaker, own in speech.items():
        is_long = [segment.duration > min_turn - _EQUAL for segment in own]
        tidied[speaker] = [one for one, long in zip(own, is_long, strict=True) if long]
        short += [
            Turn(one, speaker)
            for one, long in zip(own, is_long, strict=True)
            if not long
        ]
        if not any(is_long):
            tidied[speaker] = [max(own, key=lambda segment: segment.duration)]
    if not short:
        return tidied
    for part, speaker in _reassigned(sorted(short), tidied, min_turn):
        tidied[speaker].append(part)
    return {
        speaker: joined(_extended(segment, min_turn, extent) for segment in own)
        for speaker, own in _bridged(tidied, max_gap).items()
    }


def _reassigned(
    short: Sequence[Turn], speech: _Speech, min_turn: float
) -> list[tuple[Segment, str]]:
    """Uncovered parts of short turns, and the speakers who get them."""
    ending: dict[float, set[str]] = defaultdict(set)
    beginning: dict[float, set[str]] = defaultdict(set)
    for speaker, own in speech.items():
        for segment in own:
            ending[_rounded(segment.end)].add(speaker)
            beginning[_rounded(segment.start)].add(speaker)
    covered = joined(segment for own in speech.values() for segment in own)
    parts = []
    for part in _outside(joined(turn.segment for turn in short), covered):
        before, after = ending[_rounded(part.start)], beginning[_rounded(part.end)]
        around = sorted(before & after) or sorted(before) or sorted(after)
        if before and after and not before & after:
            middle = (part.start + part.end) / 2.0
            parts += [
                (Segment(part.recording, part.start, middle), min(before)),
                (Segment(part.recording, middle, part.end), min(after)),
            ]
        elif around:
            parts.append((part, around[0]))
        elif part.duration > MIN_TURN - _EQUAL:
            parts.append((part, _main_speaker(part, short, min_turn)))
    return parts


def _main_speaker(part: Segment, short: Sequence[Turn], min_turn: float) -> str:
    """Speaker with most time in a part that sorted short turns cover."""
    seconds: dict[str, float] = defaultdict(float)
    first = bisect_left(
        short, part.start - min_turn, key=lambda turn: turn.segment.start
    )
    for place in range(first, len(short)):
        turn = short[place]
        if turn.segment.start >= part.end:
            break
        shared = min(turn.segment.end, part.end) - max(turn.segment.start, part.start)
        seconds[turn.speaker] += max(shared, 0.0)
    return max(seconds, key=seconds.__getitem__)


def _bridged(speech: _Speech, max_gap: float) -> _Speech:
    """Join what touches, and fill pauses of all speakers up to `max_gap`."""
    union = joined(segment for own in speech.values() for segment in own)
    pauses = {
        (one.end, two.start)
        for one, two in pairwise(union)
        if two.start - one.end <= max_gap + _EQUAL
    }
    bridged: _Speech = {}
    for speaker, own in speech.items():
        segments: list[Segment] = []
        for one in joined(own):
            last = segments[-1] if segments else one
            if one.start - last.end <= _EQUAL or (last.end, one.start) in pauses:
                segments[-1:] = [Segment(one.recording, last.start, one.end)]
            else:
                segments.append(one)
        bridged[speaker] = segments
    return bridged


def _outside(
    regions: Iterable[Segment], covered: Sequence[Segment]
) -> Iterator[Segment]:
    """Yield the parts of regions that are not covered; both are sorted and disjoint."""
    ends = [one.end for one in covered]
    for region in regions:
        start = region.start
        for place in range(bisect_right(ends, start), len(covered)):
            one = covered[place]
            if one.start >= region.end:
                break
            if one.start - start > _EQUAL:
                yield Segment(region.recording, start, one.start)
            start = one.end
        if region.end - start > _EQUAL:
            yield Segment(region.recording, start, region.end)


def _extended(
    segment: Segment, min_turn: float, extent: tuple[float, float]
) -> Segment:
    """Extend a segment on both sides to `min_turn`, as far as the extent allows."""
    if segment.duration >= min_turn:
        return segment
    start = (segment.start + segment.end - min_turn) / 2.0
    start = max(extent[0], min(start, extent[1] - min_turn))
    return Segment(segment.recording, start, min(start + min_turn, extent[1]))


def _rounded(time: float) -> float:
    return round(time, 6)
