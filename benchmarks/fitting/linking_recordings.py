"""Recordings in which the speakers of a corpus recur, and no speech does.

The segments of each speaker are dealt out to as many parts as there are recordings of
one speaker. For each part all speakers of the corpus are shuffled and sent into
conversations of a few, so that somebody is met in every part, in other company, with
other words, and over another channel: clean, in a noisy room, or over a telephone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._files import write_text
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.pipeline.simulate.api import simulate
from sms_diar.types import AnyArray, Segment, Turn

CHANNELS: Mapping[str, Mapping[str, Any]] = {
    "clean": {},
    "room": {"rt60": 0.3, "snr": 20.0, "noise": "pink"},
    "telephone": {"telephone": True, "snr": 25.0},
}
"""Channels of the recordings, in turn."""

SECONDS = (24.0, 45.0, 75.0)
"""Possible durations of recordings."""


@dataclass(frozen=True)
class RecurringSpeakers:
    """Recordings and their references, with names that are valid in all."""

    paths: tuple[Path, ...]
    reference: tuple[Turn, ...]


def make_recordings(
    corpus: Path,
    target: Path,
    *,
    speakers: int = 3,
    parts: int = 3,
    kept: int = 0,
    overlap: float = 0.05,
    seed: int = 0,
) -> RecurringSpeakers:
    """Simulate recordings of a corpus, or return existing ones.

    Parameters
    ----------
    corpus : Path
        A data directory.
    target : Path
        Folder of the recordings.
    speakers : int, default=3
        Number of speakers per recording; the last one may have fewer, at least two.
    parts : int, default=3
        Recordings of each speaker.
    kept : int, default=0
        Further parts; what is in them is in no recording, see `enrolment_audio`.
    overlap : float, default=0.05
        Share of speech with two speakers.
    seed : int, default=0
        Seed of all draws.
    """
    rng = np.random.default_rng(seed)
    data = DataDir(corpus)
    dealt = _dealt(data, rng)
    paths: list[Path] = []
    turns: list[Turn] = []
    channels = list(CHANNELS)
    for part in range(parts):
        order = rng.permutation(sorted(dealt))
        for group in _groups(order.tolist(), speakers):
            number = len(paths)
            name = f"r{number:03d}"
            folder = target / name
            said = {
                u: who
                for who in group
                for u in dealt[who][part :: parts + kept].tolist()
            }
            seconds = float(rng.choice(SECONDS))
            channel = CHANNELS[channels[(number + part) % len(channels)]]
            if not (folder / "ref.rttm").is_file():
                simulate(
                    _excerpt(data, said, target / f"{name}-source"),
                    folder,
                    speakers=len(group),
                    duration=seconds,
                    overlap=overlap,
                    prefix=name,
                    vad="none",
                    seed=seed * 1000 + number,
                    **channel,
                )
            [path] = sorted(folder.rglob("*.wav"))
            paths.append(path)
            turns += [
                Turn(Segment(path.stem, t.segment.start, t.segment.end), t.speaker)
                for t in read_rttm(folder / "ref.rttm")
            ]
    return RecurringSpeakers(tuple(paths), tuple(turns))


def enrolment_audio(
    corpus: Path, target: Path, *, parts: int = 3, seconds: float = 12.0, seed: int = 0
) -> dict[str, Path]:
    """A recording of each speaker, of what `make_recordings` with one part kept left.

    Parameters
    ----------
    corpus, target, parts, seed
        As for the recordings.
    seconds : float, default=12.0
        Length of each.
    """
    data = DataDir(corpus)
    found = {}
    for who, said in _dealt(data, np.random.default_rng(seed)).items():
        folder = target / f"enrol-{who}"
        if not (folder / "ref.rttm").is_file():
            own = dict.fromkeys(said[parts :: parts + 1].tolist(), who)
            source = _excerpt(data, own, target / f"enrol-{who}-source")
            simulate(
                source, folder, speakers=1, duration=seconds, vad="none", seed=seed
            )
        [found[who]] = folder.rglob("*.wav")
    return found


def _dealt(data: DataDir, rng: np.random.Generator) -> dict[str, AnyArray]:
    """Return the shuffled segments of each speaker."""
    own: dict[str, list[str]] = {}
    for utterance, speaker in sorted(data.utt2spk.items()):
        own.setdefault(speaker, []).append(utterance)
    return {name: rng.permutation(said) for name, said in own.items()}


def _groups(names: list[str], size: int) -> list[list[str]]:
    found = [names[at : at + size] for at in range(0, len(names), size)]
    if len(found) > 1 and len(found[-1]) == 1:
        last = found.pop()
        found[-1] += last
    return found


def _excerpt(data: DataDir, said: Mapping[str, str], folder: Path) -> Path:
    """Write a data directory with some segments of another."""
    folder.mkdir(parents=True, exist_ok=True)
    segments = {name: data.segments[name] for name in said}
    used = sorted({segment.recording for segment in segments.values()})
    audio = {name: (data.path / data.audio[name].text).resolve() for name in used}
    tables = {
        "wav.scp": [f"{name} {path}" for name, path in audio.items()],
        "segments": [
            f"{name} {one.recording} {one.start:.6f} {one.end:.6f}"
            for name, one in sorted(segments.items())
        ],
        "utt2spk": [f"{name} {said[name]}" for name in sorted(said)],
    }
    for name, lines in tables.items():
        write_text(folder / name, "\n".join(lines) + "\n")
    return folder
