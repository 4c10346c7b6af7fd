"""Cutting a stream of samples into chunks of whole frames.

Frames are counted from the first sample of a segment; a last frame that the
samples do not fill is left out, as in Kaldi (python_speech_features would pad it
with zeros). However the samples arrive, chunks begin at multiples of ``CHUNK``
frames. Matrix products round differently for different numbers of rows, so this
fixed grid is what makes features of a stream identical, to the last bit, to those
of the whole file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sms_diar.types import FloatArray

CHUNK = 1024
"""Frames handled at a time: ten seconds, 1.6 MB at 8 kHz."""


class Chunk(NamedTuple):
    """Samples of up to ``CHUNK`` whole frames, and the sample before them."""

    samples: FloatArray
    before: float


def frame_count(n_samples: int, length: int, shift: int) -> int:
    """Whole frames in that number of samples.

    Examples
    --------
    >>> [frame_count(n, 200, 80) for n in (199, 200, 279, 280)]
    [0, 1, 1, 2]
    """
    return 0 if n_samples < length else 1 + (n_samples - length) // shift


def frame_chunks(
    blocks: Iterable[FloatArray], length: int, shift: int
) -> Iterator[Chunk]:
    """Cut blocks of samples, of any sizes, into chunks of whole frames.

    Parameters
    ----------
    blocks : iterable of ndarray
        Consecutive samples.
    length, shift : int
        Samples in a frame, and from one frame to the next (at most `length`).
    """
    full = (CHUNK - 1) * shift + length
    held, before = np.empty(0), 0.0
    for block in blocks:
        held = np.concatenate((held, block))
        at = 0
        while len(held) - at >= full:
            yield Chunk(held[at : at + full], before)
            at += CHUNK * shift
            before = float(held[at - 1])
        held = held[at:]
    count = frame_count(len(held), length, shift)
    if count:
        yield Chunk(held[: (count - 1) * shift + length], before)


def overlapping_frames(samples: FloatArray, length: int, shift: int) -> FloatArray:
    """Overlapping frames as rows of a view."""
    view: FloatArray = sliding_window_view(samples, length)[::shift]
    return view
