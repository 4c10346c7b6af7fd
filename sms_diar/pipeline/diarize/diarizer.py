"""Diarizers: what both kinds of models have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.features.mono import MonoAudio
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import GivenRecording
from sms_diar.pipeline.cluster.sessions import SessionClusters
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import voice_prints
from sms_diar.pipeline.page.details import window_details
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring import BackEnd
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN
from sms_diar.timeline.windows import WindowLayout
from sms_diar.types import EmbeddingSet, FloatArray, Problem, Segment, Turn

SHORTEST = 0.1
"""Minimum duration of a recording in seconds."""


EACH = "each"
"""Value of `channel` for one speaker per channel."""


def channel_name(number: int) -> str:
    """Return the speaker name of a channel, counted from 1."""
    return f"ch-{number}"


@dataclass(frozen=True)
class DiarizeSettings:
    """Settings of diarization; defaults for i-vectors are as in the recipe `callhome`.

    Parameters
    ----------
    vad : VadConfig
        Speech detection for i-vectors; networks detect speech themselves.
    windows : WindowLayout, optional
        Layout of the windows that get vectors. By default the layout of the diarizer.
    cmvn : str, default="recording"
        Scope of the normalisation of cepstra; a recording is a session.
    step : float, default=2.0
        Seconds between the starts of the windows of the segmenter; 5 is faster.
    share : float, default=0.4
        Minimum probability that two people speak in a frame, for networks, if they are
        to be counted; that anybody speaks must have a half.
    voice_weight : float, default=5.0
        Weight of the cosines between a frame and the voices, relative to the local
        activities, which range from 0 to 1, for networks.
    min_turn, max_gap : float, default=0.2 and 0.5
        Minimum turn, and maximum pause that is bridged, in seconds; see
        `sms_diar.timeline.turns.tidy_turns`.
    exclusive : bool, default=False
        Whether overlapped time is given to one speaker.
    channel : int or "each", optional
        Channel of recordings that have several; by default they are mixed.
    crosstalk : {"keep", "remove"}, default="keep"
        Whether speech of other channels is removed if each channel is a speaker.
    channel_voices : bool, default=False
        Compute voice prints also if each channel is a speaker, where nothing else
        requires vectors.
    """

    vad: VadConfig = field(
        default_factory=lambda: VadConfig(
            speech_band=True, min_speech=0.2, min_pause=0.3, padding=0.05
        )
    )
    windows: WindowLayout | None = None
    cmvn: str = "recording"
    step: float = 2.0
    share: float = 0.4
    voice_weight: float = 5.0
    min_turn: float = MIN_TURN
    max_gap: float = MAX_GAP
    exclusive: bool = False
    channel: int | str | None = None
    crosstalk: str = "keep"
    channel_voices: bool = False

    def with_vad(self, method: str) -> DiarizeSettings:
        """Return the same settings with another speech detector."""
        return replace(self, vad=replace(self.vad, method=method))


class Diarizer(Protocol):
    """A model with the steps that lead from a recording to turns."""

    @property
    def name(self) -> str:
        """Kind of the model: "neural" or "i-vectors"."""

    @property
    def rate(self) -> int:
        """Sampling rate of the model in Hz."""

    @property
    def upsamples(self) -> bool:
        """True if telephone speech of a lower rate is accepted."""

    @property
    def backend(self) -> BackEnd | None:
        """Back end for the vectors."""

    @property
    def comparison(self) -> VoiceComparison:
        """Comparison of voices of several recordings."""

    def clustering_backend(self, method: str) -> BackEnd | None:
        """Return the back end with which a clustering method works best."""

    def layout(self, settings: DiarizeSettings) -> WindowLayout:
        """Return the layout of windows in which one speaker is active."""

    def options(self, settings: DiarizeSettings) -> dict[str, object]:
        """Return the settings that only this kind of model has, for reports."""

    def diarize(
        self,
        recording: Recording | GivenRecording,
        estimator: SpeakerEstimator,
        settings: DiarizeSettings,
        uem: Uem | None,
        context: RunContext,
    ) -> DiarizedRecording:
        """Diarize one recording; its segments are ignored, and its turns not tidied.

        Speech outside the regions of `uem` is ignored.
        """

    def speech(
        self,
        audio: MonoAudio,
        recording: str,
        settings: DiarizeSettings,
        context: RunContext,
    ) -> list[Segment]:
        """Detect speech."""

    def embed(
        self,
        audio: MonoAudio,
        windows: Mapping[str, Segment],
        settings: DiarizeSettings,
        context: RunContext,
    ) -> EmbeddingSet:
        """Compute the vectors of windows; those without speech may be missing."""


def states_of(vectors: FloatArray, backend: BackEnd | None) -> FloatArray:
    """Return unit vectors or, with a back end, the states of its columns."""
    if backend is None:
        return scale_rows(vectors)
    return backend.prepare(vectors[:, : backend.dim])


def diarized(
    duration: float,
    speech: Iterable[Segment],
    turns: Sequence[Turn],
    windows: Sequence[Segment],
    vectors: FloatArray,
    clusters: SessionClusters,
    *,
    notes: Iterable[Problem],
    backend: BackEnd | None,
    unit_vectors: FloatArray | None = None,
    unresolved: Iterable[Segment] = (),
) -> DiarizedRecording:
    """Collect the result of one recording, with voice prints and doubts.

    `vectors` are the raw vectors of `windows`, shape (n_windows, d), and `unit_vectors`
    the same vectors at unit length, if they are known.
    """
    rows = scale_rows(vectors) if unit_vectors is None else unit_vectors
    states = rows if backend is None else states_of(vectors, backend)
    session = clusters.summary.of_turns(len({turn.speaker for turn in turns}))
    doubts = [
        Problem(
            f"in doubt: {doubt}",
            recording=session.session,
            severity="note",
            kind="doubt",
        )
        for doubt in session.doubts
    ]
    return DiarizedRecording(
        duration,
        sum(region.duration for region in speech),
        session,
        tuple(turns),
        tuple(dict.fromkeys((*notes, *doubts))),
        voice_prints(turns, windows, states),
        unresolved=tuple(unresolved),
        details=window_details(windows, rows, clusters.labels, clusters.confidence),
    )
