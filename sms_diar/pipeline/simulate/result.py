"""Simulated conversations: the result of ``simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sms_diar import __version__
from sms_diar._json import write_json
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi import tables
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.pipeline.simulate.passages import SpeakerPassages
from sms_diar.report.tables import Table
from sms_diar.synthetic.conversation import Conversation
from sms_diar.types import Segment, Turn

_MISSED = 0.05  # tolerance of the share of overlap


@dataclass(frozen=True)
class Participant:
    """Speaker of a conversation, with the planned share of the speech.

    The gain relative to the source is in dB. The distance to the microphone is in
    metres, or None without a room.
    """

    speaker: str
    share: float
    gain_db: float
    distance: float | None


@dataclass(frozen=True)
class SimulatedRecording:
    """One conversation: planned turns, speakers, and number of clipped samples."""

    plan: Conversation
    participants: tuple[Participant, ...]
    n_clipped: int

    @property
    def recording(self) -> str:
        """Its name."""
        return self.plan.recording

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.plan.seconds(self.plan.length)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The reference."""
        return self.plan.turns

    @property
    def overlap(self) -> float:
        """Share of overlapped speech in all speech."""
        return self.plan.overlapped / self.plan.speech

    @property
    def repeated(self) -> float:
        """Share of the speech that repeats earlier speech of the conversation."""
        return self.plan.repeated / sum(self.plan.talk.values())

    def sources(self) -> dict[str, list[str]]:
        """Ids of the source segments of each speaker."""
        used: dict[str, dict[str, None]] = {name: {} for name in self.plan.shares}
        for placement in self.plan.placements:
            used[placement.speaker][placement.passage.id] = None
        return {speaker: list(ids) for speaker, ids in used.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        talk, sources = self.plan.talk, self.sources()
        return {
            "recording": self.recording,
            "duration": self.duration,
            "turns": len(self.turns),
            "speech": self.plan.speech,
            "overlap": self.overlap,
            "repeated": self.repeated,
            "clipped": self.n_clipped,
            "speakers": [
                {
                    "speaker": item.speaker,
                    "share": item.share,
                    "talk": talk[item.speaker],
                    "gain_db": item.gain_db,
                    "distance": item.distance,
                    "sources": sources[item.speaker],
                }
                for item in self.participants
            ],
        }


@dataclass(frozen=True)
class Simulation:
    """Simulated conversations and all settings; ``print`` shows a table of them."""

    output: Path
    settings: Mapping[str, Any]
    recordings: tuple[SimulatedRecording, ...]
    notes: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Reference turns of all conversations."""
        return tuple(turn for recording in self.recordings for turn in recording.turns)

    def record(self) -> dict[str, Any]:
        """Return the contents of ``simulation.json``, without the folder."""
        return {
            "version": __version__,
            "settings": dict(self.settings),
            "notes": list(self.notes),
            "conversations": [recording.to_dict() for recording in self.recordings],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as printed by ``sms-diar simulate --json``."""
        return {"output": str(self.output), **self.record()}

    def __str__(self) -> str:
        heads = ("recording", "seconds", "speakers", "turns", "overlap", "repeated")
        rows = tuple(
            (
                recording.recording,
                f"{recording.duration:g}",
                str(len(recording.participants)),
                str(len(recording.turns)),
                f"{recording.overlap:.3f}",
                f"{recording.repeated:.3f}",
            )
            for recording in self.recordings
        )
        return Table(heads, rows).plain().rstrip()


def notes_on(recordings: tuple[SimulatedRecording, ...], overlap: float) -> list[str]:
    """List notes for the user about conversations.

    `overlap` is the requested share.
    """
    notes = []
    repeating = [one for one in recordings if one.plan.repeated]
    if repeating:
        worst = max(repeating, key=lambda one: one.repeated)
        notes.append(
            f"speech recurs in {len(repeating)} of {len(recordings)} conversations, up "
            f"to {worst.repeated:.0%} of the speech ({worst.recording}): their "
            f"speakers have no more speech; repeated speech adds no evidence"
        )
    missed = [one for one in recordings if abs(one.overlap - overlap) > _MISSED]
    if missed:
        notes.append(
            f"overlap is not near {overlap:g} in {len(missed)} of {len(recordings)} "
            f"conversations (first {missed[0].recording}: {missed[0].overlap:.3f}); "
            f"they are too short for it, or their speakers' shares too uneven"
        )
    clipped = sum(one.n_clipped for one in recordings)
    if clipped:
        notes.append(f"{clipped} samples were too loud and clipped; lower the level")
    return notes


AUDIO_FOLDER = "audio"


def audio_path_of(folder: Path, recording: str, format: str) -> Path:
    """Return the path of the audio of a conversation."""
    return folder / AUDIO_FOLDER / f"{recording}.{format}"


def write_simulated_tables(
    folder: Path, simulation: Simulation, source: SpeakerPassages
) -> None:
    """Write everything but the audio to the folder."""
    segments: dict[str, Segment] = {}
    origins: dict[str, Segment] = {}
    speakers: dict[str, str] = {}
    for recording in simulation.recordings:
        for number, placement in enumerate(recording.plan.placements):
            # Kaldi requires ids that sort like their speakers.
            name = f"{placement.speaker}-{recording.recording}-{number:05d}"
            segments[name] = recording.plan.segment(placement.start, placement.end)
            speakers[name] = placement.speaker
            first = placement.passage.first + placement.offset * source.step
            last = first + placement.length * source.step
            origins[name] = Segment(
                placement.passage.recording, first / source.rate, last / source.rate
            )
    format = str(simulation.settings["format"])
    tables.write_wav_scp(
        folder / "wav.scp",
        {
            recording.recording: AudioSource(
                str(audio_path_of(Path(), recording.recording, format))
            )
            for recording in simulation.recordings
        },
    )
    tables.write_segments(folder / "segments", segments)
    tables.write_segments(folder / "source_segments", origins)
    tables.write_utt2spk(folder / "utt2spk", speakers)
    tables.write_spk2utt(folder / "spk2utt", speakers)
    recordings = simulation.recordings
    tables.write_reco2dur(
        folder / "reco2dur",
        {recording.recording: recording.duration for recording in recordings},
    )
    tables.write_reco2num_spk(
        folder / "reco2num_spk",
        {recording.recording: len(recording.participants) for recording in recordings},
    )
    write_rttm(folder / "ref.rttm", simulation.turns)
    write_json(folder / "simulation.json", simulation.record())
