"""Who spoke when, from the recording alone: what ``sms-diar diarize`` does.

Speech is found, windows are laid over it, each gets an i-vector, and the windows of
a recording are clustered with the weight that their overlap leaves them. It is the
chain of the recipe `callhome` without its files: recordings are decoded once, into
one channel at the rate of the model, one after another.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_count, check_not_negative
from sms_diar.clustering.methods import DEFAULT_METHOD, MethodOptions, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import DataFormatError, SmsDiarError
from sms_diar.features.frames import check_detector, speech_of
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mono import MonoAudio
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.recordings import Recording
from sms_diar.io.uem import read_uem
from sms_diar.pipeline.cluster import cluster_embeddings
from sms_diar.pipeline.diarization import Diarization, DiarizedRecording
from sms_diar.pipeline.extraction import ivectors_of
from sms_diar.pipeline.models import IvectorModel, read_ivector_model
from sms_diar.pipeline.sources import (
    AudioInput,
    GivenRecording,
    is_single,
    open_channels,
    place_of,
    recordings_of,
)
from sms_diar.timeline.regions import Uem, regions_of, within
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import Problem, Segment


@dataclass(frozen=True)
class DiarizeSettings:
    """How recordings are treated; the defaults are those of the recipe `callhome`.

    Parameters
    ----------
    vad : VadConfig
        Speech detection.
    windows : WindowLayout
        Lengths of the windows.
    cmvn : str, default="recording"
        What cepstra are normalised over; a recording is a session.
    max_gap : float, default=0.0
        Pauses of one speaker up to this many seconds are bridged.
    channel : int, optional
        Channel of recordings that have several; without it they are mixed.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    """

    vad: VadConfig = field(
        default_factory=lambda: VadConfig(min_speech=0.2, min_pause=0.3, padding=0.05)
    )
    windows: WindowLayout = field(default_factory=WindowLayout)
    cmvn: str = "recording"
    max_gap: float = 0.0
    channel: int | None = None
    allow_commands: bool = False

    def with_vad(self, method: str) -> DiarizeSettings:
        """The same with another detector of speech."""
        return replace(self, vad=replace(self.vad, method=method))


def diarize(
    source: AudioInput,
    *,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    threshold: float | None = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
    vad: str = "energy",
    model: str | Path | IvectorModel | None = None,
    uem: str | Path | Uem | None = None,
    channel: int | None = None,
    max_gap: float = 0.0,
    seed: int = 0,
    workers: int = 1,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> Diarization:
    """Find out who spoke when in recordings.

    Parameters
    ----------
    source : path, sequence of paths, (samples, rate), or mapping
        Audio files, Kaldi data directories and `wav.scp` tables; or samples of
        shape (n,) or (n, channels) with their rate, which make a recording named
        "recording"; or a mapping from names to such pairs.
    method : str, default="sms"
        How windows are clustered: a name of `sms_diar.clustering.methods.METHODS`.
    k : int, optional
        Neighbours of a window, for methods that have them.
    threshold : float, optional
        Score at which agglomerative clustering stops.
    num_speakers, min_speakers, max_speakers : int, optional
        Bounds on the number of speakers of each recording.
    vad : {"energy", "neural", "none"}, default="energy"
        Detector of speech.
    model : path or IvectorModel, optional
        Makes the vectors; the embedded model by default.
    uem : path or Uem, optional
        Speech outside these regions is left out.
    channel : int, optional
        Channel of recordings that have several, from 1; without it they are mixed.
    max_gap : float, default=0.0
        Pauses of one speaker up to this many seconds are bridged.
    seed : int, default=0
        Seed of the draws.
    workers : int, default=1
        Threads; results do not depend on it.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    Diarization
        What is wrong with a single audio file, or with samples, is raised. Of a
        list, table or directory, recordings that cannot be read or have no speech
        are left out, and the `problems` of the result say why.

    Examples
    --------
    >>> import numpy as np
    >>> import sms_diar
    >>> rate, rng = 8000, np.random.default_rng(0)
    >>> noise = 0.1 * rng.standard_normal(4 * rate)
    >>> found = sms_diar.diarize((noise, rate), vad="none", max_speakers=1)
    >>> [(turn.segment.start, turn.segment.end) for turn in found.turns]
    [(0.0, 4.0)]
    """
    check_count("diarize", "workers", workers)
    check_not_negative("diarize", "max_gap", max_gap)
    if channel is not None:
        check_count("diarize", "channel", channel)
    # Whatever can be wrong is found now rather than after the work.
    settings = DiarizeSettings(
        max_gap=max_gap, channel=channel, allow_commands=allow_commands
    ).with_vad(vad)
    check_detector(settings.vad)
    recordings = recordings_of(source)
    regions = read_uem(uem) if isinstance(uem, str | Path) else uem
    chosen = model if isinstance(model, IvectorModel) else read_ivector_model(model)
    estimator = build_method(
        method,
        chosen.backend,
        options=MethodOptions(k=k, threshold=threshold),
        seed=seed,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    problems: list[Problem] | None = None if is_single(source) else []
    results = diarize_all(
        recordings,
        chosen,
        estimator,
        settings,
        uem=regions,
        workers=workers,
        problems=problems,
        progress=progress,
    )
    return Diarization(method, tuple(results), tuple(problems or ()))


def diarize_all(
    recordings: Sequence[Recording | GivenRecording],
    model: IvectorModel,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> list[DiarizedRecording]:
    """Diarize recordings one after another.

    Parameters are those of `diarize_recording`; `problems` receives why recordings
    are not in the result. Without it the first problem is raised.
    """
    listener = progress or Silence()
    # A bar for all, or, of a single one, bars for its parts; never one in another.
    alone = len(recordings) == 1
    results = []
    with (Silence() if alone else listener).track("recordings", len(recordings)) as one:
        for recording in recordings:
            try:
                result = diarize_recording(
                    recording,
                    model,
                    estimator,
                    settings,
                    uem=uem,
                    workers=workers,
                    progress=listener if alone else None,
                )
            except (SmsDiarError, OSError) as error:
                if problems is None:
                    raise
                problems.append(Problem(str(error), recording=recording.id))
            else:
                results.append(result)
            one()
    return results


def diarize_recording(
    recording: Recording | GivenRecording,
    model: IvectorModel,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> DiarizedRecording:
    """Find out who spoke when.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Its pieces do not matter.
    model : IvectorModel
        Makes the vectors.
    estimator : SpeakerEstimator
        Clusters them, with the back end that it was given.
    settings : DiarizeSettings, optional
        The rest.
    uem : Uem, optional
        Only speech in these regions counts.
    workers : int, default=1
        Threads; results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    chosen = settings or DiarizeSettings()
    front_end = _front_end(model, chosen)
    rate = front_end.mfcc.rate
    audio, notes = _decode(recording, rate, chosen, progress)
    with audio:
        regions = speech_of(audio, chosen.vad, rate=rate, recording=recording.id)
        if uem is not None:
            regions = within(regions, _bounds(uem, recording.id))
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clustering = cluster_embeddings(
            vectors, estimator, segments=windows, per_recording=True, progress=progress
        )
    notes += [f"warning: {warning.message}" for warning in caught]
    return DiarizedRecording(
        audio.duration,
        sum(region.duration for region in regions),
        clustering.sessions[0],
        tuple(clustering.turns(chosen.max_gap)),
        tuple(f"{recording.id}: {note}" for note in dict.fromkeys(notes)),
    )


def _decode(
    recording: Recording | GivenRecording,
    rate: int,
    settings: DiarizeSettings,
    progress: Progress | None,
) -> tuple[MonoAudio, list[str]]:
    """One channel at the rate of the model, and what the user should know."""
    with open_channels(
        recording, channel=settings.channel, allow_commands=settings.allow_commands
    ) as channels:
        if channels[0].rate < rate:
            raise DataFormatError(
                f"{channels[0].rate} samples per second are fewer than the {rate} that "
                f"the model was trained on; record at {rate} Hz or more",
                path=place_of(recording),
            )
        notes = []
        if len(channels) > 1:
            notes.append(
                f"{len(channels)} channels were mixed into one; --channel chooses one, "
                f"such as a side of a telephone call"
            )
        return MonoAudio(channels, rate, progress=progress), notes


def _bounds(uem: Uem, recording: str) -> list[Segment]:
    bounds = regions_of(uem, recording)
    if not bounds:
        raise DataFormatError(f"lists no region of {recording!r}", path=uem.path)
    return bounds


def _front_end(model: IvectorModel, settings: DiarizeSettings) -> FrontEnd:
    """Front end of windows that hold nothing but speech."""
    own = model.front_end
    cmvn = replace(own.cmvn, method=settings.cmvn)
    return replace(own, vad=VadConfig(method="none"), cmvn=cmvn)


def _windows(
    recording: Recording | GivenRecording,
    regions: list[Segment],
    duration: float,
    windows: WindowLayout,
) -> dict[str, Segment]:
    if duration < windows.least:
        raise DataFormatError(
            f"{duration:.3g} s are too short to tell who speaks; at least "
            f"{windows.least:g} s are needed",
            path=place_of(recording),
        )
    found = windows_of_regions(regions, **vars(windows))
    if not found:
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s; --vad none takes everything "
            f"for speech",
            path=place_of(recording),
        )
    return found
