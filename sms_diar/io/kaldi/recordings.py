"""The recordings of a data directory: the segments to read of each, and its audio.

Tables are read in spite of bad lines here, because one bad line, like one bad
file, must not cost the results of all others; every problem is handed back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.audio import AudioFile
from sms_diar.io.command import parse_unpacking, run_into
from sms_diar.io.kaldi.data_dir import DataDir, audio_path
from sms_diar.io.kaldi.scanned import UNSORTED, scan_table
from sms_diar.io.kaldi.tables import TO_THE_END, AudioSource, parse_audio, parse_span
from sms_diar.types import Problem, Segment


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment to be read: its id and times; an end of None is that of the file."""

    id: str
    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and the segments to be read of it.

    Parameters
    ----------
    id : str
        Id of the recording.
    source : AudioSource
        Where its audio is.
    folder : Path
        The data directory, from which relative paths may count.
    pieces : tuple of Piece
        The segments to read.
    """

    id: str
    source: AudioSource
    folder: Path
    pieces: tuple[Piece, ...]


def list_recordings(
    data: DataDir,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    whole: bool = False,
) -> tuple[list[Recording], list[Problem]]:
    """List the recordings of which segments are asked for, in wav.scp's order.

    Parameters
    ----------
    data : DataDir
        Needs `wav.scp`. Without a `segments` table every recording is one
        segment with its id.
    segments : mapping, optional
        Used in place of the `segments` table.
    ids : collection of str, optional
        Only these segments.
    whole : bool, default=False
        Every recording is one segment, even if there is a `segments` table.

    Returns
    -------
    recordings : list of Recording
        Those with at least one segment.
    problems : list of Problem
        Lines that could not be read, and segments of recordings that are not
        in `wav.scp`.
    """
    table = scan_table(data.path / "wav.scp", parse_audio)
    if not table.exists:
        raise MissingFileError(f"{table.path}: no such file")
    problems = _serious(table.problems)
    pieces: dict[str, list[Piece]] = {name: [] for name in table.rows}
    found = set()
    rows = (
        _whole_recordings(table.rows)
        if whole
        else _pieces(data, segments, table.rows, problems)
    )
    for name, recording, piece, line in rows:
        if ids is not None and name not in ids:
            continue
        found.add(name)
        if recording in pieces:
            pieces[recording].append(piece)
        else:
            text = f"recording {recording!r} of segment {name!r} is not in wav.scp"
            problems.append(Problem(text, str(data.path / "segments"), line))
    if ids is not None and not found.issuperset(ids):
        missing = sorted(set(ids) - found)
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidParameterError(
            f"{data.path}: ids must be segments of the data directory, got "
            f"{missing[0]!r}{more}"
        )
    recordings = [
        Recording(name, row.value, data.path, tuple(pieces[name]))
        for name, row in table.rows.items()
        if pieces[name]
    ]
    return recordings, problems


@contextmanager
def open_recording(
    recording: Recording, *, channel: int | None = None, allow_commands: bool = False
) -> Iterator[AudioFile]:
    """Open the audio of a recording.

    Parameters
    ----------
    recording : Recording
        Its source is a path, or a command. Commands that only unpack a file
        (see `parse_unpacking`) are not run: the file is read directly.
    channel : int, optional
        Channel of files that have several, counted from 1. A channel that the
        command picks comes first.
    allow_commands : bool, default=False
        Run other commands, without a shell, their output into a temporary file.
    """
    table, source = recording.folder / "wav.scp", recording.source
    line = f"{recording.id} {source.text}"
    if source.is_command:
        command = source.text[:-1].strip()
        unpacking = parse_unpacking(command)
        if unpacking is None:
            if not allow_commands:
                raise DataFormatError(
                    f"the audio of {recording.id!r} is a command; tables of strangers "
                    f"can run anything, so commands need --allow-commands "
                    f"(allow_commands=True)",
                    path=table,
                    text=line,
                )
            with tempfile.TemporaryDirectory(prefix="sms-diar-") as folder:
                output = Path(folder) / "audio"
                try:
                    run_into(command, output)
                except ValueError as error:
                    raise DataFormatError(str(error), path=table, text=line) from error
                with AudioFile(output, channel=channel) as audio:
                    yield audio
            return
        source = AudioSource(unpacking.path)
        channel = unpacking.channel or channel
    elif source.is_archive and audio_path(source, recording.folder) is None:
        raise DataFormatError(
            f"the audio of {recording.id!r} is a place in an archive, which is not "
            f"unpacked here; store the audio as files first",
            path=table,
            text=line,
        )
    path = audio_path(source, recording.folder)
    if path is None:
        raise MissingFileError(
            f"{table}: no audio file {source.text!r} for {recording.id!r}, neither in "
            f"the working directory nor in {recording.folder}"
        )
    with AudioFile(path, channel=channel) as audio:
        yield audio


def _whole_recordings(
    names: Collection[str],
) -> Iterator[tuple[str, str, Piece, int | None]]:
    for name in names:
        yield name, name, Piece(name, 0.0, None), None


def _pieces(
    data: DataDir,
    segments: Mapping[str, Segment] | None,
    recordings: Collection[str],
    problems: list[Problem],
) -> Iterator[tuple[str, str, Piece, int | None]]:
    if segments is not None:
        for name, segment in segments.items():
            piece = Piece(name, segment.start, segment.end)
            yield name, segment.recording, piece, None
        return
    table = scan_table(data.path / "segments", parse_span)
    if not table.exists:
        yield from _whole_recordings(recordings)
        return
    problems += _serious(table.problems)
    for name, row in table.rows.items():
        span = row.value
        end = None if span.end == TO_THE_END else span.end
        yield name, span.recording, Piece(name, span.start, end), row.line


def _serious(problems: list[Problem]) -> list[Problem]:
    """Errors, but for the order of lines, which does not matter here."""
    return [
        problem
        for problem in problems
        if problem.severity == "error" and not problem.text.startswith(UNSORTED)
    ]
