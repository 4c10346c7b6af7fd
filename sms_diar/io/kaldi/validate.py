"""Validation and repair of data directories; all problems are listed at once.

The checks include all checks of Kaldi's validate_data_dir.sh, which stops at the first
problem, and checks of the audio files. Requirements of Kaldi that this package does not
share (a gender for every speaker, no recording without segments) give warnings. Repair
is as in Kaldi's fix_data_dir.sh, but never in place: a copy contains the entries that
are valid in all tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import soundfile

from sms_diar._files import native_name, replacing_folder
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io._lines import BLANK, BOM, CRLF, scan_lines
from sms_diar.io.audio.files import MAX_OVERSHOOT
from sms_diar.io.audio.recording import AudioSource, audio_path
from sms_diar.io.kaldi import tables
from sms_diar.types import Problem, Segment, Severity

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


def scan_table(path: Path, parse: tables.Parser[V]) -> ScannedTable[V]:
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
            remedy = "sort the file with LC_ALL=C sort"
            text = f"{UNSORTED}, got {key!r} after {previous!r}; {remedy}"
            table.report(line.number, "error", text)
        previous = key
        table.rows[key] = Row(line.number, value)
    for problem, lines in byte_problems.items():
        more = f" ({len(lines)} such lines)" if len(lines) > 1 else ""
        table.report(lines[0], "error", problem + more)
    if last == 0:
        table.report(None, "error", "the file is empty")
    elif not path.read_bytes().endswith(b"\n"):
        text = "the last line has no line end; Kaldi refuses that"
        table.report(last, "warning", text)
    return table


@dataclass(frozen=True, slots=True)
class ScannedDir:
    """All tables of a directory and their problems."""

    path: Path
    wav_scp: ScannedTable[AudioSource]
    segments: ScannedTable[tables.Span]
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
            scan_table(path / "wav.scp", tables.parse_audio),
            scan_table(path / "segments", tables.parse_span),
            scan_table(path / "utt2spk", tables.parse_pair("utt2spk")),
            scan_table(path / "spk2utt", tables.parse_speaker),
            scan_table(path / "reco2num_spk", tables.parse_count),
            scan_table(path / "spk2gender", tables.parse_gender),
            scan_table(path / "reco2dur", tables.parse_duration),
        )

    @property
    def tables(self) -> Sequence[ScannedTable[Any]]:
        """Tables in the order of reports."""
        return [getattr(self, part.name) for part in fields(self)[1:]]

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
    """Audio of a recording: its file and length in seconds, if known.

    `problem` is the reason why it cannot be used.
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


REQUIRED = ("wav.scp", "utt2spk", "spk2utt")


def validate_data_dir(
    path: str | Path, *, require: Collection[str] = REQUIRED
) -> list[Problem]:
    """List all problems of a Kaldi data directory.

    Parameters
    ----------
    path : str or Path
        Data directory.
    require : collection of str, default=("wav.scp", "utt2spk", "spk2utt")
        Tables that must exist; others are checked if they exist. Omit `wav.scp` for
        embeddings without audio, and the other two for speech with unknown speakers.

    Returns
    -------
    problems : list of Problem
        Problems in the order of tables and lines. A directory without errors is
        usable; a problem prints as ``path:line: text``.
    """
    scan = ScannedDir.of(path)
    names = [table.path.name for table in scan.tables]
    for name in require:
        if name not in names:
            problem = f"must be some of {', '.join(names)}, got {name!r}"
            raise InvalidParameterError(
                problem, owner="validate_data_dir", parameter="require"
            )
    for table in scan.tables:
        if table.path.name in require and not table.exists:
            table.report(None, "error", "no such file")
    audio = look_up_audio(scan)
    _check_audio(scan, audio)
    _check_segments(scan, audio)
    _check_ids(scan)
    _check_speakers(scan)
    _check_counts(scan)
    return scan.problems


def _check_audio(scan: ScannedDir, audio: Mapping[str, FoundAudio]) -> None:
    for name, row in scan.wav_scp.rows.items():
        if row.value.is_command or row.value.is_archive:
            command = "a command, which is not run or checked"
            archive = "in an archive, which is not opened"
            text = f"the audio of {name!r} is "
            text += command if row.value.is_command else archive
            scan.wav_scp.report(row.line, "note", text)
        problem = audio[name].problem
        if problem is not None:
            scan.wav_scp.report(row.line, "error", problem)


def _check_segments(scan: ScannedDir, audio: Mapping[str, FoundAudio]) -> None:
    """Check the times of segments against the length of their recordings."""
    for row in scan.segments.rows.values():
        span = row.value
        file = audio.get(span.recording)
        duration = file.duration if file else None
        if duration is None and span.recording in scan.reco2dur:
            duration = scan.reco2dur.rows[span.recording].value
        if span.end == tables.TO_THE_END:
            severity: Severity = "error" if duration is None else "warning"
            unknown = ", whose length is unknown"
            refusal = "; Kaldi's validate_data_dir.sh refuses it"
            more = unknown if duration is None else refusal
            text = f"an end of -1 means the end of the recording{more}"
            scan.segments.report(row.line, severity, text)
        if duration is None:
            continue
        late = f"after the end of recording {span.recording!r} at {duration:.6g}"
        if span.start >= duration:
            text = f"the segment starts at {span.start!r}, {late}"
            scan.segments.report(row.line, "error", text)
        elif span.end > duration + ROUNDING:
            too_far = span.end >= duration + MAX_OVERSHOOT
            text = f"the segment ends at {span.end!r}, {late}"
            scan.segments.report(row.line, "error" if too_far else "warning", text)


def _check_ids(scan: ScannedDir) -> None:
    """Check that tables list the same recordings and segments."""
    if scan.segments.exists and scan.wav_scp.exists:
        _check_recordings(scan)
    # Without segments every recording is one.
    units: ScannedTable[Any] = scan.segments if scan.segments.exists else scan.wav_scp
    if units.exists and scan.utt2spk.exists:
        _report_missing(scan.utt2spk, units)
        _report_missing(units, scan.utt2spk)


def _check_recordings(scan: ScannedDir) -> None:
    first: dict[str, int] = {}
    count: dict[str, int] = defaultdict(int)
    for row in scan.segments.rows.values():
        first.setdefault(row.value.recording, row.line)
        count[row.value.recording] += 1
    for name, line in first.items():
        if name not in scan.wav_scp:
            text = f"recording {name!r} is not in wav.scp ({count[name]} segments)"
            scan.segments.report(line, "error", text)
    for name, source in scan.wav_scp.rows.items():
        if name not in first:
            text = f"recording {name!r} has no segments; Kaldi refuses that"
            scan.wav_scp.report(source.line, "warning", text)


def _check_speakers(scan: ScannedDir) -> None:
    speakers = {name: row.value for name, row in scan.utt2spk.rows.items()}
    odd = [name for name in speakers if not name.startswith(speakers[name])]
    if odd:
        text = (
            f"{len(odd)} of {len(speakers)} segment ids do not begin with the id of "
            f"their speaker, first {odd[0]!r} of {speakers[odd[0]]!r}; Kaldi requires "
            f"it so that both sort alike"
        )
        scan.utt2spk.report(scan.utt2spk.rows[odd[0]].line, "warning", text)
    if len(set(speakers.values())) == 1:
        scan.utt2spk.report(None, "warning", "there is only one speaker")
    if scan.utt2spk.exists and scan.spk2utt.exists:
        _check_inverse(scan, speakers)
    if scan.spk2gender.exists and (scan.utt2spk.exists or scan.spk2utt.exists):
        listed: ScannedTable[Any] = scan.spk2utt
        if scan.utt2spk.exists:
            rows = {
                speaker: Row(0, ids) for speaker, ids in tables.invert(speakers).items()
            }
            listed = ScannedTable(scan.utt2spk.path, rows)
        _report_missing(scan.spk2gender, listed, kind="speaker")
        _report_all_present(scan.spk2gender, listed.rows, "speakers")


def _check_inverse(scan: ScannedDir, speakers: Mapping[str, str]) -> None:
    """Check that spk2utt agrees with utt2spk."""
    listed: dict[str, int] = {}
    for speaker, row in scan.spk2utt.rows.items():
        for name in row.value:
            if name in listed:
                text = f"id {name!r} is listed twice, first on line {listed[name]}"
            elif name not in speakers:
                text = f"id {name!r} is not in utt2spk"
            elif speakers[name] != speaker:
                text = f"id {name!r} has speaker {speakers[name]!r} in utt2spk"
            else:
                text = ""
            listed.setdefault(name, row.line)
            if text:
                scan.spk2utt.report(row.line, "error", text)
        if list(row.value) != sorted(row.value):
            text = f"the ids of speaker {speaker!r} are not in C locale order"
            scan.spk2utt.report(row.line, "warning", text)
    for name, pair in scan.utt2spk.rows.items():
        if name not in listed:
            scan.utt2spk.report(pair.line, "error", f"id {name!r} is not in spk2utt")


def _check_counts(scan: ScannedDir) -> None:
    """Check the tables that are indexed by recording."""
    recordings: dict[str, set[str]] = {name: set() for name in scan.wav_scp.rows}
    for name, row in scan.segments.rows.items():
        speakers = recordings.setdefault(row.value.recording, set())
        if name in scan.utt2spk:
            speakers.add(scan.utt2spk.rows[name].value)
    if not recordings:
        return
    for table in (scan.reco2num_spk, scan.reco2dur):
        _report_unknown(table, recordings)
        _report_all_present(table, recordings, "recordings")
    for name, count in scan.reco2num_spk.rows.items():
        n_speakers = len(recordings.get(name, ()))
        if n_speakers and n_speakers != count.value:
            text = (
                f"recording {name!r} has {n_speakers} speakers by utt2spk, not "
                f"{count.value}"
            )
            scan.reco2num_spk.report(count.line, "warning", text)


def _report_missing(
    table: ScannedTable[Any], other: ScannedTable[Any], *, kind: str = "id"
) -> None:
    for name, row in table.rows.items():
        if name not in other:
            text = f"{kind} {name!r} is not in {other.path.name}"
            table.report(row.line, "error", text)


def _report_unknown(table: ScannedTable[Any], recordings: Collection[str]) -> None:
    for name, row in table.rows.items():
        if name not in recordings:
            text = f"recording {name!r} is in neither wav.scp nor segments"
            table.report(row.line, "error", text)


def _report_all_present(
    table: ScannedTable[Any], names: Collection[str], kind: str
) -> None:
    missing = [name for name in names if name not in table]
    if table.exists and missing:
        text = (
            f"{len(missing)} of {len(names)} {kind} are not listed, first "
            f"{missing[0]!r}"
        )
        table.report(None, "warning", text)


def fix_data_dir(source: str | Path, target: str | Path) -> list[Problem]:
    """Write a repaired copy of a data directory.

    Sorts the tables, keeps the first line of each id, drops lines that cannot be
    read, recordings without audio and segments outside their recording, keeps only
    the ids that all tables share, and derives `spk2utt` from `utt2spk`. A segment
    that ends less than half a second after its recording is shortened. Other tables
    than in :class:`sms_diar.io.kaldi.data_dir.DataDir` are not copied. Audio is not
    copied either: paths relative to `source` become absolute. `target` must be
    empty or not exist. Returns the dropped and changed entries, with file and line
    in `source`.
    """
    target = Path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        problem = f"must be a new or empty directory, got {target}"
        raise InvalidParameterError(problem, owner="fix_data_dir", parameter="target")
    scan = ScannedDir.of(source)
    labelled = _labels(scan)
    dropped = _unreadable(scan, labelled)
    audio = _usable_audio(scan, dropped)
    sources = {
        name: _copied_source(scan.wav_scp.rows[name].value, file)
        for name, file in audio.items()
    }
    segments = _usable_segments(scan, audio, dropped)
    speakers = _values(labelled)

    has_segments, has_audio = scan.segments.exists, scan.wav_scp.exists
    units: dict[str, Any] = segments if has_segments else sources
    if labelled.exists and (has_segments or has_audio):
        table: ScannedTable[Any] = scan.segments if has_segments else scan.wav_scp
        keep = units.keys() & speakers.keys()
        _drop(table, units, keep, "has no speaker", dropped)
        _drop(labelled, speakers, keep, "has no usable segment", dropped)
    recordings = set(sources) if has_audio else set(speakers)
    if has_segments:
        recordings = {segment.recording for segment in segments.values()}
        _drop(scan.wav_scp, sources, recordings, "has no usable segments", dropped)
    if not recordings:
        raise DataFormatError(
            f"no segment remains after repair, nothing is written; the first of "
            f"{len(dropped)} problems: {dropped[0] if dropped else 'empty tables'}",
            path=scan.path,
        )

    counts, durations = _values(scan.reco2num_spk), _values(scan.reco2dur)
    genders = _values(scan.spk2gender)
    _drop(scan.reco2num_spk, counts, recordings, "is not a usable recording", dropped)
    _drop(scan.reco2dur, durations, recordings, "is not a usable recording", dropped)
    if labelled.exists:
        left = set(speakers.values())
        _drop(scan.spk2gender, genders, left, "has no usable segments", dropped)

    writers: tuple[tuple[str, Callable[..., None], Mapping[str, Any]], ...] = (
        ("wav.scp", tables.write_wav_scp, sources),
        ("segments", tables.write_segments, segments),
        ("utt2spk", tables.write_utt2spk, speakers),
        ("spk2utt", tables.write_spk2utt, speakers),
        ("reco2num_spk", tables.write_reco2num_spk, counts),
        ("spk2gender", tables.write_spk2gender, genders),
        ("reco2dur", tables.write_reco2dur, durations),
    )
    with replacing_folder(target) as folder:
        for name, write, values in writers:
            if values:
                write(folder / name, values)
    order = {str(table.path): index for index, table in enumerate(scan.tables)}
    return sorted(dropped, key=lambda p: (order[p.path or ""], p.line or 0))


def _labels(scan: ScannedDir) -> ScannedTable[str]:
    """Speaker of each id from utt2spk, or from spk2utt if utt2spk is missing."""
    if scan.utt2spk.exists or not scan.spk2utt.exists:
        return scan.utt2spk
    rows: dict[str, Row[str]] = {}
    for speaker, row in scan.spk2utt.rows.items():
        for name in row.value:
            rows.setdefault(name, Row(row.line, speaker))
    return ScannedTable(scan.spk2utt.path, rows)


def _values(table: ScannedTable[V]) -> dict[str, V]:
    return {name: row.value for name, row in table.rows.items()}


def _unreadable(scan: ScannedDir, labelled: ScannedTable[str]) -> list[Problem]:
    """List the lines that could not be read."""
    derived = scan.spk2utt.path if labelled is scan.utt2spk else None
    return [
        replace(problem, text=f"dropped: {problem.text}", severity="note")
        for table in scan.tables
        if table.path != derived  # derived again anyway
        for problem in table.problems
        if problem.severity == "error"
        and problem.line is not None
        and not problem.text.startswith(REPAIRABLE)
    ]


def _usable_audio(scan: ScannedDir, dropped: list[Problem]) -> dict[str, FoundAudio]:
    audio = look_up_audio(scan)
    for name, row in scan.wav_scp.rows.items():
        problem = audio[name].problem
        if problem is not None:
            text = f"dropped {name!r}: {problem}"
            dropped.append(_note(scan.wav_scp, row.line, text))
    return {name: file for name, file in audio.items() if file.problem is None}


def _usable_segments(
    scan: ScannedDir, audio: dict[str, FoundAudio], dropped: list[Problem]
) -> dict[str, Segment]:
    durations = {name: row.value for name, row in scan.reco2dur.rows.items()}
    for name, file in audio.items():
        if file.duration is not None:
            durations[name] = file.duration
    segments = {}
    for name, row in scan.segments.rows.items():
        span, change = row.value, ""
        duration = durations.get(span.recording, float("inf"))
        if scan.wav_scp.exists and span.recording not in audio:
            change = (
                f"dropped {name!r}: recording {span.recording!r} has no usable audio"
            )
        elif span.start >= duration:
            change = f"dropped {name!r}: it starts after the end of its recording"
        elif span.end >= duration + MAX_OVERSHOOT:
            change = f"dropped {name!r}: it ends long after its recording"
        elif span.end > duration + ROUNDING:
            change = f"shortened {name!r}: it ended after its recording"
            segments[name] = Segment(span.recording, span.start, duration)
        elif span.end == tables.TO_THE_END and span.recording not in durations:
            change = f"dropped {name!r}: the length of its recording is unknown"
        else:
            segments[name] = tables.end_of(span, durations)
        if change:
            dropped.append(_note(scan.segments, row.line, change))
    return segments


def _copied_source(source: AudioSource, file: FoundAudio) -> AudioSource:
    # A path relative to the data directory would not be valid in the copy.
    if file.path is None or file.path == Path(source.text):
        return source
    return AudioSource(str(file.path.resolve()))


def _drop(
    table: ScannedTable[Any],
    values: dict[str, V],
    keep: Collection[str],
    reason: str,
    dropped: list[Problem],
) -> None:
    """Remove entries of `values` that are not in `keep`, and add notes to `dropped`."""
    for name in [name for name in values if name not in keep]:
        del values[name]
        text = f"dropped {name!r}: it {reason}"
        dropped.append(_note(table, table.rows[name].line, text))


def _note(table: ScannedTable[Any], line: int, text: str) -> Problem:
    return Problem(text, str(table.path), line, severity="note")
