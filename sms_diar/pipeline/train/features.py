"""Features of a data directory, written as a Kaldi archive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sms_diar._files import protecting, replacing_all, write_plain
from sms_diar._progress import Progress, Silence
from sms_diar.errors import DataFormatError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.input_files import input_files
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.feature_ark import FeatureArk
from sms_diar.pipeline.train.extraction import count_segments
from sms_diar.types import Problem


@dataclass(frozen=True)
class WrittenFeatures:
    """Result of `write_features`.

    Parameters
    ----------
    output : Path
        Path of the archive.
    n_segments, n_frames : int
        Number of segments and frames in the archive.
    front_end : FrontEnd
        Front end.
    """

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

    Parameters
    ----------
    data : DataDir
        Recordings and their segments.
    output : path
        Archive, which is written atomically.
    front_end : FrontEnd, optional
        Front end.
    scp : path, optional
        Table of positions in the archive to write.
    compress : bool, default=False
        Use the one-byte compression of Kaldi.
    channel, allow_commands, workers, problems
        As in `features_of_segments`.
    progress : Progress, optional
        Receives progress.
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
            raise DataFormatError(
                "no segment has features; nothing was written", path=data.path
            )
        for file in listing:
            write_plain(file, ark.scp(Path(output)))
    return WrittenFeatures(Path(output), len(ark), n_frames, chosen)
