"""Who of a few local speakers speaks when, in windows that slide over a recording.

A segmenter knows the speakers of one window only: the first of one window need not be
the first of the next. What does not depend on who is who is known already, from the
mean over the windows that see a frame: how many speak. Windows begin on whole frames,
so that their frames lie on one grid::

    window 0   |-----------------------|
    window 1        |-----------------------|
    window 2              |-----------------------|   ends with the recording
    frames     ................................... of the recording
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.features.segmentation import Segmenter
from sms_diar.io.audio.files import Samples
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

_BLOCK = 8  # windows in memory as samples, for each worker


@dataclass(frozen=True)
class Frames:
    """Frames of a recording: `step` apart, the middle of the first at `offset`.

    Parameters
    ----------
    step, offset : float
        Seconds.
    count : int
        How many there are.
    duration : float
        Seconds of the recording.
    """

    step: float
    offset: float
    count: int
    duration: float

    def span(self, start: float, end: float) -> slice:
        """Frames whose middle lies in [start, end)."""
        first, last = (
            min(max(math.ceil((time - self.offset) / self.step - 1e-9), 0), self.count)
            for time in (start, end)
        )
        return slice(first, last)

    def stretches(self, on: BoolArray) -> list[tuple[float, float]]:
        """Runs of frames that are on, as (start, end) in seconds.

        A frame stands for the stretch of one step around its middle; the first and
        the last reach to the ends of the recording.
        """
        edges = np.flatnonzero(np.diff(on, prepend=False, append=False))
        margin = self.offset - self.step / 2
        return [
            (
                0.0 if first == 0 else first * self.step + margin,
                self.duration if last == self.count else last * self.step + margin,
            )
            for first, last in edges.reshape(-1, 2).tolist()
        ]


@dataclass(frozen=True, eq=False)
class LocalActivity:
    """Probabilities of the classes of a segmenter in all windows of a recording.

    Parameters
    ----------
    frames : Frames
        Those of the recording.
    starts : ndarray of shape (n_windows,)
        The frame that each window begins with.
    probabilities : ndarray of shape (n_windows, n_window_frames, n_classes)
        Of 16 bits: five hours of windows every second need 150 MB.
    classes : tuple of tuple of int
        The local speakers who speak in each class.
    """

    frames: Frames
    starts: IntArray
    probabilities: AnyArray
    classes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if self.probabilities.shape[::2] != (len(self.starts), len(self.classes)):
            raise InvalidParameterError(
                f"LocalActivity: probabilities must be of shape ({len(self.starts)}, "
                f"frames, {len(self.classes)}), got {self.probabilities.shape}"
            )

    @property
    def n_local(self) -> int:
        """Speakers that a window can tell apart."""
        return 1 + max((max(group) for group in self.classes if group), default=-1)

    def windows(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Frames of each window, and probabilities that a local speaker is heard.

        Yields
        ------
        place : slice
            Of the window among the frames of the recording.
        speaking, alone : ndarray of shape (n_frames, n_local)
            That a local speaker speaks, and that nobody else does.
        """
        speaks = np.zeros((len(self.classes), self.n_local))
        for row, group in enumerate(self.classes):
            speaks[row, list(group)] = 1.0
        single = speaks * (speaks.sum(axis=1, keepdims=True) == 1.0)
        for start, rows in zip(self.starts.tolist(), self.probabilities, strict=True):
            place = slice(start, min(start + len(rows), self.frames.count))
            seen = rows[: place.stop - place.start].astype(np.float64)
            yield place, seen @ speaks, seen @ single

    def seen(self) -> FloatArray:
        """How many windows see each frame, at least 1."""
        edges = np.zeros(self.frames.count + 1)
        length = self.probabilities.shape[1]
        np.add.at(edges, self.starts, 1.0)
        np.add.at(edges, np.minimum(self.starts + length, self.frames.count), -1.0)
        return np.maximum(np.cumsum(edges)[:-1], 1.0)

    def expected_speakers(self) -> FloatArray:
        """How many speak in each frame, as a mean over the windows that see it."""
        total = np.zeros(self.frames.count)
        for place, speaking, _ in self.windows():
            total[place] += speaking.sum(axis=1)
        return total / self.seen()


def count_speakers(expected: FloatArray, share: float) -> IntArray:
    """Whole speakers: one more counts as soon as `share` of one more is expected.

    Examples
    --------
    >>> count_speakers(np.array([0.3, 0.4, 1.3, 1.45, 2.0]), 0.4).tolist()
    [0, 1, 1, 2, 2]
    """
    counts: IntArray = np.floor(expected + (1.0 - share) + 1e-9).astype(np.int64)
    return counts


def local_activity(
    audio: Samples,
    segmenter: Segmenter,
    *,
    step: float = 2.0,
    workers: int = 1,
    progress: Progress | None = None,
) -> LocalActivity:
    """Let a segmenter slide over a recording.

    Parameters
    ----------
    audio : Samples
        One channel at the rate of the segmenter.
    segmenter : Segmenter
        The network.
    step : float, default=2.0
        Seconds from one window to the next, to the nearest frame.
    workers : int, default=1
        Threads; results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    check_positive("local_activity", "step", step)
    rate, per_frame = audio.rate, round(segmenter.frame_step * audio.rate)
    length = min(round(segmenter.window * rate), audio.n_samples)
    # The last window ends with the recording, or less than a frame behind it.
    last = -(-(audio.n_samples - length) // per_frame)
    hop = max(1, round(step / segmenter.frame_step))
    starts = np.append(np.arange(0, last, hop, dtype=np.int64), last)
    probabilities: AnyArray = np.empty((0, 0, 0), dtype=np.float16)
    with (progress or Silence()).track("segmentation", len(starts)) as advance:
        for at in range(0, len(starts), _BLOCK * workers):
            block = starts[at : at + _BLOCK * workers]
            samples = np.stack(
                [_padded(audio, int(start) * per_frame, length) for start in block]
            )
            logs = segmenter.log_probabilities(samples, workers=workers)
            if at == 0:  # all at once, for parts that are joined are held twice
                shape = (len(starts), *logs.shape[1:])
                probabilities = np.empty(shape, dtype=np.float16)
            probabilities[at : at + len(block)] = np.exp(logs)
            for _ in block:
                advance()
    frames = Frames(
        per_frame / rate,
        segmenter.frame_offset,
        int(last) + probabilities.shape[1],
        audio.n_samples / rate,
    )
    return LocalActivity(frames, starts, probabilities, segmenter.classes)


def stretches_of(
    frames: Frames, on: BoolArray, recording: str, *, least: float = 0.0
) -> list[Segment]:
    """Runs of frames that are on, as segments of at least so many seconds."""
    return [
        Segment(recording, start, end)
        for start, end in frames.stretches(on)
        if end - start >= max(least, 1e-9)
    ]


def _padded(audio: Samples, first: int, length: int) -> FloatArray:
    held = audio.read(first, min(first + length, audio.n_samples))
    return np.pad(held, (0, length - len(held)))
