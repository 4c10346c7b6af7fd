"""Prediction of time, memory and disk space of the training of an i-vector model."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sms_diar.embeddings.ubm import count_component_passes
from sms_diar.errors import ExperimentError, SmsDiarError
from sms_diar.io.audio.recording import open_recording
from sms_diar.io.kaldi.data_dir import list_recordings
from sms_diar.pipeline.memory import PROGRAM, shown_size, training_memory

if TYPE_CHECKING:
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.pipeline.train.extraction import Speech
    from sms_diar.pipeline.train.ivectors import IvectorSettings

LONG = 60.0
"""Predicted seconds above which the cost is shown."""

# Processor seconds of one core, measured by scripts/bench-training.
FEATURES = 6.5
"""Per hour of audio: decoding, speech detection, and features, read twice."""
GAUSSIAN = 0.47e-9
"""Per frame, component and dimension of an iteration for the background model."""
SUBSPACE = 0.3e-9
"""Per segment and multiplication of an iteration for T."""


@dataclass(frozen=True)
class TrainingCost:
    """Predicted cost of a training.

    Parameters
    ----------
    hours : float
        Hours of audio; recordings whose length is unknown are not included.
    segments : int
        Number of segments.
    disk : int
        Maximum size of the temporary file of frames in bytes.
    memory : int
        Maximum memory in bytes, including the program.
    cpu : float
        Seconds of one core, if all audio is speech. Other processors, full covariances
        and a disk slower than memory change it.
    """

    hours: float
    segments: int
    disk: int
    memory: int
    cpu: float

    def sentence(self, workers: int) -> str:
        """Describe the cost in one line."""
        return (
            f"{self.hours:.2f} h of audio, {self.segments} segments: about "
            f"{_time(self.cpu / workers)} with {workers} workers, at most "
            f"{shown_size(self.memory)} of memory and {shown_size(self.disk)} on disk"
        )

    def check_disk(self) -> None:
        """Raise `ExperimentError` if the frames do not fit on the disk."""
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if self.disk > free:
            raise ExperimentError(
                f"train_ivectors: frames may take {shown_size(self.disk)} in {folder}, "
                f"which has {shown_size(free)} left; set TMPDIR to another folder"
            )


def training_cost(
    speech: Sequence[Speech[FrontEnd]],
    settings: IvectorSettings,
    *,
    channel: int | None = None,
    workers: int = 1,
) -> TrainingCost:
    """Predict the cost from the lengths of segments; no audio is decoded.

    See `train_ivectors` for the arguments.
    """
    lengths = [length for part in speech for length in _lengths(part, channel)]
    hours = sum(lengths) / 3600.0
    return cost_of(hours, len(lengths), speech[0].front_end, settings, workers=workers)


def cost_of(
    hours: float,
    segments: int,
    front_end: FrontEnd,
    settings: IvectorSettings,
    *,
    workers: int = 1,
) -> TrainingCost:
    """Predict the cost of training on so many hours in so many segments."""
    frames = round(3600.0 * hours / front_end.grid.shift)
    c, r, dim = settings.n_components, settings.rank, front_end.dim
    is_full = settings.covariance == "full"
    passes = count_component_passes(c, n_iter=settings.ubm_iter) + c  # and statistics
    products = c * r * (r + 2 * dim) * (settings.tv_iter + 1)
    memory = training_memory(segments, dim, c, r, full=is_full, workers=workers)
    return TrainingCost(
        hours,
        segments,
        4 * frames * dim,
        memory + PROGRAM,
        FEATURES * hours
        + GAUSSIAN * frames * dim * (dim if is_full else 1) * passes
        + SUBSPACE * segments * products,
    )


def _lengths(part: Speech[FrontEnd], channel: int | None) -> list[float]:
    """Return the length of every segment in seconds, or 0 if it is unknown."""
    recordings, _ = list_recordings(part.data)
    known = part.data.durations or {}
    lengths = []
    for recording in recordings:
        total = known.get(recording.id)
        if total is None and any(piece.end is None for piece in recording.pieces):
            try:
                with open_recording(recording, channel=channel) as audio:
                    total = audio.duration
            except (SmsDiarError, OSError):  # reported when it is read
                total = 0.0
        for piece in recording.pieces:
            end = (total or 0.0) if piece.end is None else piece.end
            lengths.append(max(0.0, end - piece.start))
    return lengths


def _time(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
