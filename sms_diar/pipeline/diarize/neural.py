"""Who spoke when, several at once as well, by two neural networks.

Values go one way: `LocalActivity` (who of three speaks, in windows of 10 s), windows
in which one speaks, their vectors, voices (clusters of them, and people who were left
over), the activity of each voice, turns. The clustering is that of every other
recording; the networks know nothing of it.
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
from sms_diar.io.kaldi.recordings import Recording
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
"""Seconds that a recording must have."""


@dataclass(frozen=True, eq=False)
class Networks:
    """The two networks, and the back end for the vectors of one of them."""

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
    """Find out who spoke when, with overlap.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Its pieces do not matter.
    networks : Networks
        Both want the same rate.
    estimator : SpeakerEstimator
        Clusters the vectors, with the back end that it was given.
    settings : NeuralSettings, optional
        The rest.
    uem : Uem, optional
        Only speech in these regions counts.
    workers : int, default=1
        Threads; results do not depend on it.
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
    clustering, told = cluster_windows(
        made, estimator, windows, max_memory=chosen.max_memory, progress=progress
    )
    notes += told
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
    """Let the segmenter find out how many speak when."""
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
    """Windows in which one speaks; any speech if that is never so for long enough."""
    layout = settings.windows
    shortest = max(networks.embedder.shortest, SHORTEST)
    for on, least in ((heard.counts == 1, layout.least), (heard.counts > 0, shortest)):
        regions = stretches_of(heard.local.frames, on, recording.id)
        # A window must fit into whole samples and a network's shortest input.
        found = windows_of_regions(regions, **vars(replace(layout, least=least)))
        if found:
            return found
    raise DataFormatError(
        f"no speech was found in {duration:.1f} s; --model embedded --vad none takes "
        f"everything for speech",
        path=place_of(recording),
    )


def _within(heard: Heard, bounds: Sequence[Segment]) -> Heard:
    """Nobody speaks outside the bounds."""
    inside: AnyArray = np.zeros(heard.local.frames.count, dtype=np.bool_)
    for bound in bounds:
        inside[heard.local.frames.span(bound.start, bound.end)] = True
    return replace(heard, counts=heard.counts * inside)


def _bounds(estimator: SpeakerEstimator) -> tuple[int, int | None]:
    """Fewest and most speakers that the caller allows."""
    known = estimator.get_params()
    exact: int | None = known.get("num_speakers")
    low, high = known.get("min_speakers"), known.get("max_speakers")
    return exact or low or 1, exact or high
