"""Diarization with i-vectors, without overlapped speech.

Speech is detected by its energy and cut into windows. Each window gets an i-vector, and
the windows of a recording are clustered with weights that account for their overlap.
The recipe `callhome` has the same steps with files between them. Here a recording is
decoded once, to one channel at the rate of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sms_diar._progress import Progress
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import DataFormatError
from sms_diar.features.frames import speech_of
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.decode import check_length, decode
from sms_diar.pipeline.audio.inputs import GivenRecording, place_of, uem_bounds
from sms_diar.pipeline.cluster.api import cluster_windows
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import voice_prints
from sms_diar.pipeline.page.details import window_details
from sms_diar.pipeline.train.extraction import ivectors_of
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.timeline.regions import Uem, within
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import Segment


@dataclass(frozen=True)
class DiarizeSettings:
    """Settings for diarization with i-vectors; defaults as in the recipe `callhome`.

    Parameters
    ----------
    vad : VadConfig
        Speech detection.
    windows : WindowLayout
        Layout of the windows.
    cmvn : str, default="recording"
        Scope of the normalisation of cepstra; a recording is a session.
    min_turn, max_gap : float, default=0.2
        Minimum turn, and maximum pause that is bridged, in seconds; see
        `sms_diar.timeline.turns.tidy_turns`.
    channel : int, optional
        Channel of recordings that have several; by default they are mixed.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    channel_voices : bool, default=False
        Compute voice prints also if each channel is a speaker, where nothing else
        requires vectors.
    max_memory : int, optional
        Maximum memory of a process in bytes. A recording that may need more is
        refused before its windows are clustered.
    """

    vad: VadConfig = field(
        default_factory=lambda: VadConfig(
            speech_band=True, min_speech=0.2, min_pause=0.3, padding=0.05
        )
    )
    windows: WindowLayout = field(default_factory=WindowLayout)
    cmvn: str = "recording"
    min_turn: float = MIN_TURN
    max_gap: float = MAX_GAP
    channel: int | str | None = None
    allow_commands: bool = False
    channel_voices: bool = False
    max_memory: int | None = None

    def with_vad(self, method: str) -> DiarizeSettings:
        """Return the same settings with another speech detector."""
        return replace(self, vad=replace(self.vad, method=method))


def diarize_by_ivectors(
    recording: Recording | GivenRecording,
    model: IvectorModel,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> DiarizedRecording:
    """Diarize one recording.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Recording; its segments are ignored.
    model : IvectorModel
        Model that computes the vectors.
    estimator : SpeakerEstimator
        Clusters the vectors with its own back end.
    settings : DiarizeSettings, optional
        Other settings.
    uem : Uem, optional
        Regions to diarize; speech outside them is ignored.
    workers : int, default=1
        Number of threads. Results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    chosen = settings or DiarizeSettings()
    front_end = front_end_for(model, chosen)
    rate = front_end.mfcc.rate
    audio, notes = decode(
        recording,
        rate,
        channel=chosen.channel,
        allow_commands=chosen.allow_commands,
        progress=progress,
    )
    with audio:
        regions = speech_of(audio, chosen.vad, rate=rate, recording=recording.id)
        if uem is not None:
            regions = within(regions, uem_bounds(uem, recording.id))
        windows = _windows(recording, regions, audio.duration, chosen.windows)
        vectors = ivectors_of(
            audio,
            windows,
            model.extractor,
            front_end=front_end,
            recording=recording.id,
            workers=workers,
            progress=progress,
        )
    clustering, warnings = cluster_windows(
        vectors, estimator, windows, max_memory=chosen.max_memory, progress=progress
    )
    notes += warnings
    turns, spans = clustering.turns(), [windows[name] for name in vectors.ids]
    session = clustering.sessions[0].of_turns(len({turn.speaker for turn in turns}))
    notes += [f"in doubt: {doubt}" for doubt in session.doubts]
    return DiarizedRecording(
        audio.duration,
        sum(region.duration for region in regions),
        session,
        tuple(turns),
        tuple(f"{recording.id}: {note}" for note in dict.fromkeys(notes)),
        voice_prints(turns, spans, vectors.vectors, model.backend),
        details=window_details(
            windows, vectors.vectors, clustering.labels, clustering.confidence
        ),
    )


def front_end_for(model: IvectorModel, settings: DiarizeSettings) -> FrontEnd:
    """Return the front end for windows that contain only speech."""
    front_end = model.front_end
    cmvn = replace(front_end.cmvn, method=settings.cmvn)
    return replace(front_end, vad=VadConfig(method="none"), cmvn=cmvn)


def _windows(
    recording: Recording | GivenRecording,
    regions: list[Segment],
    duration: float,
    windows: WindowLayout,
) -> dict[str, Segment]:
    check_length(duration, windows.least, place_of(recording))
    spans = windows_of_regions(regions, **vars(windows))
    if not spans:
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s; --vad none treats the "
            f"whole recording as speech",
            path=place_of(recording),
        )
    return spans
