"""Who speaks when in a conversation that is made of given speech.

A conversation is planned before any audio is read: turns follow each other after
pauses, or begin while another one lasts, and each is filled with passages of its
speaker. The plan is a function of the settings and of a random generator alone.

All times are whole numbers of a *grain*, the shortest time that is both a whole
number of samples and of milliseconds (1 ms at 8 and 16 kHz, 10 ms at 44.1 kHz). So the
reference, in milliseconds, is exact to the sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.supply import Passage
from sms_diar.types import Segment, Turn

DOMINANCE = ("even", "uneven", "zipf")
"""How talk is shared: alike, by weights drawn from [0.2, 1], as 1, 1/2, 1/3 ..."""

MOST_OVERLAP = 0.9


@dataclass(frozen=True)
class TurnTaking:
    """How speakers take turns; times in seconds.

    Parameters
    ----------
    turn_mean, turn_min : float, default=4.0 and 1.0
        A turn lasts `turn_min` and an exponentially distributed time more. Passages
        are cut to that length, but never into pieces shorter than `turn_min`.
    turn_segments : (int, int), optional
        A turn is this many whole passages instead, drawn from the range; only the
        end of the conversation cuts them.
    pause_mean : float, default=0.5
        Pauses between turns are exponentially distributed.
    overlap : float, default=0.0
        Time in which two speak over the time in which anybody speaks, 0 to 0.9.
    dominance : {"even", "uneven", "zipf"}, default="even"
        How talk is shared among the speakers.
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
                f"simulate: turn_mean must be at least turn_min ({self.turn_min:g} s), "
                f"got {self.turn_mean!r}"
            )
        if self.turn_segments is not None:
            fewest, most = self.turn_segments
            check_count("simulate", "turn_segments", fewest)
            check_count("simulate", "turn_segments", most, least=fewest)
        check_not_negative("simulate", "pause_mean", self.pause_mean)
        if not is_real(self.overlap) or not 0.0 <= self.overlap <= MOST_OVERLAP:
            raise InvalidParameterError(
                f"simulate: overlap must be a number in [0, {MOST_OVERLAP}], got "
                f"{self.overlap!r}"
            )
        check_choice("simulate", "dominance", self.dominance, DOMINANCE)


@dataclass(frozen=True, slots=True)
class Placement:
    """Part of a passage, and where in the conversation it is heard.

    Parameters
    ----------
    speaker : str
        Who speaks.
    passage : Passage
        What is said.
    offset, length : int
        Which part of the passage, in grains.
    start : int
        When, in grains.
    is_repeated : bool
        Whether all passages of the speaker had been used before.
    """

    speaker: str
    passage: Passage
    offset: int
    length: int
    start: int
    is_repeated: bool

    @property
    def end(self) -> int:
        """Where it ends, in grains."""
        return self.start + self.length


@dataclass(frozen=True)
class Conversation:
    """Who speaks when.

    Parameters
    ----------
    recording : str
        Name.
    length : int
        Grains.
    grain_ms : int
        Milliseconds in a grain.
    placements : tuple of Placement
        In order of their starts.
    shares : mapping from str to float
        Share of the talk that each speaker was meant to have.
    """

    recording: str
    length: int
    grain_ms: int
    placements: tuple[Placement, ...]
    shares: Mapping[str, float]

    def seconds(self, grains: int) -> float:
        """Grains as seconds, with no more than three decimals."""
        return grains * self.grain_ms / 1000

    def segment(self, start: int, end: int) -> Segment:
        """A stretch of the conversation, given in grains."""
        return Segment(self.recording, self.seconds(start), self.seconds(end))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The reference: touching speech of one speaker is one turn."""
        joined: list[tuple[int, int, str]] = []
        lasting: dict[str, tuple[int, int]] = {}
        for one in self.placements:
            start, end = lasting.get(one.speaker, (one.start, one.start))
            if one.start > end:
                joined.append((start, end, one.speaker))
                start = one.start
            lasting[one.speaker] = start, one.end
        joined += [(*times, speaker) for speaker, times in lasting.items()]
        return tuple(
            Turn(self.segment(start, end), speaker)
            for start, end, speaker in sorted(joined)
        )

    @property
    def talk(self) -> dict[str, float]:
        """Seconds that each speaker speaks."""
        grains = dict.fromkeys(self.shares, 0)
        for one in self.placements:
            grains[one.speaker] += one.length
        return {speaker: self.seconds(length) for speaker, length in grains.items()}

    @property
    def speech(self) -> float:
        """Seconds in which anybody speaks."""
        return self.seconds(self._covered()[0])

    @property
    def overlapped(self) -> float:
        """Seconds in which two speak."""
        return self.seconds(self._covered()[1])

    @property
    def repeated(self) -> float:
        """Seconds of talk that were heard before in this conversation."""
        return self.seconds(sum(p.length for p in self.placements if p.is_repeated))

    def _covered(self) -> tuple[int, int]:
        """Grains in which at least one speaks, and at least two."""
        changes = sorted(
            [(p.start, 1) for p in self.placements]
            + [(p.end, -1) for p in self.placements]
        )
        one = two = active = before = 0
        for time, change in changes:
            one += (time - before) * (active >= 1)
            two += (time - before) * (active >= 2)
            before, active = time, active + change
        return one, two


def grain_of(rate: int) -> tuple[int, int]:
    """Samples and milliseconds of a grain.

    Examples
    --------
    >>> grain_of(8000), grain_of(44100)
    ((8, 1), (441, 10))
    """
    common = math.gcd(rate, 1000)
    return rate // common, 1000 // common
