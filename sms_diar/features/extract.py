"""Frames of the segments of a data directory, recording by recording.

One broken recording does not stop the others: what is wrong with it is collected
and handed to the caller, who decides. Values do not depend on the number of
workers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from sms_diar._validation import check_count
from sms_diar.errors import DataFormatError, InvalidParameterError, SmsDiarError
from sms_diar.features import neural_vad
from sms_diar.features.cmvn import CmvnStats, row_blocks, sliding_cmvn_rows
from sms_diar.features.decisions import speech_mask
from sms_diar.features.deltas import add_deltas
from sms_diar.features.framing import frame_count
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import mfcc
from sms_diar.features.resample import at_rate
from sms_diar.features.vad import VadConfig, detect_speech
from sms_diar.io.audio import BLOCK, Samples, blocks, stretch
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.recordings import (
    Piece,
    Recording,
    list_recordings,
    open_recording,
)
from sms_diar.types import BoolArray, FloatArray, Segment

Frames = npt.NDArray[np.float32]

_IN_FLIGHT = 4  # recordings per worker whose frames may wait for the caller
_KEPT_FRAMES = 200_000  # of one recording, rather than computed twice: 32 MB


@dataclass(frozen=True, slots=True)
class FeatureProblem:
    """Why a recording or a segment has no frames.

    Parameters
    ----------
    recording : str or None
        The recording; None for a line of a table that could not be read.
    segment : str or None
        The segment; None where it concerns all of the recording.
    text : str
        What is wrong.
    """

    recording: str | None
    segment: str | None
    text: str

    def __str__(self) -> str:
        name = self.segment or self.recording
        return self.text if name is None else f"{name}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Job:
    """What all recordings are treated with."""

    config: FrontEnd
    stats: CmvnStats | None
    channel: int | None
    allow_commands: bool


@dataclass(frozen=True, slots=True)
class _Cepstra:
    """Cepstra of a segment, and which of its frames are speech."""

    frames: FloatArray
    is_speech: BoolArray

    def statistics(self) -> CmvnStats:
        parts = (
            CmvnStats.of(self.frames[rows][self.is_speech[rows]])
            for rows in row_blocks(len(self.frames))
        )
        return sum(parts, start=_no_statistics(self.frames.shape[1]))


T = TypeVar("T")
_Work: TypeAlias = Callable[[Recording, _Job], Iterator[T | FeatureProblem]]


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
    problems: list[FeatureProblem] | None = None,
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
    problems : list of FeatureProblem, optional
        Takes what is wrong. Without it one `DataFormatError` lists the problems,
        after all good segments were yielded.

    Yields
    ------
    id : str
        Segment, in the order of `wav.scp`, then of `segments`.
    frames : ndarray of shape (n, config.dim), dtype float32
        At least one frame; frames without speech are left out.
    """
    config = FrontEnd() if config is None else config
    check_count("features_of_segments", "workers", workers)
    if config.vad.method == "neural":
        neural_vad.require()
    if stats is not None and not stats.count:
        raise InvalidParameterError(
            "features_of_segments: stats must be of at least one frame, got none"
        )
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
    recordings, lines = list_recordings(data, segments=segments, ids=ids)
    found = [FeatureProblem(None, None, str(problem)) for problem in lines]
    job = _Job(config, stats, channel, allow_commands)
    for result in _each(_frames, recordings, job, workers):
        if isinstance(result, FeatureProblem):
            found.append(result)
        else:
            yield result
    _hand_over(found, problems, data)


def session_statistics(
    data: DataDir,
    config: FrontEnd | None = None,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[FeatureProblem] | None = None,
) -> CmvnStats:
    """Sum up the cepstra of all speech frames.

    Parameters are those of `features_of_segments`. Statistics of several data
    directories that make one session add up with ``+``.
    """
    config = FrontEnd() if config is None else config
    check_count("session_statistics", "workers", workers)
    if config.vad.method == "neural":
        neural_vad.require()
    recordings, lines = list_recordings(data, segments=segments, ids=ids)
    found = [FeatureProblem(None, None, str(problem)) for problem in lines]
    job = _Job(config, None, channel, allow_commands)
    total = _no_statistics(config.mfcc.dim)
    for result in _each(_statistics, recordings, job, workers):
        if isinstance(result, FeatureProblem):
            found.append(result)
        else:
            total += result
    _hand_over(found, problems, data)
    return total


def speech_of_recordings(
    data: DataDir,
    config: VadConfig | None = None,
    *,
    rate: int = 8000,
    channel: int | None = None,
    allow_commands: bool = False,
    problems: list[FeatureProblem] | None = None,
) -> Iterator[tuple[str, list[Segment]]]:
    """Yield the speech of each whole recording, whatever `segments` says.

    Parameters are those of `features_of_segments`; audio is brought to `rate`
    first (8000 or 16000 for the neural detector).
    """
    config = VadConfig() if config is None else config
    if config.method == "neural":
        neural_vad.require()
    recordings, lines = list_recordings(data, whole=True)
    found = [FeatureProblem(None, None, str(problem)) for problem in lines]
    for recording in recordings:
        try:
            with open_recording(
                recording, channel=channel, allow_commands=allow_commands
            ) as file:
                audio = at_rate(file, rate)
                speech = detect_speech(
                    blocks(audio, 0, audio.n_samples),
                    config,
                    rate=rate,
                    recording=recording.id,
                )
        except (SmsDiarError, OSError) as error:
            found.append(FeatureProblem(recording.id, None, str(error)))
        else:
            yield recording.id, speech
    _hand_over(found, problems, data)


def _each(
    function: _Work[T], recordings: list[Recording], job: _Job, workers: int
) -> Iterator[T | FeatureProblem]:
    """Results of all recordings, in order, without piling up."""
    if workers == 1 or len(recordings) < 2:
        for recording in recordings:
            yield from function(recording, job)
        return
    waiting = iter(recordings)
    with Parallel(n_jobs=workers, batch_size=1) as parallel:
        while batch := list(islice(waiting, _IN_FLIGHT * workers)):
            for results in parallel(
                delayed(_listed)(function, recording, job) for recording in batch
            ):
                yield from results


def _listed(
    function: _Work[T], recording: Recording, job: _Job
) -> list[T | FeatureProblem]:
    return list(function(recording, job))


def _frames(
    recording: Recording, job: _Job
) -> Iterator[tuple[str, Frames] | FeatureProblem]:
    if job.config.cmvn.method == "recording":
        yield from _frames_by_recording(recording, job)
        return
    for result in _cepstra(recording, job):
        if isinstance(result, FeatureProblem):
            yield result
        else:
            name, cepstra = result
            stats = job.stats
            if job.config.cmvn.method == "segment":
                stats = cepstra.statistics()
            yield name, _finish(cepstra, job.config, stats)


def _frames_by_recording(
    recording: Recording, job: _Job
) -> Iterator[tuple[str, Frames] | FeatureProblem]:
    total = _no_statistics(job.config.mfcc.dim)
    kept: dict[str, _Cepstra] = {}
    good, n_kept = set(), 0
    for result in _cepstra(recording, job):
        if isinstance(result, FeatureProblem):
            yield result
            continue
        name, cepstra = result
        total += cepstra.statistics()
        good.add(name)
        if n_kept < _KEPT_FRAMES:
            kept[name] = cepstra
            n_kept += len(cepstra.frames)
    again = tuple(
        piece for piece in recording.pieces if piece.id in good and piece.id not in kept
    )
    for name in list(kept):
        yield name, _finish(kept.pop(name), job.config, total)
    for result in _cepstra(replace(recording, pieces=again), job):
        if isinstance(result, FeatureProblem):
            yield result
        else:
            yield result[0], _finish(result[1], job.config, total)


def _statistics(
    recording: Recording, job: _Job
) -> Iterator[CmvnStats | FeatureProblem]:
    for result in _cepstra(recording, job):
        if isinstance(result, FeatureProblem):
            yield result
        else:
            yield result[1].statistics()


def _cepstra(
    recording: Recording, job: _Job
) -> Iterator[tuple[str, _Cepstra] | FeatureProblem]:
    """Cepstra of the segments of one recording, or what is wrong with them."""
    if not recording.pieces:
        return
    try:
        with open_recording(
            recording, channel=job.channel, allow_commands=job.allow_commands
        ) as file:
            for piece in recording.pieces:
                try:
                    cepstra = _cepstra_of(file, piece, recording.id, job.config)
                except (SmsDiarError, OSError) as error:
                    yield FeatureProblem(recording.id, piece.id, str(error))
                else:
                    yield piece.id, cepstra
    except (SmsDiarError, OSError) as error:
        yield FeatureProblem(recording.id, None, str(error))


def _cepstra_of(
    file: Samples, piece: Piece, recording: str, config: FrontEnd
) -> _Cepstra:
    owner = f"segment {piece.id!r}"
    signal = _Signal(at_rate(file, config.mfcc.rate), piece, owner)
    n_frames = frame_count(
        signal.n_samples, config.mfcc.frame_length, config.mfcc.frame_shift
    )
    if not n_frames:
        raise DataFormatError(
            f"{owner} of {signal.n_samples / config.mfcc.rate:g} s is shorter than a "
            f"frame of {config.mfcc.length:g} s; remove it",
            path=file.path,
        )
    is_speech = np.ones(n_frames, dtype=np.bool_)
    if config.vad.method != "none":
        heard = signal
        if config.vad.method == "neural" and config.mfcc.rate not in neural_vad.RATES:
            rate = 16000 if file.rate >= 16000 else 8000
            heard = _Signal(at_rate(file, rate), piece, owner)
        speech = detect_speech(
            heard, config.vad, rate=heard.rate, recording=recording, start=piece.start
        )
        is_speech = speech_mask(speech, n_frames, config.grid, piece.start)
        if not is_speech.any():
            raise DataFormatError(
                f"no speech was found in {owner}; --vad none (vad.method = "
                f"'none') keeps all frames",
                path=file.path,
            )
    frames = np.empty((n_frames, config.mfcc.dim))
    at = 0
    for chunk in mfcc(signal, config.mfcc):
        frames[at : at + len(chunk)] = chunk
        at += len(chunk)
    return _Cepstra(frames, is_speech)


class _Signal:
    """Samples of a segment, in blocks; short ones are read only once."""

    def __init__(self, audio: Samples, piece: Piece, owner: str) -> None:
        self._audio = audio
        self._first, self._last = stretch(audio, piece.start, piece.end, owner=owner)
        self._kept: FloatArray | None = None

    @property
    def rate(self) -> int:
        return self._audio.rate

    @property
    def n_samples(self) -> int:
        return self._last - self._first

    def __iter__(self) -> Iterator[FloatArray]:
        if self._kept is None and self.n_samples <= BLOCK:
            self._kept = self._audio.read(self._first, self._last)
        if self._kept is not None:
            yield self._kept
        else:
            yield from blocks(self._audio, self._first, self._last)


def _finish(cepstra: _Cepstra, config: FrontEnd, stats: CmvnStats | None) -> Frames:
    """Normalise, append derivatives and keep speech, some rows at a time.

    Five hours of frames are 432 MB; nothing else of that size is made here.
    """
    frames, is_speech = cepstra.frames, cepstra.is_speech
    context, n = config.deltas.context, len(cepstra.frames)
    out = np.empty((np.count_nonzero(is_speech), config.dim), dtype=np.float32)
    at = 0
    for rows in row_blocks(n):
        wide = slice(max(rows.start - context, 0), min(rows.stop + context, n))
        part = add_deltas(_normalised(frames, wide, config, stats), config.deltas)
        part = part[rows.start - wide.start : rows.stop - wide.start][is_speech[rows]]
        out[at : at + len(part)] = part
        at += len(part)
    return out


def _normalised(
    frames: FloatArray, rows: slice, config: FrontEnd, stats: CmvnStats | None
) -> FloatArray:
    if config.cmvn.method == "none":
        return frames[rows]
    if config.cmvn.method == "sliding":
        window = max(1, round(config.cmvn.window / config.grid.shift))
        return sliding_cmvn_rows(frames, rows, window, variance=config.cmvn.variance)
    if stats is None:  # a bug, not something a user can cause
        raise AssertionError(config.cmvn.method)
    return stats.apply(frames[rows], variance=config.cmvn.variance)


def _no_statistics(dim: int) -> CmvnStats:
    return CmvnStats(0, np.zeros(dim), np.zeros(dim))


def _hand_over(
    found: list[FeatureProblem], problems: list[FeatureProblem] | None, data: DataDir
) -> None:
    if problems is not None:
        problems += found
    elif found:
        listed = "".join(f"\n    {problem}" for problem in found)
        raise DataFormatError(
            f"{len(found)} problem(s); the other segments are complete:{listed}",
            path=data.path,
        )
