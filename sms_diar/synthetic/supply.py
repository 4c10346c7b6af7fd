"""The speech of one speaker, handed out so that nothing recurs before it must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, slots=True)
class Passage:
    """Speech that a conversation may use.

    Parameters
    ----------
    id : str
        Segment that it comes from.
    recording : str
        Recording of that segment.
    first : int
        Its first sample there, at the rate of the conversation.
    length : int
        Grains; see `sms_diar.synthetic.conversation`.
    """

    id: str
    recording: str
    first: int
    length: int


class Stretch(NamedTuple):
    """Part of a passage, in grains from its start.

    `is_repeated` tells that all speech of the speaker was used before.
    """

    passage: Passage
    offset: int
    length: int
    is_repeated: bool


class Supply:
    """Passages of a speaker in random order, each used up before any recurs.

    Parameters
    ----------
    passages : sequence of Passage
        At least one.
    shortest : int
        Grains below which nothing is cut off, nor left over, of a passage.
    rng : numpy.random.Generator
        Draws the order, anew each time all were used.
    """

    def __init__(
        self, passages: Sequence[Passage], shortest: int, rng: np.random.Generator
    ) -> None:
        self._passages = passages
        self._shortest = shortest
        self._rng = rng
        self._waiting: list[Passage] = []
        self._offset = 0  # of what is left of the passage that comes next
        self._rounds = 0

    def take(self, most: float, count: int | None = None) -> list[Stretch]:
        """Take what comes next.

        Parameters
        ----------
        most : float
            Grains. A passage is cut there, unless what is cut off or left over
            would be shorter than `shortest`.
        count : int, optional
            Most passages.
        """
        taken: list[Stretch] = []
        missing = most
        while missing > 0 and (count is None or len(taken) < count):
            if taken and missing < self._shortest:
                break
            if not self._waiting:
                self._shuffle()
            passage, offset = self._waiting[-1], self._offset
            left = passage.length - offset
            if left - missing < self._shortest:
                length, self._offset = left, 0
                self._waiting.pop()
            else:
                length = int(missing)
                self._offset += length
            taken.append(Stretch(passage, offset, length, self._rounds > 1))
            missing -= length
        return taken

    def _shuffle(self) -> None:
        order = self._rng.permutation(len(self._passages))
        self._waiting = [self._passages[place] for place in order]
        self._rounds += 1
