"""Diarization by channel: one speaker per channel, as in telephone calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError
from sms_diar.features.frames import speech_of
from sms_diar.features.local_activity import stretches_of
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.decode import check_length, check_rate
from sms_diar.pipeline.audio.inputs import (
    GivenRecording,
    open_channels,
    place_of,
    uem_bounds,
)
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.diarize.ivectors import DiarizeSettings, front_end_for
from sms_diar.pipeline.diarize.neural import (
    SHORTEST,
    Networks,
    listen,
)
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.diarize.voices import NeuralSettings
from sms_diar.pipeline.identify.prints import VoicePrint, voice_prints
from sms_diar.pipeline.train.extraction import ivectors_of
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.timeline.regions import Uem, within
from sms_diar.timeline.windows import windows_of_regions
from sms_diar.types import Segment, Turn

EACH = "each"
"""Value of `channel` for one speaker per channel."""


def channel_name(number: int) -> str:
    """Return the speaker name of a channel, counted from 1."""
    return f"ch-{number}"


def diarize_channels(
    recording: Recording | GivenRecording,
    model: IvectorModel | Networks,
    settings: DiarizeSettings | NeuralSettings,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> DiarizedRecording:
    """Detect the speech in each channel; nothing is clustered.

    See `sms_diar.pipeline.diarize.api.diarize_recording` for the parameters.
    """
    if isinstance(model, Networks):
        rate, upsample = model.embedder.rate, True
    else:
        rate, upsample = model.front_end.mfcc.rate, False
    turns: list[Turn] = []
    voices: list[VoicePrint] = []
    bounds = None if uem is None else uem_bounds(uem, recording.id)
    with open_channels(recording, allow_commands=settings.allow_commands) as channels:
        check_rate(channels[0].rate, rate, place_of(recording), upsample=upsample)
        for number, channel in enumerate(channels, start=1):
            with MonoAudio([channel], rate, progress=progress) as audio:
                duration = audio.duration
                check_length(duration, SHORTEST, place_of(recording))
                speech = _speech(
                    audio, recording.id, model, settings, workers, progress
                )
                if bounds is not None:
                    speech = within(speech, bounds)
                spoken = [Turn(span, channel_name(number)) for span in speech]
                if settings.channel_voices:
                    voices += _voices(audio, spoken, model, settings, workers)
            turns += spoken
    if not turns:
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s of {len(channels)} channel(s)",
            path=place_of(recording),
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


def _speech(
    audio: MonoAudio,
    name: str,
    model: IvectorModel | Networks,
    settings: DiarizeSettings | NeuralSettings,
    workers: int,
    progress: Progress | None,
) -> list[Segment]:
    if isinstance(model, Networks) and isinstance(settings, NeuralSettings):
        heard = listen(
            audio, model.segmenter, settings, workers=workers, progress=progress
        )
        return stretches_of(heard.local.frames, heard.counts > 0, name)
    ivector_settings = (
        settings if isinstance(settings, DiarizeSettings) else DiarizeSettings()
    )
    return speech_of(audio, ivector_settings.vad, rate=audio.rate, recording=name)


def _voices(
    audio: MonoAudio,
    spoken: Sequence[Turn],
    model: IvectorModel | Networks,
    settings: DiarizeSettings | NeuralSettings,
    workers: int,
) -> Sequence[VoicePrint]:
    """Make the voice print of the speaker of a channel, if there is enough speech."""
    regions = [turn.segment for turn in spoken]
    layout = settings.windows
    if isinstance(model, Networks):
        layout = replace(layout, least=max(layout.least, model.embedder.shortest))
    windows = windows_of_regions(regions, **vars(layout))
    if not windows:
        return ()
    if isinstance(model, Networks):
        spans = list(windows.values())
        vectors = model.embedder.embed(audio, spans, workers=workers)
    else:
        ivector_settings = (
            settings if isinstance(settings, DiarizeSettings) else DiarizeSettings()
        )
        made = ivectors_of(
            audio,
            windows,
            model.extractor,
            front_end=front_end_for(model, ivector_settings),
            recording=regions[0].recording,
            workers=workers,
        )
        spans, vectors = [windows[name] for name in made.ids], made.vectors
    return voice_prints(spoken, spans, vectors, model.backend)
