"""Diarization with two neural networks, including overlapped speech.

`NeuralDiarizer.diarize` has the steps, and ``NEURAL.md`` the reasons. Clustering is the
same as for other embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from sms_diar.clustering.methods import DEFAULT_METHOD
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.embeddings.network import Embedder
from sms_diar.errors import DataFormatError
from sms_diar.features.local_activity import (
    count_speakers,
    local_activity,
    mixed_share,
    stretches_of,
    unresolved_overlap,
)
from sms_diar.features.mono import MonoAudio
from sms_diar.features.segmentation import Segmenter
from sms_diar.io.audio.recording import Recording
from sms_diar.networks.catalogue import DEFAULT_QUALITY, QUALITIES
from sms_diar.pipeline.audio.inputs import (
    GivenRecording,
    check_length,
    decode,
    place_of,
    uem_bounds,
)
from sms_diar.pipeline.cluster.api import cluster_windows
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.diarizer import SHORTEST, DiarizeSettings, diarized
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.diarize.voices import Heard, turns_of_voices
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring import BackEnd, same_voice
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import AnyArray, EmbeddingSet, Segment

NEURAL = "neural"

MIXED = 0.1
"""Share of another local speaker at which a window is not used for clustering."""

_LEAST_UNRESOLVED = 0.5  # minimum seconds of a region of unresolved overlap

_WINDOWS = QUALITIES[DEFAULT_QUALITY].windows


@dataclass(frozen=True, eq=False)
class Networks:
    """Segmentation and embedding network of one sampling rate.

    The back end is for the first columns of the embeddings, as many as it has
    dimensions. With a second segmenter, which has the same frames, both count the
    speakers.
    """

    segmenter: Segmenter
    embedder: Embedder
    backend: BackEnd | None = None
    second: Segmenter | None = None


@dataclass(frozen=True, eq=False)
class NeuralDiarizer:
    """Diarizer with networks; see `Diarizer`.

    `warning` is a note on comparisons of voices of several recordings without a back
    end.
    """

    networks: Networks
    warning: str = ""
    name: ClassVar[str] = NEURAL
    upsamples: ClassVar[bool] = True

    @property
    def rate(self) -> int:
        """Sampling rate of the networks in Hz."""
        return self.networks.embedder.rate

    @property
    def backend(self) -> BackEnd | None:
        """Back end for the embeddings."""
        return self.networks.backend

    @property
    def comparison(self) -> same_voice.VoiceComparison:
        """Comparison with the back end, or of cosines without one."""
        if self.backend is not None:
            return same_voice.VoiceComparison(same_voice.CAMPPLUS, self.backend)
        return same_voice.VoiceComparison(same_voice.NETWORK, note=self.warning)

    def clustering_backend(self, method: str) -> BackEnd | None:
        """Return the back end, or None for the default method and for two embedders.

        The default method is better without the PLDA back end, which was trained on
        other rooms (see NEURAL.md). It applies to the vectors of the first embedder.
        """
        if self.backend is None or self.backend.dim != self.networks.embedder.dim:
            return None
        return None if method == DEFAULT_METHOD else self.backend

    def layout(self, settings: DiarizeSettings) -> WindowLayout:
        """Return the layout of windows, which are long enough for the network."""
        layout = settings.windows or _WINDOWS
        return replace(layout, least=max(layout.least, self.networks.embedder.shortest))

    def options(self, settings: DiarizeSettings) -> dict[str, object]:
        """Return the step, which only networks have."""
        return {"step": settings.step}

    def diarize(
        self,
        recording: Recording | GivenRecording,
        estimator: SpeakerEstimator,
        settings: DiarizeSettings,
        uem: Uem | None,
        context: RunContext,
    ) -> DiarizedRecording:
        """Diarize one recording, including overlapped speech."""
        audio, notes = decode(
            recording, self.rate, context, channel=settings.channel, upsample=True
        )
        with audio:
            check_length(audio.duration, SHORTEST, place_of(recording))
            # Number of active speakers, and the activity of local speakers.
            heard = self.listen(audio, settings, context)
            # shape of heard.counts: (n_frames,)
            if uem is not None:
                heard = _within(heard, uem_bounds(uem, recording.id))
            # Windows in which one speaker is active, and their vectors.
            windows = self._solo_windows(recording, heard, audio.duration, settings)
            low, high = estimator.speaker_bounds()
            if low == 1:  # otherwise there may be speakers who are heard only briefly
                windows = _unmixed(windows, heard)
            vectors = self.embed(audio, windows, settings, context)
            # shape: (n_windows, d)
        # Clusters of windows; further voices, and the active voices of each frame.
        clusters, warnings = cluster_windows(vectors, windows, estimator, context)
        # shape of clusters.labels: (n_windows,)
        unit_vectors = scale_rows(vectors.vectors)
        # shape: (n_windows, d)
        turns = turns_of_voices(
            recording.id,
            heard,
            list(windows.values()),
            unit_vectors,
            clusters.labels,
            fewest=low,
            most=high,
            voice_weight=settings.voice_weight,
        )
        return diarized(
            audio.duration,
            stretches_of(heard.local.frames, heard.counts > 0, recording.id),
            turns,
            list(windows.values()),
            vectors.vectors,
            clusters,
            notes=[*notes, *warnings],
            backend=self.backend,
            unit_vectors=unit_vectors,
            unresolved=stretches_of(
                heard.local.frames,
                unresolved_overlap(heard.local) & (heard.counts > 0),
                recording.id,
                least=_LEAST_UNRESOLVED,
            ),
        )

    def listen(
        self, audio: MonoAudio, settings: DiarizeSettings, context: RunContext
    ) -> Heard:
        """Estimate the number of active speakers per frame with the segmenter."""
        segment = partial(
            local_activity,
            audio,
            step=settings.step,
            workers=context.workers,
            progress=context.progress,
        )
        local = segment(self.networks.segmenter)
        # shape of local.probabilities: (n_local_windows, n_window_frames, n_classes)
        expected = local.expected_speakers()
        # shape: (n_frames,)
        solo = (expected >= settings.share) & (expected < 1.0 + settings.share)
        activities = [local]
        if self.networks.second is not None:
            activities.append(segment(self.networks.second))
        counts = count_speakers(activities, settings.share)
        return Heard(local, expected, counts, solo)

    def speech(
        self,
        audio: MonoAudio,
        recording: str,
        settings: DiarizeSettings,
        context: RunContext,
    ) -> list[Segment]:
        """Detect speech with the segmenter."""
        heard = self.listen(audio, settings, context)
        return stretches_of(heard.local.frames, heard.counts > 0, recording)

    def embed(
        self,
        audio: MonoAudio,
        windows: Mapping[str, Segment],
        settings: DiarizeSettings,
        context: RunContext,
    ) -> EmbeddingSet:
        """Compute the embeddings of windows."""
        embedder = self.networks.embedder
        vectors = embedder.embed(audio, list(windows.values()), workers=context.workers)
        return EmbeddingSet(
            tuple(windows),
            vectors,
            source=str(audio.path),
            extractor=embedder.fingerprint,
        )

    def _solo_windows(
        self,
        recording: Recording | GivenRecording,
        heard: Heard,
        duration: float,
        settings: DiarizeSettings,
    ) -> dict[str, Segment]:
        """Return single-speaker windows, or windows of all speech if there are none."""
        layout = self.layout(settings)
        shortest = max(self.networks.embedder.shortest, SHORTEST)
        for active, least in (
            (heard.solo, layout.least),
            (heard.counts > 0, shortest),
        ):
            regions = stretches_of(heard.local.frames, active, recording.id)
            windows = windows_of_regions(regions, **vars(replace(layout, least=least)))
            if windows:
                return windows
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s; model='embedded' with "
            f"vad='none' treats the whole recording as speech",
            path=place_of(recording),
            mentions=("model='embedded'", "vad='none'"),
        )


def _unmixed(windows: dict[str, Segment], heard: Heard) -> dict[str, Segment]:
    """Drop windows across a change of speaker, unless most windows are."""
    mixed = mixed_share(heard.local, list(windows.values()))
    names = [name for name, share in zip(windows, mixed, strict=True) if share < MIXED]
    if 2 * len(names) < len(windows):
        return windows
    return {name: windows[name] for name in names}


def _within(heard: Heard, bounds: Sequence[Segment]) -> Heard:
    """Set the number of speakers to zero outside the bounds."""
    inside: AnyArray = np.zeros(heard.local.frames.count, dtype=np.bool_)
    for bound in bounds:
        inside[heard.local.frames.span(bound.start, bound.end)] = True
    return replace(heard, counts=heard.counts * inside, solo=heard.solo & inside)
