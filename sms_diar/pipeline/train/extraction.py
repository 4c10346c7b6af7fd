"""I-vectors of a recording, and of all recordings of a data directory."""

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
from sms_diar.io.audio import Samples
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.recordings import list_recordings
from sms_diar.types import EmbeddingSet, Problem, Segment

T = TypeVar("T")


@dataclass(frozen=True)
class Speech:
    """A data directory and how frames are made of it.

    Parameters
    ----------
    data : DataDir
        One session: "session" normalisation pools over all its segments.
    front_end : FrontEnd
        Settings. Speech detection and normalisation may differ between
        directories that train one model.
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
    """I-vectors of all segments of a data directory.

    Parameters
    ----------
    speech : Speech
        The directory, and the front end: usually that of the extractor, see
        `front_end_of`.
    extractor : IvectorExtractor
        The model.
    channel : int, optional
        Channel of files that have several.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    workers : int, default=1
        Processes and threads; results do not depend on it.
    problems : list, optional
        Receives what could not be read, and the rest is extracted; without it
        there is an error at the end.
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
        found = extractor.extract_all(
            counted(frames, advance), workers=workers, source=str(data.path)
        )
    if not len(found):
        raise DataFormatError("no segment gave an i-vector", path=data.path)
    return found


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
    """I-vectors of segments of one recording.

    Parameters
    ----------
    audio : Samples
        One channel, at any rate.
    segments : mapping from str to Segment
        The segments, all of this recording.
    extractor : IvectorExtractor
        The model.
    front_end : FrontEnd
        How frames are made.
    recording : str, default="recording"
        Its name.
    workers : int, default=1
        Threads; results do not depend on it.
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
    """Refuse a front end whose frames the extractor cannot take."""
    if front_end.dim != extractor.frame_dim:
        raise InvalidParameterError(
            f"extract_ivectors: front end must give the {extractor.frame_dim} "
            f"dimensions of the model, got {front_end.dim}"
        )


def count_segments(data: DataDir) -> int:
    """Segments of a data directory that can be read."""
    recordings, _ = list_recordings(data)
    return sum(len(recording.pieces) for recording in recordings)


def counted(items: Iterable[T], advance: Callable[[], None]) -> Iterator[T]:
    """Yield items, and tell when each was taken."""
    for item in items:
        yield item
        advance()
