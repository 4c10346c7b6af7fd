"""Turns with the true names: the remaining error is not caused by clustering.

Each window that would get a vector has the voice of its main speaker. With
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
"""Name of windows without speech."""


def truly_labelled(
    recording: Recording | GivenRecording,
    truth: Sequence[Turn],
    model: IvectorModel | Networks,
    settings: DiarizeSettings | NeuralSettings,
) -> list[Turn]:
    """Diarize with the true speakers of windows.

    Parameters
    ----------
    recording : Recording or GivenRecording
        It is decoded as `diarize` does.
    truth : sequence of Turn
        Reference turns of this recording.
    model : IvectorModel or Networks
        Model that detects speech; networks also detect changes and overlap.
    settings : DiarizeSettings or NeuralSettings
        As in `diarize`.
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


def _fits(heard: Heard, spoken: AnyArray, settings: NeuralSettings) -> AnyArray:
    """Compute `voices_in_frames` for windows with known speakers."""
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
