"""I-vector sessions drawn from a PLDA model of adjustable difficulty.

A segment of length L is ``x = speaker + residual``. Speakers are Gaussian with
variances that decrease geometrically from axis to axis, as in trained models (in a
Kaldi model of x-vectors for meetings from 5.6 to 0.53 over 128 dimensions). Residuals
are isotropic with a variance that is larger for short segments, ``variance = a + b /
L``, scaled so that its mean over all segments is 1. The axes are rotated at random, so
that a back end has to estimate them.

The separation of the speakers follows from the target equal error rate by a search over
one scale. The error rate refers to all pairs of segments, scored with the true model,
which accounts for the mean residual but not for the length of a segment.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import exp1

from sms_diar._random import as_generator, named_generator
from sms_diar._validation import (
    check_count,
    check_not_negative,
    check_positive,
    check_share,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.plda import pair_coefficients
from sms_diar.types import FloatArray, IntArray, PldaModel, RandomState

# Number of pairs in the search, and of values per array. With few dimensions there are
# more pairs, and the error rate is accurate to about 0.1 %.
_PAIRS, _NUMBERS = 30_000, 3_000_000
_EASIEST, _HARDEST = 0.005, 0.45


class Session(NamedTuple):
    """Segments of several speakers, sorted by speaker."""

    X: FloatArray
    speakers: IntArray
    durations: FloatArray


@dataclass(frozen=True)
class PldaWorld:
    """PLDA model with distributions of segment counts and lengths.

    Parameters
    ----------
    dim : int, default=100
        Number of dimensions of the i-vectors.
    eer : float, default=0.08
        Equal error rate of all pairs under the true model, 0.005 to 0.45.
    decay : float, default=0.1
        Ratio of the between-speaker variances of the last and the first axis.
    duration_share : float, default=0.7
        Share of the mean residual variance that depends on segment length:
        ``b * mean(1 / L)``.
    min_duration, mean_extra : float, default=0.7 and 1.8
        Segment lengths are ``min_duration + Exp(mean_extra)`` seconds.
    mean_segments, std_segments : float, default=34 and 6
        Mean and standard deviation of the number of segments per speaker, which is
        Gaussian, rounded and at least 1.
    seed : int, default=0
        Random seed of the rotation of the axes.

    Examples
    --------
    >>> world = PldaWorld(dim=20, eer=0.1)
    >>> session = world.draw_session(3, random_state=0)
    >>> session.X.shape[1], np.unique(session.speakers).tolist()
    (20, [0, 1, 2])
    """

    dim: int = 100
    eer: float = 0.08
    decay: float = 0.1
    duration_share: float = 0.7
    min_duration: float = 0.7
    mean_extra: float = 1.8
    mean_segments: float = 34.0
    std_segments: float = 6.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("PldaWorld", "dim", self.dim)
        if not is_real(self.eer) or not _EASIEST <= self.eer <= _HARDEST:
            problem = f"must be a number in [{_EASIEST}, {_HARDEST}], got {self.eer!r}"
            raise InvalidParameterError(problem, owner="PldaWorld", parameter="eer")
        check_share("PldaWorld", "decay", self.decay)
        check_not_negative("PldaWorld", "duration_share", self.duration_share)
        if self.duration_share > 1.0:
            problem = f"must be a number in [0, 1], got {self.duration_share!r}"
            raise InvalidParameterError(
                problem, owner="PldaWorld", parameter="duration_share"
            )
        for name in ("min_duration", "mean_extra", "mean_segments"):
            check_positive("PldaWorld", name, getattr(self, name))
        check_not_negative("PldaWorld", "std_segments", self.std_segments)
        check_count("PldaWorld", "seed", self.seed, least=0)

    @property
    def psi(self) -> FloatArray:
        """Decreasing between-speaker variances; the residual variances are 1."""
        return _separation(self) * _profile(self.dim, self.decay)

    @property
    def model(self) -> PldaModel:
        """True model, for the mean segment length."""
        return PldaModel(np.zeros(self.dim), _axes(self.dim, self.seed), self.psi)

    def residual_variance(self, durations: FloatArray) -> FloatArray:
        """Return the within-speaker variance for segments of the given lengths."""
        # The mean of 1 / (m + E), E exponential of mean s, is e^r E1(r) / s, r = m/s.
        ratio = self.min_duration / self.mean_extra
        mean_inverse = np.exp(ratio) * exp1(ratio) / self.mean_extra
        slope = self.duration_share / mean_inverse
        variance: FloatArray = 1.0 - self.duration_share + slope / durations
        return variance

    def draw_durations(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Draw the lengths of `n` segments in seconds."""
        extra = as_generator(random_state).exponential(self.mean_extra, size=n)
        return self.min_duration + extra

    def draw_session(
        self, n_speakers: int, random_state: RandomState = None
    ) -> Session:
        """Draw a session in which the number of segments per speaker is random."""
        check_count("PldaWorld.draw_session", "n_speakers", n_speakers)
        rng = as_generator(random_state)
        drawn = rng.normal(self.mean_segments, self.std_segments, size=n_speakers)
        counts = np.maximum(1, np.rint(drawn)).astype(np.int64)
        return self._draw(counts, rng)

    def draw_training(
        self, n_speakers: int, n_segments: int, random_state: RandomState = None
    ) -> Session:
        """Draw training data with `n_segments` segments per speaker."""
        check_count("PldaWorld.draw_training", "n_speakers", n_speakers)
        check_count("PldaWorld.draw_training", "n_segments", n_segments)
        counts = np.full(n_speakers, n_segments, dtype=np.int64)
        return self._draw(counts, as_generator(random_state))

    def _draw(self, counts: IntArray, rng: np.random.Generator) -> Session:
        speakers = np.repeat(np.arange(len(counts)), counts)
        durations = self.draw_durations(len(speakers), rng)
        # shape: (n_speakers, dim) for voices, (n_segments, dim) for residuals and X
        voices = np.sqrt(self.psi) * rng.standard_normal((len(counts), self.dim))
        residuals = rng.standard_normal((len(speakers), self.dim))
        residuals *= np.sqrt(self.residual_variance(durations))[:, None]
        # The axes are orthonormal rows, so their transpose is the inverse rotation.
        X = (voices[speakers] + residuals) @ _axes(self.dim, self.seed)
        return Session(X, speakers, durations)


def _profile(dim: int, decay: float) -> FloatArray:
    """Return a geometric sequence from 1 to `decay`."""
    return np.geomspace(1.0, decay, dim)


@functools.cache
def _axes(dim: int, seed: int) -> FloatArray:
    """Draw random orthonormal rows, shape (dim, dim)."""
    rng = named_generator(seed, "PldaWorld", "axes", dim)
    axes: FloatArray = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    axes.flags.writeable = False  # cached: shared by all worlds with this seed
    return axes


@functools.lru_cache(maxsize=64)
def _separation(world: PldaWorld) -> float:
    """Find the scale of the profile that gives the target equal error rate.

    The error rate decreases with the scale. It is measured on the same pairs at every
    scale, so the search sees a monotone, deterministic function.
    """
    rng = named_generator(0, "PldaWorld", "search")
    n = max(_PAIRS, min(10 * _PAIRS, _NUMBERS // world.dim))
    noise = [
        np.sqrt(world.residual_variance(world.draw_durations(n, rng))) for _ in range(2)
    ]
    shape = (world.dim, n)
    # shape: (dim, n); two speakers and two residuals for each pair
    voice, other, first, second = (
        rng.standard_normal(shape, np.float32) for _ in range(4)
    )
    first *= noise[0].astype(np.float32)
    second *= noise[1].astype(np.float32)
    profile = _profile(world.dim, world.decay)

    def excess(log_scale: float) -> float:
        psi = np.exp(log_scale) * profile
        terms = pair_coefficients(psi)
        same, different = np.zeros(n), np.zeros(n)
        for axis in range(world.dim):
            spread = np.float32(np.sqrt(psi[axis]))
            cross, square = terms.cross[axis], terms.test[axis]
            u = spread * voice[axis] + first[axis]
            v = spread * voice[axis] + second[axis]
            w = spread * other[axis] + second[axis]
            bias = square * u**2
            same += cross * (u * v) + square * v**2 + bias
            different += cross * (u * w) + square * w**2 + bias
        return _crossing(same, different) - world.eer

    return float(np.exp(brentq(excess, np.log(1e-6), np.log(1e6), xtol=1e-3)))


def _crossing(same: FloatArray, different: FloatArray) -> float:
    """Return the equal error rate of n target and n non-target scores."""
    # With both kinds sorted, misses equal false alarms where same[i] exceeds
    # different[n - 1 - i].
    rising, falling = np.sort(same), np.sort(different)[::-1]
    return float(np.searchsorted(rising - falling, 0.0)) / len(same)
