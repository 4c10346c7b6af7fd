"""Recordings: an audio source, the segments to read from it, and how to open it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.audio.command import parse_unpacking, run_into
from sms_diar.io.audio.files import AudioFile


@dataclass(frozen=True, slots=True)
class AudioSource:
    """Audio source of one recording, as written in wav.scp.

    Parameters
    ----------
    text : str
        The line after the id, unchanged: a path, ``archive:offset`` or a command.
    """

    text: str

    @property
    def is_command(self) -> bool:
        """True if Kaldi would run it as a shell command (it ends in ``|``)."""
        return self.text.endswith("|")

    @property
    def is_archive(self) -> bool:
        """True if it points into an archive, ``path:offset``."""
        return not self.is_command and bool(re.search(r":[0-9]+$", self.text))


@dataclass(frozen=True, slots=True)
class Piece:
    """Segment to read: id, start and end in seconds; None is the end of the file."""

    id: str
    start: float
    end: float | None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and the segments to read from it.

    Parameters
    ----------
    id : str
        Id of the recording.
    source : AudioSource
        Location of the audio.
    folder : Path
        Data directory, against which relative paths may be resolved.
    pieces : tuple of Piece
        Segments to read.
    """

    id: str
    source: AudioSource
    folder: Path
    pieces: tuple[Piece, ...]


def audio_path(source: AudioSource, folder: Path) -> Path | None:
    """Find the file of a source that is a plain path.

    A relative path is resolved against the working directory, as in Kaldi, then against
    `folder`. Returns None if neither file exists.
    """
    with suppress(OSError, ValueError):  # names that no file can have
        for path in (Path(source.text), folder / source.text):
            if path.is_file():
                return path
    return None


@contextmanager
def open_recording(
    recording: Recording, *, channel: int | None = None, allow_commands: bool = False
) -> Iterator[AudioFile]:
    """Open the audio of a recording.

    Parameters
    ----------
    recording : Recording
        Its source is a path or a command. Commands that only unpack a file
        (see `parse_unpacking`) are not run: the file is read directly.
    channel : int, optional
        1-based channel to read from files with several channels. A channel that the
        command selects takes precedence.
    allow_commands : bool, default=False
        Run other commands, without a shell, and read their output from a temporary
        file.
    """
    table, source = recording.folder / "wav.scp", recording.source
    line = f"{recording.id} {source.text}"
    if source.is_command:
        command = source.text[:-1].strip()
        unpacking = parse_unpacking(command)
        if unpacking is None:
            if not allow_commands:
                raise DataFormatError(
                    f"the audio of {recording.id!r} is a command; a table from "
                    f"elsewhere can run any program, so commands need "
                    f"allow_commands=True",
                    path=table,
                    text=line,
                    mentions=("allow_commands=True",),
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
            f"the audio of {recording.id!r} is an offset in an archive, which is not "
            f"supported; store the audio as separate files",
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
