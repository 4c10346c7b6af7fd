"""Simulated conversations with a reference: ``sms-diar simulate``.

Each conversation is planned (`sms_diar.synthetic.conversation`). Its speech is then
read, scaled, reverberated, mixed and sent through a channel, block by block. Speakers,
turns, levels, room and noise have separate random streams in each conversation, so that
the same conversation can be made with and without noise or a room, and does not depend
on the number of conversations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar._files import replacing_folder
from sms_diar._progress import Progress, Silence
from sms_diar._random import named_generator
from sms_diar._validation import check_choice, check_count, check_path, check_positive
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.vad import METHODS, VadConfig
from sms_diar.io.audio.files import AUDIO_FORMATS, write_audio
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.simulate.passages import AudioShelf, SpeakerPassages, open_noises
from sms_diar.pipeline.simulate.result import (
    Participant,
    SimulatedRecording,
    Simulation,
    audio_path_of,
    notes_on,
    write_simulated_tables,
)
from sms_diar.synthetic.acoustics import (
    BAND_HZ,
    NOISES,
    Acoustics,
    Channel,
    Noise,
    PinkNoise,
    RecordedNoise,
    Scene,
    WhiteNoise,
    draw_scene,
)
from sms_diar.synthetic.conversation import TurnTaking, plan_conversation
from sms_diar.synthetic.rendering import BLOCK, Rendering, SpokenEnergy, mix

TELEPHONE_RATE = 8000
_LOWEST_RATE = 1000


@dataclass(frozen=True)
class SimulateSettings:
    """Settings of a simulation; see `sms_diar.pipeline.simulate.api.simulate`."""

    speakers: int = 2
    duration: float = 120.0
    conversations: int = 1
    style: TurnTaking = field(default_factory=TurnTaking)
    acoustics: Acoustics = field(default_factory=Acoustics)
    noise: str | Path | DataDir = "white"
    rate: int | None = None
    format: str = "wav"
    prefix: str = "sim"
    vad: str = "energy"
    channel: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("speakers", "conversations"):
            check_count("simulate", name, getattr(self, name))
        check_count("simulate", "seed", self.seed, least=0)
        check_positive("simulate", "duration", self.duration)
        check_choice("simulate", "format", self.format, AUDIO_FORMATS)
        check_choice("simulate", "vad", self.vad, METHODS)
        if self.style.overlap and self.speakers == 1:
            problem = f"must be 0 for one speaker, got {self.style.overlap!r}"
            raise InvalidParameterError(problem, owner="simulate", parameter="overlap")
        if self.noise != "white" and self.acoustics.snr is None:
            raise InvalidParameterError(
                f"needs an snr, got noise {str(self.noise)!r} without; set the "
                f"signal-to-noise ratio, such as snr=20",
                owner="simulate",
                parameter="noise",
                mentions=("snr=20",),
            )
        if not re.fullmatch(r"[\w.+-]+", self.prefix):
            problem = f"must be letters, digits and any of '_.+-', got {self.prefix!r}"
            raise InvalidParameterError(problem, owner="simulate", parameter="prefix")
        if self.rate is not None:
            check_count("simulate", "rate", self.rate, least=_LOWEST_RATE)
            if self.acoustics.telephone and self.rate <= 2 * BAND_HZ[1]:
                problem = (
                    f"must be more than {2 * BAND_HZ[1]:g} for a telephone's band, "
                    f"got {self.rate}; omit it"
                )
                raise InvalidParameterError(problem, owner="simulate", parameter="rate")

    @property
    def wanted_rate(self) -> int | None:
        """Sampling rate in Hz; None for the rate of the source."""
        if self.rate is None and self.acoustics.telephone:
            return TELEPHONE_RATE
        return self.rate

    @property
    def detector(self) -> VadConfig | None:
        """Speech detector for the segments, as in `diarize`; None for none."""
        if self.vad == "none":
            return None
        return VadConfig(self.vad, min_speech=0.2, min_pause=0.3, padding=0.05)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by the names of the options."""
        noise = self.noise.path if isinstance(self.noise, DataDir) else self.noise
        return {
            "speakers": self.speakers,
            "duration": float(self.duration),
            "conversations": self.conversations,
            **asdict(self.style),
            **asdict(self.acoustics),
            "noise": None if self.acoustics.snr is None else str(noise),
            "rate": self.wanted_rate,
            "format": self.format,
            "prefix": self.prefix,
            "vad": self.vad,
            "channel": self.channel,
            "seed": self.seed,
        }


def simulate(
    data: str | Path | DataDir,
    output: str | Path,
    *,
    speakers: int = 2,
    duration: float = 120.0,
    conversations: int = 1,
    turn_mean: float | None = None,
    turn_min: float | None = None,
    turn_segments: tuple[int, int] | None = None,
    pause_mean: float = 0.5,
    overlap: float = 0.0,
    dominance: str = "even",
    level: float | None = None,
    level_spread: float = 0.0,
    rt60: float | None = None,
    snr: float | None = None,
    noise: str | Path | DataDir = "white",
    telephone: bool = False,
    rate: int | None = None,
    format: str = "wav",
    prefix: str = "sim",
    vad: str = "energy",
    channel: int | None = None,
    seed: int = 0,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate conversations with the speech of a data directory.

    Parameters
    ----------
    data : path or DataDir
        Kaldi data directory with `wav.scp`, `utt2spk` and optionally `segments`.
    output : path
        New or empty folder. It becomes a data directory: audio, `wav.scp`,
        `segments` and `utt2spk` of the speech that was used, `source_segments` (where
        that was in the source), `reco2dur`, `reco2num_spk`, the reference `ref.rttm`,
        and `simulation.json` with all settings.
    speakers : int, default=2
        Number of speakers in each conversation, drawn from the speakers of `data`.
    duration : float, default=120.0
        Duration of each conversation in seconds.
    conversations : int, default=1
        Number of conversations.
    turn_mean, turn_min : float, default=4.0 and 1.0
        Mean and minimum duration of turns in seconds. The part above the minimum is
        exponentially distributed. Segments are concatenated and cut to this length.
    turn_segments : (int, int), optional
        Minimum and maximum number of whole segments per turn, instead of a duration.
    pause_mean : float, default=0.5
        Mean pause between turns in seconds; pauses are exponentially distributed.
    overlap : float, default=0.0
        Share of overlapped speech in all speech, 0 to 0.9.
    dominance : {"even", "uneven", "zipf"}, default="even"
        Shares of the speakers: equal, random weights in [0.2, 1], or 1, 1/2, 1/3.
    level : float, optional
        Level of the speech of each speaker, in dB relative to full scale; by default
        the level of the source. A room roughly preserves it, a telephone band does
        not.
    level_spread : float, default=0.0
        Standard deviation of the level over speakers, in dB.
    rt60 : float, optional
        Reverberation time in seconds; speakers are at random distances of 0.5 to
        3 m. No room by default.
    snr : float, optional
        Signal-to-noise ratio in dB, before the telephone channel; no noise by
        default.
    noise : {"white", "pink"}, path or DataDir, default="white"
        Type of noise, or a data directory with recordings of noise.
    telephone : bool, default=False
        Apply a band-pass of 300 to 3400 Hz and mu-law coding.
    rate : int, optional
        Sampling rate in Hz; by default as the source, or 8000 with `telephone`.
    format : {"wav", "flac"}, default="wav"
        Format of the 16-bit audio files.
    prefix : str, default="sim"
        Prefix of the names of recordings, followed by a number.
    vad : {"energy", "neural", "none"}, default="energy"
        Speech detector for the segments; pauses of 0.3 s or more are removed. With
        "none" pauses count as speech in the reference; in read speech they are a
        fifth of the time.
    channel : int, optional
        Channel of recordings that have several, counted from 1.
    seed : int, default=0
        Random seed; equal seeds give identical files.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    Simulation
        Result of the simulation. Speech of a speaker is repeated in a conversation
        only after all of it was used; the `notes` of the result report this.
    """
    settings = SimulateSettings(
        speakers=speakers,
        duration=duration,
        conversations=conversations,
        style=_style(
            turn_mean, turn_min, turn_segments, pause_mean, overlap, dominance
        ),
        acoustics=Acoustics(level, level_spread, rt60, snr, telephone),
        noise=noise,
        rate=rate,
        format=format,
        prefix=prefix,
        vad=vad,
        channel=channel,
        seed=seed,
    )
    context = RunContext.of(progress=progress, allow_commands=allow_commands)
    folder = _checked_output(output)
    with ExitStack() as stack:
        maker = _Maker(data, settings, context, stack)
        # The folder appears only when it is complete.
        inside = stack.enter_context(replacing_folder(folder))
        # One progress bar: over conversations, or over the blocks of a single one.
        bars: tuple[Progress, Progress] = (context.progress, Silence())
        outer, inner = bars if conversations > 1 else bars[::-1]
        made = []
        with outer.track("conversations", conversations) as advance:
            for number in range(conversations):
                made.append(maker.make(number, inside, inner))
                advance()
        recordings = tuple(made)
        notes = [*maker.notes, *notes_on(recordings, settings.style.overlap)]
        result = Simulation(folder, maker.settings_used, recordings, tuple(notes))
        write_simulated_tables(inside, result, maker.source)
    return result


def _style(
    turn_mean: float | None,
    turn_min: float | None,
    turn_segments: tuple[int, int] | None,
    pause_mean: float,
    overlap: float,
    dominance: str,
) -> TurnTaking:
    lengths = {"turn_mean": turn_mean, "turn_min": turn_min}
    durations = {name: value for name, value in lengths.items() if value is not None}
    if durations and turn_segments is not None:
        raise InvalidParameterError(
            f"cannot be combined with {', '.join(durations)}; turns have a length in "
            f"seconds or in segments",
            owner="simulate",
            parameter="turn_segments",
            mentions=tuple(durations),
        )
    return TurnTaking(
        turn_segments=turn_segments,
        pause_mean=pause_mean,
        overlap=overlap,
        dominance=dominance,
        **durations,
    )


def _checked_output(output: str | Path) -> Path:
    check_path("simulate", "output", output)
    folder = Path(output)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = f"must be a new or empty folder, got {folder}"
        raise InvalidParameterError(problem, owner="simulate", parameter="output")
    return folder


class _Maker:
    """Makes conversations one after another, each with its own random streams."""

    def __init__(
        self,
        data: str | Path | DataDir,
        settings: SimulateSettings,
        context: RunContext,
        stack: ExitStack,
    ) -> None:
        self._settings = settings
        self.source = stack.enter_context(
            SpeakerPassages(
                data,
                context,
                rate=settings.wanted_rate,
                channel=settings.channel,
                vad=settings.detector,
            )
        )
        n_available = len(self.source.speakers)
        if settings.speakers > n_available:
            problem = (
                f"must be at most the {n_available} of {self.source.data.path}, got "
                f"{settings.speakers}"
            )
            raise InvalidParameterError(problem, owner="simulate", parameter="speakers")
        self._noises: AudioShelf | None = None
        if settings.acoustics.snr is not None and settings.noise not in NOISES:
            self._noises = stack.enter_context(
                open_noises(settings.noise, context, rate=self.source.rate)
            )

    @property
    def settings_used(self) -> dict[str, object]:
        """Settings, including values chosen by default."""
        used = {"data": str(self.source.data.path), **self._settings.to_dict()}
        return {**used, "rate": self.source.rate}

    @property
    def notes(self) -> list[str]:
        """Notes for the user about the source."""
        low, high = self.source.source_rate, self.source.rate
        notes = list(self.source.notes)
        if low < high:
            notes.append(
                f"{self.source.data.path}: resampled from {low} to {high} Hz; the "
                f"spectrum above {low / 2:g} Hz is empty"
            )
        if self._settings.detector is None:
            notes.append(
                f"{self.source.data.path}: pauses inside the segments count as speech "
                f"in the reference; the speech detector 'energy' cuts them out"
            )
        return notes

    def make(self, number: int, folder: Path, progress: Progress) -> SimulatedRecording:
        """Make a conversation and write its audio below `folder`."""
        settings, source = self._settings, self.source
        stream = partial(named_generator, settings.seed, "simulate", number)
        recording = f"{settings.prefix}-{number:04d}"
        chosen = stream("speakers").choice(
            source.speakers, size=settings.speakers, replace=False
        )
        plan = plan_conversation(
            {str(name): source.passages(str(name)) for name in chosen},
            settings.style,
            recording=recording,
            length=round(settings.duration * 1000 / source.grain_ms),
            grain_ms=source.grain_ms,
            rng=stream("turns"),
        )
        rendering = Rendering(plan, source.step, source.read)
        scene = self._scene(rendering, stream)
        channel = Channel(
            source.rate,
            noise=self._noise(stream("noise")),
            level=scene.noise,
            telephone=settings.acoustics.telephone,
        )
        path = audio_path_of(folder, recording, settings.format)
        path.parent.mkdir(exist_ok=True)
        write_audio(path, _samples(rendering, scene, channel, progress), source.rate)
        participants = tuple(
            Participant(
                name,
                plan.shares[name],
                float(20.0 * np.log10(scene.gains[name])),
                None if scene.distances is None else scene.distances[name],
            )
            for name in plan.shares
        )
        return SimulatedRecording(plan, participants, channel.n_clipped)

    def _scene(
        self, rendering: Rendering, stream: Callable[[str], np.random.Generator]
    ) -> Scene:
        speakers = list(rendering.conversation.shares)
        energies: dict[str, SpokenEnergy] = {}
        if self._settings.acoustics.depends_on_speech:
            energies = rendering.energies()
        for name, energy in energies.items():
            if not energy.squares:
                problem = f"speaker {name!r} is silent; remove the speaker"
                raise DataFormatError(problem, path=self.source.data.path)
        return draw_scene(
            speakers,
            self._settings.acoustics,
            energies,
            rate=self.source.rate,
            stream=stream,
        )

    def _noise(self, rng: np.random.Generator) -> Noise | None:
        if self._settings.acoustics.snr is None:
            return None
        if self._noises is not None:
            return RecordedNoise(self._noises.names, self._noises.open, rng)
        if self._settings.noise == "pink":
            return PinkNoise(rng, self.source.rate)
        return WhiteNoise(rng)


def _samples(
    rendering: Rendering, scene: Scene, channel: Channel, progress: Progress
) -> Iterator[npt.NDArray[np.int16]]:
    """Yield the samples of a conversation, block by block."""
    parts = rendering.parts(scene.gains, scene.responses)
    count = -(-rendering.n_samples // BLOCK)
    with progress.track("audio", count) as advance:
        for block in mix(parts, rendering.n_samples, block=BLOCK):
            yield channel.pass_on(block)
            advance()
