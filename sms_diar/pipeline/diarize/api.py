"""Who spoke when, from the recording alone: what ``sms-diar diarize`` does.

Two neural networks do it where they are (`neural_diarize`), else the embedded i-vector
model (`ivector_diarize`). Recordings are decoded once, and none knows of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sms_diar import _scheduler
from sms_diar._parallel import process_map
from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_count, check_not_negative, check_positive
from sms_diar.clustering.methods import DEFAULT_METHOD, MethodOptions, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.features.frames import check_detector
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.recordings import Recording
from sms_diar.io.uem import read_uem
from sms_diar.pipeline.audio.inputs import (
    AudioInput,
    GivenRecording,
    is_single,
    recordings_of,
)
from sms_diar.pipeline.diarize.channels import EACH, diarize_channels
from sms_diar.pipeline.diarize.ivectors import DiarizeSettings, diarize_by_ivectors
from sms_diar.pipeline.diarize.models import (
    AUTO,
    ChosenModel,
    DiarizeModel,
    choose_model,
)
from sms_diar.pipeline.diarize.neural import (
    Networks,
    diarize_by_networks,
)
from sms_diar.pipeline.diarize.result import Diarization, DiarizedRecording
from sms_diar.pipeline.diarize.voices import NeuralSettings
from sms_diar.pipeline.identify.enrol import (
    EnrolInput,
    Enrolment,
    EnrolmentFile,
    enrolled_voices,
    enrolment_files,
)
from sms_diar.pipeline.identify.match import identify
from sms_diar.pipeline.identify.names import NamingRules
from sms_diar.pipeline.train.extraction import counted
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.timeline.naming import name_speakers
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN, tidy_turns
from sms_diar.types import Problem

Settings: TypeAlias = DiarizeSettings | NeuralSettings


def diarize(
    source: AudioInput,
    *,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    threshold: float | None = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
    model: DiarizeModel | None = AUTO,
    vad: str | None = None,
    step: float = 2.0,
    uem: str | Path | Uem | None = None,
    channel: int | str | None = None,
    min_turn: float | None = None,
    max_gap: float | None = None,
    link: bool = False,
    link_threshold: float = 0.5,
    enrol: EnrolInput | None = None,
    enrol_threshold: float = 0.5,
    seed: int = 0,
    workers: int = 1,
    allow_commands: bool = False,
    strict: bool = False,
    max_memory: int | None = None,
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
    model : {"auto", "embedded", "neural"}, path, IvectorModel or Networks
        What hears the voices. "neural" are two networks, which notice when several
        speak at once; ``sms-diar models fetch`` gets them. "embedded" is the
        i-vector model that comes with the package. "auto", the default, takes the
        networks where they are, and the result's first note says which it was. A
        path is that of an i-vector model, or of a TOML that describes a network.
    vad : {"energy", "neural", "none"}, optional
        Detector of speech of i-vector models; "energy" by default. Networks have
        their own, so "auto" takes the embedded model where one is asked for.
    step : float, default=2.0
        Seconds from one window of 10 s to the next, of the networks.
    uem : path or Uem, optional
        Speech outside these regions is left out.
    channel : int or "each", optional
        Channel of recordings that have several, from 1; without it they are mixed.
        With "each", every channel is one speaker, as in calls over telephones.
    min_turn, max_gap : float, optional
        Minimum length of a turn, and maximum length of a pause that is bridged, in
        seconds; see `sms_diar.timeline.turns.tidy_turns`. Both are 0.2 by default, and
        0.5 where the result is written as subtitles. With 0 nothing is changed.
    link : bool, default=False
        Give the same person in several recordings one name: "spk-01" and so on, in
        the order in which they are first heard.
    link_threshold : float, default=0.5
        Probability above which speakers of two recordings are one person.
    enrol : mapping from str to path, (samples, rate), or several, optional
        Recordings of known voices by their names, which speakers get who sound like
        them; no two speakers of a recording get one name.
    enrol_threshold : float, default=0.5
        Probability from which on a name is given.
    seed : int, default=0
        Seed of the draws.
    workers : int, default=1
        Recordings at a time, or, of a single one, threads; results do not depend on
        it.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    strict : bool, default=False
        Raise what is wrong with the first bad recording of several, too.
    max_memory : int, optional
        Bytes that all workers together may take. A recording whose windows may need
        more to be clustered is refused before that; results do not depend on it.
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
    if min_turn is not None:
        min_turn = check_not_negative("diarize", "min_turn", min_turn)
    if max_gap is not None:
        max_gap = check_not_negative("diarize", "max_gap", max_gap)
    check_positive("diarize", "step", step)
    if channel is not None and channel != EACH:
        check_count("diarize", "channel", channel)
    # Whatever can be wrong is found now rather than after the work.
    rules = NamingRules(link, link_threshold, enrol_threshold)
    files = enrolment_files(enrol or {})
    detector = DiarizeSettings().with_vad(vad or "energy").vad
    check_detector(detector)
    recordings = recordings_of(source)
    regions = read_uem(uem) if isinstance(uem, str | Path) else uem
    chosen = choose_model(model, vad=vad)
    settings = replace(
        _settings(chosen, step, detector),
        min_turn=MIN_TURN if min_turn is None else min_turn,
        max_gap=MAX_GAP if max_gap is None else max_gap,
        channel=channel,
        allow_commands=allow_commands,
        channel_voices=link or bool(files),
        max_memory=_share(max_memory, min(workers, len(recordings))),
    )
    # Windows of a network teach the default method more than its back end, which was
    # trained on other rooms, can tell it (NEURAL.md has the figures).
    learns = isinstance(chosen.model, Networks) and method == DEFAULT_METHOD
    build = partial(
        build_method,
        method,
        None if learns else chosen.backend,
        options=MethodOptions(k=k, threshold=threshold),
        seed=seed,
    )
    estimator = build(
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    # How many speak in the recordings says nothing about those of known voices.
    enrolment = _enrolled(files, chosen, build(), settings, workers, progress)
    problems: list[Problem] | None = None if strict or is_single(source) else []
    results = diarize_all(
        recordings,
        chosen.model,
        estimator,
        settings,
        uem=regions,
        workers=workers,
        problems=problems,
        progress=progress,
    )
    naming = None
    if link or files:
        results, naming = identify(results, chosen.comparison, enrolment, rules)
    asked = {
        "method": method,
        "model": chosen.name,
        "k": k,
        "threshold": threshold,
        "num_speakers": num_speakers,
        "min_speakers": min_speakers,
        "max_speakers": max_speakers,
        "vad": vad,
        "step": step if isinstance(chosen.model, Networks) else None,
        "channel": channel,
        "min_turn": min_turn,
        "max_gap": max_gap,
        "seed": seed,
    }
    return Diarization(
        method,
        tuple(results),
        tuple(problems or ()),
        chosen.name,
        chosen.note,
        naming,
        {name: value for name, value in asked.items() if value is not None},
    )


def _share(max_memory: int | None, processes: int) -> int | None:
    """What each process may take."""
    return None if max_memory is None else max_memory // max(1, processes)


def _settings(chosen: ChosenModel, step: float, vad: VadConfig) -> Settings:
    """Those that the model knows; others would say nothing to it."""
    if isinstance(chosen.model, Networks):
        return NeuralSettings(step=step)
    return DiarizeSettings(vad=vad)


def _enrolled(
    files: Sequence[EnrolmentFile],
    chosen: ChosenModel,
    estimator: SpeakerEstimator,
    settings: Settings,
    workers: int,
    progress: Progress | None,
) -> Enrolment:
    """Voices of the people whose recordings were given."""
    if not files:
        return Enrolment()
    heard = diarize_all(
        [file.recording for file in files],
        chosen.model,
        estimator,
        replace(settings, channel=None),
        workers=workers,
        progress=progress,
    )
    return enrolled_voices(files, heard, chosen.comparison)


def diarize_all(
    recordings: Sequence[Recording | GivenRecording],
    model: IvectorModel | Networks,
    estimator: SpeakerEstimator,
    settings: Settings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
) -> list[DiarizedRecording]:
    """Diarize recordings, each on its own.

    Parameters are those of `diarize_recording`; `problems` receives why recordings
    are not in the result. Without it the first problem is raised. Several recordings
    are shared among `workers` processes, or the workers of a cluster.
    """
    listener = progress or Silence()
    alone = len(recordings) == 1 and _scheduler.current() is None
    if alone:  # bars for its parts; never one within another
        one = partial(_attempt, workers=workers, progress=listener)
        work = map(partial(one, model, estimator, settings, uem), recordings)
        return _results(work, problems)
    with listener.track("recordings", len(recordings)) as advance:
        attempt = partial(_attempt, model, estimator, settings, uem)
        outcomes = process_map(attempt, recordings, workers=workers)
        return _results(counted(outcomes, advance), problems)


def diarize_recording(
    recording: Recording | GivenRecording,
    model: IvectorModel | Networks,
    estimator: SpeakerEstimator,
    settings: Settings | None = None,
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
    model : IvectorModel or Networks
        Makes the vectors.
    estimator : SpeakerEstimator
        Clusters them, with the back end that it was given.
    settings : DiarizeSettings or NeuralSettings, optional
        The rest; those of i-vectors are of no use to networks, and vice versa.
    uem : Uem, optional
        Only speech in these regions counts.
    workers : int, default=1
        Threads; results do not depend on it.
    progress : Progress, optional
        Receives progress.
    """
    chosen = settings or DiarizeSettings()
    if chosen.channel == EACH:
        result = diarize_channels(
            recording, model, chosen, uem=uem, workers=workers, progress=progress
        )
    elif isinstance(model, Networks):
        result = diarize_by_networks(
            recording,
            model,
            estimator,
            chosen if isinstance(chosen, NeuralSettings) else None,
            uem=uem,
            workers=workers,
            progress=progress,
        )
    else:
        result = diarize_by_ivectors(
            recording,
            model,
            estimator,
            chosen if isinstance(chosen, DiarizeSettings) else None,
            uem=uem,
            workers=workers,
            progress=progress,
        )
    # Voice prints are made before: a bridged pause has no voice.
    turns = tidy_turns(result.turns, min_turn=chosen.min_turn, max_gap=chosen.max_gap)
    result = replace(result, turns=tuple(turns))
    if chosen.channel == EACH:
        return result  # named after the channels
    speakers = list(dict.fromkeys(turn.speaker for turn in turns))
    return result.renamed(dict(zip(speakers, name_speakers(speakers), strict=True)))


Outcome: TypeAlias = DiarizedRecording | Exception


def _attempt(
    model: IvectorModel | Networks,
    estimator: SpeakerEstimator,
    settings: Settings | None,
    uem: Uem | None,
    recording: Recording | GivenRecording,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[str, Outcome]:
    """Name of a recording, and its result or what is wrong with it."""
    try:
        return recording.id, diarize_recording(
            recording,
            model,
            estimator,
            settings,
            uem=uem,
            workers=workers,
            progress=progress,
        )
    except Exception as error:  # noqa: BLE001 - of one recording, not of all
        return recording.id, error


def _results(
    outcomes: Iterator[tuple[str, Outcome]], problems: list[Problem] | None
) -> list[DiarizedRecording]:
    results = []
    for name, outcome in outcomes:
        if isinstance(outcome, DiarizedRecording):
            results.append(outcome)
        elif problems is None:
            raise outcome
        else:
            problems.append(Problem.of(outcome, recording=name))
    return results
