"""Who speaks when in many recordings, as columns of exact times.

A line of a file may give a turn no length, or a negative one. Scoring tools differ
in how they treat such lines, so the columns keep them. They are not turns: iteration,
indices and the length of an annotation skip them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex, overload

import numpy as np

from sms_diar._text import check_id
from sms_diar._validation import refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.ticks import running_maximum, seconds_array, ticks_of
from sms_diar.types import IntArray, Problem, Segment, Turn


@dataclass(frozen=True, eq=False, repr=False)
class Annotation(Sequence[Turn]):
    """Turns of any number of recordings, in the order in which they were given.

    It is a sequence of its turns, of type `sms_diar.types.Turn`; a slice is an
    annotation again. Two annotations are equal if they hold the same lines in the same
    order, wherever these were read.

    Parameters
    ----------
    recordings, channels, speakers, files : tuple of str
        Names that the columns point to, in order of first appearance.
    recording, channel, speaker : ndarray of shape (n,)
        Places in `recordings`, `channels` and `speakers`.
    start, end : ndarray of shape (n,)
        Times in ticks. An end may equal its start or come before it: what to
        make of such lines is for the scorer to decide.
    file, line : ndarray of shape (n,)
        Where each line was read; line 0 if it was not read from a file.
    problems : tuple of Problem
        What was noticed while reading, no errors among it.

    Examples
    --------
    >>> annotation = Annotation.from_turns([Turn(Segment("call", 0.5, 2.0), "ann")])
    >>> annotation
    <Annotation: 1 turn, 1 speaker, 1 recording>
    >>> annotation[0].segment.duration
    1.5
    >>> annotation[1:]
    <Annotation: 0 turns, 0 speakers, 0 recordings>
    """

    recordings: tuple[str, ...]
    channels: tuple[str, ...]
    speakers: tuple[str, ...]
    files: tuple[str, ...]
    recording: IntArray
    channel: IntArray
    speaker: IntArray
    start: IntArray
    end: IntArray
    file: IntArray
    line: IntArray
    problems: tuple[Problem, ...] = ()

    __hash__ = None  # type: ignore[assignment]  # arrays can be written to

    @classmethod
    def from_turns(cls, turns: Iterable[Turn], *, source: str = "turns") -> Annotation:
        """Make columns of turns in memory.

        Parameters
        ----------
        turns : iterable of Turn
            Their floats stand for the shortest decimals they print as. An
            annotation is returned as it is.
        source : str, default="turns"
            Stands for the file in messages.
        """
        refuse_turns_path("Annotation.from_turns", turns)
        if isinstance(turns, Annotation):
            return turns
        builder = AnnotationBuilder()
        for turn in turns:
            if not isinstance(turn, Turn):
                raise InvalidParameterError(
                    f"Annotation.from_turns: turns must be of type Turn, got {turn!r}"
                )
            segment = turn.segment
            start, end = ticks_of(segment.start), ticks_of(segment.end)
            try:
                builder.add(segment.recording, "1", turn.speaker, start, end, 0)
            except ValueError as error:
                raise InvalidParameterError(f"Annotation.from_turns: {error}") from None
        builder.close_file(source)
        return builder.annotation()

    @cached_property
    def _rows(self) -> IntArray:
        """Rows that a `Turn`, whose times are floats, can hold; shape (n_turns,)."""
        return np.flatnonzero(seconds_array(self.end) > seconds_array(self.start))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Turn: ...

    @overload
    def __getitem__(self, index: slice) -> Annotation: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Turn | Annotation:
        if isinstance(index, slice):
            return self._selected(self._rows[index])
        try:
            row = self._rows[operator.index(index)]
        except IndexError:
            raise IndexError(
                f"turn {index} does not exist; the annotation has {len(self)}"
            ) from None
        return next(self._turns(np.array([row])))

    def __iter__(self) -> Iterator[Turn]:
        return self._turns(self._rows)

    def _selected(self, rows: IntArray) -> Annotation:
        """Annotation of some rows, without names that none of them has."""
        recordings, recording = _used(self.recordings, self.recording[rows])
        channels, channel = _used(self.channels, self.channel[rows])
        speakers, speaker = _used(self.speakers, self.speaker[rows])
        return Annotation(
            recordings,
            channels,
            speakers,
            self.files,
            recording,
            channel,
            speaker,
            self.start[rows],
            self.end[rows],
            self.file[rows],
            self.line[rows],
        )

    def _turns(self, places: IntArray) -> Iterator[Turn]:
        columns = (
            self.recording[places],
            seconds_array(self.start[places]),
            seconds_array(self.end[places]),
            self.speaker[places],
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for recording, start, end, speaker in rows:
            segment = Segment(self.recordings[recording], start, end)
            yield Turn(segment, self.speakers[speaker])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Annotation):
            return NotImplemented
        return (
            np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and _same_names(
                (self.recordings, self.recording), (other.recordings, other.recording)
            )
            and _same_names(
                (self.channels, self.channel), (other.channels, other.channel)
            )
            and _same_names(
                (self.speakers, self.speaker), (other.speakers, other.speaker)
            )
        )

    def __repr__(self) -> str:
        counts = (
            (len(self), "turn"),
            (len(self.speakers), "speaker"),
            (len(self.recordings), "recording"),
        )
        shown = (f"{count} {what}{'s' * (count != 1)}" for count, what in counts)
        return f"<Annotation: {', '.join(shown)}>"


def _used(names: tuple[str, ...], column: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """Names that a column points to, in order of first appearance, and the column."""
    codes, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty(len(codes), dtype=np.int64)
    position[order] = np.arange(len(codes))
    return tuple(names[code] for code in codes[order]), position[inverse]


def _same_names(
    one: tuple[tuple[str, ...], IntArray], other: tuple[tuple[str, ...], IntArray]
) -> bool:
    """Whether two columns of places in lists of names name the same."""
    index: dict[str, int] = {}
    first, second = (
        np.array([index.setdefault(name, len(index)) for name in names], np.int64)
        for names, _ in (one, other)
    )
    return np.array_equal(first[one[1]], second[other[1]])


@dataclass(eq=False)
class AnnotationBuilder:
    """Columns that grow file by file until they become an annotation.

    Names are numbered as they come: `recordings`, `channels` and `speakers` are
    the indices, to which those who add blocks of columns add names.
    """

    recordings: dict[str, int] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    speakers: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _blocks: list[tuple[IntArray, ...]] = field(default_factory=list)
    _rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)

    def add(
        self,
        recording: str,
        channel: str,
        speaker: str,
        start: int,
        end: int,
        line: int,
    ) -> None:
        """Add a line of the file that is closed next; times in ticks.

        Raises
        ------
        ValueError
            If an id is not valid; readers add the file and the line.
        """
        codes = (
            _code(self.recordings, recording),
            _code(self.channels, channel),
            _code(self.speakers, speaker),
        )
        self._rows.append((*codes, start, end, line))

    def close_file(self, name: str) -> int:
        """Take the lines since the last call for those of a file; count them."""
        self.files.append(name)
        n_rows = len(self._rows)
        if n_rows:
            table = np.array(self._rows, dtype=np.int64)
            self._blocks.append((*table.T, self._file_column(n_rows)))
            self._rows = []
        return n_rows

    def add_file(self, name: str, columns: tuple[IntArray, ...]) -> int:
        """Add a whole file at once, as the columns of `add`; count its lines."""
        self.files.append(name)
        n_rows = len(columns[0])
        self._blocks.append((*columns, self._file_column(n_rows)))
        return n_rows

    def _file_column(self, length: int) -> IntArray:
        return np.full(length, len(self.files) - 1, dtype=np.int64)

    def annotation(self) -> Annotation:
        """Everything that was added."""
        blocks = self._blocks or [(np.zeros(0, dtype=np.int64),) * 7]
        recording, channel, speaker, start, end, line, file = (
            np.concatenate(column) for column in zip(*blocks, strict=True)
        )
        return Annotation(
            tuple(self.recordings),
            tuple(self.channels),
            tuple(self.speakers),
            tuple(self.files),
            recording,
            channel,
            speaker,
            start,
            end,
            file,
            line,
            tuple(self.problems),
        )


def _code(index: dict[str, int], name: str) -> int:
    """Return the position of a name in an index, to which it is added if it is new."""
    code = index.get(name)
    if code is None:
        code = index[check_id(name)] = len(index)
    return code


def refuse_turns_path(owner: str, turns: object) -> None:
    """Refuse the path of a file where `owner` wants its turns."""
    refuse_path(owner, "turns", turns, "an iterable of Turn", "read it with read_rttm")


def require_turns(owner: str, name: str, annotation: Annotation) -> None:
    """Refuse an annotation without turns."""
    if not len(annotation):
        raise InvalidParameterError(f"{owner}: {name} must hold turns, got none")


def turn_problems(annotation: Annotation) -> list[Problem]:
    """Lines that tools treat differently: without length, twice, self-overlapping."""
    found = [
        (place, "no length", "the turn has zero length")
        for place in np.flatnonzero(annotation.end == annotation.start).tolist()
    ]
    found += [
        (place, "negative length", "the turn has negative length")
        for place in np.flatnonzero(annotation.end < annotation.start).tolist()
    ]
    for place, is_copy in _self_overlaps(annotation):
        name = annotation.speakers[annotation.speaker[place]]
        if is_copy:
            found.append((place, "given twice", f"a turn of {name!r} given twice"))
        else:
            text = f"speaker {name!r} overlaps an earlier turn of the same speaker"
            found.append((place, "self-overlap", text))
    return [
        Problem(
            text,
            path=annotation.files[annotation.file[place]],
            line=int(annotation.line[place]) or None,
            severity="warning",
            kind=kind,
        )
        for place, kind, text in found
    ]


def _self_overlaps(annotation: Annotation) -> list[tuple[int, bool]]:
    """Lines that begin before an earlier turn of their speaker ends.

    With each, whether it is the same turn as the one before it.
    """
    keep = np.flatnonzero(annotation.end > annotation.start)
    if not len(keep):
        return []
    owner = annotation.recording * len(annotation.channels) + annotation.channel
    owner = owner * len(annotation.speakers) + annotation.speaker
    columns = annotation.end[keep], annotation.start[keep], owner[keep]
    order = np.lexsort(columns)
    end, start, owner = (column[order] for column in columns)
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = owner[1:] == owner[:-1]
    latest = running_maximum(end, ~same)
    found = np.flatnonzero(same[1:] & (start[1:] < latest[:-1])) + 1
    copies = (start[found] == start[found - 1]) & (end[found] == end[found - 1])
    places = keep[order[found]]
    return [(int(p), bool(c)) for p, c in zip(places, copies, strict=True)]
