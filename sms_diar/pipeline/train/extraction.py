"""I-vectors of a recording or a data directory, and features in a Kaldi archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sms_diar._files import protecting, replacing_all, write_plain
from sms_diar._progress import Progress, Silence
from sms_diar.embeddings import IvectorExtractor
from sms_diar.embeddings.extractor import FrameExtractor
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.frames import frames_of
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.kaldi import KaldiFrontEnd
from sms_diar.io.audio.files import Samples
from sms_diar.io.input_files import input_files
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.io.kaldi.feature_ark import FeatureArk
from sms_diar.pipeline.context import RunContext
from sms_diar.types import EmbeddingSet, Problem, Segment

T = TypeVar("T")
F = TypeVar("F", FrontEnd, KaldiFrontEnd)


@dataclass(frozen=True)
class Speech(Generic[F]):
    """Data directory with its front end.

    A directory is one session: "session" normalisation pools over all its segments.
    Speech detection and normalisation may differ between directories that train one
    model.
    """

    data: DataDir
    front_end: F


def extract_ivectors(
    speech: Speech[FrontEnd] | Speech[KaldiFrontEnd],
    extractor: FrameExtractor,
    *,
    segments: Mapping[str, Segment] | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> EmbeddingSet:
    """Extract i-vectors of all segments of a data directory.

    `segments`, such as windows, replace the table of the directory. `problems` receives
    the errors of segments that could not be read, which are skipped; without it an
    error is raised at the end. `channel` selects a channel of files that have several.
    There are `workers` processes and threads; results do not depend on them.
    """
    data, front_end = speech.data, speech.front_end
    check_front_end(front_end, extractor.frame_dim)
    listener = progress or Silence()
    count = count_segments(data) if segments is None else len(segments)
    with listener.track("i-vectors", count) as advance:
        frames = features_of_segments(
            data,
            front_end,
            segments=segments,
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
    recording: str,
    context: RunContext,
) -> EmbeddingSet:
    """Extract i-vectors of segments of one recording.

    The audio is one channel at any sampling rate.
    """
    check_front_end(front_end, extractor.frame_dim)
    with context.progress.track("i-vectors", len(segments)) as advance:
        frames = frames_of(audio, segments, front_end, recording=recording)
        return extractor.extract_all(
            counted(frames, advance), workers=context.workers, source=str(audio.path)
        )


def check_front_end(front_end: FrontEnd | KaldiFrontEnd, frame_dim: int) -> None:
    """Raise an error if the frames do not match an extractor."""
    if front_end.dim != frame_dim:
        raise InvalidParameterError(
            f"front end must give the {frame_dim} dimensions of the model, "
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


@dataclass(frozen=True)
class WrittenFeatures:
    """Result of `write_features`: path, size and front end of an archive."""

    output: Path
    n_segments: int
    n_frames: int
    front_end: FrontEnd

    @property
    def hours(self) -> float:
        """Hours of speech."""
        return self.n_frames * self.front_end.grid.shift / 3600

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "output": str(self.output),
            "segments": self.n_segments,
            "frames": self.n_frames,
            "hours": self.hours,
            "dim": self.front_end.dim,
            "front_end": self.front_end.as_dict(),
        }


def write_features(
    data: DataDir,
    output: str | Path,
    front_end: FrontEnd | None = None,
    *,
    scp: str | Path | None = None,
    compress: bool = False,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> WrittenFeatures:
    """Write the features of all segments of a data directory.

    The archive is written atomically, and `scp` is a table of positions in it. With
    `compress`, the one-byte compression of Kaldi is used. See `features_of_segments`
    for the others.
    """
    chosen = FrontEnd() if front_end is None else front_end
    n_frames = 0
    listener = progress or Silence()
    with (
        listener.track("features", count_segments(data)) as advance,
        protecting(input_files([data.path])),
        replacing_all([output], index=scp) as [temporary, *listing],
        temporary.open("wb") as stream,
    ):
        ark = FeatureArk(stream, compress=compress)
        for name, frames in features_of_segments(
            data,
            chosen,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=problems,
        ):
            ark.write(name, frames)
            n_frames += len(frames)
            advance()
        if not len(ark):  # an ark that was there before stays
            problem = "no segment has features; nothing was written"
            raise DataFormatError(problem, path=data.path)
        for file in listing:
            write_plain(file, ark.scp(Path(output)))
    return WrittenFeatures(Path(output), len(ark), n_frames, chosen)
