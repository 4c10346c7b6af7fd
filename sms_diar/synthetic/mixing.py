"""Sums of signals that begin at different times, without holding them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sms_diar.types import FloatArray

BLOCK = 1 << 16
"""Samples of a block: eight seconds at 8 kHz."""


def mix(
    parts: Iterable[tuple[int, FloatArray]], n_samples: int, *, block: int = BLOCK
) -> Iterator[FloatArray]:
    """Yield the sum of signals in blocks.

    Parameters
    ----------
    parts : iterable of (int, ndarray)
        First sample and samples of each signal, in order of the first samples. Each
        is taken when the blocks before it were yielded. What is beyond the end is
        left out.
    n_samples : int
        Length of the whole.
    block : int, default=65536
        Samples of all blocks but the last.

    Notes
    -----
    A sample is the sum of its parts in the order given, whatever the blocks. Memory
    is that of a block, of the longest part and of those that begin with it.

    Examples
    --------
    >>> parts = [(1, np.array([1.0, 1.0])), (2, np.array([2.0, 2.0]))]
    >>> [part.tolist() for part in mix(parts, 5, block=2)]
    [[0.0, 1.0], [3.0, 2.0], [0.0]]
    """
    held = np.zeros(0)
    first = 0  # the sample that `held` begins with
    for start, samples in parts:
        whole = (min(start, n_samples) - first) // block * block
        if whole > 0:
            held = _reaching(held, whole)
            for at in range(0, whole, block):
                yield held[at : at + block].copy()
            held, first = held[whole:], first + whole
        end = min(start + len(samples), n_samples)
        if end > start:
            held = _reaching(held, end - first)
            held[start - first : end - first] += samples[: end - start]
    held = _reaching(held, n_samples - first)
    for at in range(0, len(held), block):
        yield held[at : at + block].copy()


def _reaching(held: FloatArray, length: int) -> FloatArray:
    """The same with zeros at the end, if it is shorter than `length`."""
    if len(held) >= length:
        return held
    return np.concatenate([held, np.zeros(length - len(held))])
