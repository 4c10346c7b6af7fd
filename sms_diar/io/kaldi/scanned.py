"""Tolerant reading of data directories: problems are collected, not raised.

Other readers stop at the first problem. Validation, repair, and partial use of a
directory need all problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import soundfile

from sms_diar._files import native_name
from sms_diar.errors import MissingFileError
from sms_diar.io._lines import BLANK, BOM, CRLF, scan_lines
from sms_diar.io.audio.recording import AudioSource, audio_path
from sms_diar.io.kaldi.tables import (
    Parser,
    Span,
    parse_audio,
    parse_count,
    parse_duration,
    parse_gender,
    parse_pair,
    parse_span,
    parse_speaker,
)
from sms_diar.types import Problem, Severity

V = TypeVar("V")

UNSORTED = "ids must be in C locale order"

REPAIRABLE = (BOM, CRLF, BLANK, UNSORTED)
"""Beginnings of problems that can be repaired without dropping a line."""

ROUNDING = 0.01
"""Tolerance in seconds between tables and audio: reco2dur has two decimals."""


@dataclass(frozen=True, slots=True)
class Row(Generic[V]):
    """A parsed line."""

    line: int
    value: V


@dataclass(frozen=True, slots=True)
class ScannedTable(Generic[V]):
    """Rows of a table by id, in file order; the first row of each id."""

    path: Path
    rows: dict[str, Row[V]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    exists: bool = True

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def report(self, line: int | None, severity: Severity, text: str) -> None:
        """Add a problem."""
        problem = Problem(text, str(self.path), line, severity=severity)
        self.problems.append(problem)


def scan_table(path: Path, parse: Parser[V]) -> ScannedTable[V]:
    """Read all valid rows of a table; a missing file is an empty table."""
    if not path.is_file():
        return ScannedTable(path, exists=False)
    table: ScannedTable[V] = ScannedTable(path)
    byte_problems: dict[str, list[int]] = {}
    previous: str | None = None
    is_sorted, last = True, 0
    for line in scan_lines(path):
        last = line.number
        for problem in line.problems:
            byte_problems.setdefault(problem, []).append(line.number)
        if not line.is_readable:
            continue
        try:
            key, value = parse(line.text)
        except ValueError as error:
            table.report(line.number, "error", str(error))
            continue
        if key in table.rows:
            first = table.rows[key].line
            text = f"id {key!r} is given twice, first on line {first}"
            table.report(line.number, "error", text)
            continue
        if is_sorted and previous is not None and key < previous:
            is_sorted = False
            table.report(
                line.number,
                "error",
                f"{UNSORTED}, got {key!r} after {previous!r}; sort "
                f"the file with LC_ALL=C sort",
            )
        previous = key
        table.rows[key] = Row(line.number, value)
    for problem, lines in byte_problems.items():
        more = f" ({len(lines)} such lines)" if len(lines) > 1 else ""
        table.report(lines[0], "error", problem + more)
    if last == 0:
        table.report(None, "error", "the file is empty")
    elif not path.read_bytes().endswith(b"\n"):
        table.report(
            last, "warning", "the last line has no line end; Kaldi refuses that"
        )
    return table


@dataclass(frozen=True, slots=True)
class ScannedDir:
    """All tables of a directory and their problems."""

    path: Path
    wav_scp: ScannedTable[AudioSource]
    segments: ScannedTable[Span]
    utt2spk: ScannedTable[str]
    spk2utt: ScannedTable[tuple[str, ...]]
    reco2num_spk: ScannedTable[int]
    spk2gender: ScannedTable[str]
    reco2dur: ScannedTable[float]

    @classmethod
    def of(cls, path: str | Path) -> ScannedDir:
        """Read a directory."""
        path = Path(path)
        if not path.is_dir():
            raise MissingFileError(f"{path}: no such data directory")
        return cls(
            path,
            scan_table(path / "wav.scp", parse_audio),
            scan_table(path / "segments", parse_span),
            scan_table(path / "utt2spk", parse_pair("utt2spk")),
            scan_table(path / "spk2utt", parse_speaker),
            scan_table(path / "reco2num_spk", parse_count),
            scan_table(path / "spk2gender", parse_gender),
            scan_table(path / "reco2dur", parse_duration),
        )

    @property
    def tables(self) -> Sequence[ScannedTable[Any]]:
        """Tables in the order of reports."""
        return (
            self.wav_scp,
            self.segments,
            self.utt2spk,
            self.spk2utt,
            self.reco2num_spk,
            self.spk2gender,
            self.reco2dur,
        )

    @property
    def problems(self) -> list[Problem]:
        """Problems of all tables, sorted by table and line."""
        return [
            problem
            for table in self.tables
            for problem in sorted(table.problems, key=lambda problem: problem.line or 0)
        ]


@dataclass(frozen=True, slots=True)
class FoundAudio:
    """Audio file of a recording.

    Parameters
    ----------
    path : Path or None
        File, if the source is a path of an existing file.
    duration : float or None
        Length in seconds from `reco2dur`, or from the header of the file.
    problem : str or None
        Reason why the audio cannot be used.
    """

    path: Path | None
    duration: float | None
    problem: str | None


def look_up_audio(scan: ScannedDir) -> dict[str, FoundAudio]:
    """Find the audio of every recording in wav.scp without running commands."""
    files = {}
    for name, row in scan.wav_scp.rows.items():
        stated = scan.reco2dur.rows.get(name)
        duration = None if stated is None else stated.value
        path, problem = None, None
        if row.value.is_command or row.value.is_archive:
            pass
        elif row.value.text.startswith("~"):
            problem = (
                f"the path {row.value.text!r} begins with ~, which only shells "
                f"expand; write the full path"
            )
        elif (path := audio_path(row.value, scan.path)) is None:
            problem = f"no audio file {row.value.text!r}"
        else:
            try:
                info = soundfile.info(native_name(path))
            except (soundfile.LibsndfileError, OSError) as error:
                problem = f"{row.value.text!r} cannot be read as audio: {error}"
            else:
                measured = info.frames / info.samplerate
                duration = measured if duration is None else duration
        files[name] = FoundAudio(path, duration, problem)
    return files
