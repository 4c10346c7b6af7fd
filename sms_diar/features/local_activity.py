"""Local speaker activity in windows that slide over a recording.

A segmenter numbers the speakers of each window independently: the first speaker of one
window need not be the first speaker of the next. The number of active speakers does not
depend on this numbering and can be averaged over all windows that contain a frame.
Windows start on whole frames, so that all frames are on one grid::

    window 0   |-----------------------|
    window 1        |-----------------------|
    window 2              |-----------------------|   ends with the recording
    frames     ................................... of the recording
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.features.segmentation import Segmenter
from sms_diar.features.vad import active_spans
from sms_diar.io.audio.files import Samples
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

_BLOCK = 8  # windows per worker that are held in memory as samples

CROWDED = 0.2
"""Mean activity of one local speaker more than a segmenter can hear at once from which
overlap is unresolved. See docs/lab/neural.md."""

_CROWD_MEAN = 1.0  # seconds over which this activity is averaged


@dataclass(frozen=True)
class Frames:
    """Frame grid of a recording.

    `step` between frames, `offset` of the middle of the first frame and `duration` of
    the recording are in seconds; `count` is the number of frames.
    """

    step: float
    offset: float
    count: int
    duration: float

    def span(self, start: float, end: float) -> slice:
        """Return the frames whose middle is in [start, end)."""
        first, last = (
            min(max(math.ceil((time - self.offset) / self.step - 1e-9), 0), self.count)
            for time in (start, end)
        )
        return slice(first, last)

    def stretches(self, on: BoolArray) -> list[tuple[float, float]]:
        """Return runs of active frames as (start, end) in seconds."""
        margin = self.offset - self.step / 2
        return active_spans(on, self.step, margin, self.duration)


@dataclass(frozen=True, eq=False)
class LocalActivity:
    """Class probabilities of a segmenter in all windows of a recording.

    `starts` of shape (n_windows,) are the first frames of the windows. `probabilities`
    of shape (n_windows, n_window_frames, n_classes) are in half precision: five hours
    with a window every second need 150 MB. `classes` lists the local speakers that are
    active in each class.
    """

    frames: Frames
    starts: IntArray
    probabilities: AnyArray
    classes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if self.probabilities.shape[::2] != (len(self.starts), len(self.classes)):
            raise InvalidParameterError(
                f"must be of shape ({len(self.starts)}, frames, {len(self.classes)}), "
                f"got {self.probabilities.shape}",
                owner="LocalActivity",
                parameter="probabilities",
            )

    @property
    def n_local(self) -> int:
        """Number of speakers that a window can distinguish."""
        return 1 + max((max(group) for group in self.classes if group), default=-1)

    def windows(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield the frames and the speaker probabilities of each window.

        These are the frames of the recording that are in the window, and two arrays of
        shape (n_frames, n_local): the probability that a local speaker is active, and
        that it is the only one.
        """
        speaks = np.zeros((len(self.classes), self.n_local))  # shape: (c, n_local)
        for row, group in enumerate(self.classes):
            speaks[row, list(group)] = 1.0
        single = speaks * (speaks.sum(axis=1, keepdims=True) == 1.0)
        for start, rows in zip(self.starts.tolist(), self.probabilities, strict=True):
            span = slice(start, min(start + len(rows), self.frames.count))
            visible = rows[: span.stop - span.start].astype(np.float64)
            yield span, visible @ speaks, visible @ single

    def seen(self) -> FloatArray:
        """Return the number of windows that contain each frame, at least 1."""
        edges = np.zeros(self.frames.count + 1)
        length = self.probabilities.shape[1]
        np.add.at(edges, self.starts, 1.0)
        np.add.at(edges, np.minimum(self.starts + length, self.frames.count), -1.0)
        return np.maximum(np.cumsum(edges)[:-1], 1.0)

    def expected_speakers(self) -> FloatArray:
        """Return the mean number of active speakers in each frame."""
        total = np.zeros(self.frames.count)
        for span, speaking, _ in self.windows():
            total[span] += speaking.sum(axis=1)
        return total / self.seen()

    def at_least(self) -> FloatArray:
        """Return the mean probability of at least one, two, ... active speakers.

        The result has shape (n_frames, n_local).
        """
        sizes = np.array([len(group) for group in self.classes])
        enough = sizes[:, None] > np.arange(self.n_local)  # shape: (c, n_local)
        total = np.zeros((self.frames.count, self.n_local))
        for start, rows in zip(self.starts.tolist(), self.probabilities, strict=True):
            place = total[start : start + len(rows)]
            place += rows[: len(place)].astype(np.float64) @ enough
        return total / self.seen()[:, None]


def unresolved_overlap(local: LocalActivity) -> BoolArray:
    """Return the frames in which more people seem to talk than can be told apart.

    A segmenter that knows at most two speakers at once spreads its probability over
    several pairs if three talk. In these frames the third most active local speaker of
    the windows, on average over a second, is active with a probability of `CROWDED`.
    All frames are False if a class has all local speakers. The result has shape
    (n_frames,).
    """
    most = max(map(len, local.classes))  # speakers at once
    if local.n_local <= most:
        return np.zeros(local.frames.count, dtype=np.bool_)
    further = np.zeros(local.frames.count)
    for span, speaking, _ in local.windows():
        further[span] += np.sort(speaking, axis=1)[:, -1 - most]
    width = max(1, round(_CROWD_MEAN / local.frames.step))
    mean: FloatArray = uniform_filter1d(further / local.seen(), width)
    crowded: BoolArray = mean >= CROWDED
    return crowded


def mixed_share(local: LocalActivity, segments: Sequence[Segment]) -> FloatArray:
    """Return the share of each segment that is not its main local speaker's.

    It is a mean over the windows that contain the segment, of frames in which one
    speaker is active; 0 for segments that no window contains.
    """
    spans = [local.frames.span(segment.start, segment.end) for segment in segments]
    first = np.array([span.start for span in spans])
    last = np.array([span.stop for span in spans])
    mixed, seen = np.zeros(len(spans)), np.zeros(len(spans))
    for window, _, alone in local.windows():
        inside = np.flatnonzero((first >= window.start) & (last <= window.stop))
        summed = np.cumsum(np.pad(alone > 0.5, ((1, 0), (0, 0))), axis=0)
        frames = (
            summed[last[inside] - window.start] - summed[first[inside] - window.start]
        )
        # shape: (n_inside, n_local)
        total = frames.sum(axis=1)
        heard = inside[total > 0]
        mixed[heard] += 1.0 - (frames.max(axis=1) / np.maximum(total, 1))[total > 0]
        seen[heard] += 1.0
    return mixed / np.maximum(seen, 1.0)


def count_speakers(activities: Sequence[LocalActivity], share: float) -> IntArray:
    """Count the active speakers in the frames of the first of several segmenters.

    Somebody speaks if the probability of it, as a mean over segmenters, is at least a
    half, and n > 1 people if theirs is at least `share`. All have frames of the same
    length and offset, and as many local speakers; at the end of a recording one may
    have a frame more.
    """
    first, *others = activities
    mean = first.at_least()  # shape: (n_frames, n_local)
    for other in others:
        theirs = other.at_least()
        mean += theirs[np.minimum(np.arange(len(mean)), len(theirs) - 1)]
    mean /= len(activities)
    further = np.count_nonzero(mean[:, 1:] >= share, axis=1)
    counts: IntArray = np.where(mean[:, 0] >= 0.5, 1 + further, 0)
    return counts


def local_activity(
    audio: Samples,
    segmenter: Segmenter,
    *,
    step: float = 2.0,
    workers: int = 1,
    progress: Progress | None = None,
) -> LocalActivity:
    """Run a segmenter over one channel at its rate in sliding windows.

    The `step` between windows, in seconds, is rounded to whole frames. Results do not
    depend on the number of threads, `workers`.
    """
    check_positive("local_activity", "step", step)
    rate, per_frame = audio.rate, round(segmenter.frame_step * audio.rate)
    length = min(round(segmenter.window * rate), audio.n_samples)
    # The last window ends with the recording, or less than a frame after it.
    last = -(-(audio.n_samples - length) // per_frame)
    hop = max(1, round(step / segmenter.frame_step))
    starts = np.append(np.arange(0, last, hop, dtype=np.int64), last)
    probabilities: AnyArray = np.empty((0, 0, 0), dtype=np.float16)
    with (progress or Silence()).track("segmentation", len(starts)) as advance:
        for at in range(0, len(starts), _BLOCK * workers):
            block = starts[at : at + _BLOCK * workers]
            samples = np.zeros((len(block), length))  # the last may end early
            for row, start in zip(samples, (per_frame * block).tolist(), strict=True):
                heard = audio.read(start, min(start + length, audio.n_samples))
                row[: len(heard)] = heard
            logs = segmenter.log_probabilities(samples, workers=workers)
            if at == 0:  # preallocate: concatenation would double the memory
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
    """Return runs of active frames as segments of at least `least` seconds."""
    return [
        Segment(recording, start, end)
        for start, end in frames.stretches(on)
        if end - start >= max(least, 1e-9)
    ]
