"""Speaker turns of many recordings as columns of exact times.

Lines of a file may describe turns of zero or negative length. Scoring tools treat such
lines differently, so the columns keep them. They are not turns: iteration, indexing and
the length of an annotation skip them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import SupportsIndex, TypeAlias, overload

import numpy as np

from sms_diar._text import check_id
from sms_diar._validation import refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.ticks import running_maximum, seconds_array, ticks_of
from sms_diar.types import IntArray, Problem, Segment, Turn

_NamedColumn: TypeAlias = tuple[tuple[str, ...], IntArray]  # names and their indices


@dataclass(frozen=True, eq=False, repr=False)
class Annotation(Sequence[Turn]):
    """Turns of any number of recordings, in the order of the input.

    It is a sequence of `sms_diar.types.Turn`; a slice is again an annotation. Two
    annotations are equal if they contain the same lines in the same order, no matter
    from which files they were read.

    Parameters
    ----------
    recordings, channels, speakers, files : tuple of str
        Names that the columns refer to, in order of first appearance.
    recording, channel, speaker : ndarray of shape (n,)
        Indices into `recordings`, `channels` and `speakers`.
    start, end : ndarray of shape (n,)
        Times in ticks. An end may equal its start or precede it; scorers decide how to
        treat such lines.
    file, line : ndarray of shape (n,)
        Index into `files` and line number of each line; line 0 if not from a file.
    problems : tuple of Problem
        Warnings about the lines that were read.

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
        """Build an annotation from turns in memory.

        An annotation is returned unchanged. A float represents the shortest decimal
        that it prints as. Messages name `source` instead of a file.
        """
        refuse_turns_path("Annotation.from_turns", turns)
        if isinstance(turns, Annotation):
            return turns
        builder = AnnotationBuilder()
        for turn in turns:
            if not isinstance(turn, Turn):
                problem = f"must be of type Turn, got {turn!r}"
                raise InvalidParameterError(
                    problem, owner="Annotation.from_turns", parameter="turns"
                )
            segment = turn.segment
            start, end = ticks_of(segment.start), ticks_of(segment.end)
            try:
                builder.add(segment.recording, "1", turn.speaker, start, end, 0)
            except ValueError as error:
                raise InvalidParameterError(
                    str(error), owner="Annotation.from_turns"
                ) from None
        builder.close_file(source)
        return builder.annotation()

    @cached_property
    def _rows(self) -> IntArray:
        """Rows that can be represented by a `Turn` (float times), shape (n_turns,)."""
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
            problem = f"turn {index} does not exist; the annotation has {len(self)}"
            raise IndexError(problem) from None
        return next(self._turns(np.array([row])))

    def __iter__(self) -> Iterator[Turn]:
        return self._turns(self._rows)

    def _named_columns(self) -> tuple[_NamedColumn, _NamedColumn, _NamedColumn]:
        return (
            (self.recordings, self.recording),
            (self.channels, self.channel),
            (self.speakers, self.speaker),
        )

    def _selected(self, rows: IntArray) -> Annotation:
        """Return an annotation of some rows, without unused names."""
        (recordings, recording), (channels, channel), (speakers, speaker) = (
            _used(names, column[rows]) for names, column in self._named_columns()
        )
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

    def _turns(self, rows: IntArray) -> Iterator[Turn]:
        columns = (
            self.recording[rows],
            seconds_array(self.start[rows]),
            seconds_array(self.end[rows]),
            self.speaker[rows],
        )
        values = zip(*(column.tolist() for column in columns), strict=True)
        for recording, start, end, speaker in values:
            segment = Segment(self.recordings[recording], start, end)
            yield Turn(segment, self.speakers[speaker])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Annotation):
            return NotImplemented
        return (
            np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and all(map(_same_names, self._named_columns(), other._named_columns()))
        )

    def __repr__(self) -> str:
        counts = (
            (len(self), "turn"),
            (len(self.speakers), "speaker"),
            (len(self.recordings), "recording"),
        )
        shown = (f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
        return f"<Annotation: {', '.join(shown)}>"


def _used(names: tuple[str, ...], column: IntArray) -> _NamedColumn:
    """Return the names that a column uses, by first appearance, and the new column."""
    codes, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty(len(codes), dtype=np.int64)
    position[order] = np.arange(len(codes))
    return tuple(names[code] for code in codes[order]), position[inverse]


def _same_names(left: _NamedColumn, right: _NamedColumn) -> bool:
    """Check whether two columns of indices into lists of names are the same names."""
    index: dict[str, int] = {}
    first, second = (
        np.array([index.setdefault(name, len(index)) for name in names], np.int64)
        for names, _ in (left, right)
    )
    return np.array_equal(first[left[1]], second[right[1]])


@dataclass(eq=False)
class AnnotationBuilder:
    """Builder that collects columns file by file.

    Names are numbered in order of appearance. `recordings`, `channels` and `speakers`
    are the indices; callers that add blocks of columns also add their names.
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
        """Add a line of the current file, with times in ticks.

        Readers add file and line to the ValueError that an invalid id raises.
        """
        codes = (
            _code(self.recordings, recording),
            _code(self.channels, channel),
            _code(self.speakers, speaker),
        )
        self._rows.append((*codes, start, end, line))

    def close_file(self, name: str) -> int:
        """Assign the lines since the last call to a file, and return their number."""
        self.files.append(name)
        n_rows = len(self._rows)
        if n_rows:
            table = np.array(self._rows, dtype=np.int64)
            self._blocks.append((*table.T, self._file_column(n_rows)))
            self._rows = []
        return n_rows

    def add_file(self, name: str, columns: tuple[IntArray, ...]) -> int:
        """Add a whole file as columns in the order of `add`; return its line count."""
        self.files.append(name)
        n_rows = len(columns[0])
        self._blocks.append((*columns, self._file_column(n_rows)))
        return n_rows

    def _file_column(self, length: int) -> IntArray:
        return np.full(length, len(self.files) - 1, dtype=np.int64)

    def annotation(self) -> Annotation:
        """Return an annotation of everything that was added."""
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
    """Return the position of a name in an index; new names are added."""
    code = index.get(name)
    if code is None:
        code = index[check_id(name)] = len(index)
    return code


def turns_by_recording(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Return the turns of each recording."""
    groups: dict[str, list[Turn]] = {}
    for turn in turns:
        groups.setdefault(turn.segment.recording, []).append(turn)
    return groups


def refuse_turns_path(owner: str, turns: object) -> None:
    """Raise an error if `turns` is the path of a file."""
    refuse_path(owner, "turns", turns, "an iterable of Turn", "read it with read_rttm")


def require_turns(owner: str, name: str, annotation: Annotation) -> None:
    """Raise an error if the annotation has no turns."""
    if not len(annotation):
        problem = "must hold turns, got none"
        raise InvalidParameterError(problem, owner=owner, parameter=name)


def turn_problems(annotation: Annotation) -> list[Problem]:
    """List lines that tools treat differently: empty, duplicate, self-overlapping."""
    problems = [
        (row, "no length", "the turn has zero length")
        for row in np.flatnonzero(annotation.end == annotation.start).tolist()
    ]
    problems += [
        (row, "negative length", "the turn has negative length")
        for row in np.flatnonzero(annotation.end < annotation.start).tolist()
    ]
    for row, is_copy in _self_overlaps(annotation):
        name = annotation.speakers[annotation.speaker[row]]
        if is_copy:
            problems.append((row, "given twice", f"a turn of {name!r} given twice"))
        else:
            text = f"speaker {name!r} overlaps an earlier turn of the same speaker"
            problems.append((row, "self-overlap", text))
    return [
        Problem(
            text,
            path=annotation.files[annotation.file[row]],
            line=int(annotation.line[row]) or None,
            severity="warning",
            kind=kind,
        )
        for row, kind, text in problems
    ]


def _self_overlaps(annotation: Annotation) -> list[tuple[int, bool]]:
    """Find lines that begin before an earlier turn of the same speaker ends.

    Returns the row of each, and whether it is a copy of the preceding turn.
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
    later = np.flatnonzero(same[1:] & (start[1:] < latest[:-1])) + 1
    copies = (start[later] == start[later - 1]) & (end[later] == end[later - 1])
    rows = keep[order[later]]
    return [(int(r), bool(c)) for r, c in zip(rows, copies, strict=True)]
