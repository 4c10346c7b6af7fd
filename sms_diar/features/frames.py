"""Frames and speech of one recording, on values.

`frames_of` and `speech_of` take anything that has the samples of one channel: an
open file, a recording at another rate, or an array in memory
(`sms_diar.features.mono.ArraySamples`). What is wrong with one segment does not stop
the others. :mod:`sms_diar.features.extract` does the same for all recordings of a
data directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sms_diar._validation import refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features import neural_vad
from sms_diar.features.cepstra import Cepstra, Frames, cepstra_of
from sms_diar.features.cmvn import CmvnStats
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.resample import at_rate
from sms_diar.features.vad import VadConfig, detect_speech
from sms_diar.io.audio.files import Samples, blocks
from sms_diar.io.audio.recording import Piece
from sms_diar.types import Problem, Segment

_KEPT_FRAMES = 200_000  # of one recording, rather than computed twice: 32 MB

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
    """Yield the frames of segments of one recording.

    Parameters
    ----------
    audio : Samples
        One channel at any rate; it is brought to that of the front end.
    segments : mapping from str to Segment, optional
        The segments, all of this recording; without them it is one segment with
        the name of the recording.
    front_end : FrontEnd, optional
        The settings.
    stats : CmvnStats, optional
        Normalise by these where ``front_end.cmvn.method`` is ``"session"``. Without
        them the session is this recording.
    recording : str, default="recording"
        Its name.
    problems : list of Problem, optional
        Takes what is wrong with segments. Without it one `DataFormatError` lists
        the problems, after all good segments were yielded.

    Yields
    ------
    id : str
        Segment, in the order given.
    frames : ndarray of shape (n, front_end.dim), dtype float32
        At least one frame; frames without speech are left out.
    """
    _refuse_path("frames_of", audio)
    chosen = FrontEnd() if front_end is None else front_end
    check_detector(chosen.vad)
    check_statistics("frames_of", stats)
    results = frames_or_problems(
        audio, recording, _pieces(segments, recording), chosen, stats
    )
    return without_problems(results, problems, audio.path)


def speech_of(
    audio: Samples,
    vad: VadConfig | None = None,
    *,
    rate: int = 8000,
    recording: str = "recording",
) -> list[Segment]:
    """Find the speech of a recording.

    Parameters
    ----------
    audio : Samples
        One channel at any rate.
    vad : VadConfig, optional
        The settings.
    rate : int, default=8000
        What the audio is brought to first; 8000 or 16000 for the neural detector.
    recording : str, default="recording"
        Recording of the segments that are returned.
    """
    _refuse_path("speech_of", audio)
    chosen = VadConfig() if vad is None else vad
    check_detector(chosen)
    heard = at_rate(audio, rate)
    return detect_speech(
        blocks(heard, 0, heard.n_samples), chosen, rate=rate, recording=recording
    )


def check_detector(vad: VadConfig) -> None:
    """Find out before the work whether the detector is installed."""
    if vad.method == "neural":
        neural_vad.require()


def check_statistics(owner: str, stats: CmvnStats | None) -> None:
    """Refuse statistics of nothing."""
    if stats is not None and not stats.count:
        raise InvalidParameterError(
            f"{owner}: stats must be of at least one frame, got none"
        )


def without_problems(
    results: Iterable[T | Problem], problems: list[Problem] | None, path: Path
) -> Iterator[T]:
    """Yield what is good; at the end the problems are handed over, or raised."""
    found = []
    for result in results:
        if isinstance(result, Problem):
            found.append(result)
        else:
            yield result
    if problems is not None:
        problems += found
    elif found:
        listed = "".join(f"\n    {problem}" for problem in found)
        raise DataFormatError(
            f"{len(found)} problem(s); the other segments are complete:{listed}",
            path=path,
        )


def frames_or_problems(
    audio: Samples,
    recording: str,
    pieces: Sequence[Piece],
    front_end: FrontEnd,
    stats: CmvnStats | None,
) -> Iterator[tuple[str, Frames] | Problem]:
    """Frames of the segments of one recording, or what is wrong with them."""
    method = front_end.cmvn.method
    if method == "recording" or (method == "session" and stats is None):
        yield from _frames_by_recording(audio, recording, pieces, front_end)
        return
    for result in _cepstra(audio, recording, pieces, front_end):
        if isinstance(result, Problem):
            yield result
        else:
            name, cepstra = result
            own = cepstra.statistics() if method == "segment" else stats
            yield name, cepstra.finish(front_end, own)


def statistics_or_problems(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: FrontEnd
) -> Iterator[CmvnStats | Problem]:
    """Sums over the speech frames of each segment, or what is wrong with it."""
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
    kept: dict[str, Cepstra] = {}
    good, n_kept = set(), 0
    for result in _cepstra(audio, recording, pieces, front_end):
        if isinstance(result, Problem):
            yield result
            continue
        name, cepstra = result
        total += cepstra.statistics()
        good.add(name)
        if n_kept < _KEPT_FRAMES:
            kept[name] = cepstra
            n_kept += len(cepstra.frames)
    again = [piece for piece in pieces if piece.id in good and piece.id not in kept]
    for name in list(kept):
        yield name, kept.pop(name).finish(front_end, total)
    for result in _cepstra(audio, recording, again, front_end):
        if isinstance(result, Problem):
            yield result
        else:
            yield result[0], result[1].finish(front_end, total)


def _cepstra(
    audio: Samples, recording: str, pieces: Sequence[Piece], front_end: FrontEnd
) -> Iterator[tuple[str, Cepstra] | Problem]:
    for piece in pieces:
        try:
            cepstra = cepstra_of(audio, piece, recording, front_end)
        except Exception as error:  # noqa: BLE001 - of one segment, not of all
            yield Problem.of(error, recording=recording, segment=piece.id)
        else:
            yield piece.id, cepstra
