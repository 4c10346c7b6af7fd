"""Conversion of labelled windows to speaker turns, and removal of short turns.

Windows overlap, so one moment can have several labels, but a turn needs exactly one.
The label of a window is more reliable at its middle than at its edges, so the boundary
is put half way in the overlap of two windows::

    window 1   aaaaaaaaaaaa
    window 2       bbbbbbbbbbbb
    turns      aaaaaaaabbbbbbbb

For windows sorted by time, cutting between neighbours is enough: starts and ends both
increase, so the cuts also increase. VBx uses the same boundaries. A window that begins
after another one and ends before it violates that order and would be lost; it is
treated as an interjection and keeps its extent::

    outer      aaaaaaaaaaaaaaaa
    inner          bbbb
    turns      aaaabbbbaaaaaaaa

A model with a decision every 17 ms also produces turns of 17 ms. `tidy_turns` assigns
their time to the speech that covers or touches them::

    turns      aaaaaaabaaaaaac
                 b           ccccccc
    tidied     aaaaaaaaaaaaaacccccc
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from sms_diar._validation import check_not_negative, refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.annotation import refuse_turns_path, turns_by_recording
from sms_diar.timeline.regions import joined
from sms_diar.types import Segment, Turn

MIN_TURN = 0.2
"""Default minimum length of a turn in seconds. Most shorter ones in silence are false
alarms: dropping them lowered the error on the AMI clips from 29.53 % to 29.46 %."""

MAX_GAP = 0.5
"""Default maximum length in seconds of a speaker's pause that is bridged. Segmenters
hear more pauses than references have; see docs/lab/neural.md."""

_EQUAL = 1e-6  # tolerance in seconds for comparing computed times

_Speech: TypeAlias = dict[str, list[Segment]]  # segments of each speaker


class _Window(NamedTuple):
    start: float
    end: float
    name: str  # orders identical windows independently of their labels
    speaker: str


class _Piece(NamedTuple):
    start: float
    end: float
    speaker: str


def labels_to_turns(
    segments: Mapping[str, Segment], labels: Mapping[str, str], *, max_gap: float = 0.0
) -> list[Turn]:
    """Merge labelled windows into turns that do not overlap.

    Turns are sorted by recording and start. `segments` are the windows and `labels`
    their speakers, by id. Each label needs a window; windows without a label are
    ignored. Pauses of one speaker of up to `max_gap` seconds are bridged. With 0, the
    turns cover exactly the time of the windows; computed times may need 1e-6 to touch.

    Windows are sorted by start, end and id. Neighbours are cut half way in their
    overlap, including windows that share an edge; of identical windows, the one with
    the smallest id gets the first half and the one with the largest id the second half.
    Windows strictly inside others are cut among themselves and laid over the outer
    ones, innermost on top. They are ignored if all outer windows have the same speaker.

    Labels are only compared for equality, so renaming speakers renames the turns.
    Splitting a window in two changes nothing unless another speaker's window covers or
    touches the cut. Time O(n log n) for n windows.
    """
    for argument, value in (("segments", segments), ("labels", labels)):
        rule, remedy = "a mapping", f"read it with read_{argument}"
        refuse_path("labels_to_turns", argument, value, rule, remedy)
    max_gap = check_not_negative("labels_to_turns", "max_gap", max_gap)
    windows: dict[str, list[_Window]] = defaultdict(list)
    for name, speaker in labels.items():
        if name not in segments:
            problem = f"must cover all labels, got none for {name!r}"
            raise InvalidParameterError(
                problem, owner="labels_to_turns", parameter="segments"
            )
        if not isinstance(speaker, str):
            raise InvalidParameterError(
                f"must be names, got {speaker!r} for {name!r}; name the clusters with "
                f"name_speakers",
                owner="labels_to_turns",
                parameter="labels",
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
    """Drop windows that are strictly inside windows of the same speaker only.

    They would displace windows of other speakers that overlap them and that are also
    inside the outer window.
    """
    informative: list[_Window] = []
    reach: dict[str, float] = {}  # latest end of the earlier windows of each speaker
    farthest: dict[str, float] = {}  # the two latest of these ends
    for _, group in groupby(windows, key=lambda window: window.start):
        together = list(group)
        for w in together:
            others = (end for speaker, end in farthest.items() if speaker != w.speaker)
            if reach.get(w.speaker, 0.0) <= w.end or max(others, default=0.0) > w.end:
                informative.append(w)
        for w in together:
            reach[w.speaker] = max(w.end, reach.get(w.speaker, 0.0))
            farthest[w.speaker] = reach[w.speaker]
            if len(farthest) > 2:
                del farthest[min(farthest, key=farthest.__getitem__)]
    return informative


def _levels(windows: Iterable[_Window]) -> list[list[_Window]]:
    """Sort windows into levels by the depth of their strict nesting.

    Within a level, no window is strictly inside another. Only the latest end of each
    level matters. These ends decrease from level to level, so the level of a window is
    found by bisection, as in patience sorting.
    """
    levels: list[list[_Window]] = []
    latest: list[float] = []  # negated, so that it increases
    for _, group in groupby(windows, key=lambda window: window.start):
        placed = [(bisect_left(latest, -window.end), window) for window in group]
        for level, window in placed:  # an equal start does not count as strictly inside
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
    """Lay the pieces of each level over the pieces of the lower levels."""
    waiting = sorted(
        (piece, level) for level, row in enumerate(levels) for piece in row
    )
    waiting.reverse()
    times = sorted({t for piece, _ in waiting for t in (piece.start, piece.end)})
    active: list[tuple[int, float, str]] = []  # heap, highest level first
    for start, end in pairwise(times):
        while waiting and waiting[-1][0].start == start:
            piece, level = waiting.pop()
            heapq.heappush(active, (-level, piece.end, piece.speaker))
        while active and active[0][1] <= start:
            heapq.heappop(active)
        if active:
            yield _Piece(start, end, active[0][2])


def _joined(pieces: Iterable[_Piece], max_gap: float) -> Iterator[_Piece]:
    """Merge pieces of one speaker that touch or are at most `max_gap` apart."""
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
    """Remove short turns and bridge short pauses.

    Parts of a turn shorter than `min_turn` seconds that other speech covers are
    dropped. The remainder is assigned to the turns that it touches. In silence it is
    extended to the minimum, or dropped if shorter than 0.2 s. A speaker with only
    shorter turns keeps the longest one, extended. A pause of up to `max_gap` seconds is
    bridged if the same speaker talks before and after it, and no other speaker in it.

    Returns turns sorted by recording and start. Turns of one speaker neither touch nor
    overlap, every speaker of the input is present, and no turn extends beyond the first
    start and the last end of its recording. Time O(n log n) for n turns.
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
    everything = [segment for segments in speech.values() for segment in segments]
    extent = min(s.start for s in everything), max(s.end for s in everything)
    short: list[Turn] = []
    tidied: _Speech = {}
    for speaker, segments in speech.items():
        is_long = [segment.duration > min_turn - _EQUAL for segment in segments]
        pairs = list(zip(segments, is_long, strict=True))
        tidied[speaker] = [segment for segment, long in pairs if long]
        short += [Turn(segment, speaker) for segment, long in pairs if not long]
        if not any(is_long):
            tidied[speaker] = [max(segments, key=lambda segment: segment.duration)]
    if not short:
        return tidied
    for part, speaker in _reassigned(sorted(short), tidied, min_turn):
        tidied[speaker].append(part)
    return {
        speaker: joined(_extended(segment, min_turn, extent) for segment in segments)
        for speaker, segments in _bridged(tidied, max_gap).items()
    }


def _reassigned(
    short: Sequence[Turn], speech: _Speech, min_turn: float
) -> list[tuple[Segment, str]]:
    """Return uncovered parts of short turns with the speakers that they go to."""
    ending: dict[float, set[str]] = defaultdict(set)
    beginning: dict[float, set[str]] = defaultdict(set)
    for speaker, segments in speech.items():
        for segment in segments:
            ending[_rounded(segment.end)].add(speaker)
            beginning[_rounded(segment.start)].add(speaker)
    covered = joined(segment for segments in speech.values() for segment in segments)
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
    """Return the speaker with most time in a part that sorted short turns cover."""
    seconds: dict[str, float] = defaultdict(float)
    first = bisect_left(
        short, part.start - min_turn, key=lambda turn: turn.segment.start
    )
    for index in range(first, len(short)):
        turn = short[index]
        if turn.segment.start >= part.end:
            break
        shared = min(turn.segment.end, part.end) - max(turn.segment.start, part.start)
        seconds[turn.speaker] += max(shared, 0.0)
    return max(seconds, key=seconds.__getitem__)


def _bridged(speech: _Speech, max_gap: float) -> _Speech:
    """Merge touching segments, and fill pauses of up to `max_gap` without speech."""
    union = joined(segment for segments in speech.values() for segment in segments)
    pauses = {
        (left.end, right.start)
        for left, right in pairwise(union)
        if right.start - left.end <= max_gap + _EQUAL
    }
    bridged: _Speech = {}
    for speaker, segments in speech.items():
        merged: list[Segment] = []
        for part in joined(segments):
            last = merged[-1] if merged else part
            if part.start - last.end <= _EQUAL or (last.end, part.start) in pauses:
                merged[-1:] = [Segment(part.recording, last.start, part.end)]
            else:
                merged.append(part)
        bridged[speaker] = merged
    return bridged


def _outside(
    regions: Iterable[Segment], covered: Sequence[Segment]
) -> Iterator[Segment]:
    """Yield the parts of regions that are not covered; both are sorted and disjoint."""
    ends = [cover.end for cover in covered]
    for region in regions:
        start = region.start
        for index in range(bisect_right(ends, start), len(covered)):
            cover = covered[index]
            if cover.start >= region.end:
                break
            if cover.start - start > _EQUAL:
                yield Segment(region.recording, start, cover.start)
            start = cover.end
        if region.end - start > _EQUAL:
            yield Segment(region.recording, start, region.end)


def _extended(
    segment: Segment, min_turn: float, extent: tuple[float, float]
) -> Segment:
    """Extend a segment on both sides to `min_turn`, within the extent."""
    if segment.duration >= min_turn:
        return segment
    start = (segment.start + segment.end - min_turn) / 2.0
    start = max(extent[0], min(start, extent[1] - min_turn))
    return Segment(segment.recording, start, min(start + min_turn, extent[1]))


def _rounded(time: float) -> float:
    return round(time, 6)


def exclusive_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Give overlapped time to one speaker, so that turns do not overlap.

    The longest turn gets it: a long turn usually continues after an interjection, and
    speech recognisers mostly write its words. Turns inside longer ones disappear. The
    union of all turns does not change. Time O(n log n) for n turns.
    """
    refuse_turns_path("exclusive_turns", turns)
    exclusive = []
    for name, listed in sorted(turns_by_recording(turns).items()):
        listed.sort(key=lambda turn: (turn.segment.duration, turn), reverse=True)
        levels = [
            [_Piece(turn.segment.start, turn.segment.end, turn.speaker)]
            for turn in reversed(listed)
        ]
        for start, end, speaker in _joined(_overlaid(levels), 0.0):
            exclusive.append(Turn(Segment(name, start, end), speaker))
    return exclusive


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
    shared time; None if it shares no time with a window. All turns are of one
    recording.
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
