"""Frames of the segments of a data directory, recording by recording.

One broken recording does not stop the others: what is wrong with it is collected
and handed to the caller, who decides. Values do not depend on the number of
workers. What happens to one recording is in :mod:`sms_diar.features.frames`.
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
from sms_diar.features.cepstra import Frames
from sms_diar.features.cmvn import CmvnStats
from sms_diar.features.frames import (
    check_detector,
    check_statistics,
    frames_or_problems,
    speech_of,
    statistics_or_problems,
    without_problems,
)
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.files import Samples
from sms_diar.io.audio.recording import Piece, Recording, open_recording
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.types import Problem, Segment

_IN_FLIGHT = 4  # recordings per worker whose frames may wait for the caller

T = TypeVar("T")
_Work: TypeAlias = Callable[[Samples, str, Sequence[Piece]], Iterator[T | Problem]]


@dataclass(frozen=True, slots=True)
class _Reader:
    """How recordings are opened."""

    channel: int | None
    allow_commands: bool

    def apply(self, work: _Work[T], recording: Recording) -> Iterator[T | Problem]:
        """Results of one recording, or what is wrong with it."""
        try:
            with open_recording(
                recording, channel=self.channel, allow_commands=self.allow_commands
            ) as audio:
                yield from work(audio, recording.id, recording.pieces)
        except Exception as error:  # noqa: BLE001 - of one recording, not of all
            yield Problem.of(error, recording=recording.id)


def features_of_segments(
    data: DataDir,
    config: FrontEnd | None = None,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    stats: CmvnStats | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
) -> Iterator[tuple[str, Frames]]:
    """Yield the frames of segments, recording by recording.

    Parameters
    ----------
    data : DataDir
        Needs `wav.scp`; without `segments` every recording is one segment.
    config : FrontEnd, optional
        The settings.
    segments : mapping, optional
        Used in place of the `segments` table: windows, random crops.
    ids : collection of str, optional
        Only these segments.
    stats : CmvnStats, optional
        Normalise by these where ``config.cmvn.method`` is ``"session"``.
        Without them the session is all segments asked for, and the audio is
        read twice.
    channel : int, optional
        Channel of recordings that have several, counted from 1.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    workers : int, default=1
        Processes. Recordings are shared among them.
    problems : list of Problem, optional
        Takes what is wrong. Without it one `DataFormatError` lists the problems,
        after all good segments were yielded.

    Yields
    ------
    id : str
        Segment, in the order of `wav.scp`, then of `segments`.
    frames : ndarray of shape (n, config.dim), dtype float32
        At least one frame; frames without speech are left out.
    """
    _refuse_path("features_of_segments", data)
    config = FrontEnd() if config is None else config
    check_count("features_of_segments", "workers", workers)
    check_detector(config.vad)
    check_statistics("features_of_segments", stats)
    if config.cmvn.method == "session" and stats is None:
        stats = session_statistics(
            data,
            config,
            segments=segments,
            ids=ids,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=[],  # met again, and kept, below
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

    Parameters are those of `features_of_segments`. Statistics of several data
    directories that make one session add up with ``+``.
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
    """Yield the speech of each whole recording, whatever `segments` says.

    Parameters are those of `features_of_segments`; audio is brought to `rate`
    first (8000 or 16000 for the neural detector).
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
    """Recordings of a data directory, and lines that could not be read."""
    recordings, lines = list_recordings(data, segments=segments, ids=ids, whole=whole)
    return recordings, [Problem(str(problem)) for problem in lines]


def _refuse_path(owner: str, data: object) -> None:
    remedy = "wrap it: sms_diar.io.kaldi.data_dir.DataDir(path)"
    refuse_path(owner, "data", data, "a DataDir", remedy)


def _each(
    work: _Work[T], recordings: list[Recording], reader: _Reader, workers: int = 1
) -> Iterator[T | Problem]:
    """Results of all recordings, in order, without piling up."""
    here = workers == 1 or len(recordings) < 2
    if here and _scheduler.current() is None:
        for recording in recordings:  # segment by segment
            yield from reader.apply(work, recording)
        return
    whole = partial(_all_of, work, reader)
    for results in process_map(whole, recordings, workers=workers, held=_IN_FLIGHT):
        yield from results


def _all_of(work: _Work[T], reader: _Reader, recording: Recording) -> list[T | Problem]:
    return list(reader.apply(work, recording))


def _speech(
    audio: Samples, recording: str, _: Sequence[Piece], *, vad: VadConfig, rate: int
) -> Iterator[tuple[str, list[Segment]] | Problem]:
    yield recording, speech_of(audio, vad, rate=rate, recording=recording)
