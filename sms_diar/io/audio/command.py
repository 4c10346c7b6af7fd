"""Commands in Kaldi tables.

Kaldi tables may contain commands whose output is the data. Most commands in ``wav.scp``
only unpack a file that can be read directly; these are parsed and not run. Other
commands never use a shell.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

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

    These are ``sph2pipe`` with ``-f wav``, ``-f rif`` or ``-f sph``, ``-p`` and
    ``-c 1|2``, as in NIST recipes, and ``flac -c -d -s``, as in LibriSpeech recipes.
    Returns None for any other command or option, such as a time range.

    Examples
    --------
    >>> parse_unpacking("sph2pipe -f wav -p -c 2 fsp/a.sph")
    Unpacking(path='fsp/a.sph', channel=2)
    >>> parse_unpacking("sox a.wav -t wav - trim 0 5") is None
    True
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
