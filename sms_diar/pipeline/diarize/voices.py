"""Turns from clusters of windows and local activity; ``NEURAL.md`` has the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sms_diar.features.local_activity import Frames, LocalActivity, stretches_of
from sms_diar.pipeline.diarize.global_activity import (
    assign_local,
    global_activity,
    let_all_speak,
    most_active,
    voices_in_frames,
)
from sms_diar.pipeline.diarize.left_over import left_over
from sms_diar.pipeline.diarize.odd_windows import with_odd_windows
from sms_diar.pipeline.diarize.split_voices import joined_voices
from sms_diar.preprocessing import scale_rows
from sms_diar.timeline.naming import name_speakers
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN
from sms_diar.timeline.windows import WindowLayout
from sms_diar.types import BoolArray, FloatArray, IntArray, Segment, Turn

_ALIKE = 0.5  # minimum cosine to merge two missed speakers
_INSIDE = 0.7  # minimum share of a window that a missed speaker must fill


@dataclass(frozen=True)
class NeuralSettings:
    """Settings for diarization with networks.

    Parameters
    ----------
    step : float, default=2.0
        Seconds between the starts of the windows of the segmenter; 5 is faster.
    share : float, default=0.4
        Minimum fraction of the expected number of speakers that is rounded up.
    windows : WindowLayout
        Layout of the single-speaker windows that are embedded.
    voice_weight : float, default=3.0
        Weight of the cosines between a frame and the voices, relative to the local
        activities, which range from 0 to 1.

    See `DiarizeSettings` for the others.
    """

    step: float = 2.0
    share: float = 0.4
    windows: WindowLayout = field(default_factory=lambda: WindowLayout(least=0.3))
    voice_weight: float = 3.0
    min_turn: float = MIN_TURN
    max_gap: float = MAX_GAP
    channel: int | str | None = None
    allow_commands: bool = False
    channel_voices: bool = False
    max_memory: int | None = None


@dataclass(frozen=True, eq=False)
class Heard:
    """Output of the segmenter: local activity and number of speakers per frame."""

    local: LocalActivity
    expected: FloatArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class _Voices:
    """Windows of a recording, their vectors, and the voices found in them."""

    windows: Sequence[Segment]
    vectors: FloatArray
    centres: FloatArray

    def scores(self) -> FloatArray:
        """Return cosines of shape (n_windows, n_voices)."""
        cosines: FloatArray = self.vectors @ self.centres.T
        return cosines


def turns_of_voices(
    recording: str,
    heard: Heard,
    windows: Sequence[Segment],
    vectors: FloatArray,
    labels: Sequence[str],
    *,
    fewest: int = 1,
    most: int | None = None,
    settings: NeuralSettings,
) -> list[Turn]:
    """Make turns from clustered windows and the output of the segmenter.

    Clusters of the same voice are merged regardless of the bounds. If there are then
    fewer voices than allowed, speakers that clustering missed are added. If there are
    too few voices, the windows that fit none of them become voices.

    Parameters
    ----------
    recording : str
        Name of the recording.
    heard : Heard
        Output of the segmenter.
    windows, vectors, labels : sequences of equal length
        Single-speaker windows, their vectors and clusters.
    fewest : int, default=1
        Minimum number of voices, at most the number of windows.
    most : int, optional
        Maximum number of voices, at least the number of clusters.
    settings : NeuralSettings
        Settings, for the weight of voices.
    """
    local = heard.local
    rows = scale_rows(vectors)  # shape: (n_windows, d)
    clusters = np.unique(labels, return_inverse=True)[1]
    centres = _centres(rows, clusters)
    clusters = joined_voices(local, windows, clusters, centres)[clusters]
    centres = _centres(rows, clusters)
    voices = _Voices(windows, rows, centres)
    fits = voices_in_frames(local.frames, windows, voices.scores())
    # shape: (n_frames, n_voices)
    local_voices = assign_local(local, fits)
    # shape: (n_segmenter_windows, n_local)
    more = np.concatenate([centres, _missed(heard, voices, local_voices, most)])
    more = with_odd_windows(rows, more, fewest)
    if len(more) > len(centres):
        voices = replace(voices, centres=more)
        del fits  # large with many voices
        fits = voices_in_frames(local.frames, windows, voices.scores())
        local_voices = assign_local(local, fits)
    n_voices = len(voices.centres)
    activity = global_activity(local, local_voices, n_voices)
    # shape: (n_frames, n_voices)
    if n_voices > 1:
        fits *= settings.voice_weight
        activity += fits
    speaks = most_active(activity, heard.counts)
    if np.count_nonzero(speaks.any(axis=0)) < fewest:
        speaks = let_all_speak(speaks, local.frames, windows, voices.scores())
    return turns_of_frames(recording, local.frames, speaks)


def _missed(
    heard: Heard,
    voices: _Voices,
    local_voices: IntArray,
    most: int | None,
) -> FloatArray:
    """Return the voices of speakers that clustering missed, shape (n, d)."""
    missed: list[FloatArray] = []
    spare = np.inf if most is None else most - len(voices.centres)
    for person in left_over(heard.local, local_voices, heard.expected):
        inside = []
        for number, window in enumerate(voices.windows):
            span = heard.local.frames.span(window.start, window.end)
            alone = person.alone[
                max(span.start - person.first, 0) : max(span.stop - person.first, 0)
            ]
            if np.count_nonzero(alone) > _INSIDE * (span.stop - span.start):
                inside.append(number)
        if not inside:
            continue
        [voice] = scale_rows(voices.vectors[inside].mean(axis=0)[None])
        alike = [n for n, other in enumerate(missed) if voice @ other > _ALIKE]
        if alike:
            [missed[alike[-1]]] = scale_rows((missed[alike[-1]] + voice)[None])
        elif len(missed) < spare:
            missed.append(voice)
    return np.array(missed).reshape(len(missed), voices.vectors.shape[1])


def _centres(rows: FloatArray, clusters: IntArray) -> FloatArray:
    means = [rows[clusters == c].mean(axis=0) for c in range(clusters.max() + 1)]
    centres: FloatArray = scale_rows(np.stack(means))
    return centres


def turns_of_frames(recording: str, frames: Frames, speaks: BoolArray) -> list[Turn]:
    """Convert the activity of voices to turns, in order of time.

    Parameters
    ----------
    recording : str
        Name of the recording.
    frames : Frames
        Time grid of the recording.
    speaks : ndarray of shape (n_frames, n_voices)
        True where a voice is active.
    """
    pieces = sorted(
        (segment, voice)
        for voice in range(speaks.shape[1])
        for segment in stretches_of(frames, speaks[:, voice], recording)
    )
    names = name_speakers([voice for _, voice in pieces])
    return [
        Turn(segment, name) for (segment, _), name in zip(pieces, names, strict=True)
    ]
