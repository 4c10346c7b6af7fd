"""Speech signals of a planned conversation.

Speech is read and filtered in parts of a fixed length, counted from the start of each
placement, so the result does not depend on the blocks in which it is mixed. Placements
fade in and out within 5 ms to avoid clicks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.signal import fftconvolve

from sms_diar.synthetic.conversation import Conversation, Passage, Placement
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

    `step` is the length of a grain in samples, and `read` reads the samples of a
    passage.
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

        `gains` are factors applied to the samples of each speaker, and `responses` are
        impulse responses of the room for each speaker.
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


BLOCK = 1 << 16
"""Samples per block: eight seconds at 8 kHz."""


def mix(
    parts: Iterable[tuple[int, FloatArray]], n_samples: int, *, block: int = BLOCK
) -> Iterator[FloatArray]:
    """Yield the sum of signals in blocks; the last block may be shorter.

    `parts` are the first sample and the samples of each signal, sorted by first sample.
    A signal is requested only after the preceding blocks have been yielded. Samples
    beyond `n_samples` are ignored.

    The parts of a sample are added in the given order, independently of the blocks.
    Memory is needed for one block, the longest part and the parts that overlap it.
    """
    pending = np.zeros(0)
    first = 0  # index of the first sample in `pending`
    for start, samples in parts:
        complete = (min(start, n_samples) - first) // block * block
        if complete > 0:
            pending = _pad(pending, complete)
            for at in range(0, complete, block):
                yield pending[at : at + block].copy()
            pending, first = pending[complete:], first + complete
        end = min(start + len(samples), n_samples)
        if end > start:
            pending = _pad(pending, end - first)
            pending[start - first : end - first] += samples[: end - start]
    pending = _pad(pending, n_samples - first)
    for at in range(0, len(pending), block):
        yield pending[at : at + block].copy()


def _pad(samples: FloatArray, length: int) -> FloatArray:
    """Append zeros if there are fewer than `length` samples."""
    if len(samples) >= length:
        return samples
    return np.concatenate([samples, np.zeros(length - len(samples))])
