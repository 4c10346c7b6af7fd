"""Diarization with i-vectors, without overlapped speech.

Speech is detected by its energy and cut into windows. Each window gets an i-vector, and
the windows of a recording are clustered with weights that account for their overlap.
The recipe `callhome` has the same steps with files between them. Here a recording is
decoded once, to one channel at the rate of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import DataFormatError
from sms_diar.features.frames import speech_of
from sms_diar.features.mono import MonoAudio
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import (
    GivenRecording,
    check_length,
    decode,
    place_of,
    uem_bounds,
)
from sms_diar.pipeline.cluster.api import cluster_windows
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.diarizer import DiarizeSettings, diarized
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.train.extraction import ivectors_of
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.scoring import BackEnd, same_voice
from sms_diar.timeline.naming import name_speakers
from sms_diar.timeline.regions import Uem, within
from sms_diar.timeline.turns import labels_to_turns
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import EmbeddingSet, Segment

IVECTORS = "i-vectors"


@dataclass(frozen=True, eq=False)
class IvectorDiarizer:
    """Diarizer with an i-vector model; see `Diarizer`.

    `warning` is a note on comparisons of voices of several recordings.
    """

    model: IvectorModel
    warning: str = ""
    name: ClassVar[str] = IVECTORS
    upsamples: ClassVar[bool] = False

    @property
    def rate(self) -> int:
        """Sampling rate of the model in Hz."""
        return self.model.front_end.mfcc.rate

    @property
    def backend(self) -> BackEnd | None:
        """Back end of the model for windows of a recording."""
        return self.model.window_backend or self.model.backend

    @property
    def comparison(self) -> same_voice.VoiceComparison:
        """Comparison by cosines.

        They are more robust to channel differences than the PLDA model, which was
        trained on one recording per speaker (LINKING.md).
        """
        return same_voice.VoiceComparison(same_voice.IVECTORS, note=self.warning)

    def clustering_backend(self, method: str) -> BackEnd | None:
        """Return the back end of the model."""
        return self.backend

    def layout(self, settings: DiarizeSettings) -> WindowLayout:
        """Return the layout of windows."""
        return settings.windows or WindowLayout()

    def options(self, settings: DiarizeSettings) -> dict[str, object]:
        """Return no settings: none is reported for i-vectors only."""
        return {}

    def diarize(
        self,
        recording: Recording | GivenRecording,
        estimator: SpeakerEstimator,
        settings: DiarizeSettings,
        uem: Uem | None,
        context: RunContext,
    ) -> DiarizedRecording:
        """Diarize one recording."""
        audio, notes = decode(recording, self.rate, context, channel=settings.channel)
        with audio:
            speech = self.speech(audio, recording.id, settings, context)
            if uem is not None:
                speech = within(speech, uem_bounds(uem, recording.id))
            layout = self.layout(settings)
            check_length(audio.duration, layout.least, place_of(recording))
            windows = windows_of_regions(speech, **vars(layout))
            if not windows:
                raise DataFormatError(
                    f"no speech was found in {audio.duration:.1f} s; vad='none' treats "
                    f"the whole recording as speech",
                    path=place_of(recording),
                    mentions=("vad='none'",),
                )
            vectors = self.embed(audio, windows, settings, context)
            # shape: (n_windows, d)
        clusters, warnings = cluster_windows(vectors, windows, estimator, context)
        # shape of clusters.labels: (n_windows,)
        names = name_speakers(clusters.labels)
        return diarized(
            audio.duration,
            speech,
            labels_to_turns(windows, dict(zip(vectors.ids, names, strict=True))),
            [windows[name] for name in vectors.ids],
            vectors.vectors,
            clusters,
            notes=[*notes, *warnings],
            backend=self.backend,
        )

    def speech(
        self,
        audio: MonoAudio,
        recording: str,
        settings: DiarizeSettings,
        context: RunContext,
    ) -> list[Segment]:
        """Detect speech with the detector of the settings."""
        return speech_of(audio, settings.vad, rate=audio.rate, recording=recording)

    def embed(
        self,
        audio: MonoAudio,
        windows: Mapping[str, Segment],
        settings: DiarizeSettings,
        context: RunContext,
    ) -> EmbeddingSet:
        """Compute the i-vectors of windows, which contain only speech."""
        front_end = self.model.front_end
        front_end = replace(
            front_end,
            vad=VadConfig(method="none"),
            cmvn=replace(front_end.cmvn, method=settings.cmvn),
        )
        return ivectors_of(
            audio,
            windows,
            self.model.extractor,
            front_end=front_end,
            recording=next(iter(windows.values())).recording,
            context=context,
        )
