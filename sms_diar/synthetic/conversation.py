"""Planning of a conversation that is assembled from existing speech.

A conversation is planned before any audio is read: turns follow each other after pauses
or overlap, and each turn is filled with passages of its speaker. The plan depends only
on the settings and on a random generator.

All times are multiples of a *grain*, the shortest time that is both a whole number of
samples and a whole number of milliseconds (1 ms at 8 and 16 kHz, 10 ms at 44.1 kHz). So
the reference in milliseconds is exact to the sample.

Turns are drawn at random. Three quantities are controlled during the draw, so that each
conversation, not only an infinitely long one, has the requested properties:

- *Overlap.* The missing overlap grows with the speech. As soon as it exceeds a random
  threshold, the next turn begins before the last one ends, early enough to make up for
  it. At most two speakers talk at a time.
- *Shares.* A speaker's credit is the talk due so far, plus an advance, minus the talk
  so far. The next speaker is drawn in proportion to the credit, and differs from the
  current one as long as others have credit.
- *Presence.* When the remaining time is just enough for the speakers that have not
  spoken, it is reserved for them.
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
from sms_diar.types import FloatArray, Segment, Turn

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

    >>> grain_of(8000), grain_of(44100)
    ((8, 1), (441, 10))
    """
    common = math.gcd(rate, 1000)
    return rate // common, 1000 // common


_LEAST_WEIGHT = 0.2  # minimum weight of an uneven speaker; the maximum is 1
_ADVANCE = 2.0  # advance credit of each speaker, in turns
_PATIENCE = 0.25  # mean missing overlap that is tolerated, in turns


def plan_conversation(
    passages: Mapping[str, Sequence[Passage]],
    style: TurnTaking,
    *,
    recording: str,
    length: int,
    grain_ms: int,
    rng: np.random.Generator,
) -> Conversation:
    """Draw the plan of a conversation in which all speakers take part.

    `passages` are the available ones of each speaker, and `length` is in grains of
    `grain_ms` milliseconds.
    """
    planner = _Planner(passages, style, length, grain_ms, rng)
    if length < len(passages) * planner.shortest:
        needed = len(passages) * planner.shortest * grain_ms / 1000
        raise InvalidParameterError(
            f"must let each of {len(passages)} speakers have a turn ({needed:g} s), "
            f"got {length * grain_ms / 1000:g} s; raise it, or lower turn_min or "
            f"speakers",
            owner="simulate",
            parameter="duration",
            mentions=("turn_min",),
        )
    planner.run()
    return Conversation(
        recording,
        length,
        grain_ms,
        tuple(sorted(planner.placements, key=lambda placement: placement.start)),
        planner.shares,
    )


def draw_shares(
    speakers: Sequence[str], dominance: str, rng: np.random.Generator
) -> dict[str, float]:
    """Draw the target share of talk of each speaker, in decreasing order.

    The weights are 1 for ``"even"``, 1, 1/2, 1/3 and so on for ``"zipf"``, and drawn
    uniformly from [0.2, 1] for ``"uneven"``.
    """
    weights: FloatArray = np.ones(len(speakers))
    if dominance == "zipf":
        weights = 1.0 / np.arange(1, len(speakers) + 1)
    elif dominance == "uneven":
        weights = np.sort(rng.uniform(_LEAST_WEIGHT, 1.0, len(speakers)))[::-1]
    return dict(zip(speakers, (weights / weights.sum()).tolist(), strict=True))


class _Floor:
    """End of the speech so far, and its speaker; at most two talk at a time."""

    def __init__(self) -> None:
        self.end = 0  # end of all speech so far
        self.owner: str | None = None  # speaker who talks until `end`
        self.free = 0  # after this time only the owner talks
        self.speech = 0
        self.overlapped = 0

    def take(self, speaker: str, start: int, length: int) -> None:
        """Add a turn that starts when the floor is free, or later."""
        end = start + length
        self.overlapped += max(0, min(end, self.end) - start)
        self.speech += max(0, end - max(start, self.end))
        self.free = min(end, max(start, self.end))
        if end > self.end:
            self.end, self.owner = end, speaker


class _Planner:
    """State of a plan during the draw."""

    def __init__(
        self,
        passages: Mapping[str, Sequence[Passage]],
        style: TurnTaking,
        length: int,
        grain_ms: int,
        rng: np.random.Generator,
    ) -> None:
        per_second = 1000 / grain_ms
        self._style = style
        self._length = length
        self._rng = rng
        self._pause = style.pause_mean * per_second
        self._turn = style.turn_mean * per_second
        if style.turn_segments is not None:
            lengths = [part.length for parts in passages.values() for part in parts]
            self._turn = float(np.mean(lengths) * np.mean(style.turn_segments))
        self.shortest = max(1, round(min(style.turn_min * per_second, self._turn)))
        self._floor = _Floor()
        self._supplies = {
            name: Supply(parts, self.shortest, rng) for name, parts in passages.items()
        }
        self.shares = draw_shares(list(passages), style.dominance, rng)
        self.talk = dict.fromkeys(passages, 0)
        self.placements: list[Placement] = []

    def run(self) -> None:
        """Draw turns until the conversation is full."""
        while self._floor.end + self.shortest <= self._length:
            overlaps = self._overlap(self._turn) >= self._rng.exponential(
                _PATIENCE * self._turn * (1.0 - self._style.overlap)
            )
            speaker = self._next_speaker(overlaps=overlaps)
            unheard = sum(
                not talk for name, talk in self.talk.items() if name != speaker
            )
            last = self._length - unheard * self.shortest
            turn = self._draw_turn(speaker, (last - self._floor.end) / (unheard + 1))
            if overlaps and speaker != self._floor.owner:
                start = self._overlapping_start(sum(part.length for part in turn))
            else:
                pause = round(self._rng.exponential(self._pause))
                start = self._floor.end + pause
                if unheard or not self.talk[speaker]:  # shorten the pause if necessary
                    start = max(self._floor.end, min(start, last - self.shortest))
            if start + self.shortest > last:
                return
            self._place(speaker, start, last, turn)

    def _overlap(self, length: float) -> float:
        """Return the overlap in grains that a turn needs to reach the target."""
        share, floor = self._style.overlap, self._floor
        # Solve overlapped + x = share * (speech + length - x) for x.
        missing = share * (floor.speech + length) - floor.overlapped
        return missing / (1.0 + share) if floor.speech and share else -1.0

    def _overlapping_start(self, length: int) -> int:
        floor = self._floor
        overlap = min(round(self._overlap(length)), floor.end - floor.free)
        if overlap > length:  # an interjection, which leaves some overlap for later
            return int(self._rng.integers(floor.free, floor.end - overlap + 1))
        return floor.end - max(overlap, 0)

    def _next_speaker(self, *, overlaps: bool) -> str:
        """Draw the next speaker; it must differ from the current one for an overlap."""
        names = list(self.talk)
        remaining = self._length - self._floor.end
        unheard = [name for name in names if not self.talk[name]]
        if unheard and len(unheard) * (self._turn + self._pause) >= remaining:
            return unheard[int(self._rng.integers(len(unheard)))]
        due = sum(self.talk.values()) + _ADVANCE * self._turn * len(names)
        credit = np.array([self.shares[name] * due - self.talk[name] for name in names])
        credit = np.maximum(credit, 0.0)
        others = np.array([name != self._floor.owner for name in names])
        # Shares take precedence over overlap until too much of it is missing, because
        # it may be impossible to satisfy both.
        if others.any() and overlaps and self._overlap(0.0) > _ADVANCE * self._turn:
            credit = np.where(others, [self.shares[name] for name in names], 0.0)
        elif credit[others].any():
            credit = np.where(others, credit, 0.0)
        return names[int(self._rng.choice(len(names), p=credit / credit.sum()))]

    def _draw_turn(self, speaker: str, most: float) -> list[Stretch]:
        """Draw a turn of at most `most` grains while a speaker has not spoken."""
        supply = self._supplies[speaker]
        if all(self.talk.values()):
            most = float("inf")
        if self._style.turn_segments is not None:
            fewest, greatest = self._style.turn_segments
            count = int(self._rng.integers(fewest, greatest + 1))
            return supply.take(most, count)
        more = self._rng.exponential(self._turn - self.shortest)
        return supply.take(round(min(self.shortest + more, most)))

    def _place(
        self, speaker: str, start: int, last: int, turn: Sequence[Stretch]
    ) -> None:
        """Add a turn to the conversation, as far as it fits."""
        time = start
        for part in turn:
            length = min(part.length, last - time)
            if length < part.length and length < self.shortest:
                break
            self.placements.append(
                Placement(
                    speaker, part.passage, part.offset, length, time, part.is_repeated
                )
            )
            time += length
        self.talk[speaker] += time - start
        self._floor.take(speaker, start, time - start)
