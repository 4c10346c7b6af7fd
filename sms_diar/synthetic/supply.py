"""Supply of speech of one speaker, without repetition as long as possible."""

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
        Id of the source segment.
    recording : str
        Recording of the source segment.
    first : int
        First sample in the recording, at the rate of the conversation.
    length : int
        Length in grains; see `sms_diar.synthetic.conversation`.
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

    Parameters
    ----------
    passages : sequence of Passage
        Passages of the speaker; at least one.
    shortest : int
        Minimum length in grains of the pieces into which a passage is cut.
    rng : numpy.random.Generator
        Generator for the order, which is drawn again when all passages are used.
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
        """Take the next passages.

        Parameters
        ----------
        most : float
            Maximum length in grains. A passage is cut there unless one of the two
            pieces would be shorter than `shortest`.
        count : int, optional
            Maximum number of passages.
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
