"""Turns with the true names: the remaining error is not caused by clustering.

Each window that would get a vector has the voice of its main speaker. With
networks, each local speaker becomes the person who really speaks then; two local
speakers become two people, as they do otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar.features.local_activity import Frames, LocalActivity, stretches_of
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import GivenRecording, decode
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.diarizer import Diarizer, DiarizeSettings
from sms_diar.pipeline.diarize.global_activity import (
    NOBODY,
    add_activity,
    most_active,
    voices_in_frames,
)
from sms_diar.pipeline.diarize.neural import NeuralDiarizer
from sms_diar.pipeline.diarize.voices import Heard, turns_of_frames
from sms_diar.timeline.turns import labels_to_turns
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import AnyArray, IntArray, Segment, Turn

UNKNOWN = "unknown"
"""Name of windows without speech."""


def truly_labelled(
    recording: Recording | GivenRecording,
    truth: Sequence[Turn],
    diarizer: Diarizer,
    settings: DiarizeSettings,
    context: RunContext,
) -> list[Turn]:
    """Diarize with the true speakers of windows.

    Parameters
    ----------
    recording : Recording or GivenRecording
        It is decoded as `diarize` does.
    truth : sequence of Turn
        Reference turns of this recording.
    diarizer : Diarizer
        Detects speech; networks also detect changes and overlap.
    settings : DiarizeSettings
        As in `diarize`.
    context : RunContext
        As in `diarize`.
    """
    audio, _ = decode(
        recording,
        diarizer.rate,
        context,
        channel=settings.channel,
        upsample=diarizer.upsamples,
    )
    with audio:
        return _labelled(diarizer, audio, recording.id, truth, settings, context)


@singledispatch
def _labelled(
    diarizer: Diarizer,
    audio: MonoAudio,
    recording: str,
    truth: Sequence[Turn],
    settings: DiarizeSettings,
    context: RunContext,
) -> list[Turn]:
    """Label the windows of the detected speech."""
    regions = diarizer.speech(audio, recording, settings, context)
    windows = windows_of_regions(regions, **vars(diarizer.layout(settings)))
    labels = {name: _speaker(window, truth) for name, window in windows.items()}
    return labels_to_turns(windows, labels)


@_labelled.register(NeuralDiarizer)
def _labelled_by_networks(
    diarizer: NeuralDiarizer,
    audio: MonoAudio,
    recording: str,
    truth: Sequence[Turn],
    settings: DiarizeSettings,
    context: RunContext,
) -> list[Turn]:
    """Label the local speakers of the segmenter."""
    heard = diarizer.listen(audio, settings, context)
    spoken = true_activity(heard.local.frames, truth)
    names = true_names(heard.local, spoken)
    fits = _fits(heard, spoken, diarizer.layout(settings))
    activity = settings.voice_weight * fits
    add_activity(activity, heard.local, names)
    speaks = most_active(activity, heard.counts)
    return turns_of_frames(recording, heard.local.frames, speaks)


def true_activity(frames: Frames, truth: Sequence[Turn]) -> AnyArray:
    """Return the reference activity (0 or 1), shape (n_frames, n_speakers)."""
    speakers = sorted({turn.speaker for turn in truth})
    spoken = np.zeros((frames.count, len(speakers)), dtype=np.float32)
    for turn in truth:
        place = frames.span(turn.segment.start, turn.segment.end)
        spoken[place, speakers.index(turn.speaker)] = 1.0
    return spoken


def true_names(local: LocalActivity, spoken: AnyArray) -> IntArray:
    """Return the true speaker of each local speaker in each window, or `NOBODY`.

    Parameters
    ----------
    local : LocalActivity
        The windows.
    spoken : ndarray of shape (n_frames, n_speakers)
        Result of `true_activity`.

    Returns
    -------
    names : ndarray of shape (n_windows, n_local)
        Of all ways to give the local speakers of a window different names, the one
        with which most is right.
    """
    names = np.full((len(local.starts), local.n_local), NOBODY, dtype=np.int64)
    for found, (place, speaking, _) in zip(names, local.windows(), strict=True):
        common = np.where(speaking > 0.5, speaking, 0.0).T @ spoken[place]
        rows, columns = linear_sum_assignment(common, maximize=True)
        heard = common[rows, columns] > 0.0
        found[rows[heard]] = columns[heard]
    return names


def _fits(heard: Heard, spoken: AnyArray, layout: WindowLayout) -> AnyArray:
    """Compute `voices_in_frames` for windows with known speakers."""
    frames = heard.local.frames
    regions = stretches_of(frames, heard.counts == 1, "")
    windows = list(windows_of_regions(regions, **vars(layout)).values())
    scores = np.zeros((len(windows), spoken.shape[1]))
    for row, window in zip(scores, windows, strict=True):
        said = spoken[frames.span(window.start, window.end)].sum(axis=0)
        row[int(np.argmax(said))] = float(said.any())
    return voices_in_frames(frames, windows, scores)


def _speaker(window: Segment, truth: Sequence[Turn]) -> str:
    spoken: dict[str, float] = {}
    for turn in truth:
        common = min(turn.segment.end, window.end) - max(
            turn.segment.start, window.start
        )
        if common > 0.0:
            spoken[turn.speaker] = spoken.get(turn.speaker, 0.0) + common
    return max(sorted(spoken), key=spoken.__getitem__, default=UNKNOWN)
