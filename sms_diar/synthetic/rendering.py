"""The speech of a conversation, as signals that begin where the plan says.

Speech is read and filtered in parts of a fixed length, counted from the start of each
placement, so that what is heard does not depend on the blocks in which it is mixed.
Placements fade in and out within 5 ms instead of beginning and ending with a click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.signal import fftconvolve

from sms_diar.synthetic.conversation import Conversation, Placement
from sms_diar.synthetic.supply import Passage
from sms_diar.types import FloatArray

ReadSpeech: TypeAlias = Callable[[Passage, int, int], FloatArray]
"""Samples of a passage, from a first to a last one (exclusive)."""

FADE_MS = 5
_PART = 1 << 17  # samples that are read and filtered at a time


class SpokenEnergy(NamedTuple):
    """Sum of squares, and number of samples, of what a speaker says."""

    squares: float
    n_samples: int

    @property
    def level(self) -> float:
        """Root mean square."""
        return float(np.sqrt(self.squares / self.n_samples))


@dataclass(frozen=True)
class Rendering:
    """A conversation, and what can read its speech.

    Parameters
    ----------
    conversation : Conversation
        Who speaks when.
    step : int
        Samples of a grain.
    read : function
        Reads samples of a passage.
    """

    conversation: Conversation
    step: int
    read: ReadSpeech

    @property
    def n_samples(self) -> int:
        """Length of the whole."""
        return self.conversation.length * self.step

    def energies(self) -> dict[str, SpokenEnergy]:
        """How loud each speaker is, as recorded."""
        found = dict.fromkeys(self.conversation.shares, SpokenEnergy(0.0, 0))
        for placement in self.conversation.placements:
            squares, n_samples = found[placement.speaker]
            for first in self._firsts(placement):
                part = self._part(placement, first)
                squares += float(np.sum(part**2))  # BLAS would depend on threads
                n_samples += len(part)
            found[placement.speaker] = SpokenEnergy(squares, n_samples)
        return found

    def parts(
        self,
        gains: Mapping[str, float],
        responses: Mapping[str, FloatArray] | None = None,
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield first sample and samples of what is heard, in order, for `mix`.

        Parameters
        ----------
        gains : mapping from str to float
            Factor of each speaker's samples.
        responses : mapping from str to ndarray, optional
            Response of the room to a click, for each speaker.
        """
        placements = self.conversation.placements
        places = sorted(
            (placement.start * self.step + first, number, first)
            for number, placement in enumerate(placements)
            for first in self._firsts(placement)
        )
        for start, number, first in places:
            speaker = placements[number].speaker
            part = gains[speaker] * self._part(placements[number], first)
            if responses is not None:
                part = fftconvolve(part, responses[speaker])
            yield start, part

    def _firsts(self, placement: Placement) -> range:
        return range(0, placement.length * self.step, _PART)

    def _part(self, placement: Placement, first: int) -> FloatArray:
        """Samples of a placement from `first` on, faded at its ends."""
        n_samples = placement.length * self.step
        last = min(first + _PART, n_samples)
        offset = placement.offset * self.step
        samples = self.read(placement.passage, offset + first, offset + last)
        at = np.arange(first, last)
        to_edge = np.minimum(at, n_samples - 1 - at) + 0.5
        fade = FADE_MS * self.step / self.conversation.grain_ms
        faded: FloatArray = (
            samples * np.sin(np.pi / 2 * np.minimum(to_edge / fade, 1.0)) ** 2
        )
        return faded
