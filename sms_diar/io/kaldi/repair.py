"""Repaired copies of data directories.

As in Kaldi's fix_data_dir.sh, but never in place: the copy contains the entries that
are valid in all tables, and `spk2utt` is derived from `utt2spk`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sms_diar._files import replacing_folder
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.files import MAX_OVERSHOOT
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi.scanned import (
    REPAIRABLE,
    ROUNDING,
    FoundAudio,
    Row,
    ScannedDir,
    ScannedTable,
    look_up_audio,
)
from sms_diar.io.kaldi.tables import (
    TO_THE_END,
    end_of,
    write_reco2dur,
    write_reco2num_spk,
    write_segments,
    write_spk2gender,
    write_spk2utt,
    write_utt2spk,
    write_wav_scp,
)
from sms_diar.types import Problem, Segment

V = TypeVar("V")


def fix_data_dir(source: str | Path, target: str | Path) -> list[Problem]:
    """Write a repaired copy of a data directory.

    Sorts the tables, keeps the first line of each id, drops lines that cannot be
    read, recordings without audio and segments outside their recording, keeps
    only the ids that all tables share, and derives `spk2utt` from `utt2spk`. A segment
    that ends less than half a second after its recording is shortened. Other tables
    than in :class:`sms_diar.io.kaldi.data_dir.DataDir` are not copied. Audio is not
    copied either: paths relative to `source` become absolute.

    Parameters
    ----------
    source : str or Path
        Directory to repair, which is not changed.
    target : str or Path
        Directory of the copy, which must be empty or not exist.

    Returns
    -------
    dropped : list of Problem
        Dropped and changed entries, with file and line in `source`.
    """
    target = Path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidParameterError(
            f"must be a new or empty directory, got {target}",
            owner="fix_data_dir",
            parameter="target",
        )
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
        ("wav.scp", write_wav_scp, sources),
        ("segments", write_segments, segments),
        ("utt2spk", write_utt2spk, speakers),
        ("spk2utt", write_spk2utt, speakers),
        ("reco2num_spk", write_reco2num_spk, counts),
        ("spk2gender", write_spk2gender, genders),
        ("reco2dur", write_reco2dur, durations),
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
        elif span.end == TO_THE_END and span.recording not in durations:
            change = f"dropped {name!r}: the length of its recording is unknown"
        else:
            segments[name] = end_of(span, durations)
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
