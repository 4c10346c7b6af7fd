"""Front end of Kaldi's speaker recognition recipes.

``compute-mfcc-feats``, ``compute-vad``, ``add-deltas``, ``apply-cmvn-sliding`` and
``select-voiced-frames`` are applied in this order, so that models trained in Kaldi get
the frames they were trained on. Kaldi computes in single precision
throughout; here only the result of each step is rounded to it.

Kaldi's dither is random and differs from run to run, so that only ``--dither=0`` gives
the same frames. Other dither is drawn from a fixed seed here.

The fields of the settings are the options of these programs, with Kaldi's defaults.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.fft import dct

from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
    check_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.features.cmvn import row_blocks, sliding_cmvn_rows
from sms_diar.features.filterbank import (
    FLOOR,
    emphasise,
    log_mel,
    mel_corners,
    mel_lines,
    transform_size,
    triangles,
)
from sms_diar.features.mfcc import CHUNK, SCALE, frame_count, overlapping_frames
from sms_diar.io.kaldi.options import read_options
from sms_diar.limits import (
    LARGEST_RATE,
    LONGEST_CONTEXT,
    LONGEST_FFT,
    MOST_DERIVATIVES,
    MOST_FILTERS,
)
from sms_diar.types import BoolArray, FloatArray

Frames = npt.NDArray[np.float32]

WINDOWS = ("hamming", "hanning", "povey", "rectangular", "sine", "blackman")

_CMN_WINDOW = 300  # frames

# Options that do not change the result, or only with others that are refused.
_IGNORED = {
    *("config", "print-args", "verbose"),
    *("allow-downsample", "allow-upsample"),  # other rates are always resampled
    *("channel", "debug-mel", "max-feature-vectors", "min-duration", "output-format"),
    *("vtln-high", "vtln-low", "omit-unvoiced-utts"),
}


@dataclass(frozen=True, slots=True)
class _Options:
    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file such as ``conf/mfcc.conf``, ``conf/vad.conf``, ``delta_opts``."""
        return read_options(cls, path, ignored=_IGNORED)


@dataclass(frozen=True, slots=True)
class KaldiMfcc(_Options):
    """Options of ``compute-mfcc-feats``."""

    sample_frequency: float = 16000.0
    frame_length: float = 25.0
    frame_shift: float = 10.0
    dither: float = 1.0
    preemphasis_coefficient: float = 0.97
    remove_dc_offset: bool = True
    window_type: str = "povey"
    blackman_coeff: float = 0.42
    round_to_power_of_two: bool = True
    snip_edges: bool = True
    num_mel_bins: int = 23
    low_freq: float = 20.0
    high_freq: float = 0.0
    num_ceps: int = 13
    use_energy: bool = True
    energy_floor: float = 0.0
    raw_energy: bool = True
    cepstral_lifter: float = 22.0
    htk_compat: bool = False
    subtract_mean: bool = False
    vtln_warp: float = 1.0

    def __post_init__(self) -> None:
        owner = "KaldiMfcc"
        for name in ("sample_frequency", "frame_length", "frame_shift"):
            value = check_positive(owner, name, getattr(self, name))
            self._demand(name, f"<= {LARGEST_RATE}", holds=value <= LARGEST_RATE)
        for name in ("dither", "low_freq", "energy_floor", "cepstral_lifter"):
            check_not_negative(owner, name, getattr(self, name))
        for name in ("blackman_coeff", "high_freq", "preemphasis_coefficient"):
            check_real(owner, name, getattr(self, name))
        check_choice(owner, "window_type", self.window_type, WINDOWS)
        check_count(
            owner, "num_mel_bins", self.num_mel_bins, least=3, most=MOST_FILTERS
        )
        check_count(owner, "num_ceps", self.num_ceps, most=self.num_mel_bins)
        length, nyquist = self.samples_per_frame, self.sample_frequency / 2
        is_whole = self.sample_frequency == int(self.sample_frequency)
        self._demand("sample_frequency", "a whole number", holds=is_whole)
        is_even = 2 <= length <= self.n_fft <= LONGEST_FFT and self.n_fft % 2 == 0
        rule = f"an even number of samples from 2 to {LONGEST_FFT}"
        self._demand("frame_length", rule, holds=is_even)
        rule = f"from one sample to a frame of {self.frame_length:g} ms"
        is_step = 1 <= self.samples_per_shift <= length
        self._demand("frame_shift", rule, holds=is_step)
        is_share = 0.0 <= self.preemphasis_coefficient <= 1.0
        self._demand("preemphasis_coefficient", "from 0 to 1", holds=is_share)
        rule = f"above the low-freq of {self.low_freq:g} Hz and at most {nyquist:g} Hz"
        is_above = self.low_freq < self._top <= nyquist
        rule += "; zero and below count from there"
        self._demand("high_freq", rule, holds=is_above)
        self._demand("htk_compat", "false", holds=not self.htk_compat)
        self._demand("vtln_warp", "1, without warping", holds=self.vtln_warp == 1.0)
        corners, lines = mel_corners(*self._band), mel_lines(self.rate, self.n_fft)
        first = np.searchsorted(lines, corners[:-2], side="right")
        is_filled = (first < np.searchsorted(lines, corners[2:], side="left")).all()
        rule = "small enough for each filter to contain a line of the spectrum"
        self._demand("num_mel_bins", rule, holds=bool(is_filled))

    def _demand(self, name: str, rule: str, *, holds: bool) -> None:
        if not holds:
            problem = f"must be {rule}, got {getattr(self, name)!r}"
            raise InvalidParameterError(problem, owner="KaldiMfcc", parameter=name)

    @property
    def rate(self) -> int:
        """Sampling rate in hertz."""
        return int(self.sample_frequency)

    @property
    def samples_per_frame(self) -> int:
        """Frame length in samples."""
        return int(self.sample_frequency * 0.001 * float(np.float32(self.frame_length)))

    @property
    def samples_per_shift(self) -> int:
        """Frame shift in samples."""
        return int(self.sample_frequency * 0.001 * float(np.float32(self.frame_shift)))

    @property
    def n_fft(self) -> int:
        """Length of the Fourier transform."""
        n = self.samples_per_frame
        return transform_size(n) if self.round_to_power_of_two else n

    @property
    def _top(self) -> float:
        if self.high_freq > 0.0:
            return self.high_freq
        return self.sample_frequency / 2 + self.high_freq

    @property
    def _band(self) -> tuple[int, float, float]:
        return self.num_mel_bins, self.low_freq, self._top

    def n_frames(self, n_samples: int) -> int:
        """Return the number of frames of a signal."""
        shift = self.samples_per_shift
        if self.snip_edges:
            return frame_count(n_samples, self.samples_per_frame, shift)
        return (n_samples + shift // 2) // shift


@dataclass(frozen=True, slots=True)
class KaldiVad(_Options):
    """Options of ``compute-vad``."""

    vad_energy_threshold: float = 5.0
    vad_energy_mean_scale: float = 0.5
    vad_frames_context: int = 0
    vad_proportion_threshold: float = 0.6

    def __post_init__(self) -> None:
        owner = "KaldiVad"
        check_real(owner, "vad_energy_threshold", self.vad_energy_threshold)
        check_not_negative(owner, "vad_energy_mean_scale", self.vad_energy_mean_scale)
        context = self.vad_frames_context
        check_count(owner, "vad_frames_context", context, least=0, most=LONGEST_CONTEXT)
        if not 0.0 < self.vad_proportion_threshold < 1.0:
            problem = f"must be between 0 and 1, got {self.vad_proportion_threshold!r}"
            raise InvalidParameterError(
                problem, owner=owner, parameter="vad_proportion_threshold"
            )


@dataclass(frozen=True, slots=True)
class KaldiDeltas(_Options):
    """Options of ``add-deltas``."""

    delta_order: int = 2
    delta_window: int = 2

    def __post_init__(self) -> None:
        owner, order = "KaldiDeltas", self.delta_order
        check_count(owner, "delta_order", order, least=0, most=MOST_DERIVATIVES)
        check_count(owner, "delta_window", self.delta_window, most=999)


@dataclass(frozen=True, slots=True)
class KaldiFrontEnd:
    """Front end that turns samples into frames as a Kaldi recipe does.

    Parameters
    ----------
    mfcc : KaldiMfcc
        Cepstra.
    vad : KaldiVad or None
        Speech detection; None keeps all frames.
    deltas : KaldiDeltas
        Derivatives of the cepstra; order 0 for none.
    cmvn : bool, default=True
        Subtract the means of cepstra and derivatives over a sliding window.
    """

    mfcc: KaldiMfcc = field(default_factory=KaldiMfcc)
    vad: KaldiVad | None = field(default_factory=KaldiVad)
    deltas: KaldiDeltas = field(default_factory=KaldiDeltas)
    cmvn: bool = True

    @property
    def dim(self) -> int:
        """Dimension of a frame."""
        return self.mfcc.num_ceps * (self.deltas.delta_order + 1)

    def frames(self, samples: FloatArray) -> Frames:
        """Compute the speech frames, shape (n, dim), of samples in [-1, 1).

        The result is empty if a signal has no whole frame or no speech.
        """
        cepstra = kaldi_mfcc(samples, self.mfcc)
        frames = kaldi_deltas(cepstra, self.deltas)
        if self.cmvn:
            frames = kaldi_cmvn(frames)
        return frames if self.vad is None else frames[kaldi_vad(cepstra, self.vad)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def kaldi_mfcc(samples: FloatArray, config: KaldiMfcc) -> Frames:
    """Compute cepstra, shape (n_frames, num_ceps), of samples in [-1, 1)."""
    n, length, shift = len(samples), config.samples_per_frame, config.samples_per_shift
    count = config.n_frames(n)
    out = np.empty((count, config.num_ceps), dtype=np.float32)
    start = 0 if config.snip_edges else shift // 2 - length // 2
    noise = np.random.default_rng(0)
    for rows in row_blocks(count, CHUNK):
        first, last = start + rows.start * shift, start + (rows.stop - 1) * shift
        # Beyond the ends, the signal is mirrored: -1 is sample 0, -2 is sample 1.
        index = np.arange(first, last + length) % (2 * n)
        signal = samples[np.minimum(index, 2 * n - 1 - index)] * SCALE
        frames = overlapping_frames(signal, length, shift)  # (rows, length)
        if config.dither:
            frames = frames + config.dither * noise.standard_normal(frames.shape)
        out[rows] = _cepstra(frames, config)
    if config.subtract_mean:
        out -= out.mean(axis=0, dtype=np.float64).astype(np.float32)
    return out


def _cepstra(frames: FloatArray, config: KaldiMfcc) -> FloatArray:
    """Compute the cepstra of frames of shape (n, samples_per_frame)."""
    weights, window, lifter = _tables(config)
    if config.remove_dc_offset:
        frames = frames - frames.mean(axis=1, keepdims=True)
    windowed = emphasise(frames, config.preemphasis_coefficient) * window
    cepstra: FloatArray = dct(log_mel(windowed, weights), axis=1, norm="ortho")
    cepstra = cepstra[:, : config.num_ceps] * lifter
    if config.use_energy:
        energy = np.square(frames if config.raw_energy else windowed).sum(axis=1)
        cepstra[:, 0] = np.log(np.maximum(energy, max(FLOOR, config.energy_floor)))
    return cepstra


@functools.lru_cache(maxsize=8)
def _tables(config: KaldiMfcc) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the filters, the window and the factors of the cepstra."""
    turn = np.linspace(0.0, 2.0 * np.pi, config.samples_per_frame)
    blackman = config.blackman_coeff
    window: FloatArray = {
        "hamming": 0.54 - 0.46 * np.cos(turn),
        "hanning": 0.5 - 0.5 * np.cos(turn),
        "povey": (0.5 - 0.5 * np.cos(turn)) ** 0.85,
        "rectangular": np.ones_like(turn),
        "sine": np.sin(0.5 * turn),
        "blackman": blackman
        - 0.5 * np.cos(turn)
        + (0.5 - blackman) * np.cos(2.0 * turn),
    }[config.window_type]
    q = config.cepstral_lifter
    lifter = np.ones(config.num_ceps)
    if q:
        lifter += 0.5 * q * np.sin(np.pi * np.arange(config.num_ceps) / q)
    return triangles(config.rate, config.n_fft, *config._band), window, lifter


def kaldi_vad(cepstra: Frames, config: KaldiVad) -> BoolArray:
    """Decide for each frame, by its first value (the log energy), if it is speech."""
    energies, context = cepstra[:, 0], config.vad_frames_context
    n = len(energies)
    if not n:
        return np.zeros(0, dtype=np.bool_)
    mean = float(energies.mean(dtype=np.float64))
    threshold = config.vad_energy_threshold + config.vad_energy_mean_scale * mean
    loud = energies > threshold
    votes = np.concatenate(([0], np.cumsum(loud)))
    index = np.arange(n)
    first, last = np.maximum(index - context, 0), np.minimum(index + context + 1, n)
    # In single precision as in Kaldi, where 0.6 of five frames are exactly three.
    needed = (last - first).astype(np.float32) * np.float32(
        config.vad_proportion_threshold
    )
    is_speech: BoolArray = votes[last] - votes[first] >= needed
    return is_speech


def kaldi_deltas(cepstra: Frames, config: KaldiDeltas) -> Frames:
    """Append derivatives to cepstra of shape (n, d), shape (n, d * (order + 1)).

    Every order is a weighted sum of the cepstra themselves. It differs from repeated
    derivatives (`sms_diar.features.mfcc.add_deltas`) near the ends, where the first and
    the last frame are repeated.
    """
    n, dim = cepstra.shape
    out = np.empty((n, dim * (config.delta_order + 1)), dtype=np.float32)
    if not n:
        return out
    window = config.delta_window
    ramp = np.arange(-window, window + 1, dtype=np.float64)
    scales = np.ones(1)
    for order in range(config.delta_order + 1):
        reach = order * window
        total = np.zeros((n, dim))
        for offset, scale in zip(range(-reach, reach + 1), scales, strict=True):
            if scale:
                rows = np.clip(np.arange(offset, n + offset), 0, n - 1)
                total += scale * cepstra[rows]
        out[:, order * dim : (order + 1) * dim] = total
        scales = np.convolve(scales, ramp) / np.square(ramp).sum()
    return out


def kaldi_cmvn(frames: Frames) -> Frames:
    """Subtract the means of 300 frames around each of the frames, shape (n, d).

    The recipes set ``--norm-vars=false --center=true --cmn-window=300``.
    """
    out = np.empty_like(frames)
    wide = frames.astype(np.float64)
    for rows in row_blocks(len(frames)):
        out[rows] = sliding_cmvn_rows(wide, rows, _CMN_WINDOW, variance=False)
    return out
