"""The plan of a conversation, turn by turn.

Three things are steered while turns are drawn at random, so that a conversation has
what was asked for and not only an endless one would:

- *Overlap.* What is missing of it grows with the speech. As soon as it exceeds a
  random threshold, the next turn begins before the last one ends, so that nothing is
  missing afterwards. At most two speak at a time.
- *Shares.* A speaker's credit is the talk that is due so far, and some in advance,
  less the talk there was. The next speaker is drawn in proportion to it, and is
  another one while others have credit.
- *Presence.* When the time left is just enough for those who have not spoken, it is
  theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.conversation import Conversation, Placement, TurnTaking
from sms_diar.synthetic.supply import Passage, Stretch, Supply
from sms_diar.types import FloatArray

_LEAST_WEIGHT = 0.2  # of a speaker among uneven ones, whose greatest is 1
_ADVANCE = 2.0  # turns of each speaker that are due in advance
_PATIENCE = 0.25  # mean overlap that may be missing, in turns


def plan_conversation(
    passages: Mapping[str, Sequence[Passage]],
    style: TurnTaking,
    *,
    recording: str,
    length: int,
    grain_ms: int,
    rng: np.random.Generator,
) -> Conversation:
    """Draw who speaks when.

    Parameters
    ----------
    passages : mapping from str to sequence of Passage
        What each speaker may say; all of them take part.
    style : TurnTaking
        How they take turns.
    recording : str
        Name of the conversation.
    length : int
        Grains.
    grain_ms : int
        Milliseconds in a grain.
    rng : numpy.random.Generator
        Draws everything.

    Examples
    --------
    >>> said = {name: [Passage(name, name, 0, 9000)] for name in ("ann", "bob")}
    >>> plan = plan_conversation(
    ...     said,
    ...     TurnTaking(overlap=0.1),
    ...     recording="call",
    ...     length=15_000,
    ...     grain_ms=1,
    ...     rng=np.random.default_rng(2),
    ... )
    >>> for turn in plan.turns:
    ...     print(turn.segment.start, turn.segment.end, turn.speaker)
    0.354 2.894 ann
    2.981 4.724 bob
    3.747 10.207 ann
    9.825 14.03 bob
    """
    planner = _Planner(passages, style, length, grain_ms, rng)
    if length < len(passages) * planner.shortest:
        needed = len(passages) * planner.shortest * grain_ms / 1000
        raise InvalidParameterError(
            f"simulate: duration must let each of {len(passages)} speakers have a turn "
            f"({needed:g} s), got {length * grain_ms / 1000:g} s; raise it, or lower "
            f"turn_min or speakers"
        )
    planner.run()
    return Conversation(
        recording,
        length,
        grain_ms,
        tuple(sorted(planner.placements, key=lambda one: one.start)),
        planner.shares,
    )


def draw_shares(
    speakers: Sequence[str], dominance: str, rng: np.random.Generator
) -> dict[str, float]:
    """Share of the talk that is meant for each speaker, the first the greatest.

    Weights of ``"even"`` speakers are 1, those of ``"zipf"`` 1, 1/2, 1/3 and so on;
    ``"uneven"`` draws them uniformly from [0.2, 1].
    """
    weights: FloatArray = np.ones(len(speakers))
    if dominance == "zipf":
        weights = 1.0 / np.arange(1, len(speakers) + 1)
    elif dominance == "uneven":
        weights = np.sort(rng.uniform(_LEAST_WEIGHT, 1.0, len(speakers)))[::-1]
    return dict(zip(speakers, (weights / weights.sum()).tolist(), strict=True))


class _Floor:
    """Until when there is speech, and whose; at most two speak at a time."""

    def __init__(self) -> None:
        self.end = 0  # of all speech so far
        self.owner: str | None = None  # whose speech that is
        self.free = 0  # from here on nobody but the owner speaks
        self.speech = 0
        self.overlapped = 0

    def take(self, speaker: str, start: int, length: int) -> None:
        """Let somebody speak, not before the floor is free."""
        end = start + length
        self.overlapped += max(0, min(end, self.end) - start)
        self.speech += max(0, end - max(start, self.end))
        self.free = min(end, max(start, self.end))
        if end > self.end:
            self.end, self.owner = end, speaker


class _Planner:
    """The state of a plan that is being drawn."""

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
            lengths = [one.length for said in passages.values() for one in said]
            self._turn = float(np.mean(lengths) * np.mean(style.turn_segments))
        self.shortest = max(1, round(min(style.turn_min * per_second, self._turn)))
        self._floor = _Floor()
        self._supplies = {
            name: Supply(said, self.shortest, rng) for name, said in passages.items()
        }
        self.shares = draw_shares(list(passages), style.dominance, rng)
        self.talk = dict.fromkeys(passages, 0)
        self.placements: list[Placement] = []

    def run(self) -> None:
        """Draw turns until the time is over."""
        while self._floor.end + self.shortest <= self._length:
            overlaps = self._overlap(self._turn) >= self._rng.exponential(
                _PATIENCE * self._turn * (1.0 - self._style.overlap)
            )
            speaker = self._next_speaker(overlaps=overlaps)
            unheard = sum(
                not talk for name, talk in self.talk.items() if name != speaker
            )
            last = self._length - unheard * self.shortest
            said = self._draw_turn(speaker, (last - self._floor.end) / (unheard + 1))
            if overlaps and speaker != self._floor.owner:
                start = self._overlapping_start(sum(one.length for one in said))
            else:
                pause = round(self._rng.exponential(self._pause))
                start = self._floor.end + pause
                if unheard or not self.talk[speaker]:  # no pause is worth a speaker
                    start = max(self._floor.end, min(start, last - self.shortest))
            if start + self.shortest > last:
                return
            self._place(speaker, start, last, said)

    def _overlap(self, length: float) -> float:
        """Grains of a turn that must overlap, so that none are missing after it."""
        share, floor = self._style.overlap, self._floor
        # x with overlapped + x = share * (speech + length - x)
        missing = share * (floor.speech + length) - floor.overlapped
        return missing / (1.0 + share) if floor.speech and share else -1.0

    def _overlapping_start(self, length: int) -> int:
        floor = self._floor
        wanted = min(round(self._overlap(length)), floor.end - floor.free)
        if wanted > length:  # an interjection, with room for more after it
            return int(self._rng.integers(floor.free, floor.end - wanted + 1))
        return floor.end - max(wanted, 0)

    def _next_speaker(self, *, overlaps: bool) -> str:
        """Draw the next speaker, another one if the turns are to overlap."""
        names = list(self.talk)
        left = self._length - self._floor.end
        unheard = [name for name in names if not self.talk[name]]
        if unheard and len(unheard) * (self._turn + self._pause) >= left:
            return unheard[int(self._rng.integers(len(unheard)))]
        due = sum(self.talk.values()) + _ADVANCE * self._turn * len(names)
        credit = np.array([self.shares[name] * due - self.talk[name] for name in names])
        credit = np.maximum(credit, 0.0)
        others = np.array([name != self._floor.owner for name in names])
        # Shares come before overlap, until too much of it is missing: both at once
        # may be impossible.
        if others.any() and overlaps and self._overlap(0.0) > _ADVANCE * self._turn:
            credit = np.where(others, [self.shares[name] for name in names], 0.0)
        elif credit[others].any():
            credit = np.where(others, credit, 0.0)
        return names[int(self._rng.choice(len(names), p=credit / credit.sum()))]

    def _draw_turn(self, speaker: str, most: float) -> list[Stretch]:
        """Draw what is said; `most` matters while somebody has not spoken."""
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
        self, speaker: str, start: int, last: int, said: Sequence[Stretch]
    ) -> None:
        """Put a turn into the conversation, as far as it fits."""
        at = start
        for one in said:
            length = min(one.length, last - at)
            if length < one.length and length < self.shortest:
                break
            self.placements.append(
                Placement(speaker, one.passage, one.offset, length, at, one.is_repeated)
            )
            at += length
        self.talk[speaker] += at - start
        self._floor.take(speaker, start, at - start)
