"""Log mel filterbank energies, computed as in Kaldi (``compute-fbank-feats``).

Neural networks are trained on exactly these values. From each frame of 25 ms the mean
is subtracted; the frame is then pre-emphasised, weighted by Povey's window (a Hann
window to the power 0.85) or a Hamming window and zero-padded to a power of two, and its
power spectrum is weighted by triangles on the mel scale. Dither is not used, and an
incomplete last frame is dropped.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.features.mfcc import frame_count, overlapping_frames
from sms_diar.limits import LARGEST_RATE, MOST_FILTERS
from sms_diar.types import AnyArray, FloatArray

FLOOR = float(np.finfo(np.float32).eps)  # as in Kaldi; keeps log(0) finite


@dataclass(frozen=True, slots=True)
class FilterbankConfig:
    """Filterbank settings; the defaults are Kaldi's.

    The `rate` and the lowest and highest frequency of the filters, `low` and `high`,
    are in hertz; if `high` is not positive, it is added to the Nyquist frequency.
    `length` and `shift` of frames are in seconds; `window` is "povey" or "hamming".
    """

    rate: int = 16000
    n_filters: int = 80
    low: float = 20.0
    high: float = 0.0
    length: float = 0.025
    shift: float = 0.010
    preemphasis: float = 0.97
    window: Literal["povey", "hamming"] = "povey"

    def __post_init__(self) -> None:
        check_count("FilterbankConfig", "rate", self.rate, most=LARGEST_RATE)
        check_count("FilterbankConfig", "n_filters", self.n_filters, most=MOST_FILTERS)
        if not 0.0 <= self.low < self.top <= self.rate / 2:
            raise InvalidParameterError(
                f"must be between 0 and {self.rate / 2:g} Hz, got {self.low:g} to "
                f"{self.top:g}",
                owner="FilterbankConfig",
                parameter="filters",
            )
        if not 0.0 < self.shift <= self.length:
            raise InvalidParameterError(
                f"must be in (0, length], got {self.shift:g} with length "
                f"{self.length:g}",
                owner="FilterbankConfig",
                parameter="shift",
            )

    @property
    def top(self) -> float:
        """Highest frequency in hertz."""
        return self.high if self.high > 0.0 else self.rate / 2 + self.high

    @property
    def frame_samples(self) -> int:
        """Number of samples per frame."""
        return int(self.rate * self.length)

    @property
    def shift_samples(self) -> int:
        """Number of samples between the starts of consecutive frames."""
        return int(self.rate * self.shift)

    def frames_of(self, n_samples: int) -> int:
        """Return the number of frames in `n_samples` samples."""
        return frame_count(n_samples, self.frame_samples, self.shift_samples)


def filterbank(samples: AnyArray, config: FilterbankConfig) -> FloatArray:
    """Compute log filterbank energies, shape (n_frames, n_filters).

    The `samples` are in [-1, 1). The result is empty if there are fewer than one frame
    needs.
    """
    if len(samples) < config.frame_samples:
        return np.empty((0, config.n_filters))
    frames = overlapping_frames(
        np.asarray(samples, dtype=np.float64),
        config.frame_samples,
        config.shift_samples,
    )
    frames = frames - frames.mean(axis=1, keepdims=True)
    window = _window(config.window, config.frame_samples)
    return log_mel(emphasise(frames, config.preemphasis) * window, _triangles(config))


def emphasise(frames: FloatArray, share: float) -> FloatArray:
    """Subtract a share of the previous sample; the first sample is its own previous."""
    emphasised = frames.copy()
    emphasised[:, 1:] -= share * frames[:, :-1]
    emphasised[:, 0] -= share * frames[:, 0]
    return emphasised


def log_mel(frames: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute log energies of filters, shape (n_frames, n_filters), from frames.

    The `weights` of the power spectrum are from `triangles`; their number of rows is
    half the length of the Fourier transform.
    """
    half = len(weights)
    # shape: (n_frames, half); the filters do not use the Nyquist frequency
    spectrum = np.fft.rfft(frames, 2 * half)[:, :half]
    power = spectrum.real**2 + spectrum.imag**2
    energies: FloatArray = power @ weights
    return np.log(np.maximum(energies, FLOOR))


def transform_size(n_samples: int) -> int:
    """Return the smallest power of two that is at least `n_samples`."""
    return 1 << (n_samples - 1).bit_length()


@functools.lru_cache(maxsize=8)
def _window(name: str, size: int) -> FloatArray:
    window: FloatArray = (
        np.hamming(size) if name == "hamming" else np.hanning(size) ** 0.85
    )
    return window


@functools.lru_cache(maxsize=8)
def _triangles(config: FilterbankConfig) -> FloatArray:
    size = transform_size(config.frame_samples)
    return triangles(config.rate, size, config.n_filters, config.low, config.top)


def triangles(
    rate: float, size: int, n_filters: int, low: float, top: float
) -> FloatArray:
    """Return the weights of the power spectrum, shape (size / 2, n_filters).

    The corners of the triangles are evenly spaced on the mel scale from `low` to `top`
    hertz. The Nyquist frequency is not part of any filter.
    """
    mel, corners = mel_lines(rate, size)[:, None], mel_corners(n_filters, low, top)
    left, centre, right = corners[:-2], corners[1:-1], corners[2:]
    rising = (mel - left) / (centre - left)
    falling = (right - mel) / (right - centre)
    weights: FloatArray = np.maximum(np.minimum(rising, falling), 0.0)
    return weights


def mel_lines(rate: float, size: int) -> FloatArray:
    """Return the mel frequencies of the lines of a spectrum, shape (size / 2,)."""
    return _mel(np.arange(size // 2) * rate / size)


def mel_corners(n_filters: int, low: float, top: float) -> FloatArray:
    """Return the corners of the filters on the mel scale, shape (n_filters + 2,)."""
    first, last = _mel(np.array((low, top)))
    return np.linspace(first, last, n_filters + 2)


def _mel(hertz: AnyArray) -> FloatArray:
    mel: FloatArray = 1127.0 * np.log1p(hertz / 700.0)
    return mel
