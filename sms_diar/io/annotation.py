"""Who speaks when in many recordings, as columns of exact times.

The source is RTTM, a CTM-like table (``recording channel onset duration
speaker``) or CSV with a header (recording, start, end or duration, speaker).
Lines keep their numbers, so that later remarks can name them. Well-formed RTTM
is read a column at a time; anything unusual line by line, by the same rules.
"""

from __future__ import annotations

import csv
import glob
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.io._lines import BLANK, check_fields, scan_lines, split_fields
from sms_diar.io._words import Letters, Words, runs_of
from sms_diar.io.remarks import Remark, refuse_errors
from sms_diar.io.rttm import OTHER_TYPES
from sms_diar.timeline.ticks import distinct, parse_one, parse_ticks, ticks_of
from sms_diar.types import IntArray, Turn

SUFFIXES = (".rttm", ".ctm", ".csv")
"""What is read from a folder."""

LIST_SUFFIXES = (".lst", ".list", ".scp", ".flist")
"""A file that names others, one per line."""

_EXCLUDING = frozenset({"NOSCORE", "NON-LEX"})
_WIDTHS = (10, 9)
_SPEAKER = np.frombuffer(b"SPEAKER", dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Annotation:
    """Turns of any number of recordings.

    Parameters
    ----------
    recordings, channels, speakers, files : tuple of str
        Names that the columns point to.
    recording, channel, speaker : ndarray of shape (n,)
        Places in `recordings`, `channels` and `speakers`.
    start, end : ndarray of shape (n,)
        Times in ticks. An end may equal its start or come before it: what to
        make of such turns is for the scorer to decide.
    file, line : ndarray of shape (n,)
        Where each turn was read; line 0 if it was not read from a file.
    remarks : tuple of Remark
        What was noticed while reading, no errors among it.
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
    remarks: tuple[Remark, ...] = ()

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def of(cls, turns: Iterable[Turn], *, source: str = "turns") -> Annotation:
        """Columns of turns in memory; floats stand for their shortest decimals."""
        found = _Columns()
        for turn in turns:
            segment = turn.segment
            found.add(
                segment.recording,
                "1",
                turn.speaker,
                ticks_of(segment.start),
                ticks_of(segment.end),
                0,
            )
        found.close(source)
        return found.annotation()


def read_annotation(
    sources: str | Path | Sequence[str | Path],
) -> Annotation:
    """Read turns of one or more files.

    Parameters
    ----------
    sources : path or sequence of paths
        Files, folders (whose RTTM, CTM and CSV files are read), patterns such as
        ``out/*.rttm``, and lists of files (``.lst``, ``.list``, ``.scp``).

    Returns
    -------
    annotation : Annotation
        Turns in the order of files and lines. Bad lines are refused by file and
        line.
    """
    columns, remarks = _read_all(sources)
    refuse_errors(remarks)
    return columns.annotation(remarks)


def check_annotation(sources: str | Path | Sequence[str | Path]) -> list[Remark]:
    """List everything there is to say about files of turns, errors included."""
    columns, remarks = _read_all(sources)
    annotation = columns.annotation(remarks)
    found = [*remarks, *turn_remarks(annotation)]
    order = {path: place for place, path in enumerate(annotation.files)}
    return sorted(found, key=lambda r: (order.get(r.path, -1), r.line or 0))


def find_files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Files that a list of files, folders, patterns and lists stands for."""
    if isinstance(sources, str | Path):
        sources = [sources]
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in SUFFIXES)
            if not inside:
                raise MissingFileError(
                    f"{path}: the folder holds no file with the suffix "
                    f"{', '.join(SUFFIXES)}"
                )
            files += inside
        elif path.is_file():
            files += _listed(path) if path.suffix in LIST_SUFFIXES else [path]
        else:
            matches = sorted(glob.glob(str(source), recursive=True))  # noqa: PTH207
            if not matches:
                raise MissingFileError(f"{path}: no such file")
            files += [Path(match) for match in matches]
    return files


def _listed(path: Path) -> list[Path]:
    names = [line.text.split()[-1] for line in scan_lines(path) if line.text.strip()]
    files = []
    for name in names:
        # As written, or beside the list.
        found = next((p for p in (Path(name), path.parent / name) if p.is_file()), None)
        if found is None:
            raise MissingFileError(f"{path}: {name}: no such file")
        files.append(found)
    return files


@dataclass(eq=False)
class _Columns:
    """Columns that grow file by file."""

    recordings: dict[str, int] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    speakers: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    blocks: list[tuple[IntArray, ...]] = field(default_factory=list)
    rows: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)

    def add(
        self,
        recording: str,
        channel: str,
        speaker: str,
        start: int,
        end: int,
        line: int,
    ) -> None:
        codes = (
            self.recordings.setdefault(recording, len(self.recordings)),
            self.channels.setdefault(channel, len(self.channels)),
            self.speakers.setdefault(speaker, len(self.speakers)),
        )
        self.rows.append((*codes, start, end, line))

    def close(self, name: str) -> None:
        """Put the rows since the last call into a block, as those of a file."""
        self.files.append(name)
        if self.rows:
            table = np.array(self.rows, dtype=np.int64)
            self.blocks.append((*table.T, self._file_column(len(table))))
            self.rows = []

    def add_block(self, name: str, columns: tuple[IntArray, ...]) -> None:
        self.files.append(name)
        self.blocks.append((*columns, self._file_column(len(columns[0]))))

    def _file_column(self, length: int) -> IntArray:
        return np.full(length, len(self.files) - 1, dtype=np.int64)

    def annotation(self, remarks: Iterable[Remark] = ()) -> Annotation:
        blocks = self.blocks or [(np.zeros(0, dtype=np.int64),) * 7]
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
            tuple(remarks),
        )


def _read_all(
    sources: str | Path | Sequence[str | Path],
) -> tuple[_Columns, list[Remark]]:
    columns, remarks = _Columns(), list[Remark]()
    for path in find_files(sources):
        n_blocks = len(columns.blocks)
        if path.suffix == ".csv":
            _read_csv(path, columns, remarks)
        elif path.suffix == ".ctm":
            _read_lines(path, columns, remarks, is_rttm=False)
        elif not _read_uniform(path, columns):
            _read_lines(path, columns, remarks, is_rttm=True)
        is_empty = len(columns.blocks) == n_blocks
        if is_empty and not any(
            r.path == str(path) and r.severity == "error" for r in remarks
        ):
            remarks.append(Remark(str(path), None, "note", "empty", "holds no turns"))
    return columns, remarks


def _read_uniform(path: Path, columns: _Columns) -> bool:
    """Read RTTM whose lines all look alike; False if they do not."""
    words = Words.of(path.read_bytes())
    if words is None or words.width not in _WIDTHS:
        return False
    kind = words.column(0)
    if kind.shape[1] != len(_SPEAKER) or (kind != _SPEAKER).any():
        return False
    onset, plain_onset = parse_ticks(words.column(3))
    duration, plain_duration = parse_ticks(words.column(4))
    if not (plain_onset.all() and plain_duration.all()):
        return False
    columns.add_block(
        str(path),
        (
            _codes(words.column(1), columns.recordings),
            _codes(words.column(2), columns.channels),
            _codes(words.column(7), columns.speakers),
            onset,
            onset + duration,
            np.arange(1, len(onset) + 1),
        ),
    )
    return True


def _codes(column: Letters, index: dict[str, int]) -> IntArray:
    """Places of names in an index, to which new ones are added."""
    words, run = runs_of(column)
    places = {
        word: index.setdefault(word.decode(), len(index))
        for word in dict.fromkeys(words)
    }
    codes = np.fromiter(map(places.__getitem__, words), np.int64, len(words))
    return codes[run]


def _read_lines(
    path: Path, columns: _Columns, remarks: list[Remark], *, is_rttm: bool
) -> None:
    for line in scan_lines(path):
        for problem in line.problems:
            if problem != BLANK:
                severity = "note" if "is not UTF-8" not in problem else "error"
                kind = "text"
                remarks.append(
                    Remark(str(path), line.number, severity, kind, problem)  # type: ignore[arg-type]
                )
        fields = split_fields(line.text)
        if not fields or fields[0][0] in ";#" or not line.is_readable:
            continue
        try:
            found = _rttm_fields(fields) if is_rttm else _ctm_fields(fields)
            if found is None:
                _remark_skipped(path, line.number, fields[0], remarks)
                continue
            recording, channel, onset, duration, speaker = found
            start, end, is_rounded = _times(onset, duration)
        except ValueError as error:
            remarks.append(
                Remark(str(path), line.number, "error", "format", str(error), line.text)
            )
            continue
        if is_rounded:
            text = "the times have more than 12 decimals and were rounded"
            remarks.append(Remark(str(path), line.number, "warning", "rounded", text))
        columns.add(recording, channel, speaker, start, end, line.number)
    columns.close(str(path))


def _remark_skipped(path: Path, number: int, type_: str, remarks: list[Remark]) -> None:
    if type_.upper() in _EXCLUDING:
        text = (
            f"a {type_} line is skipped; md-eval would leave its time out, so cut it "
            f"out of the UEM"
        )
        remarks.append(Remark(str(path), number, "warning", "no-score line", text))


def _rttm_fields(fields: list[str]) -> tuple[str, str, str, str, str] | None:
    type_ = fields[0].upper()
    if type_ in OTHER_TYPES:
        return None
    if type_ != "SPEAKER":
        raise ValueError(
            f"RTTM has no lines of type {fields[0]!r}; a turn begins with SPEAKER"
        )
    if len(fields) not in _WIDTHS:
        raise ValueError(
            f"a SPEAKER line has 9 or 10 fields, this one has {len(fields)}"
            + ("; names must not contain spaces" if len(fields) > 10 else "")
        )
    check_fields(fields)
    return fields[1], fields[2], fields[3], fields[4], fields[7]


def _ctm_fields(fields: list[str]) -> tuple[str, str, str, str, str]:
    if len(fields) not in (5, 6):
        raise ValueError(
            f"a line has 5 or 6 fields (recording, channel, onset, duration, speaker, "
            f"perhaps a confidence), this one has {len(fields)}"
        )
    check_fields(fields)
    return fields[0], fields[1], fields[2], fields[3], fields[4]


def _times(onset: str, duration: str) -> tuple[int, int, bool]:
    start, rounded_start = parse_one("onset", onset)
    if start < 0:
        raise ValueError(f"onset must not be negative, got {onset}")
    length, rounded_length = parse_one("duration", duration)
    return start, start + length, rounded_start or rounded_length


def _read_csv(path: Path, columns: _Columns, remarks: list[Remark]) -> None:
    text = "".join(line.text + "\n" for line in scan_lines(path))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    try:
        for row in reader:
            if not header:
                header = row
                _check_header(header)
                continue
            if len(row) != len(header):
                raise ValueError(
                    f"a row has {len(header)} fields as the header, this one has "
                    f"{len(row)}"
                )
            cells = dict(zip(header, row, strict=True))
            start, _ = parse_one("start", cells["start"])
            if "end" in cells:
                end, _ = parse_one("end", cells["end"])
            else:
                end = start + parse_one("duration", cells["duration"])[0]
            columns.add(
                cells["recording"],
                cells.get("channel", "1"),
                cells["speaker"],
                start,
                end,
                reader.line_num,
            )
    except (ValueError, csv.Error) as error:
        remarks.append(
            Remark(str(path), reader.line_num, "error", "format", str(error))
        )
    columns.close(str(path))


def _check_header(header: list[str]) -> None:
    names = set(header)
    if not {"recording", "start", "speaker"} <= names or not names & {
        "end",
        "duration",
    }:
        raise ValueError(
            f"the header must have the columns recording, start, speaker, and end or "
            f"duration, got {','.join(header)!r}"
        )


def turn_remarks(annotation: Annotation) -> list[Remark]:
    """Turns that tools treat differently: without length, twice, self-overlapping."""
    remarks = [
        _turn_remark(annotation, int(place), "no length", "the turn has zero length")
        for place in np.flatnonzero(annotation.end == annotation.start)
    ]
    remarks += [
        _turn_remark(
            annotation, int(place), "negative length", "the turn has negative length"
        )
        for place in np.flatnonzero(annotation.end < annotation.start)
    ]
    for place, is_copy in _self_overlaps(annotation):
        name = annotation.speakers[annotation.speaker[place]]
        if is_copy:
            remarks.append(
                _turn_remark(
                    annotation, place, "given twice", f"a turn of {name!r} given twice"
                )
            )
        else:
            remarks.append(
                _turn_remark(
                    annotation,
                    place,
                    "self-overlap",
                    f"speaker {name!r} overlaps an earlier turn of the same speaker",
                )
            )
    return remarks


def _turn_remark(annotation: Annotation, place: int, kind: str, text: str) -> Remark:
    line = int(annotation.line[place])
    path = annotation.files[annotation.file[place]]
    return Remark(path, line or None, "warning", kind, text)


def _self_overlaps(annotation: Annotation) -> list[tuple[int, bool]]:
    """Turns that begin before an earlier turn of their speaker ends."""
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


def running_maximum(values: IntArray, is_first: np.ndarray) -> IntArray:
    """Largest value so far within each group; groups begin where `is_first`."""
    if not len(values):
        return values
    # Ranks instead of values: groups can then be set apart without overflow.
    found, rank = distinct(values)
    group = np.cumsum(is_first)
    largest = np.maximum.accumulate(rank + group * len(found))
    result: IntArray = found[largest - group * len(found)]
    return result


def require_turns(owner: str, name: str, annotation: Annotation) -> None:
    """Refuse an annotation without turns."""
    if not len(annotation):
        raise InvalidParameterError(f"{owner}: {name} must hold turns, got none")
