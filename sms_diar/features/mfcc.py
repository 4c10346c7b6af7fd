"""Mel-frequency cepstra, in chunks.

The definition is python_speech_features': pre-emphasis, Hamming window, power
spectrum over the FFT length, triangular mel filters, log, orthonormal DCT,
lifter; the log energy of the frame stands in place of the zeroth coefficient.
Samples are taken on the 16-bit scale (times 32768), as in Kaldi, which shifts
log energies by a constant and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from python_speech_features import get_filterbanks, lifter, sigproc
from scipy.fftpack import dct

from sms_diar._validation import (
    check_count,
    check_not_negative,
    check_positive,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.features.framing import Chunk, frame_chunks, overlapping_frames
from sms_diar.limits import LARGEST_RATE, LONGEST_FFT, MOST_FILTERS
from sms_diar.types import FloatArray

SCALE = 32768.0
"""From samples in [-1, 1) to the 16-bit scale; a power of two, hence exact."""

_MOST = {
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
        Sine lifter; 0 for none.
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
        for name, most in _MOST.items():
            check_count("MfccConfig", name, getattr(self, name), most=most)
        check_count("MfccConfig", "lifter", self.lifter, least=0)
        for name in ("length", "shift", "high_hz", "floor"):
            check_positive("MfccConfig", name, getattr(self, name))
        for name in ("low_hz", "preemphasis"):
            check_not_negative("MfccConfig", name, getattr(self, name))
        problem = self._contradiction()
        if problem:
            raise InvalidParameterError(f"MfccConfig: {problem}")

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
                f"n_filters must be small enough for each filter to meet a line of "
                f"the spectrum, got {self.n_filters}; lower it or raise n_fft"
            )
        return None

    @property
    def frame_length(self) -> int:
        """Samples in a frame."""
        return int(self.length * self.rate + 0.5)

    @property
    def frame_shift(self) -> int:
        """Samples from one frame to the next."""
        return int(self.shift * self.rate + 0.5)

    @property
    def dim(self) -> int:
        """Numbers in a frame: the log energy, then the cepstra."""
        return 1 + self.n_cepstra


def mfcc(blocks: Iterable[FloatArray], config: MfccConfig) -> Iterator[FloatArray]:
    """Yield the cepstra of consecutive samples, in chunks.

    Parameters
    ----------
    blocks : iterable of ndarray
        Consecutive samples in [-1, 1) at ``config.rate``, in blocks of any
        sizes: they do not change the result. A whole signal is ``[signal]``.
    config : MfccConfig
        The settings.

    Yields
    ------
    ndarray of shape (n, 1 + n_cepstra)
        Log energy and cepstra; nothing for less than a whole frame.
    """
    for chunk in frame_chunks(blocks, config.frame_length, config.frame_shift):
        yield mfcc_chunk(chunk, config)


def mfcc_chunk(chunk: Chunk, config: MfccConfig) -> FloatArray:
    """Cepstra of the frames of one chunk."""
    samples = chunk.samples * SCALE
    before = np.concatenate(([chunk.before * SCALE], samples[:-1]))
    emphasised = samples - config.preemphasis * before
    frames = overlapping_frames(emphasised, config.frame_length, config.frame_shift)
    power = sigproc.powspec(frames * np.hamming(config.frame_length), config.n_fft)
    energy = np.maximum(power.sum(axis=1), config.floor)
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
