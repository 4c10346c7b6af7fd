"""The tables of a data directory of simulated conversations."""

from __future__ import annotations

from pathlib import Path

from sms_diar._json import write_json
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi.tables import (
    write_reco2dur,
    write_reco2num_spk,
    write_segments,
    write_spk2utt,
    write_utt2spk,
    write_wav_scp,
)
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.pipeline.passages import SpeakerPassages
from sms_diar.pipeline.simulation import Simulation
from sms_diar.types import Segment

AUDIO_FOLDER = "audio"


def audio_path_of(folder: Path, recording: str, format: str) -> Path:
    """Where the audio of a conversation is."""
    return folder / AUDIO_FOLDER / f"{recording}.{format}"


def write_simulated_tables(
    folder: Path, simulation: Simulation, source: SpeakerPassages
) -> None:
    """Write everything but the audio.

    Parameters
    ----------
    folder : Path
        Where.
    simulation : Simulation
        What was made.
    source : SpeakerPassages
        What it was made of.
    """
    segments: dict[str, Segment] = {}
    origins: dict[str, Segment] = {}
    speakers: dict[str, str] = {}
    for one in simulation.recordings:
        for number, placement in enumerate(one.plan.placements):
            # Kaldi wants ids that sort as their speakers do.
            name = f"{placement.speaker}-{one.recording}-{number:05d}"
            segments[name] = one.plan.segment(placement.start, placement.end)
            speakers[name] = placement.speaker
            first = placement.passage.first + placement.offset * source.step
            last = first + placement.length * source.step
            origins[name] = Segment(
                placement.passage.recording, first / source.rate, last / source.rate
            )
    format = str(simulation.settings["format"])
    write_wav_scp(
        folder / "wav.scp",
        {
            one.recording: AudioSource(
                str(audio_path_of(Path(), one.recording, format))
            )
            for one in simulation.recordings
        },
    )
    write_segments(folder / "segments", segments)
    write_segments(folder / "source_segments", origins)
    write_utt2spk(folder / "utt2spk", speakers)
    write_spk2utt(folder / "spk2utt", speakers)
    recordings = simulation.recordings
    write_reco2dur(
        folder / "reco2dur", {one.recording: one.duration for one in recordings}
    )
    write_reco2num_spk(
        folder / "reco2num_spk",
        {one.recording: len(one.participants) for one in recordings},
    )
    write_rttm(folder / "ref.rttm", simulation.turns)
    write_json(folder / "simulation.json", simulation.record())
