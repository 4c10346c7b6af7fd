"""Turns with the right names: what is left of the error is not that of clustering.

Each window that would get a vector has the voice of whoever speaks most in it. With
networks, each local speaker becomes the person who really speaks then; two local
speakers become two people, as they do otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar.features.frames import speech_of
from sms_diar.features.local_activity import Frames, LocalActivity, stretches_of
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.decode import decode
from sms_diar.pipeline.audio.inputs import GivenRecording
from sms_diar.pipeline.diarize.global_activity import (
    NOBODY,
    global_activity,
    most_active,
    voices_in_frames,
)
from sms_diar.pipeline.diarize.ivectors import DiarizeSettings
from sms_diar.pipeline.diarize.neural import Networks, listen
from sms_diar.pipeline.diarize.voices import Heard, NeuralSettings, turns_of_frames
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.timeline.turns import labels_to_turns
from sms_diar.timeline.windows import windows_of_regions
from sms_diar.types import AnyArray, IntArray, Segment, Turn

UNKNOWN = "unknown"
"""Name of windows in which nobody speaks."""


def truly_labelled(
    recording: Recording | GivenRecording,
    truth: Sequence[Turn],
    model: IvectorModel | Networks,
    settings: DiarizeSettings | NeuralSettings,
) -> list[Turn]:
    """What `diarize` would find if it knew the voices.

    Parameters
    ----------
    recording : Recording or GivenRecording
        It is decoded as `diarize` does.
    truth : sequence of Turn
        Who really speaks when in this recording.
    model : IvectorModel or Networks
        What finds speech, and with networks changes and overlap.
    settings : DiarizeSettings or NeuralSettings
        Those of `diarize`.
    """
    neural = isinstance(model, Networks)
    audio, _ = decode(
        recording,
        model.embedder.rate
        if isinstance(model, Networks)
        else model.front_end.mfcc.rate,
        channel=settings.channel,
        allow_commands=settings.allow_commands,
        upsample=neural,
    )
    with audio:
        if isinstance(model, Networks) and isinstance(settings, NeuralSettings):
            heard = listen(audio, model.segmenter, settings)
            spoken = true_activity(heard.local.frames, truth)
            names = true_names(heard.local, spoken)
            activity = global_activity(heard.local, names, spoken.shape[1])
            activity += settings.voice_weight * _fits(heard, spoken, settings)
            speaks = most_active(activity, heard.counts)
            return turns_of_frames(recording.id, heard.local.frames, speaks)
        own = settings if isinstance(settings, DiarizeSettings) else DiarizeSettings()
        regions = speech_of(audio, own.vad, rate=audio.rate, recording=recording.id)
    windows = windows_of_regions(regions, **vars(own.windows))
    labels = {name: _speaker(window, truth) for name, window in windows.items()}
    return labels_to_turns(windows, labels)


def true_activity(frames: Frames, truth: Sequence[Turn]) -> AnyArray:
    """Who really speaks in each frame, shape (n_frames, n_speakers), 0 or 1."""
    speakers = sorted({turn.speaker for turn in truth})
    spoken = np.zeros((frames.count, len(speakers)), dtype=np.float32)
    for turn in truth:
        place = frames.span(turn.segment.start, turn.segment.end)
        spoken[place, speakers.index(turn.speaker)] = 1.0
    return spoken


def true_names(local: LocalActivity, spoken: AnyArray) -> IntArray:
    """The speaker that each local speaker of each window really is, or `NOBODY`.

    Parameters
    ----------
    local : LocalActivity
        The windows.
    spoken : ndarray of shape (n_frames, n_speakers)
        What `true_activity` gives.

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


def _fits(heard: Heard, spoken: AnyArray, settings: NeuralSettings) -> AnyArray:
    """What `voices_in_frames` gives for windows whose voices are known."""
    frames = heard.local.frames
    regions = stretches_of(frames, heard.counts == 1, "")
    windows = list(windows_of_regions(regions, **vars(settings.windows)).values())
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
