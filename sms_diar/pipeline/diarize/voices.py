"""From voices and what a segmenter heard to turns; ``NEURAL.md`` says why."""

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

_ALIKE = 0.5  # cosine of the few windows of two people left over who are one
_INSIDE = 0.7  # share of a window that a person must fill to lend it a vector


@dataclass(frozen=True)
class NeuralSettings:
    """How recordings are treated.

    Parameters
    ----------
    step : float, default=2.0
        Seconds from one window of the segmenter to the next; 5 is faster.
    share : float, default=0.4
        A frame has one more speaker as soon as this share of one is expected.
    windows : WindowLayout
        Windows that get vectors, where one speaks.
    voice_weight : float, default=3.0
        What the voice in a frame counts, beside the activity of local speakers, in
        who it is: cosines against activities from 0 to 1.

    The others are those of `DiarizeSettings`.
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
    """What the segmenter found: its windows, and how many speak."""

    local: LocalActivity
    expected: FloatArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class _Voices:
    """Voices of a recording and the windows they were found in."""

    windows: Sequence[Segment]
    vectors: FloatArray
    centres: FloatArray

    def scores(self) -> FloatArray:
        """Cosines of windows and voices."""
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
    """Turns from windows with known voices, and what the segmenter heard.

    Clusters that are one voice are joined whatever the bounds are. The places that
    this leaves go to people whom clustering overlooked, and, if there have to be more
    voices, to the windows that none fits.

    Parameters
    ----------
    recording : str
        Its name.
    heard : Heard
        What the segmenter found.
    windows, vectors, labels : sequences of equal length
        Windows in which one speaks, their vectors and clusters.
    fewest : int, default=1
        Voices that there must be; at most as many as windows.
    most : int, optional
        Voices that there may be; at least as many as clusters.
    settings : NeuralSettings
        Weight of voices.
    """
    local = heard.local
    rows = scale_rows(vectors)
    clusters = np.unique(labels, return_inverse=True)[1]
    centres = _centres(rows, clusters)
    clusters = joined_voices(local, windows, clusters, centres)[clusters]
    centres = _centres(rows, clusters)
    voices = _Voices(windows, rows, centres)
    fits = voices_in_frames(local.frames, windows, voices.scores())
    places = assign_local(local, fits)
    more = np.concatenate([centres, _overlooked(heard, voices, places, most)])
    more = with_odd_windows(rows, more, fewest)
    if len(more) > len(centres):
        voices = replace(voices, centres=more)
        del fits  # of many voices it is large
        fits = voices_in_frames(local.frames, windows, voices.scores())
        places = assign_local(local, fits)
    n_voices = len(voices.centres)
    activity = global_activity(local, places, n_voices)
    if n_voices > 1:
        fits *= settings.voice_weight
        activity += fits
    speaks = most_active(activity, heard.counts)
    if np.count_nonzero(speaks.any(axis=0)) < fewest:
        speaks = let_all_speak(speaks, local.frames, windows, voices.scores())
    return turns_of_frames(recording, local.frames, speaks)


def _overlooked(
    heard: Heard,
    voices: _Voices,
    places: IntArray,
    most: int | None,
) -> FloatArray:
    """Voices of people for whom clustering left none."""
    found: list[FloatArray] = []
    spare = np.inf if most is None else most - len(voices.centres)
    for person in left_over(heard.local, places, heard.expected):
        inside = []
        for number, window in enumerate(voices.windows):
            place = heard.local.frames.span(window.start, window.end)
            own = person.alone[
                max(place.start - person.first, 0) : max(place.stop - person.first, 0)
            ]
            if np.count_nonzero(own) > _INSIDE * (place.stop - place.start):
                inside.append(number)
        if not inside:
            continue
        [voice] = scale_rows(voices.vectors[inside].mean(axis=0)[None])
        alike = [n for n, other in enumerate(found) if voice @ other > _ALIKE]
        if alike:
            [found[alike[-1]]] = scale_rows((found[alike[-1]] + voice)[None])
        elif len(found) < spare:
            found.append(voice)
    return np.array(found).reshape(len(found), voices.vectors.shape[1])


def _centres(rows: FloatArray, clusters: IntArray) -> FloatArray:
    means = [rows[clusters == one].mean(axis=0) for one in range(clusters.max() + 1)]
    centres: FloatArray = scale_rows(np.stack(means))
    return centres


def turns_of_frames(recording: str, frames: Frames, speaks: BoolArray) -> list[Turn]:
    """Turn the activity of voices into turns, in order of time.

    Parameters
    ----------
    recording : str
        Its name.
    frames : Frames
        Those of the recording.
    speaks : ndarray of shape (n_frames, n_voices)
        Who speaks in each.
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
