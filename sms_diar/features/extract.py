"""Feature extraction for the segments of a data directory.

One broken recording does not stop the others: problems are collected and handed to the
caller. Results do not depend on the number of workers. The work on a single recording
is done in :mod:`sms_diar.features.frames`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeAlias, TypeVar

from sms_diar import _scheduler
from sms_diar._parallel import process_map
from sms_diar._validation import check_count, refuse_path
from sms_diar.features.cmvn import CmvnStats
from sms_diar.features.frames import (
    Frames,
    check_detector,
    check_statistics,
    frames_or_problems,
    speech_of,
    statistics_or_problems,
    without_problems,
)
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.kaldi import KaldiFrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.files import Samples
from sms_diar.io.audio.recording import Piece, Recording, open_recording
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.types import Problem, Segment

_IN_FLIGHT = 4  # finished recordings per worker that may wait for the caller

T = TypeVar("T")
_Work: TypeAlias = Callable[[Samples, str, Sequence[Piece]], Iterator[T | Problem]]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Options for opening recordings."""

    channel: int | None
    allow_commands: bool

    def apply(self, work: _Work[T], recording: Recording) -> Iterator[T | Problem]:
        """Yield the results of one recording, or a problem."""
        try:
            with open_recording(
                recording, channel=self.channel, allow_commands=self.allow_commands
            ) as audio:
                yield from work(audio, recording.id, recording.pieces)
        except Exception as error:  # noqa: BLE001 - affects one recording only
            yield Problem.of(error, recording=recording.id)


def features_of_segments(
    data: DataDir,
    config: FrontEnd | KaldiFrontEnd | None = None,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    stats: CmvnStats | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
) -> Iterator[tuple[str, Frames]]:
    """Yield id and speech frames of the segments, in the order of `wav.scp`.

    `segments`, e.g. windows or random crops, replace the table `segments`; without
    either, every recording is one segment. `ids` selects some of them. `stats` are the
    statistics for ``config.cmvn.method="session"``; by default, the session is the set
    of all requested segments, and the audio is read twice. The `channel` counts from 1.
    Each of `workers` processes takes whole recordings. See
    `sms_diar.features.frames.frames_of` for the frames and `problems`.
    """
    _refuse_path("features_of_segments", data)
    config = FrontEnd() if config is None else config
    check_count("features_of_segments", "workers", workers)
    check_statistics("features_of_segments", stats)
    if isinstance(config, FrontEnd):
        check_detector(config.vad)
        if config.cmvn.method == "session" and stats is None:
            stats = session_statistics(
                data,
                config,
                segments=segments,
                ids=ids,
                channel=channel,
                allow_commands=allow_commands,
                workers=workers,
                problems=[],  # the second pass meets and reports the same problems
            )
    recordings, lines = _listed(data, segments=segments, ids=ids)
    work = partial(frames_or_problems, front_end=config, stats=stats)
    results = _each(work, recordings, _Reader(channel, allow_commands), workers)
    yield from without_problems(chain(lines, results), problems, data.path)


def session_statistics(
    data: DataDir,
    config: FrontEnd | None = None,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
) -> CmvnStats:
    """Sum up the cepstra of all speech frames.

    The parameters are the same as for `features_of_segments`. Statistics of several
    data directories that form one session can be added with ``+``.
    """
    _refuse_path("session_statistics", data)
    config = FrontEnd() if config is None else config
    check_count("session_statistics", "workers", workers)
    check_detector(config.vad)
    recordings, lines = _listed(data, segments=segments, ids=ids)
    work = partial(statistics_or_problems, front_end=config)
    results = _each(work, recordings, _Reader(channel, allow_commands), workers)
    return sum(
        without_problems(chain(lines, results), problems, data.path),
        start=CmvnStats.none(config.mfcc.dim),
    )


def speech_of_recordings(
    data: DataDir,
    config: VadConfig | None = None,
    *,
    rate: int = 8000,
    channel: int | None = None,
    allow_commands: bool = False,
    problems: list[Problem] | None = None,
) -> Iterator[tuple[str, list[Segment]]]:
    """Yield the speech segments of each whole recording, ignoring `segments`.

    The parameters are the same as for `features_of_segments`. The audio is resampled
    to `rate` first (8000 or 16000 for the neural detector).
    """
    _refuse_path("speech_of_recordings", data)
    config = VadConfig() if config is None else config
    check_detector(config)
    recordings, lines = _listed(data, whole=True)
    work = partial(_speech, vad=config, rate=rate)
    results = _each(work, recordings, _Reader(channel, allow_commands))
    yield from without_problems(chain(lines, results), problems, data.path)


def _listed(
    data: DataDir,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    whole: bool = False,
) -> tuple[list[Recording], list[Problem]]:
    """List the recordings of a data directory, and the lines that cannot be read."""
    recordings, lines = list_recordings(data, segments=segments, ids=ids, whole=whole)
    return recordings, [Problem(str(problem)) for problem in lines]


def _refuse_path(owner: str, data: object) -> None:
    remedy = "wrap it: sms_diar.io.kaldi.data_dir.DataDir(path)"
    refuse_path(owner, "data", data, "a DataDir", remedy)


def _each(
    work: _Work[T], recordings: list[Recording], reader: _Reader, workers: int = 1
) -> Iterator[T | Problem]:
    """Yield the results of all recordings in order, with a bounded backlog."""
    sequential = workers == 1 or len(recordings) < 2
    if sequential and _scheduler.current() is None:
        for recording in recordings:  # segment by segment
            yield from reader.apply(work, recording)
        return
    run = partial(_all_of, work, reader)
    for results in process_map(run, recordings, workers=workers, held=_IN_FLIGHT):
        yield from results


def _all_of(work: _Work[T], reader: _Reader, recording: Recording) -> list[T | Problem]:
    return list(reader.apply(work, recording))


def _speech(
    audio: Samples, recording: str, _: Sequence[Piece], *, vad: VadConfig, rate: int
) -> Iterator[tuple[str, list[Segment]] | Problem]:
    yield recording, speech_of(audio, vad, rate=rate, recording=recording)
