"""Diarization with two neural networks, including overlapped speech.

The steps are: `LocalActivity` (activity of up to three local speakers in windows of
10 s), windows with a single speaker, their vectors, voices (clusters of the vectors and
speakers that clustering missed), the activity of each voice, and turns. Clustering is
the same as for other embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sms_diar._progress import Progress
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.embeddings.network import Embedder
from sms_diar.errors import DataFormatError
from sms_diar.features.local_activity import (
    count_speakers,
    local_activity,
    stretches_of,
)
from sms_diar.features.mono import MonoAudio
from sms_diar.features.segmentation import Segmenter
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.decode import check_length, decode
from sms_diar.pipeline.audio.inputs import GivenRecording, place_of, uem_bounds
from sms_diar.pipeline.cluster.api import cluster_windows
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.diarize.voices import Heard, NeuralSettings, turns_of_voices
from sms_diar.pipeline.identify.prints import voice_prints
from sms_diar.pipeline.page.details import window_details
from sms_diar.scoring import BackEnd
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.windows import windows_of_regions
from sms_diar.types import (
    AnyArray,
    EmbeddingSet,
    Segment,
)

SHORTEST = 0.1
"""Minimum duration of a recording in seconds."""


@dataclass(frozen=True, eq=False)
class Networks:
    """Segmentation and embedding network, and the back end for the embeddings."""

    segmenter: Segmenter
    embedder: Embedder
    backend: BackEnd | None = None


def diarize_by_networks(
    recording: Recording | GivenRecording,
    networks: Networks,
    estimator: SpeakerEstimator,
    settings: NeuralSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> DiarizedRecording:
    """Diarize one recording, including overlapped speech.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Recording; its segments are ignored.
    networks : Networks
        Both networks have the same sampling rate.
    estimator : SpeakerEstimator
        Clusters the vectors with its own back end.
    settings : NeuralSettings, optional
        Other settings.
    uem : Uem, optional
        Regions to diarize; speech outside them is ignored.
    workers : int, default=1
        Number of threads. Results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    chosen = settings or NeuralSettings()
    name = recording.id
    audio, notes = decode(
        recording,
        networks.embedder.rate,
        channel=chosen.channel,
        allow_commands=chosen.allow_commands,
        upsample=True,
        progress=progress,
    )
    with audio:
        check_length(audio.duration, SHORTEST, place_of(recording))
        heard = listen(
            audio, networks.segmenter, chosen, workers=workers, progress=progress
        )
        if uem is not None:
            heard = _within(heard, uem_bounds(uem, name))
        windows = _windows(recording, heard, audio.duration, networks, chosen)
        vectors = networks.embedder.embed(
            audio, list(windows.values()), workers=workers
        )
    made = EmbeddingSet(
        tuple(windows),
        vectors,
        source=place_of(recording),
        extractor=networks.embedder.fingerprint,
    )
    clustering, warnings = cluster_windows(
        made, estimator, windows, max_memory=chosen.max_memory, progress=progress
    )
    notes += warnings
    labels = [clustering.labels[key] for key in windows]
    spans = list(windows.values())
    fewest, most = _bounds(estimator)
    turns = turns_of_voices(
        name,
        heard,
        spans,
        vectors,
        labels,
        fewest=fewest,
        most=most,
        settings=chosen,
    )
    session = clustering.sessions[0].of_turns(len({turn.speaker for turn in turns}))
    notes += [f"in doubt: {doubt}" for doubt in session.doubts]
    speech = stretches_of(heard.local.frames, heard.counts > 0, name)
    return DiarizedRecording(
        audio.duration,
        sum(stretch.duration for stretch in speech),
        session,
        tuple(turns),
        tuple(f"{name}: {note}" for note in dict.fromkeys(notes)),
        voice_prints(turns, spans, vectors, networks.backend),
        details=window_details(
            windows, vectors, clustering.labels, clustering.confidence
        ),
    )


def listen(
    audio: MonoAudio,
    segmenter: Segmenter,
    settings: NeuralSettings,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Heard:
    """Estimate the number of active speakers per frame with the segmenter."""
    local = local_activity(
        audio, segmenter, step=settings.step, workers=workers, progress=progress
    )
    expected = local.expected_speakers()
    return Heard(local, expected, count_speakers(expected, settings.share))


def _windows(
    recording: Recording | GivenRecording,
    heard: Heard,
    duration: float,
    networks: Networks,
    settings: NeuralSettings,
) -> dict[str, Segment]:
    """Return single-speaker windows, or all speech if there are none."""
    layout = settings.windows
    shortest = max(networks.embedder.shortest, SHORTEST)
    for on, least in ((heard.counts == 1, layout.least), (heard.counts > 0, shortest)):
        regions = stretches_of(heard.local.frames, on, recording.id)
        # A window must have at least the minimum length of the network input.
        windows = windows_of_regions(regions, **vars(replace(layout, least=least)))
        if windows:
            return windows
    raise DataFormatError(
        f"no speech was found in {duration:.1f} s; --model embedded --vad none treats "
        f"the whole recording as speech",
        path=place_of(recording),
    )


def _within(heard: Heard, bounds: Sequence[Segment]) -> Heard:
    """Set the number of speakers to zero outside the bounds."""
    inside: AnyArray = np.zeros(heard.local.frames.count, dtype=np.bool_)
    for bound in bounds:
        inside[heard.local.frames.span(bound.start, bound.end)] = True
    return replace(heard, counts=heard.counts * inside)


def _bounds(estimator: SpeakerEstimator) -> tuple[int, int | None]:
    """Return the minimum and maximum number of speakers that the caller allows."""
    params = estimator.get_params()
    exact: int | None = params.get("num_speakers")
    low, high = params.get("min_speakers"), params.get("max_speakers")
    return exact or low or 1, exact or high
