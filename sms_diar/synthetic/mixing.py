"""Sums of signals that begin at different times, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sms_diar.types import FloatArray

BLOCK = 1 << 16
"""Samples per block: eight seconds at 8 kHz."""


def mix(
    parts: Iterable[tuple[int, FloatArray]], n_samples: int, *, block: int = BLOCK
) -> Iterator[FloatArray]:
    """Yield the sum of signals in blocks.

    Parameters
    ----------
    parts : iterable of (int, ndarray)
        First sample and samples of each signal, sorted by first sample. A signal is
        requested only after the preceding blocks have been yielded. Samples beyond the
        end are ignored.
    n_samples : int
        Total number of samples.
    block : int, default=65536
        Block size in samples; the last block may be shorter.

    Notes
    -----
    The parts of a sample are added in the given order, independently of the blocks.
    Memory is needed for one block, the longest part and the parts that overlap it.

    Examples
    --------
    >>> parts = [(1, np.array([1.0, 1.0])), (2, np.array([2.0, 2.0]))]
    >>> [part.tolist() for part in mix(parts, 5, block=2)]
    [[0.0, 1.0], [3.0, 2.0], [0.0]]
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
