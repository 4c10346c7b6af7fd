"""Speech signals of a planned conversation.

Speech is read and filtered in parts of a fixed length, counted from the start of each
placement, so the result does not depend on the blocks in which it is mixed. Placements
fade in and out within 5 ms to avoid clicks.
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
"""Function that reads the samples of a passage from first to last (exclusive)."""

FADE_MS = 5
_PART = 1 << 17  # number of samples that are read and filtered at a time


class SpokenEnergy(NamedTuple):
    """Sum of squares and number of samples of a speaker's speech."""

    squares: float
    n_samples: int

    @property
    def level(self) -> float:
        """Root mean square."""
        return float(np.sqrt(self.squares / self.n_samples))


@dataclass(frozen=True)
class Rendering:
    """Conversation together with a reader for its speech.

    Parameters
    ----------
    conversation : Conversation
        Plan of the conversation.
    step : int
        Length of a grain in samples.
    read : function
        Function that reads the samples of a passage.
    """

    conversation: Conversation
    step: int
    read: ReadSpeech

    @property
    def n_samples(self) -> int:
        """Total number of samples."""
        return self.conversation.length * self.step

    def energies(self) -> dict[str, SpokenEnergy]:
        """Measure the energy of each speaker in the source."""
        energies = dict.fromkeys(self.conversation.shares, SpokenEnergy(0.0, 0))
        for placement in self.conversation.placements:
            squares, n_samples = energies[placement.speaker]
            for first in self._firsts(placement):
                part = self._part(placement, first)
                squares += float(np.sum(part**2))  # BLAS depends on the thread count
                n_samples += len(part)
            energies[placement.speaker] = SpokenEnergy(squares, n_samples)
        return energies

    def parts(
        self,
        gains: Mapping[str, float],
        responses: Mapping[str, FloatArray] | None = None,
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield the first sample and the samples of all parts, sorted, for `mix`.

        Parameters
        ----------
        gains : mapping from str to float
            Factor applied to the samples of each speaker.
        responses : mapping from str to ndarray, optional
            Impulse response of the room for each speaker.
        """
        placements = self.conversation.placements
        starts = sorted(
            (placement.start * self.step + first, number, first)
            for number, placement in enumerate(placements)
            for first in self._firsts(placement)
        )
        for start, number, first in starts:
            speaker = placements[number].speaker
            part = gains[speaker] * self._part(placements[number], first)
            if responses is not None:
                part = fftconvolve(part, responses[speaker])
            yield start, part

    def _firsts(self, placement: Placement) -> range:
        return range(0, placement.length * self.step, _PART)

    def _part(self, placement: Placement, first: int) -> FloatArray:
        """Return the samples of a placement starting at `first`, with fades."""
        n_samples = placement.length * self.step
        last = min(first + _PART, n_samples)
        offset = placement.offset * self.step
        samples = self.read(placement.passage, offset + first, offset + last)
        index = np.arange(first, last)
        to_edge = np.minimum(index, n_samples - 1 - index) + 0.5
        fade = FADE_MS * self.step / self.conversation.grain_ms
        faded: FloatArray = (
            samples * np.sin(np.pi / 2 * np.minimum(to_edge / fade, 1.0)) ** 2
        )
        return faded
