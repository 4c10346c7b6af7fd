"""Speaker diarization of recordings: ``sms-diar diarize``.

A diarizer does it: two neural networks if they are installed (`neural`), otherwise the
embedded i-vector model (`ivectors`). Recordings do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sms_diar import _scheduler
from sms_diar._parallel import process_map
from sms_diar._progress import Progress
from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
)
from sms_diar.clustering.methods import DEFAULT_METHOD, MethodOptions, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.crosstalk import CHOICES as CROSSTALK_CHOICES
from sms_diar.features.crosstalk import STRONG_SHARE, find_crosstalk, without_crosstalk
from sms_diar.features.frames import check_detector
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.recording import Recording
from sms_diar.io.turns.uem import read_uem
from sms_diar.pipeline.audio.inputs import (
    AudioInput,
    GivenRecording,
    check_length,
    check_rate,
    is_single,
    open_channels,
    place_of,
    recordings_of,
    uem_bounds,
)
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.diarizer import (
    EACH,
    SHORTEST,
    Diarizer,
    DiarizeSettings,
    channel_name,
    states_of,
)
from sms_diar.pipeline.diarize.models import (
    AUTO,
    ChosenModel,
    DiarizeModel,
    choose_model,
)
from sms_diar.pipeline.diarize.result import Diarization, DiarizedRecording
from sms_diar.pipeline.identify.enrol import (
    EnrolInput,
    Enrolment,
    enrolled_voices,
    enrolment_files,
)
from sms_diar.pipeline.identify.match import identify
from sms_diar.pipeline.identify.prints import NamingRules, VoicePrint, voice_prints
from sms_diar.pipeline.train.extraction import counted
from sms_diar.timeline.naming import name_speakers
from sms_diar.timeline.regions import Uem, within
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN, exclusive_turns, tidy_turns
from sms_diar.timeline.windows import windows_of_regions
from sms_diar.types import Problem, Turn


def diarize(
    source: AudioInput,
    *,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    threshold: float | None = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
    model: DiarizeModel | ChosenModel | None = AUTO,
    quality: str | None = None,
    vad: str | None = None,
    step: float | None = None,
    uem: str | Path | Uem | None = None,
    channel: int | str | None = None,
    crosstalk: str = "keep",
    min_turn: float | None = None,
    max_gap: float | None = None,
    exclusive: bool = False,
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
    """Diarize recordings: find the turns of each speaker.

    Parameters
    ----------
    source : path, sequence of paths, (samples, rate), or mapping
        Audio files, Kaldi data directories and `wav.scp` tables; or samples of
        shape (n,) or (n, channels) with their rate, which make a recording named
        "recording"; or a mapping from names to such pairs.
    method : str, default="sms"
        Clustering method, a name of `sms_diar.clustering.methods.METHODS`.
    k : int, optional
        Number of neighbours of a window, for methods that use them.
    threshold : float, optional
        Score at which agglomerative clustering stops.
    num_speakers, min_speakers, max_speakers : int, optional
        Bounds on the number of speakers of each recording.
    model : {"auto", "embedded", "neural"}, path, IvectorModel or Networks
        Model, or its name or path. "neural" means two networks, which detect
        overlapped speech; ``sms-diar models fetch`` downloads them. "embedded" is
        the i-vector model of the package. "auto", the default, uses the networks if
        they are installed; the first note of the result names the model. A path
        leads to an i-vector model, or to a TOML file that describes a network.
    quality : {"fast", "balanced", "best"}, optional
        Quality of the networks, "balanced" by default, or "fast" if only its networks
        are installed. "fast" takes about half of the time. "best" takes more than twice
        the time and needs another network; ``sms-diar models fetch best`` downloads it.
    vad : {"energy", "neural", "none"}, optional
        Speech detector of i-vector models; "energy" by default. Networks detect
        speech themselves, so "auto" uses the embedded model if `vad` is set.
    step : float, optional
        Seconds between the starts of the 10 s windows of the networks; 2 by default,
        and 5 with the quality "fast".
    uem : path or Uem, optional
        Regions to diarize; speech outside them is ignored.
    channel : int or "each", optional
        Channel of recordings that have several, counted from 1; by default they are
        mixed. With "each", every channel is one speaker, as in telephone calls.
    crosstalk : {"keep", "remove"}, default="keep"
        With ``channel="each"``, whether speech that is faintly heard on the channel of
        another speaker is removed. A note reports it if it is kept and frequent.
    min_turn, max_gap : float, optional
        Minimum length of a turn, and maximum length of a pause that is bridged, in
        seconds; see `sms_diar.timeline.turns.tidy_turns`. They are 0.2 and 0.5 by
        default, and both 0.5 if the result is written as subtitles. With 0 turns do not
        change.
    exclusive : bool, default=False
        Give overlapped speech to one speaker, so that turns do not overlap; see
        `sms_diar.timeline.turns.exclusive_turns`.
    link : bool, default=False
        Give the same person one name in all recordings: "spk-01" and so on, in the
        order in which they are first heard.
    link_threshold : float, default=0.5
        Minimum probability to link speakers of two recordings.
    enrol : mapping from str to path, (samples, rate), or several, optional
        Recordings of known speakers by name. Speakers with a matching voice are
        given the name, at most one in each recording.
    enrol_threshold : float, default=0.5
        Minimum probability to assign an enrolled name.
    seed : int, default=0
        Random seed.
    workers : int, default=1
        Number of recordings processed in parallel, or of threads for a single one.
        Results do not depend on it.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    strict : bool, default=False
        Raise the error of the first bad recording, even if there are several.
    max_memory : int, optional
        Maximum memory of all workers in bytes. A recording that may need more is
        refused before its windows are clustered. Results do not depend on it.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    Diarization
        Errors of a single audio file, or of samples, are raised. In a list, table
        or directory, recordings that cannot be read or have no speech are skipped
        and reported in the `problems` of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import sms_diar
    >>> rate, rng = 8000, np.random.default_rng(0)
    >>> noise = 0.1 * rng.standard_normal(4 * rate)
    >>> result = sms_diar.diarize((noise, rate), vad="none", max_speakers=1)
    >>> [(turn.segment.start, turn.segment.end) for turn in result.turns]
    [(0.0, 4.0)]
    """
    check_count("diarize", "workers", workers)
    if min_turn is not None:
        min_turn = check_not_negative("diarize", "min_turn", min_turn)
    if max_gap is not None:
        max_gap = check_not_negative("diarize", "max_gap", max_gap)
    if step is not None:
        check_positive("diarize", "step", step)
    if channel is not None and channel != EACH:
        check_count("diarize", "channel", channel)
    check_choice("diarize", "crosstalk", crosstalk, CROSSTALK_CHOICES)
    if crosstalk != "keep" and channel != EACH:
        problem = f"can be {crosstalk!r} only with channel='each', got {channel!r}"
        mentions = ("channel='each'",)
        raise InvalidParameterError(
            problem, owner="diarize", parameter="crosstalk", mentions=mentions
        )
    # Check all arguments before the work.
    rules = NamingRules(link, link_threshold, enrol_threshold)
    files = enrolment_files(enrol or {})
    settings = replace(
        DiarizeSettings().with_vad(vad or "energy"),
        min_turn=MIN_TURN if min_turn is None else min_turn,
        max_gap=MAX_GAP if max_gap is None else max_gap,
        exclusive=exclusive,
        channel=channel,
        crosstalk=crosstalk,
        channel_voices=link or bool(files),
    )
    check_detector(settings.vad)
    recordings = recordings_of(source)
    regions = read_uem(uem) if isinstance(uem, str | Path) else uem
    chosen = choose_model(model, vad=vad, quality=quality)
    diarizer = chosen.diarizer
    if chosen.quality is not None:
        settings = replace(
            settings,
            step=chosen.quality.step if step is None else step,
            windows=chosen.quality.windows,
        )
    build = partial(
        build_method,
        method,
        diarizer.clustering_backend(method),
        options=MethodOptions(k=k, threshold=threshold),
        seed=seed,
    )
    estimator = build(
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    context = RunContext.of(
        workers=workers,
        progress=progress,
        allow_commands=allow_commands,
        max_memory=max_memory,
    )
    enrolment = Enrolment()
    if files:
        # The number of speakers applies to the recordings, not to enrolment files.
        voices = diarize_all(
            [file.recording for file in files],
            diarizer,
            build(),
            replace(settings, channel=None),
            context=context,
        )
        enrolment = enrolled_voices(files, voices, diarizer.comparison)
    problems: list[Problem] | None = None if strict or is_single(source) else []
    results = diarize_all(
        recordings,
        diarizer,
        estimator,
        settings,
        uem=regions,
        problems=problems,
        context=context,
    )
    naming = None
    if link or files:
        results, naming = identify(results, diarizer.comparison, enrolment, rules)
    options = {
        "method": method,
        "model": diarizer.name,
        "k": k,
        "threshold": threshold,
        "num_speakers": num_speakers,
        "min_speakers": min_speakers,
        "max_speakers": max_speakers,
        "vad": vad,
        "quality": None if chosen.quality is None else chosen.quality.name,
        **diarizer.options(settings),
        "channel": channel,
        "crosstalk": None if crosstalk == "keep" else crosstalk,
        "min_turn": min_turn,
        "max_gap": max_gap,
        "exclusive": exclusive or None,
        "seed": seed,
    }
    return Diarization(
        method,
        tuple(results),
        tuple(problems or ()),
        diarizer.name,
        chosen.note,
        naming,
        {name: value for name, value in options.items() if value is not None},
    )


def diarize_all(
    recordings: Sequence[Recording | GivenRecording],
    diarizer: Diarizer,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    problems: list[Problem] | None = None,
    context: RunContext | None = None,
) -> list[DiarizedRecording]:
    """Diarize each recording separately.

    `problems` receives the errors of recordings that are missing from the result;
    without it the first error is raised. Several recordings are distributed over
    processes, or over a cluster.
    """
    context = context or RunContext()
    n = len(recordings)
    attempt = partial(_attempt, diarizer, estimator, settings, uem)
    if n == 1 and _scheduler.current() is None:
        # One progress bar per part, never nested ones.
        return _results(map(partial(attempt, context), recordings), problems)
    with context.progress.track("recordings", n) as advance:
        outcomes = process_map(
            partial(attempt, context.for_one_of(n)), recordings, workers=context.workers
        )
        return _results(counted(outcomes, advance), problems)


def diarize_recording(
    recording: Recording | GivenRecording,
    diarizer: Diarizer,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    context: RunContext | None = None,
) -> DiarizedRecording:
    """Diarize one recording and tidy its turns; its segments are ignored.

    `estimator` clusters the vectors with its own back end. Speech outside the regions
    of `uem` is ignored.
    """
    settings, context = settings or DiarizeSettings(), context or RunContext()
    by_channel = settings.channel == EACH
    if by_channel:
        result = diarize_channels(recording, diarizer, settings, uem, context)
    else:
        result = diarizer.diarize(recording, estimator, settings, uem, context)
    # After the voice prints, because a bridged pause has no voice.
    turns = tidy_turns(
        result.turns, min_turn=settings.min_turn, max_gap=settings.max_gap
    )
    result = replace(result, turns=tuple(turns))
    if not by_channel:  # otherwise named after the channels
        speakers = list(dict.fromkeys(turn.speaker for turn in turns))
        names = dict(zip(speakers, name_speakers(speakers), strict=True))
        result = result.renamed(names)
    if not settings.exclusive:
        return result
    alone = exclusive_turns(result.turns)
    heard = {turn.speaker for turn in alone}
    voices = tuple(voice for voice in result.voices if voice.speaker in heard)
    return replace(result, turns=tuple(alone), voices=voices)


Outcome: TypeAlias = DiarizedRecording | Exception


def _attempt(
    diarizer: Diarizer,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None,
    uem: Uem | None,
    context: RunContext,
    recording: Recording | GivenRecording,
) -> tuple[str, Outcome]:
    """Return the name of a recording, and its result or error."""
    try:
        return recording.id, diarize_recording(
            recording, diarizer, estimator, settings, uem=uem, context=context
        )
    except Exception as error:  # noqa: BLE001 - others go on
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


def diarize_channels(
    recording: Recording | GivenRecording,
    diarizer: Diarizer,
    settings: DiarizeSettings,
    uem: Uem | None,
    context: RunContext,
) -> DiarizedRecording:
    """Detect the speech in each channel; nothing is clustered."""
    turns: list[Turn] = []
    notes: list[Problem] = []
    voices: list[VoicePrint] = []
    place, rate = place_of(recording), diarizer.rate
    bounds = None if uem is None else uem_bounds(uem, recording.id)
    with open_channels(recording, allow_commands=context.allow_commands) as channels:
        check_rate(channels[0].rate, rate, place, upsample=diarizer.upsamples)
        leaked = find_crosstalk(channels)
        for number, channel in enumerate(channels, start=1):
            with MonoAudio([channel], rate, progress=context.progress) as audio:
                duration = audio.duration
                check_length(duration, SHORTEST, place)
                speech = diarizer.speech(audio, recording.id, settings, context)
                if bounds is not None:
                    speech = within(speech, bounds)
                remaining, share = without_crosstalk(speech, leaked[number - 1])
                if settings.crosstalk == "remove":
                    speech = remaining
                elif share >= STRONG_SHARE:
                    notes.append(_crosstalk_note(recording.id, number, share))
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
        duration, seconds, summary, tuple(turns), tuple(notes), tuple(voices)
    )


def _crosstalk_note(recording: str, number: int, share: float) -> Problem:
    text = (
        f"channel {number}: {100 * share:.0f} % of the speech is probably cross-talk, "
        f"faint speech of another channel; set crosstalk to 'remove' to remove it"
    )
    return Problem(text, recording=recording, severity="note", kind="crosstalk")


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
    states = states_of(made.vectors, diarizer.backend)
    return voice_prints(spoken, [windows[name] for name in made.ids], states)
