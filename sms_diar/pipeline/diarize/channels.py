"""Diarization by channel: one speaker per channel, as in telephone calls."""

from __future__ import annotations

from collections.abc import Sequence

from sms_diar.errors import DataFormatError
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import (
    GivenRecording,
    check_length,
    check_rate,
    open_channels,
    place_of,
    uem_bounds,
)
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.diarizer import SHORTEST, Diarizer, DiarizeSettings
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import VoicePrint, voice_prints
from sms_diar.preprocessing import scale_rows
from sms_diar.timeline.regions import Uem, within
from sms_diar.timeline.windows import windows_of_regions
from sms_diar.types import Turn

EACH = "each"
"""Value of `channel` for one speaker per channel."""


def channel_name(number: int) -> str:
    """Return the speaker name of a channel, counted from 1."""
    return f"ch-{number}"


def diarize_channels(
    recording: Recording | GivenRecording,
    diarizer: Diarizer,
    settings: DiarizeSettings,
    uem: Uem | None,
    context: RunContext,
) -> DiarizedRecording:
    """Detect the speech in each channel; nothing is clustered."""
    turns: list[Turn] = []
    voices: list[VoicePrint] = []
    place, rate = place_of(recording), diarizer.rate
    bounds = None if uem is None else uem_bounds(uem, recording.id)
    with open_channels(recording, allow_commands=context.allow_commands) as channels:
        check_rate(channels[0].rate, rate, place, upsample=diarizer.upsamples)
        for number, channel in enumerate(channels, start=1):
            with MonoAudio([channel], rate, progress=context.progress) as audio:
                duration = audio.duration
                check_length(duration, SHORTEST, place)
                speech = diarizer.speech(audio, recording.id, settings, context)
                if bounds is not None:
                    speech = within(speech, bounds)
                spoken = [Turn(span, channel_name(number)) for span in speech]
                if settings.channel_voices:
                    voices += _voices(audio, spoken, diarizer, settings, context)
            turns += spoken
    if not turns:
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s of {len(channels)} channel(s)",
            path=place,
        )
    turns.sort(key=lambda turn: (turn.segment, turn.speaker))
    speakers = {turn.speaker for turn in turns}
    summary = SessionSummary(
        recording.id, len(turns), len(speakers), None, 0, converged=True
    )
    seconds = sum(turn.segment.duration for turn in turns)
    return DiarizedRecording(
        duration, seconds, summary, tuple(turns), voices=tuple(voices)
    )


def _voices(
    audio: MonoAudio,
    spoken: Sequence[Turn],
    diarizer: Diarizer,
    settings: DiarizeSettings,
    context: RunContext,
) -> Sequence[VoicePrint]:
    """Make the voice print of the speaker of a channel, if there is enough speech."""
    layout = diarizer.layout(settings)
    windows = windows_of_regions([turn.segment for turn in spoken], **vars(layout))
    if not windows:
        return ()
    made = diarizer.embed(audio, windows, settings, context)
    if diarizer.backend is None:
        states = scale_rows(made.vectors)
    else:
        states = diarizer.backend.prepare(made.vectors)
    return voice_prints(spoken, [windows[name] for name in made.ids], states)
