"""Conversations cut into windows: vectors in order of time, and who speaks in each.

The speaker of a window is the one whose turns overlap it longest; of a window that
nobody speaks in, the one who speaks nearest to its middle. Windows that overlap and
have one speaker are a stretch, which is what recordings are cut and spliced at.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.compare.vectors import STAND_IN, cosine_eer
from recipes._common.threads import one_thread
from sms_diar._random import named_generator
from sms_diar.io.embeddings.arrays import load_arrays
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray, IntArray, Segment, Turn

WINDOW, STEP = 1.5, 0.75  # seconds
LEAST_WINDOWS = 6  # of a recording; there is nothing to cluster in fewer

_STAND_IN_SPEAKERS = (1, 2, 3)
_STAND_IN_TURNS = 16


@dataclass(frozen=True, eq=False)
class Conversation:
    """Windows of one recording, in order of time.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Their vectors.
    segments : tuple of Segment
        Times of the windows.
    speakers : ndarray of shape (n,)
        Speakers of the windows.
    """

    X: FloatArray
    segments: tuple[Segment, ...]
    speakers: AnyArray

    @property
    def seconds(self) -> float:
        """Time from the first to the last window."""
        return self.segments[-1].end - self.segments[0].start

    def take(self, rows: npt.ArrayLike) -> Conversation:
        """Some of the windows, so that the first begins at 0."""
        chosen = np.asarray(rows, dtype=np.int64)
        start = self.segments[chosen[0]].start
        segments = tuple(moved(self.segments[row], -start) for row in chosen)
        return Conversation(self.X[chosen], segments, self.speakers[chosen])

    def stretches(self) -> Iterator[range]:
        """Rows of windows that overlap and have one speaker."""
        first = 0
        for row in range(1, len(self.segments) + 1):
            if (
                row == len(self.segments)
                or self.speakers[row] != self.speakers[row - 1]
                or self.segments[row].start >= self.segments[row - 1].end
            ):
                yield range(first, row)
                first = row


def moved(segment: Segment, by: float) -> Segment:
    """A segment of the same recording, later by some seconds."""
    start = max(0.0, segment.start + by)
    return Segment(segment.recording, start, start + segment.duration)


def speaker_of(window: Segment, turns: Sequence[Turn]) -> str:
    """Return the main speaker of a window, or the nearest speaker in silence."""
    middle = (window.start + window.end) / 2.0
    heard: dict[str, float] = {}
    for turn in turns:
        overlap = min(window.end, turn.segment.end) - max(
            window.start, turn.segment.start
        )
        if overlap > 0.0:
            heard[turn.speaker] = heard.get(turn.speaker, 0.0) + overlap
    if heard:
        return max(heard, key=lambda name: heard[name])

    def distance(turn: Turn) -> float:
        return max(turn.segment.start - middle, middle - turn.segment.end)

    return min(turns, key=distance).speaker


def load_conversations(source: Mapping[str, Any]) -> Mapping[str, Conversation]:
    """Conversations of a source by recording, read once per process.

    Parameters
    ----------
    source : mapping
        ``{"windows": npz of rec, start, end and x, "reference": RTTM}``, ``{"folder":
        of an npz of start, end, x and spk for each recording}``, or ``{"stand_in":
        {"world": fields of PldaWorld, "each": int, "seed": int}}``.
    """
    if "stand_in" in source:
        return draw_conversations(**source["stand_in"])
    if "folder" in source:
        return {path.stem: _known(path) for path in _files(source["folder"])}
    windows, reference = source["windows"], source["reference"]
    return _read(windows, reference, Path(windows).stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(windows: str, reference: str, _modified: int) -> Mapping[str, Conversation]:
    arrays = load_arrays(windows)
    turns: dict[str, list[Turn]] = {}
    for turn in read_rttm(reference):
        turns.setdefault(turn.segment.recording, []).append(turn)
    found = {}
    for name in map(str, np.unique(arrays["rec"])):
        rows = np.flatnonzero(arrays["rec"] == name)
        rows, segments = _in_time(name, arrays, rows)
        speakers = np.array([speaker_of(one, turns[name]) for one in segments])
        X = arrays["x"][rows].astype(np.float64)
        found[name] = Conversation(X, segments, speakers)
    return found


def _files(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.npz"))


def _known(path: Path) -> Conversation:
    """Read a recording whose file has the speaker of each window."""
    arrays = load_arrays(path)
    rows, segments = _in_time(path.stem, arrays, np.arange(len(arrays["x"])))
    X = arrays["x"][rows].astype(np.float64)
    speakers = np.array([f"{path.stem}-{name}" for name in arrays["spk"][rows]])
    return Conversation(X, segments, speakers)


def _in_time(
    name: str, arrays: Mapping[str, AnyArray], rows: IntArray
) -> tuple[IntArray, tuple[Segment, ...]]:
    """Sort rows by time, and return their segments."""
    rows = rows[np.lexsort((arrays["end"][rows], arrays["start"][rows]))]
    times = zip(arrays["start"][rows], arrays["end"][rows], strict=True)
    return rows, tuple(Segment(name, float(s), float(e)) for s, e in times)


def draw_conversations(
    *, world: Mapping[str, Any], each: int, seed: int
) -> Mapping[str, Conversation]:
    """Conversations of simulated speakers, for trials without a corpus.

    Parameters
    ----------
    world : mapping
        Fields of PldaWorld.
    each : int
        Conversations of each number of speakers.
    seed : int
        Random seed.
    """
    model = PldaWorld(**world).model
    found = {}
    for count in _STAND_IN_SPEAKERS:
        for number in range(each):
            name = f"c{count}_{number}"
            rng = named_generator(seed, "compare", STAND_IN, name)
            voices = np.sqrt(model.psi) * rng.standard_normal((count, len(model.psi)))
            found[name] = _converse(name, voices @ model.transform, rng)
    return found


def _converse(name: str, voices: FloatArray, rng: np.random.Generator) -> Conversation:
    """Turns of drawn length; windows that overlap share half of their noise."""
    X: list[FloatArray] = []
    segments, speakers = [], []
    clock = 0.0
    for turn in range(_STAND_IN_TURNS):
        speaker = turn % len(voices)
        size = int(rng.integers(3, 9))
        noise = rng.standard_normal((size + 1, voices.shape[1]))
        X.append(voices[speaker] + (noise[1:] + noise[:-1]) / np.sqrt(2.0))
        for _ in range(size):
            segments.append(Segment(name, clock, clock + WINDOW))
            clock += STEP
        speakers += [f"{name}-{speaker}"] * size
        clock += STEP + float(rng.uniform(0.1, 0.8))
    return Conversation(np.concatenate(X), tuple(segments), np.array(speakers))


@one_thread
def prepare_conversations(
    *, name: str, source: Mapping[str, Any], words: str
) -> dict[str, dict[str, Any]]:
    """Look into the conversations of a source; nothing is copied.

    Parameters
    ----------
    name : str
        Name of the source in conditions.
    source : mapping
        Location of the source; see `load_conversations`.
    words : str
        Description of the source.
    """
    every = load_conversations(source)
    kept = {key: one for key, one in every.items() if len(one.X) >= LEAST_WINDOWS}
    X = np.concatenate([one.X for one in kept.values()])
    speakers = np.concatenate([one.speakers for one in kept.values()])
    return {
        name: {
            **source,
            "backend": "",
            "speakers": len(np.unique(speakers)),
            "segments": len(X),
            "eer": cosine_eer(X, speakers),
            "words": f"{words}, no PLDA: cosine, fitted to the session",
            "recordings": {
                key: {
                    "seconds": one.seconds,
                    "speakers": len(np.unique(one.speakers)),
                }
                for key, one in kept.items()
            },
            "left_out": [key for key in every if key not in kept],
        }
    }
