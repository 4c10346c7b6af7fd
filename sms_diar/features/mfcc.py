"""Mel-frequency cepstral coefficients and their time derivatives.

The definition follows python_speech_features: pre-emphasis, Hamming window, power
spectrum over the FFT length, triangular mel filters, log, orthonormal DCT, lifter. The
log energy of the frame replaces the zeroth coefficient. Samples are scaled to the
16-bit range (times 32768) as in Kaldi, which only shifts log energies by a constant.

Frames are counted from the first sample of a segment. An incomplete last frame is
dropped, as in Kaldi (python_speech_features pads it with zeros). Samples are processed
in chunks that start at multiples of ``CHUNK`` frames, no matter in which blocks they
arrive. Matrix products round differently for different numbers of rows, so this fixed
grid makes the features of a stream bit-identical to the features of the whole file.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from python_speech_features import get_filterbanks, lifter, sigproc
from scipy.fftpack import dct

from sms_diar._validation import check_count, check_not_negative, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.limits import (
    LARGEST_RATE,
    LONGEST_CONTEXT,
    LONGEST_FFT,
    MOST_DERIVATIVES,
    MOST_FILTERS,
)
from sms_diar.types import FloatArray

CHUNK = 1024
"""Number of frames processed at a time: ten seconds, 1.6 MB at 8 kHz."""


class Chunk(NamedTuple):
    """Samples of up to ``CHUNK`` whole frames, and the preceding sample."""

    samples: FloatArray
    before: float


def frame_count(n_samples: int, length: int, shift: int) -> int:
    """Return the number of whole frames in `n_samples` samples.

    >>> [frame_count(n, 200, 80) for n in (199, 200, 279, 280)]
    [0, 1, 1, 2]
    """
    return 0 if n_samples < length else 1 + (n_samples - length) // shift


def frame_chunks(
    blocks: Iterable[FloatArray], length: int, shift: int
) -> Iterator[Chunk]:
    """Cut blocks of consecutive samples of any size into chunks of whole frames.

    Frame `length` and `shift` are in samples; the shift is at most the length.
    """
    full = (CHUNK - 1) * shift + length
    pending, before = np.empty(0), 0.0
    for block in blocks:
        pending = np.concatenate((pending, block))
        at = 0
        while len(pending) - at >= full:
            yield Chunk(pending[at : at + full], before)
            at += CHUNK * shift
            before = float(pending[at - 1])
        pending = pending[at:]
    count = frame_count(len(pending), length, shift)
    if count:
        yield Chunk(pending[: (count - 1) * shift + length], before)


def overlapping_frames(samples: FloatArray, length: int, shift: int) -> FloatArray:
    """Return overlapping frames as the rows of a view, shape (n_frames, length)."""
    view: FloatArray = sliding_window_view(samples, length)[::shift]
    return view


SCALE = 32768.0
"""Factor from samples in [-1, 1) to the 16-bit scale; a power of two, so exact."""

_LIMITS = {
    "rate": LARGEST_RATE,
    "n_cepstra": MOST_FILTERS,
    "n_filters": MOST_FILTERS,
    "n_fft": LONGEST_FFT,
}


@dataclass(frozen=True, slots=True)
class MfccConfig:
    """Mel-frequency cepstral coefficients.

    Parameters
    ----------
    rate : int, default=8000
        Samples per second; audio of another rate is resampled.
    length : float, default=0.025
        Length of a frame in seconds.
    shift : float, default=0.01
        Seconds from one frame to the next.
    n_cepstra : int, default=19
        Number of coefficients besides the log energy.
    n_filters : int, default=24
        Number of mel filters.
    low_hz : float, default=200
        Lower edge of the filters in Hz; the default suits a telephone channel.
    high_hz : float, default=3700
        Upper edge of the filters in Hz.
    preemphasis : float, default=0.97
        Share of the previous sample that is subtracted from each sample.
    lifter : int, default=22
        Parameter of the sine lifter; 0 disables it.
    n_fft : int, default=256
        FFT length in samples, at least the length of a frame.
    floor : float, default=0.001
        Minimum energy; smaller energies are raised to it. The rounding noise of
        16-bit samples lies above, so only digital silence is affected, whose
        logarithm would otherwise be an outlier.
    """

    rate: int = 8000
    length: float = 0.025
    shift: float = 0.01
    n_cepstra: int = 19
    n_filters: int = 24
    low_hz: float = 200.0
    high_hz: float = 3700.0
    preemphasis: float = 0.97
    lifter: int = 22
    n_fft: int = 256
    floor: float = 0.001

    def __post_init__(self) -> None:
        for name, most in _LIMITS.items():
            check_count("MfccConfig", name, getattr(self, name), most=most)
        check_count("MfccConfig", "lifter", self.lifter, least=0)
        for name in ("length", "shift", "high_hz", "floor"):
            check_positive("MfccConfig", name, getattr(self, name))
        for name in ("low_hz", "preemphasis"):
            check_not_negative("MfccConfig", name, getattr(self, name))
        problem = self._contradiction()
        if problem:
            raise InvalidParameterError(problem, owner="MfccConfig")

    def _contradiction(self) -> str | None:
        if not 1 <= self.frame_shift <= self.frame_length <= self.n_fft:
            return (
                f"n_fft must be >= the frame of {self.frame_length} samples, which "
                f"must be >= the shift of {self.frame_shift}, got n_fft={self.n_fft}"
            )
        if not self.low_hz < self.high_hz <= self.rate / 2:
            return (
                f"the band must satisfy low_hz < high_hz <= rate / 2 = "
                f"{self.rate / 2:g}, got {self.low_hz:g} to {self.high_hz:g}"
            )
        if self.n_cepstra >= self.n_filters:
            return (
                f"n_cepstra must be below n_filters = {self.n_filters}, got "
                f"{self.n_cepstra}"
            )
        if not _filters(self).any(axis=1).all():
            return (
                f"n_filters must be small enough for each filter to contain a line of "
                f"the spectrum, got {self.n_filters}; lower it or raise n_fft"
            )
        return None

    @property
    def frame_length(self) -> int:
        """Frame length in samples."""
        return int(self.length * self.rate + 0.5)

    @property
    def frame_shift(self) -> int:
        """Frame shift in samples."""
        return int(self.shift * self.rate + 0.5)

    @property
    def dim(self) -> int:
        """Dimension of a frame: the log energy and the cepstra."""
        return 1 + self.n_cepstra


def mfcc(blocks: Iterable[FloatArray], config: MfccConfig) -> Iterator[FloatArray]:
    """Yield the cepstra of consecutive samples in chunks of shape (n, 1 + n_cepstra).

    Samples are in [-1, 1) at ``config.rate``. The block sizes do not change the
    result; for a whole signal, pass ``[signal]``. The first column is the log energy.
    Nothing is yielded for less than one whole frame.
    """
    for chunk in frame_chunks(blocks, config.frame_length, config.frame_shift):
        yield mfcc_chunk(chunk, config)


def mfcc_chunk(chunk: Chunk, config: MfccConfig) -> FloatArray:
    """Compute the cepstra of one chunk, shape (n_frames, 1 + n_cepstra)."""
    samples = chunk.samples * SCALE
    before = np.concatenate(([chunk.before * SCALE], samples[:-1]))
    emphasised = samples - config.preemphasis * before
    frames = overlapping_frames(emphasised, config.frame_length, config.frame_shift)
    # shape: (n_frames, n_fft / 2 + 1)
    power = sigproc.powspec(frames * np.hamming(config.frame_length), config.n_fft)
    energy = np.maximum(power.sum(axis=1), config.floor)
    # shape: (n_frames, n_filters)
    filtered = np.maximum(power @ _filters(config).T, config.floor)
    cepstra = dct(np.log(filtered), type=2, axis=1, norm="ortho")[:, : config.dim]
    out: FloatArray = lifter(cepstra, config.lifter)
    out[:, 0] = np.log(energy)
    return out


@functools.lru_cache(maxsize=16)
def _filters(config: MfccConfig) -> FloatArray:
    filters: FloatArray = get_filterbanks(
        config.n_filters, config.n_fft, config.rate, config.low_hz, config.high_hz
    )
    filters.setflags(write=False)
    return filters


@dataclass(frozen=True, slots=True)
class DeltaConfig:
    """Settings of the derivatives.

    Parameters
    ----------
    order : int, default=2
        Highest derivative: 0 for none, 1 for delta, 2 for delta and delta-delta.
    window : int, default=2
        Number of frames on each side that the regression uses.
    """

    order: int = 2
    window: int = 2

    def __post_init__(self) -> None:
        check_count("DeltaConfig", "order", self.order, least=0, most=MOST_DERIVATIVES)
        check_count("DeltaConfig", "window", self.window, most=LONGEST_CONTEXT)

    @property
    def context(self) -> int:
        """Number of frames on each side that the derivatives of a frame depend on."""
        return self.order * self.window


def delta(features: FloatArray, window: int = 2) -> FloatArray:
    """Estimate the slope of each column around each frame by linear regression.

    Same as ``python_speech_features.delta``, but vectorised: the first and the last
    frame are repeated beyond the ends.

    >>> delta(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])).ravel()
    array([0.5, 0.8, 1. , 0.8, 0.5])
    """
    n = len(features)
    padded = np.pad(features, ((window, window), (0, 0)), mode="edge")
    total = np.zeros_like(features)
    for step in range(1, window + 1):
        following = padded[window + step : window + step + n]
        previous = padded[window - step : window - step + n]
        total += step * (following - previous)
    return total / (2 * sum(step**2 for step in range(1, window + 1)))


def add_deltas(features: FloatArray, config: DeltaConfig) -> FloatArray:
    """Append derivatives, in increasing order, to features of shape (n, d)."""
    parts = [features]
    for _ in range(config.order):
        parts.append(delta(parts[-1], config.window))
    return np.hstack(parts)
