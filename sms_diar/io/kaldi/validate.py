"""Validation of data directories.

The checks include all checks of Kaldi's validate_data_dir.sh, which stops at the first
problem, and checks of the audio files. Requirements of Kaldi that this package does not
share (a gender for every speaker, no recording without segments) give warnings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import MAX_OVERSHOOT
from sms_diar.io.kaldi.scanned import (
    ROUNDING,
    FoundAudio,
    Row,
    ScannedDir,
    ScannedTable,
    look_up_audio,
)
from sms_diar.io.kaldi.tables import TO_THE_END, invert
from sms_diar.types import Problem, Severity

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
            raise InvalidParameterError(
                f"must be some of {', '.join(names)}, got {name!r}",
                owner="validate_data_dir",
                parameter="require",
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
        if row.value.is_command:
            text = f"the audio of {name!r} is a command, which is not run or checked"
            scan.wav_scp.report(row.line, "note", text)
        elif row.value.is_archive:
            text = f"the audio of {name!r} is in an archive, which is not opened"
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
        if span.end == TO_THE_END:
            severity: Severity = "error" if duration is None else "warning"
            text = "an end of -1 means the end of the recording"
            more = (
                ", whose length is unknown"
                if duration is None
                else "; Kaldi's validate_data_dir.sh refuses it"
            )
            scan.segments.report(row.line, severity, text + more)
        if duration is None:
            continue
        if span.start >= duration:
            text = (
                f"the segment starts at {span.start!r}, after the end of recording "
                f"{span.recording!r} at {duration:.6g}"
            )
            scan.segments.report(row.line, "error", text)
        elif span.end > duration + ROUNDING:
            too_far = span.end >= duration + MAX_OVERSHOOT
            text = (
                f"the segment ends at {span.end!r}, after the end of recording "
                f"{span.recording!r} at {duration:.6g}"
            )
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
            rows = {speaker: Row(0, ids) for speaker, ids in invert(speakers).items()}
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
