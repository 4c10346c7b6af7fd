"""Audio inputs: resolve files, tables or samples to recordings, and decode them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sms_diar._text import id_of_file
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.features.mono import ArraySamples, MonoAudio
from sms_diar.io.audio.files import AUDIO_SUFFIXES, AudioFile, Samples
from sms_diar.io.audio.recording import (
    AudioSource,
    Recording,
    open_recording,
    parse_unpacking,
)
from sms_diar.io.kaldi.tables import read_wav_scp
from sms_diar.pipeline.context import RunContext
from sms_diar.timeline.regions import Uem, regions_of
from sms_diar.types import Problem, Segment

Given: TypeAlias = tuple[npt.ArrayLike, int]
"""Samples of shape (n,) or (n, channels), and their sampling rate."""

AudioInput: TypeAlias = str | Path | Given | Sequence[str | Path] | Mapping[str, Given]
"""One or several paths, or samples with their rate, alone or by name."""

_TABLE = ".scp"
_LEAST_RATE = 8000
_NAME = "recording"  # default name of samples


@dataclass(frozen=True, eq=False)
class GivenRecording:
    """Recording in memory.

    The samples are floats in [-1, 1) or integers of 16 or 32 bits, of shape (n,) or
    (n, channels).
    """

    id: str
    samples: npt.ArrayLike
    rate: int


def recordings_of(source: AudioInput) -> list[Recording | GivenRecording]:
    """Resolve an audio input to a list of recordings; see `sms_diar.diarize`."""
    if isinstance(source, str | os.PathLike):
        return list(find_recordings([Path(source)]))
    if isinstance(source, Mapping):
        return [_given(name, value) for name, value in source.items()]
    if _is_given(source):
        return [_given(_NAME, source)]
    paths = []
    for path in cast("Sequence[object]", source):
        if not isinstance(path, str | os.PathLike):
            problem = (
                f"must be a path or several, or (samples, rate), got "
                f"{type(path).__name__} among several; give names to several "
                f"recordings in memory: {{'name': (samples, rate), ...}}"
            )
            raise InvalidParameterError(problem, owner="diarize", parameter="source")
        paths.append(Path(path))
    return list(find_recordings(paths))


def paths_of(source: AudioInput) -> list[Path]:
    """List the paths of an audio input; samples have none."""
    if isinstance(source, str | os.PathLike):
        return [Path(source)]
    if isinstance(source, Mapping) or _is_given(source):
        return []
    return [Path(path) for path in cast("Sequence[str | Path]", source)]


def is_single(source: AudioInput) -> bool:
    """Return True for a single file, or for samples of one recording."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return path.suffix != _TABLE and not path.is_dir()
    return _is_given(source)


def find_recordings(paths: Iterable[Path]) -> list[Recording]:
    """Resolve audio files, data directories and `wav.scp` tables to recordings.

    A folder with a `wav.scp` is a data directory; any other folder gives all its audio
    files. A file that ends in ``.scp`` is a table. Any other file is a recording with
    the name of the file, in which ``_`` replaces white space, control characters and
    bytes that are not UTF-8.
    """
    found: dict[str, Recording] = {}
    for path in paths:
        for recording in _recordings_in(path):
            if recording.id in found:
                sources = [found[recording.id].source.text, recording.source.text]
                raise InvalidParameterError(
                    f"must have different names, got {recording.id!r} for "
                    f"{sources[0]} and {sources[1]}; name them in a wav.scp",
                    owner="find_recordings",
                    parameter="recordings",
                )
            found[recording.id] = recording
    return list(found.values())


def place_of(recording: Recording | GivenRecording) -> str:
    """Return the path or name of a recording, for messages."""
    return recording.source.text if isinstance(recording, Recording) else recording.id


def uem_bounds(uem: Uem, recording: str) -> list[Segment]:
    """Return the regions of a recording; raise an error if the UEM lists none."""
    bounds = regions_of(uem, recording)
    if not bounds:
        raise DataFormatError(f"lists no region of {recording!r}", path=uem.path)
    return bounds


@contextmanager
def open_channels(
    recording: Recording | GivenRecording,
    *,
    channel: int | None = None,
    allow_commands: bool = False,
) -> Iterator[Sequence[Samples]]:
    """Open one channel, counted from 1, or all channels unless a command picks one.

    The source of a `Recording` is opened once, so commands run once.
    """
    if isinstance(recording, GivenRecording):
        yield _given_channels(recording, channel)
        return
    with ExitStack() as stack:
        first = stack.enter_context(
            open_recording(
                recording, channel=channel or 1, allow_commands=allow_commands
            )
        )
        if channel is not None or _picks_channel(recording.source):
            yield [first]
        else:
            yield [first, *_other_channels(first, stack)]


def decode(
    recording: Recording | GivenRecording,
    rate: int,
    context: RunContext,
    *,
    channel: int | str | None = None,
    upsample: bool = False,
) -> tuple[MonoAudio, list[Problem]]:
    """Decode a recording once, to one channel at the rate of the model in Hz.

    Channels are counted from 1; by default all are mixed, with a note. With `upsample`,
    telephone speech of 8000 Hz is accepted.
    """
    chosen = channel if isinstance(channel, int) else None
    with open_channels(
        recording, channel=chosen, allow_commands=context.allow_commands
    ) as channels:
        check_rate(channels[0].rate, rate, place_of(recording), upsample=upsample)
        notes = []
        if len(channels) > 1:
            text = (
                f"{len(channels)} channels were mixed into one; set the channel to use "
                f"one alone, such as a side of a telephone call"
            )
            notes.append(
                Problem(text, recording=recording.id, severity="note", kind="channels")
            )
        return MonoAudio(channels, rate, progress=context.progress), notes


def check_rate(found: int, rate: int, place: str, *, upsample: bool) -> None:
    """Raise an error if the sampling rate is too low; see `decode`."""
    least = min(rate, _LEAST_RATE) if upsample else rate
    if found < least:
        raise DataFormatError(
            f"{found} samples per second are fewer than the {least} that the model "
            f"was trained on; record at {least} Hz or more",
            path=place,
        )


def check_length(duration: float, least: float, place: str) -> None:
    """Raise an error if the recording is too short."""
    if duration < least:
        problem = f"recording too short ({duration:.3g} s); the minimum is {least:g} s"
        raise DataFormatError(problem, path=place)


def _is_given(source: object) -> bool:
    return (
        isinstance(source, tuple)
        and len(source) == 2
        and isinstance(source[1], Integral)
    )


def _given(name: str, value: object) -> GivenRecording:
    if not _is_given(value):
        raise InvalidParameterError(
            f"source[{name!r}] must be (samples, rate), got {type(value).__name__}; "
            f"paths are given alone or in a list",
            owner="diarize",
        )
    samples, rate = cast("Given", value)
    return GivenRecording(name, samples, rate)


def _given_channels(recording: GivenRecording, channel: int | None) -> list[Samples]:
    samples, name = np.asarray(recording.samples), recording.id
    if samples.ndim not in (1, 2) or (
        samples.ndim == 2 and samples.shape[1] > samples.shape[0]
    ):
        problem = f"must be of shape (n,) or (n, channels), got {samples.shape}"
        raise InvalidParameterError(problem, owner=name, parameter="samples")
    columns = samples.reshape(len(samples), -1).T
    if channel is not None:
        if channel > len(columns):
            raise InvalidParameterError(
                f"{name}: has {len(columns)} channel(s), there is no channel {channel}"
            )
        columns = columns[channel - 1 : channel]
    return [ArraySamples(column, recording.rate, name=name) for column in columns]


def _recordings_in(path: Path) -> Iterator[Recording]:
    if not path.exists():
        raise MissingFileError(f"{path}: no such file or folder")
    table = path / "wav.scp" if path.is_dir() else path
    if path.is_dir() and not table.is_file():
        files = [p for p in sorted(path.iterdir()) if _is_audio(p)]
        if not files:
            raise MissingFileError(
                f"{path}: the folder holds neither audio files nor a Kaldi wav.scp"
            )
        for file in files:
            yield from _recordings_in(file)
        return
    if table.suffix == _TABLE:
        for name, source in read_wav_scp(table).items():
            yield Recording(name, source, table.parent, ())
    else:
        yield Recording(id_of_file(path.stem), AudioSource(str(path)), path.parent, ())


def _is_audio(path: Path) -> bool:
    hidden = path.name.startswith(".")
    return path.suffix.lower() in AUDIO_SUFFIXES and path.is_file() and not hidden


def _other_channels(first: AudioFile, stack: ExitStack) -> list[AudioFile]:
    """Open the second and further channels of a file whose first one is open."""
    return [
        stack.enter_context(first.other(channel))
        for channel in range(2, first.n_channels + 1)
    ]


def _picks_channel(source: AudioSource) -> bool:
    """Return True if the source is a command that picks a channel."""
    if not source.is_command:
        return False
    unpacking = parse_unpacking(source.text[:-1].strip())
    return unpacking is not None and unpacking.channel is not None
