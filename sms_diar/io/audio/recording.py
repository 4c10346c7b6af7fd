"""Recordings: an audio source, the segments to read from it, and how to open it."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.audio.files import AudioFile


@dataclass(frozen=True, slots=True)
class AudioSource:
    """The line of wav.scp after the id: a path, ``archive:offset`` or a command."""

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

    Relative paths may be resolved against `folder`, the data directory.
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

    Commands that only unpack a file (see `parse_unpacking`) are not run: the file
    is read directly. Other commands are run if allowed, without a shell, and their
    output is read from a temporary file. `channel` is 1-based; a channel that the
    command selects takes precedence.
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
        problem = (
            f"the audio of {recording.id!r} is an offset in an archive, which is not "
            f"supported; store the audio as separate files"
        )
        raise DataFormatError(problem, path=table, text=line)
    path = audio_path(source, recording.folder)
    if path is None:
        raise MissingFileError(
            f"{table}: no audio file {source.text!r} for {recording.id!r}, neither in "
            f"the working directory nor in {recording.folder}"
        )
    with AudioFile(path, channel=channel) as audio:
        yield audio


# Characters with a meaning for shells, except in single quotes.
_SHELL_ONLY = re.compile(r"[()<>|&;$`]")
_FLAC_SWITCHES = {"-c", "-d", "-s", "-dc", "-cd", "-cds", "-dcs", "-sdc", "-scd"}


class Unpacking(NamedTuple):
    """A file and the channel that a command selects (None for all channels)."""

    path: str
    channel: int | None


def split_command(command: str) -> list[str]:
    """Split a command into words, refusing commands that need a shell.

    Raises a plain ValueError with the reason; the caller adds the file and line.
    """
    lexer = shlex.shlex(command, posix=False, punctuation_chars=True)
    lexer.commenters = ""
    try:
        special = [
            word
            for word in lexer
            if not word.startswith("'") and _SHELL_ONLY.search(word)
        ]
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"the command cannot be split ({error})") from None
    if special:
        raise ValueError(
            f"commands run without a shell, which {special[0]!r} needs; put them into "
            f"a script, or run them first and list the files that they write"
        )
    if not words:
        raise ValueError("expected a command before '|'")
    return words


def run_command(command: str) -> bytes:
    """Run one program without a shell and return its output.

    Raises a plain ValueError if it cannot be run or fails.
    """
    with TemporaryFile() as file:
        _run(command, file)
        file.seek(0)
        return file.read()


def run_into(command: str, path: Path) -> None:
    """Run one program without a shell and write its output to a file.

    Raises a plain ValueError if it cannot be run or fails.
    """
    with path.open("wb") as file:
        _run(command, file)


def _run(command: str, out: IO[bytes]) -> None:
    words = split_command(command)
    try:
        # Requested by the caller (allow_commands); no shell is involved.
        done = subprocess.run(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise ValueError(f"cannot run {words[0]!r} ({error.strerror})") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = f": {lines[-1]}" if lines else ""
        raise ValueError(f"the command ended with status {done.returncode}{last}")


def parse_unpacking(command: str) -> Unpacking | None:
    """Parse a command that only unpacks an audio file.

    These are ``sph2pipe`` with ``-f wav``, ``-f rif`` or ``-f sph``, ``-p`` and ``-c
    1|2``, as in NIST recipes, and ``flac -c -d -s``, as in LibriSpeech recipes. Returns
    None for any other command or option, such as a time range.

    >>> parse_unpacking("sph2pipe -f wav -p -c 2 fsp/a.sph")
    Unpacking(path='fsp/a.sph', channel=2)
    """
    try:
        words = split_command(command)
    except ValueError:
        return None
    program, arguments = Path(words[0]).name, words[1:]
    if program == "sph2pipe":
        return _sph2pipe(arguments)
    if program == "flac":
        switches, files = arguments[:-1], arguments[-1:]
        letters = "".join(switch.lstrip("-") for switch in switches)
        if (
            files
            and not files[0].startswith("-")
            and set(switches) <= _FLAC_SWITCHES
            and {"c", "d"} <= set(letters)
        ):
            return Unpacking(files[0], None)
    return None


def _sph2pipe(arguments: list[str]) -> Unpacking | None:
    channel, path = None, None
    words = iter(arguments)
    for word in words:
        if word == "-p":
            continue
        if word == "-f":
            if next(words, "") not in ("wav", "rif", "sph"):
                return None
        elif word == "-c":
            number = next(words, "")
            if number not in ("1", "2"):
                return None
            channel = int(number)
        elif path is None and not word.startswith("-"):
            path = word
        else:  # an option that changes the samples, or an output file
            return None
    return None if path is None else Unpacking(path, channel)
