"""Data structures of a conversation assembled from existing speech.

A conversation is planned before any audio is read: turns follow each other after pauses
or overlap, and each turn is filled with passages of its speaker. The plan depends only
on the settings and on a random generator.

All times are multiples of a *grain*, the shortest time that is both a whole number of
samples and a whole number of milliseconds (1 ms at 8 and 16 kHz, 10 ms at 44.1 kHz). So
the reference in milliseconds is exact to the sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment, Turn

DOMINANCE = ("even", "uneven", "zipf")
"""Distribution of talk: equal, weights drawn from [0.2, 1], or 1, 1/2, 1/3, ..."""

MOST_OVERLAP = 0.9


@dataclass(frozen=True, slots=True)
class Passage:
    """Speech that a conversation may use.

    `id` and `recording` are those of the source segment. `first` is the first sample in
    the recording, at the rate of the conversation; `length` is in grains.
    """

    id: str
    recording: str
    first: int
    length: int


class Stretch(NamedTuple):
    """Part of a passage, in grains from its start.

    `is_repeated` is True if all speech of the speaker had already been used.
    """

    passage: Passage
    offset: int
    length: int
    is_repeated: bool


class Supply:
    """Passages of a speaker in random order; all are used before any is repeated.

    Passages are cut into pieces of at least `shortest` grains. The order is drawn again
    when all passages are used.
    """

    def __init__(
        self, passages: Sequence[Passage], shortest: int, rng: np.random.Generator
    ) -> None:
        self._passages = passages
        self._shortest = shortest
        self._rng = rng
        self._waiting: list[Passage] = []
        self._offset = 0  # start of the unused part of the next passage
        self._rounds = 0

    def take(self, most: float, count: int | None = None) -> list[Stretch]:
        """Take the next passages: at most `count`, and at most `most` grains in all.

        The last passage is cut there unless one of the two pieces would be shorter than
        `shortest`.
        """
        stretches: list[Stretch] = []
        missing = most
        while missing > 0 and (count is None or len(stretches) < count):
            if stretches and missing < self._shortest:
                break
            if not self._waiting:
                self._shuffle()
            passage, offset = self._waiting[-1], self._offset
            remaining = passage.length - offset
            if remaining - missing < self._shortest:
                length, self._offset = remaining, 0
                self._waiting.pop()
            else:
                length = int(missing)
                self._offset += length
            stretches.append(Stretch(passage, offset, length, self._rounds > 1))
            missing -= length
        return stretches

    def _shuffle(self) -> None:
        order = self._rng.permutation(len(self._passages))
        self._waiting = [self._passages[index] for index in order]
        self._rounds += 1


@dataclass(frozen=True)
class TurnTaking:
    """Turn-taking settings, with times in seconds.

    Turns last `turn_mean` seconds on average and at least `turn_min`; the excess is
    exponentially distributed. Passages are cut to that length, but never into pieces
    shorter than `turn_min`. If `turn_segments` is given, the number of whole passages
    per turn is drawn from that range instead, and passages are only cut at the end of
    the conversation. Pauses between turns are exponentially distributed with mean
    `pause_mean`. `overlap` is the ratio of overlapped speech to all speech, 0 to 0.9,
    and `dominance` the distribution of talk among the speakers, one of `DOMINANCE`.
    """

    turn_mean: float = 4.0
    turn_min: float = 1.0
    turn_segments: tuple[int, int] | None = None
    pause_mean: float = 0.5
    overlap: float = 0.0
    dominance: str = "even"

    def __post_init__(self) -> None:
        check_positive("simulate", "turn_min", self.turn_min)
        check_positive("simulate", "turn_mean", self.turn_mean)
        if self.turn_mean < self.turn_min:
            raise InvalidParameterError(
                f"must be at least turn_min ({self.turn_min:g} s), got "
                f"{self.turn_mean!r}",
                owner="simulate",
                parameter="turn_mean",
                mentions=("turn_min",),
            )
        if self.turn_segments is not None:
            minimum, maximum = self.turn_segments
            check_count("simulate", "turn_segments", minimum)
            check_count("simulate", "turn_segments", maximum, least=minimum)
        check_not_negative("simulate", "pause_mean", self.pause_mean)
        if not is_real(self.overlap) or not 0.0 <= self.overlap <= MOST_OVERLAP:
            problem = f"must be a number in [0, {MOST_OVERLAP}], got {self.overlap!r}"
            raise InvalidParameterError(problem, owner="simulate", parameter="overlap")
        check_choice("simulate", "dominance", self.dominance, DOMINANCE)


@dataclass(frozen=True, slots=True)
class Placement:
    """Part of a passage with its position in the conversation, in grains.

    `offset` and `length` are within the passage, `start` is in the conversation.
    `is_repeated` is True if all passages of the speaker had already been used.
    """

    speaker: str
    passage: Passage
    offset: int
    length: int
    start: int
    is_repeated: bool

    @property
    def end(self) -> int:
        """End in the conversation, in grains."""
        return self.start + self.length


@dataclass(frozen=True)
class Conversation:
    """Plan of a conversation.

    `length` is in grains of `grain_ms` milliseconds, `placements` are sorted by start,
    and `shares` are the target shares of the talk by speaker.
    """

    recording: str
    length: int
    grain_ms: int
    placements: tuple[Placement, ...]
    shares: Mapping[str, float]

    def seconds(self, grains: int) -> float:
        """Convert grains to seconds with at most three decimals."""
        return grains * self.grain_ms / 1000

    def segment(self, start: int, end: int) -> Segment:
        """Return a segment of the conversation, given in grains."""
        return Segment(self.recording, self.seconds(start), self.seconds(end))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Reference turns; touching speech of one speaker is one turn."""
        joined: list[tuple[int, int, str]] = []
        lasting: dict[str, tuple[int, int]] = {}
        for placement in self.placements:
            start, end = lasting.get(
                placement.speaker, (placement.start, placement.start)
            )
            if placement.start > end:
                joined.append((start, end, placement.speaker))
                start = placement.start
            lasting[placement.speaker] = start, placement.end
        joined += [(*times, speaker) for speaker, times in lasting.items()]
        return tuple(
            Turn(self.segment(start, end), speaker)
            for start, end, speaker in sorted(joined)
        )

    @property
    def talk(self) -> dict[str, float]:
        """Total speaking time of each speaker in seconds."""
        grains = dict.fromkeys(self.shares, 0)
        for placement in self.placements:
            grains[placement.speaker] += placement.length
        return {speaker: self.seconds(length) for speaker, length in grains.items()}

    @property
    def speech(self) -> float:
        """Seconds with at least one active speaker."""
        return self.seconds(self._covered()[0])

    @property
    def overlapped(self) -> float:
        """Seconds with two active speakers."""
        return self.seconds(self._covered()[1])

    @property
    def repeated(self) -> float:
        """Seconds of speech that occurred earlier in this conversation."""
        return self.seconds(sum(p.length for p in self.placements if p.is_repeated))

    def _covered(self) -> tuple[int, int]:
        """Return the number of grains with at least one and at least two speakers."""
        changes = sorted(
            [(p.start, 1) for p in self.placements]
            + [(p.end, -1) for p in self.placements]
        )
        single = double = active = before = 0
        for time, change in changes:
            single += (time - before) * (active >= 1)
            double += (time - before) * (active >= 2)
            before, active = time, active + change
        return single, double


def grain_of(rate: int) -> tuple[int, int]:
    """Return the length of a grain in samples and in milliseconds.

    Examples
    --------
    >>> grain_of(8000), grain_of(44100)
    ((8, 1), (441, 10))
    """
    common = math.gcd(rate, 1000)
    return rate // common, 1000 // common
