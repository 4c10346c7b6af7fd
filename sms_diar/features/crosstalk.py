"""Cross-talk: speech of one channel that is faintly heard on another.

Energies of two channels are compared after each was related to its own speech level, so
gains do not matter. A frame is cross-talk if the other channel is louder and the
energies rise and fall together, with the delay of an echo at most. Speakers who talk at
the same time are also louder and fainter than each other, but independently. If the
energies of frames in which the other channel is louder do not correlate over the whole
recording, nothing is cross-talk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.ndimage import uniform_filter1d

from sms_diar.features.mono import at_rate
from sms_diar.features.vad import GRID, Span, log_energies, speech_band
from sms_diar.io.audio.files import Samples, blocks
from sms_diar.timeline.regions import within
from sms_diar.types import BoolArray, FloatArray, Segment

CHOICES = ("keep", "remove")
"""Treatments of cross-talk."""

STRONG_SHARE = 0.1
"""Minimum share of cross-talk in the speech of a channel that is reported."""

_RATE = 8000
_DECIBEL = np.log(10.0) / 10.0
_MARGIN = 3.0 * _DECIBEL  # by which the other channel is louder
_RANGE = 20.0 * _DECIBEL  # below its speech level, the other channel is silent
_SPEECH_LEVEL = 98.0  # percentile of smoothed energies
_SMOOTHING = 31  # frames over which levels are averaged
_CONTEXT = 51  # frames over which courses are compared
_CORRELATION = 0.6  # of the energies within that context
_LEAST_CORRELATION = 0.3  # over the recording; 0.26 was the maximum without leakage
_MOST_DELAY = 30  # frames
_LEAST_FRAMES = 100  # that a correlation needs


def find_crosstalk(channels: Sequence[Samples]) -> list[list[Span]]:
    """Find cross-talk in all channels of a recording: (start, end) in seconds."""
    if len(channels) < 2:
        return [[] for _ in channels]
    energies = []
    for channel in channels:
        audio = at_rate(channel, _RATE)
        samples = speech_band(blocks(audio, 0, audio.n_samples), _RATE)
        energies.append(log_energies(samples, _RATE))
    found = []
    for number, channel in enumerate(channels):
        is_leaked = np.zeros(len(energies[number]), dtype=np.bool_)
        for other in (*energies[:number], *energies[number + 1 :]):
            is_leaked |= leaked_frames(energies[number], other)
        found.append(GRID.spans(is_leaked, channel.n_samples / channel.rate))
    return found


def leaked_frames(energies: FloatArray, others: FloatArray) -> BoolArray:
    """Mark the frames in which a channel has the speech of another one.

    Both are log energies of all frames, shape (n_frames,).
    """
    nothing = np.zeros(len(energies), dtype=np.bool_)
    if not len(energies):
        return nothing
    level = _level(energies)
    best, delayed, is_louder = _LEAST_CORRELATION, others, nothing
    for delay in range(min(_MOST_DELAY + 1, len(others))):
        late = np.concatenate((np.full(delay, others[0]), others))[: len(others)]
        late_level = _level(late)
        louder = late_level - level > _MARGIN
        active = louder & (late_level > -_RANGE)
        if np.count_nonzero(active) < _LEAST_FRAMES:
            continue
        correlation = np.corrcoef(energies[active], late[active])[0, 1]
        if correlation > best:
            best, delayed, is_louder = correlation, late, louder
    return is_louder & (_course(energies, delayed) > _CORRELATION)


def without_crosstalk(
    speech: Sequence[Segment], crosstalk: Sequence[Span]
) -> tuple[list[Segment], float]:
    """Remove cross-talk from speech; also return its share of the speech, 0 to 1."""
    if not speech:
        return [], 0.0
    edges = [0.0, *chain.from_iterable(crosstalk), np.inf]
    bounds = [
        Segment(speech[0].recording, start, min(end, speech[-1].end))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
        if start < min(end, speech[-1].end)
    ]
    remaining = within(speech, bounds)
    total = sum(segment.duration for segment in speech)
    left = sum(segment.duration for segment in remaining)
    return remaining, max(0.0, 1.0 - left / total)


def _level(energies: FloatArray) -> FloatArray:
    """Return smoothed energies relative to the speech level of the channel."""
    smooth = uniform_filter1d(energies, _SMOOTHING, mode="nearest")
    return np.asarray(smooth - np.percentile(smooth, _SPEECH_LEVEL))


def _course(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the correlation of two rows of energies around each frame."""

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(uniform_filter1d(values, _CONTEXT, mode="nearest"))

    mean_a, mean_b = mean(a), mean(b)
    variances = (mean(a * a) - mean_a**2) * (mean(b * b) - mean_b**2)
    # Energies that do not vary have no course.
    return (mean(a * b) - mean_a * mean_b) / np.sqrt(np.maximum(variances, 1e-6))
