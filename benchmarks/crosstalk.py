"""Measure how much cross-talk is removed from simulated calls, and at what price.

Two speakers of a data directory talk in turns, each on a channel that also has the
other one, filtered and fainter. For both channels it prints the share of leaked speech
that is found, and the share of the speaker's own speech that is taken for leaked::

    python -m benchmarks.crosstalk ../shared/data/libri251-8k ../shared/data/arabic8k
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter

from sms_diar.features.crosstalk import leaked_frames
from sms_diar.features.vad import (
    GRID,
    VadConfig,
    detect_speech,
    log_energies,
    speech_band,
    speech_mask,
)
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.types import BoolArray, FloatArray

RATE = 8000
SECONDS = 300
LEVEL = 10 ** (-26 / 20)  # root mean square of speech
VAD = VadConfig(speech_band=True, min_speech=0.2, min_pause=0.3, padding=0.05)


@dataclass(frozen=True)
class Condition:
    """Levels in dB of both channels, share of early turns, and random seeds."""

    name: str
    seeds: Sequence[int]
    gains: tuple[float, float]
    noise: tuple[float, float]
    early: float
    delays: Sequence[tuple[float, float]] = ((0.0, 0.0),)  # seconds


CONDITIONS = (
    Condition("usual", range(3), (0, -8), (-72, -66), 0.3, ((0, 0), (0.04, 0.12))),
    Condition(
        "noise, overlap", (10, 11), (0, 0), (-60, -60), 0.9, ((0, 0), (0.04, 0.12))
    ),
    Condition("other gains", (20, 21), (-6, 6), (-80, -70), 0.3),
)


def read_phrases(folder: Path) -> list[list[FloatArray]]:
    """Read the segments of each speaker of a data directory."""
    data = DataDir(folder)
    phrases: dict[str, list[FloatArray]] = defaultdict(list)
    for name, segment in data.segments.items():
        path = folder / data.audio[segment.recording].text
        with AudioFile(path) as audio:
            first, last = (int(t * RATE) for t in (segment.start, segment.end))
            phrases[data.utt2spk[name]].append(
                audio.read(first, min(last, audio.n_samples))
            )
    return list(phrases.values())


def converse(
    phrases: list[list[FloatArray]], rng: np.random.Generator, early: float
) -> FloatArray:
    """Return the samples of two speakers, shape (2, n)."""
    pair = rng.choice(len(phrases), 2, replace=False)
    sides = np.zeros((2, SECONDS * RATE))
    at, who = RATE, 0
    while True:
        choices = phrases[pair[who]]
        rows = rng.integers(0, len(choices), rng.integers(1, 4))
        turn = np.concatenate([choices[row] for row in rows])
        if at + len(turn) > sides.shape[1]:
            return sides / np.sqrt((sides[sides != 0.0] ** 2).mean()) * LEVEL
        sides[who, at : at + len(turn)] += turn
        is_early = rng.random() <= early
        pause = -rng.uniform(0.3, 1.5) if is_early else rng.uniform(0.1, 1.0)
        at, who = max(at + len(turn) + int(pause * RATE), 0), 1 - who


def record(
    sides: FloatArray,
    leak: float | None,
    delay: tuple[float, float],
    condition: Condition,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Return two channels with noise and, at `leak` dB, the other side."""
    channels = []
    for channel, side in enumerate(sides):
        other = sides[1 - channel]
        late = np.concatenate((np.zeros(int(delay[channel] * RATE)), other))
        echo = lfilter([1.0, -0.5], [1.0, -0.3], late[: len(other)])
        echo *= np.sqrt((other**2).sum() / (echo**2).sum())
        echo *= 0.0 if leak is None else 10 ** (leak / 20)
        noise = 10 ** (condition.noise[channel] / 20) * rng.normal(size=len(side))
        mixed = 10 ** (condition.gains[channel] / 20) * (side + echo) + noise
        channels.append(np.round(32768 * mixed) / 32768)
    return channels


def is_spoken(side: FloatArray) -> BoolArray:
    """Mark the frames within 30 dB of the loudest ones."""
    energies = uniform_filter1d(log_energies([side], RATE), 5, mode="nearest")
    loud = np.percentile(energies[energies > 1.0], 95)
    return np.asarray(energies > loud - 3.0 * np.log(10.0))


def measure(
    phrases: list[list[FloatArray]],
    condition: Condition,
    delay: tuple[float, float],
    leak: float | None,
) -> FloatArray:
    """Count frames of both channels, shape (2, 6): three kinds, all and removed."""
    counts = np.zeros((2, 6))
    for seed in condition.seeds:
        rng = np.random.default_rng(seed)
        sides = converse(phrases, rng, condition.early)
        channels = record(sides, leak, delay, condition, rng)
        energies = [log_energies(speech_band([c], RATE), RATE) for c in channels]
        spoken = [is_spoken(side) for side in sides]
        for c, samples in enumerate(channels):
            n = len(energies[c])
            speech = speech_mask(detect_speech([samples], VAD, rate=RATE), n, GRID, 0.0)
            removed = leaked_frames(energies[c], energies[1 - c])
            shift = round(delay[c] / GRID.shift)
            other = np.concatenate((np.zeros(shift, bool), spoken[1 - c]))[:n]
            for column, mask in enumerate(
                (
                    speech & other & ~spoken[c],
                    speech & spoken[c],
                    speech & spoken[c] & ~other,
                )
            ):
                counts[c, 2 * column :][:2] += mask.sum(), (mask & removed).sum()
    return counts


def main() -> None:
    """Print a table for each data directory."""
    for folder in map(Path, sys.argv[1:]):
        phrases = read_phrases(folder)
        print(f"\n{folder.name}: % of channels 1 and 2")
        print(
            "| condition | delay | leak | leaked, removed | own, lost | alone, lost |"
        )
        print("|---|---|---|---|---|---|")
        for condition in CONDITIONS:
            for delay in condition.delays:
                for leak in (None, -10.0, -20.0, -30.0):
                    counts = measure(phrases, condition, delay, leak)
                    shares = 100.0 * counts[:, 1::2] / np.maximum(counts[:, ::2], 1.0)
                    cells = (f"{a:.1f} {b:.1f}" for a, b in shares.T)
                    label = "none" if leak is None else f"{leak:g} dB"
                    words = (condition.name, f"{max(delay):g} s", label, *cells)
                    print("| " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
