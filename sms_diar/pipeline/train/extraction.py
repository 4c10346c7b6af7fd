"""Extraction of i-vectors from a recording or a data directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sms_diar._progress import Progress, Silence
from sms_diar.embeddings import IvectorExtractor
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.frames import frames_of
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.audio.files import Samples
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.types import EmbeddingSet, Problem, Segment

T = TypeVar("T")


@dataclass(frozen=True)
class Speech:
    """Data directory with its front end.

    Parameters
    ----------
    data : DataDir
        One session: "session" normalisation pools over all its segments.
    front_end : FrontEnd
        Front end. Speech detection and normalisation may differ between directories
        that train one model.
    """

    data: DataDir
    front_end: FrontEnd


def extract_ivectors(
    speech: Speech,
    extractor: IvectorExtractor,
    *,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> EmbeddingSet:
    """Extract i-vectors of all segments of a data directory.

    Parameters
    ----------
    speech : Speech
        Data directory and front end, usually the front end of the extractor; see
        `front_end_of`.
    extractor : IvectorExtractor
        Model.
    channel : int, optional
        Channel of files that have several.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    workers : int, default=1
        Number of processes and threads. Results do not depend on it.
    problems : list, optional
        Receives the errors of segments that could not be read, which are skipped.
        Without it an error is raised at the end.
    progress : Progress, optional
        Receives progress.
    """
    data, front_end = speech.data, speech.front_end
    check_front_end(front_end, extractor)
    listener = progress or Silence()
    with listener.track("i-vectors", count_segments(data)) as advance:
        frames = features_of_segments(
            data,
            front_end,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=problems,
        )
        ivectors = extractor.extract_all(
            counted(frames, advance), workers=workers, source=str(data.path)
        )
    if not len(ivectors):
        raise DataFormatError("no segment gave an i-vector", path=data.path)
    return ivectors


def ivectors_of(
    audio: Samples,
    segments: Mapping[str, Segment],
    extractor: IvectorExtractor,
    *,
    front_end: FrontEnd,
    recording: str = "recording",
    workers: int = 1,
    progress: Progress | None = None,
) -> EmbeddingSet:
    """Extract i-vectors of segments of one recording.

    Parameters
    ----------
    audio : Samples
        One channel at any sampling rate.
    segments : mapping from str to Segment
        Segments of this recording by id.
    extractor : IvectorExtractor
        Model.
    front_end : FrontEnd
        Front end.
    recording : str, default="recording"
        Name of the recording.
    workers : int, default=1
        Number of threads. Results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    check_front_end(front_end, extractor)
    with (progress or Silence()).track("i-vectors", len(segments)) as advance:
        frames = frames_of(audio, segments, front_end, recording=recording)
        return extractor.extract_all(
            counted(frames, advance), workers=workers, source=str(audio.path)
        )


def check_front_end(front_end: FrontEnd, extractor: IvectorExtractor) -> None:
    """Raise an error if the frames do not match the extractor."""
    if front_end.dim != extractor.frame_dim:
        raise InvalidParameterError(
            f"front end must give the {extractor.frame_dim} dimensions of the model, "
            f"got {front_end.dim}",
            owner="extract_ivectors",
        )


def count_segments(data: DataDir) -> int:
    """Count the readable segments of a data directory."""
    recordings, _ = list_recordings(data)
    return sum(len(recording.pieces) for recording in recordings)


def counted(items: Iterable[T], advance: Callable[[], None]) -> Iterator[T]:
    """Yield items and call `advance` after each."""
    for item in items:
        yield item
        advance()
