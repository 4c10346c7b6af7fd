"""Frames and speech segments of one recording.

`frames_of` and `speech_of` accept any object that provides the samples of one channel:
an open file, a resampled recording, or an array in memory
(`sms_diar.features.mono.ArraySamples`). A problem in one segment does not stop the
others. :mod:`sms_diar.features.extract` does the same for all recordings of a data
directory.

Computing the cepstra and finishing the frames are separate steps, because normalisation
may need the cepstra of all segments before the first frames can be finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sms_diar._validation import refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.cmvn import CmvnStats, row_blocks, sliding_cmvn_rows
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.kaldi import KaldiFrontEnd
from sms_diar.features.mfcc import add_deltas, frame_count, mfcc
from sms_diar.features.mono import at_rate
from sms_diar.features.vad import (
    NEURAL_RATES,
    VadConfig,
    detect_speech,
    require_neural_vad,
    speech_mask,
)
from sms_diar.io.audio.files import BLOCK, Samples, blocks, stretch
from sms_diar.io.audio.recording import Piece
from sms_diar.types import BoolArray, FloatArray, Problem, Segment

_KEPT_FRAMES = 200_000  # per recording, kept in memory (32 MB) for the second pass

Frames = npt.NDArray[np.float32]

T = TypeVar("T")


def frames_of(
    audio: Samples,
    segments: Mapping[str, Segment] | None = None,
    front_end: FrontEnd | None = None,
    *,
    stats: CmvnStats | None = None,
    recording: str = "recording",
    problems: list[Problem] | None = None,
) -> Iterator[tuple[str, Frames]]:
    """Yield id and speech frames of the segments of one recording.

    The `audio`, one channel at any rate, is resampled to the rate of the front end. By
    default the whole recording is one segment whose id is `recording`. `stats` are the
    statistics for ``front_end.cmvn.method="session"``; by default the session is this
    recording. Frames have shape (n, front_end.dim), n >= 1, and type float32.
    Problems are appended to `problems`; without it, a single `DataFormatError` lists
    all problems after all good segments have been yielded.
    """
    _refuse_path("frames_of", audio)
    settings = FrontEnd() if front_end is None else front_end
    check_detector(settings.vad)
    check_statistics("frames_of", stats)
    results = frames_or_problems(
        audio, recording, _pieces(segments, recording), settings, stats
    )
    return without_problems(results, problems, audio.path)


def speech_of(
    audio: Samples,
    vad: VadConfig | None = None,
    *,
    rate: int = 8000,
    recording: str = "recording",
) -> list[Segment]:
    """Detect the speech in a recording, one channel at any rate.

    The audio is resampled to `rate` first, 8000 or 16000 for the neural detector.
    """
    _refuse_path("speech_of", audio)
    config = VadConfig() if vad is None else vad
    check_detector(config)
    resampled = at_rate(audio, rate)
    return detect_speech(
        blocks(resampled, 0, resampled.n_samples),
        config,
        rate=rate,
        recording=recording,
    )


def check_detector(vad: VadConfig) -> None:
    """Raise an error early if the detector is not installed."""
    if vad.method == "neural":
        require_neural_vad()


def check_statistics(owner: str, stats: CmvnStats | None) -> None:
    """Raise an error if the statistics contain no frames."""
    if stats is not None and not stats.count:
        problem = "must contain at least one frame, got none"
        raise InvalidParameterError(problem, owner=owner, parameter="stats")


def without_problems(
    results: Iterable[T | Problem], problems: list[Problem] | None, path: Path
) -> Iterator[T]:
    """Yield the good results; at the end, return or raise the problems."""
    collected = []
    for result in results:
        if isinstance(result, Problem):
            collected.append(result)
        else:
            yield result
    if problems is not None:
        problems += collected
    elif collected:
        listed = "".join(f"\n    {problem}" for problem in collected)
        raise DataFormatError(
            f"{len(collected)} problem(s); the other segments are complete:{listed}",
            path=path,
        )


def frames_or_problems(
    audio: Samples,
    recording: str,
    pieces: Sequence[Piece],
    front_end: FrontEnd | KaldiFrontEnd,
    stats: CmvnStats | None,
) -> Iterator[tuple[str, Frames] | Problem]:
    """Yield the frames of each segment of one recording, or a problem."""
    if isinstance(front_end, KaldiFrontEnd):
        yield from _kaldi_frames(audio, recording, pieces, front_end)
        return
    method = front_end.cmvn.method
    if method == "recording" or (method == "session" and stats is None):
        yield from _frames_by_recording(audio, recording, pieces, front_end)
        return
    for result in _cepstra(audio, recording, pieces, front_end):
        if isinstance(result, Problem):
            yield result
        else:
            name, cepstra = result
            used = cepstra.statistics() if method == "segment" else stats
            yield name, cepstra.finish(front_end, used)


def statistics_or_problems(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: FrontEnd
) -> Iterator[CmvnStats | Problem]:
    """Yield the sums over the speech frames of each segment, or a problem."""
    for result in _cepstra(audio, recording, pieces, front_end):
        yield result if isinstance(result, Problem) else result[1].statistics()


def _refuse_path(owner: str, audio: object) -> None:
    remedy = "open it with sms_diar.io.audio.files.AudioFile"
    refuse_path(owner, "audio", audio, "samples of one channel", remedy)


def _pieces(
    segments: Mapping[str, Segment] | None, recording: str
) -> tuple[Piece, ...]:
    if segments is None:
        return (Piece(recording, 0.0, None),)
    return tuple(
        Piece(name, segment.start, segment.end) for name, segment in segments.items()
    )


def _frames_by_recording(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: FrontEnd
) -> Iterator[tuple[str, Frames] | Problem]:
    total = CmvnStats.none(front_end.mfcc.dim)
    in_memory: dict[str, Cepstra] = {}
    good, n_kept = set(), 0
    for result in _cepstra(audio, recording, pieces, front_end):
        if isinstance(result, Problem):
            yield result
            continue
        name, cepstra = result
        total += cepstra.statistics()
        good.add(name)
        if n_kept < _KEPT_FRAMES:
            in_memory[name] = cepstra
            n_kept += len(cepstra.frames)
    recomputed = [
        piece for piece in pieces if piece.id in good and piece.id not in in_memory
    ]
    for name in list(in_memory):
        yield name, in_memory.pop(name).finish(front_end, total)
    for result in _cepstra(audio, recording, recomputed, front_end):
        if isinstance(result, Problem):
            yield result
        else:
            yield result[0], result[1].finish(front_end, total)


def _kaldi_frames(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: KaldiFrontEnd
) -> Iterator[tuple[str, Frames] | Problem]:
    signal = at_rate(audio, front_end.mfcc.rate)
    for piece in pieces:
        owner = f"segment {piece.id!r}"
        try:
            first, last = stretch(signal, piece.start, piece.end, owner=owner)
            if not front_end.mfcc.n_frames(last - first):
                problem = f"{owner} is shorter than a frame; remove it"
                raise DataFormatError(problem, path=audio.path)
            frames = front_end.frames(signal.read(first, last))
            if not len(frames):
                problem = f"no speech was found in {owner}; vad='none' keeps all frames"
                raise DataFormatError(
                    problem, path=audio.path, mentions=("vad='none'",)
                )
        except Exception as error:  # noqa: BLE001 - affects one segment only
            yield Problem.of(error, recording=recording, segment=piece.id)
        else:
            yield piece.id, frames


def _cepstra(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: FrontEnd
) -> Iterator[tuple[str, Cepstra] | Problem]:
    for piece in pieces:
        try:
            cepstra = cepstra_of(audio, piece, recording, front_end)
        except Exception as error:  # noqa: BLE001 - affects one segment only
            yield Problem.of(error, recording=recording, segment=piece.id)
        else:
            yield piece.id, cepstra


@dataclass(frozen=True, slots=True)
class Cepstra:
    """Cepstra of a segment, and a mask of its speech frames."""

    frames: FloatArray
    is_speech: BoolArray

    def statistics(self) -> CmvnStats:
        """Return the sums over the speech frames."""
        parts = (
            CmvnStats.of(self.frames[rows][self.is_speech[rows]])
            for rows in row_blocks(len(self.frames))
        )
        return sum(parts, start=CmvnStats.none(self.frames.shape[1]))

    def finish(self, front_end: FrontEnd, stats: CmvnStats | None) -> Frames:
        """Normalise, append derivatives and keep the speech frames.

        Works on blocks of rows, because five hours of frames are 432 MB.
        """
        context, n = front_end.deltas.context, len(self.frames)
        n_speech = np.count_nonzero(self.is_speech)
        out = np.empty((n_speech, front_end.dim), dtype=np.float32)
        row = 0
        for rows in row_blocks(n):
            wide = slice(max(rows.start - context, 0), min(rows.stop + context, n))
            normal = _normalised(self.frames, wide, front_end, stats)
            part = add_deltas(normal, front_end.deltas)
            part = part[rows.start - wide.start : rows.stop - wide.start]
            part = part[self.is_speech[rows]]
            out[row : row + len(part)] = part
            row += len(part)
        return out


def cepstra_of(
    audio: Samples, piece: Piece, recording: str, front_end: FrontEnd
) -> Cepstra:
    """Compute the cepstra of a segment of a recording at any rate."""
    owner = f"segment {piece.id!r}"
    settings, vad = front_end.mfcc, front_end.vad
    signal = _Signal(at_rate(audio, settings.rate), piece, owner)
    n_frames = frame_count(
        signal.n_samples, settings.frame_length, settings.frame_shift
    )
    if not n_frames:
        raise DataFormatError(
            f"{owner} of {signal.n_samples / settings.rate:g} s is shorter than a "
            f"frame of {settings.length:g} s; remove it",
            path=audio.path,
        )
    is_speech = np.ones(n_frames, dtype=np.bool_)
    if vad.method != "none":
        detector_input = signal
        if vad.method == "neural" and settings.rate not in NEURAL_RATES:
            rate = 16000 if audio.rate >= 16000 else 8000
            detector_input = _Signal(at_rate(audio, rate), piece, owner)
        speech = detect_speech(
            detector_input,
            vad,
            rate=detector_input.rate,
            recording=recording,
            start=piece.start,
        )
        is_speech = speech_mask(speech, n_frames, front_end.grid, piece.start)
        if not is_speech.any():
            problem = f"no speech was found in {owner}; vad='none' keeps all frames"
            raise DataFormatError(problem, path=audio.path, mentions=("vad='none'",))
    frames = np.empty((n_frames, settings.dim))
    row = 0
    for chunk in mfcc(signal, settings):
        frames[row : row + len(chunk)] = chunk
        row += len(chunk)
    return Cepstra(frames, is_speech)


class _Signal:
    """Samples of a segment in blocks; short segments are read only once."""

    def __init__(self, audio: Samples, piece: Piece, owner: str) -> None:
        self._audio = audio
        self._first, self._last = stretch(audio, piece.start, piece.end, owner=owner)
        self._cached: FloatArray | None = None

    @property
    def rate(self) -> int:
        return self._audio.rate

    @property
    def n_samples(self) -> int:
        return self._last - self._first

    def __iter__(self) -> Iterator[FloatArray]:
        if self._cached is None and self.n_samples <= BLOCK:
            self._cached = self._audio.read(self._first, self._last)
        if self._cached is not None:
            yield self._cached
        else:
            yield from blocks(self._audio, self._first, self._last)


def _normalised(
    frames: FloatArray, rows: slice, front_end: FrontEnd, stats: CmvnStats | None
) -> FloatArray:
    cmvn = front_end.cmvn
    if cmvn.method == "none":
        return frames[rows]
    if cmvn.method == "sliding":
        window = max(1, round(cmvn.window / front_end.grid.shift))
        return sliding_cmvn_rows(frames, rows, window, variance=cmvn.variance)
    if stats is None:  # a bug, not something a user can cause
        raise AssertionError(cmvn.method)
    return stats.apply(frames[rows], variance=cmvn.variance)
