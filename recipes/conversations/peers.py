"""Systems of others: folders of turns, commands of the user, and known programs.

All get the same audio as the models of this package, as WAV files with one channel of
16 kHz, and one thread. No shell is involved.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar._json import read_json
from sms_diar.errors import ConfigError, ExperimentError
from sms_diar.experiment.stages import StageRun
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.files import blocks, write_audio
from sms_diar.io.turns.files import find_files, read_annotation
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.pipeline.audio.inputs import decode, recordings_of
from sms_diar.pipeline.context import RunContext
from sms_diar.types import Problem

from .._common.digests import file_digest
from . import programs

RATE = 16000
WARM_UP = 60.0
"""Seconds of the first recording that are diarized before the CPU time is taken."""

AUDIO, RTTM = "{audio}", "{rttm}"
FORMS = (
    f"NAME=FOLDER (of RTTM files), NAME=COMMAND with {AUDIO} and perhaps {RTTM}, or a "
    f"program with its arguments ({', '.join(programs.PROGRAMS)})"
)
_NAME = re.compile(r"(?:([A-Za-z0-9][\w.-]*)=)?(.+)", re.DOTALL)
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("MKL", "NUMBA", "OMP", "OPENBLAS")
}
_IS_INSTALLED = (
    "import importlib.util, sys; sys.exit(not importlib.util.find_spec('{}'))"
)


@dataclass(frozen=True)
class Peer:
    """A system of others.

    `words` are a program of `PROGRAMS` and its arguments, a command with `AUDIO`, or
    the path of a folder or file with turns.
    """

    name: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Peer:
        """Parse an entry of the setting `peers`."""
        match = _NAME.fullmatch(text)
        try:
            words = shlex.split(match[2]) if match else []
        except ValueError:  # a quotation mark without a partner
            words = []
        peer = cls((match and match[1]) or "".join(words[:1]), tuple(words))
        is_named = bool(match and match[1]) or peer.is_program
        if not words or not is_named or (peer.is_turns and len(words) > 1):
            raise ConfigError(f"'peers' must be {FORMS}, got {text!r}")
        if peer.is_command and shutil.which(words[0]) is None:
            raise ConfigError(
                f"'peers' must name commands that are installed, got {words[0]!r}"
            )
        return peer

    @property
    def is_program(self) -> bool:
        """True for a program of `PROGRAMS`."""
        return bool(self.words) and self.words[0] in programs.PROGRAMS

    @property
    def is_command(self) -> bool:
        """True for a command of the user."""
        return not self.is_program and any(AUDIO in word for word in self.words)

    @property
    def is_turns(self) -> bool:
        """True for turns that exist already."""
        return not self.is_program and not self.is_command

    def digests(self) -> list[str]:
        """Return digests of the files with turns."""
        files = find_files(self.words[0]) if self.is_turns else []
        return [file_digest(path) for path in files]

    def is_installed(self, python: str) -> bool:
        """Return False if it is a program whose module `python` does not have."""
        if not self.is_program:
            return True
        module = programs.PROGRAMS[self.words[0]].__name__
        command = [python or sys.executable, "-c", _IS_INSTALLED.format(module)]
        try:
            return subprocess.run(command, check=False).returncode == 0  # noqa: S603
        except OSError as error:
            raise ConfigError(
                f"'python' must be a Python interpreter, got {python!r} ({error})"
            ) from None


def outcomes_of(
    run: StageRun,
    peer: Peer,
    tables: Mapping[str, str],
    *,
    python: str,
    channel: int | None,
    allow_commands: bool,
) -> dict[str, dict[str, Any]]:
    """Return turns, CPU seconds and problem of each recording by a peer.

    `tables` are the paths of the ``wav.scp`` of each recording.
    """
    source: dict[str, Any] = {"channel": channel, "allow_commands": allow_commands}
    if peer.is_turns:
        return _existing(peer, list(tables))
    if peer.is_command:
        tasks = {
            name: {"table": table, "words": list(peer.words), **source}
            for name, table in tables.items()
        }
        return run.map(run_command, tasks)
    with tempfile.TemporaryDirectory() as place:
        problems = {}
        for number, (name, table) in enumerate(tables.items()):
            wav = Path(place) / f"{number:05d}.wav"
            problems[name] = _write_wav(table, wav, **source)
        (warm_up := Path(place) / "warm-up").mkdir()
        first = next(iter(tables.values()))
        _write_wav(first, warm_up / "first.wav", seconds=WARM_UP, **source)
        output = Path(place) / "turns.json"
        script = [python or sys.executable, str(Path(programs.__file__))]
        program, *arguments = peer.words
        failure, _ = _run([*script, program, place, str(output), *arguments])
        if failure:
            raise ExperimentError(f"'peers': {peer.name} failed: {failure}")
        results = read_json(output)
    missing: dict[str, Any] = {"turns": [], "cpu": None}
    return {
        name: {**results.get(f"{number:05d}", missing), "problem": problems[name]}
        for number, name in enumerate(tables)
    }


def run_command(
    *, table: str, words: Sequence[str], channel: int | None, allow_commands: bool
) -> dict[str, Any]:
    """Diarize the one recording of a table by a command; return its turns as JSON."""
    [recording] = recordings_of(table)
    turns: list[list[Any]] = []
    cpu = None
    with tempfile.TemporaryDirectory() as place:
        wav, rttm = Path(place) / "audio.wav", Path(place) / "turns.rttm"
        problem = _write_wav(table, wav, channel=channel, allow_commands=allow_commands)
        if not problem:
            command = [
                word.replace(AUDIO, str(wav)).replace(RTTM, str(rttm)) for word in words
            ]
            prints = not any(RTTM in word for word in words)
            failure, cpu = _run(command, rttm if prints else None)
            try:
                if not failure:
                    turns = [
                        [turn.segment.start, turn.segment.end, turn.speaker]
                        for turn in read_rttm(rttm)
                    ]
            except Exception as error:  # noqa: BLE001 - of one recording, not of all
                failure = Problem.of(error).text
            problem = f"{recording.id}: {words[0]}: {failure}" if failure else ""
    return {"turns": turns, "cpu": cpu, "problem": problem}


def _run(command: Sequence[str], output: Path | None = None) -> tuple[str, float]:
    """Run a command; return why it failed, or an empty string, and its CPU seconds."""
    before = os.times()
    result = subprocess.run(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={**os.environ, **_ONE_THREAD},
    )
    after = os.times()
    if output is not None:
        output.write_bytes(result.stdout)
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    if not result.returncode:
        return "", cpu
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    return f"exit code {result.returncode}; {lines[-1] if lines else 'no message'}", cpu


def _existing(peer: Peer, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read turns from files; recordings that have none are problems."""
    turns: dict[str, list[list[Any]]] = {name: [] for name in names}
    for turn in read_annotation(peer.words[0]):
        if turn.segment.recording in turns:
            row = [turn.segment.start, turn.segment.end, turn.speaker]
            turns[turn.segment.recording].append(row)
    return {
        name: {
            "turns": rows,
            "cpu": None,
            "problem": "" if rows else f"{name}: no turns in {peer.words[0]}",
        }
        for name, rows in turns.items()
    }


def _write_wav(
    table: str,
    path: Path,
    *,
    channel: int | None,
    allow_commands: bool,
    seconds: float = float("inf"),
) -> str:
    """Write the first seconds of a recording as WAV; return a problem or nothing."""
    [recording] = recordings_of(table)
    context = RunContext(allow_commands=allow_commands)
    try:
        audio, _ = decode(recording, RATE, context, channel=channel, upsample=True)
        with audio:
            last = int(min(audio.n_samples, seconds * RATE))
            write_audio(path, _integers(audio, last), RATE)
    except Exception as error:  # noqa: BLE001 - of one recording, not of all
        return f"{recording.id}: {Problem.of(error).text}"
    return ""


def _integers(audio: MonoAudio, last: int) -> Iterator[npt.NDArray[np.int16]]:
    for block in blocks(audio, 0, last):
        scaled = np.clip(np.rint(block * 32768.0), -32768.0, 32767.0)
        yield scaled.astype(np.int16)
