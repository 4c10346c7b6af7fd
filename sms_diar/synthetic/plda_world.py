"""I-vector sessions drawn from a PLDA model, as hard as one asks for.

A segment of length L is ``x = speaker + residual``. Speakers are Gaussian with
variances that fall geometrically from axis to axis, as those of trained models
do (a Kaldi model of x-vectors for meetings falls from 5.6 to 0.53 over 128
dimensions). Residuals are isotropic, and larger the shorter the segment:
``variance = a + b / L``, scaled so that its mean over all segments is 1. The axes
are turned at random, so that a back end has something to find.

How far speakers are apart follows from the equal error rate wanted, by a search
over one scale. The rate meant is that of all pairs of segments under the true
model, which knows the mean residual but not the length of a segment.
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

# Pairs behind the search, and numbers per array. In few dimensions there can be
# more of them: the rate is then known to about 0.1 %.
_PAIRS, _NUMBERS = 30_000, 3_000_000
_EASIEST, _HARDEST = 0.005, 0.45


class Session(NamedTuple):
    """Segments of several speakers, speaker after speaker."""

    X: FloatArray
    speakers: IntArray
    durations: FloatArray


@dataclass(frozen=True)
class PldaWorld:
    """A PLDA model, and laws for how much its speakers say.

    Parameters
    ----------
    dim : int, default=100
        Dimensions of the i-vectors.
    eer : float, default=0.08
        Equal error rate of all pairs under the true model, 0.005 to 0.45.
    decay : float, default=0.1
        Variance between speakers along the last axis over that along the first.
    duration_share : float, default=0.7
        Share of the mean residual variance that is due to segments being short:
        ``b * mean(1 / L)``.
    min_duration, mean_extra : float, default=0.7 and 1.8
        Lengths are ``min_duration + Exp(mean_extra)`` seconds.
    mean_segments, std_segments : float, default=34 and 6
        Segments per speaker are Gaussian, rounded, at least 1.
    seed : int, default=0
        Turns the axes; worlds of one seed share them.

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
            raise InvalidParameterError(
                f"PldaWorld: eer must be a number in [{_EASIEST}, {_HARDEST}], "
                f"got {self.eer!r}"
            )
        check_share("PldaWorld", "decay", self.decay)
        check_not_negative("PldaWorld", "duration_share", self.duration_share)
        if self.duration_share > 1.0:
            raise InvalidParameterError(
                f"PldaWorld: duration_share must be a number in [0, 1], "
                f"got {self.duration_share!r}"
            )
        for name in ("min_duration", "mean_extra", "mean_segments"):
            check_positive("PldaWorld", name, getattr(self, name))
        check_not_negative("PldaWorld", "std_segments", self.std_segments)
        check_count("PldaWorld", "seed", self.seed, least=0)

    @property
    def psi(self) -> FloatArray:
        """Variances between speakers, falling; those of the residuals are 1."""
        return _separation(self) * _profile(self.dim, self.decay)

    @property
    def model(self) -> PldaModel:
        """The true model, for the mean length of segments."""
        return PldaModel(np.zeros(self.dim), _axes(self.dim, self.seed), self.psi)

    def residual_variance(self, durations: FloatArray) -> FloatArray:
        """Variance within speakers of segments of the given lengths."""
        # The mean of 1 / (m + E), E exponential of mean s, is e^r E1(r) / s, r = m/s.
        ratio = self.min_duration / self.mean_extra
        mean_inverse = np.exp(ratio) * exp1(ratio) / self.mean_extra
        slope = self.duration_share / mean_inverse
        variance: FloatArray = 1.0 - self.duration_share + slope / durations
        return variance

    def draw_durations(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Lengths of `n` segments, in seconds."""
        extra = as_generator(random_state).exponential(self.mean_extra, size=n)
        return self.min_duration + extra

    def draw_session(
        self, n_speakers: int, random_state: RandomState = None
    ) -> Session:
        """Draw speakers who each say as much as the laws allow."""
        check_count("PldaWorld.draw_session", "n_speakers", n_speakers)
        rng = as_generator(random_state)
        drawn = rng.normal(self.mean_segments, self.std_segments, size=n_speakers)
        counts = np.maximum(1, np.rint(drawn)).astype(np.int64)
        return self._draw(counts, rng)

    def draw_training(
        self, n_speakers: int, n_segments: int, random_state: RandomState = None
    ) -> Session:
        """Draw speakers with `n_segments` segments each."""
        check_count("PldaWorld.draw_training", "n_speakers", n_speakers)
        check_count("PldaWorld.draw_training", "n_segments", n_segments)
        counts = np.full(n_speakers, n_segments, dtype=np.int64)
        return self._draw(counts, as_generator(random_state))

    def _draw(self, counts: IntArray, rng: np.random.Generator) -> Session:
        speakers = np.repeat(np.arange(len(counts)), counts)
        durations = self.draw_durations(len(speakers), rng)
        voices = np.sqrt(self.psi) * rng.standard_normal((len(counts), self.dim))
        residuals = rng.standard_normal((len(speakers), self.dim))
        residuals *= np.sqrt(self.residual_variance(durations))[:, None]
        # The axes are orthonormal rows: their transpose turns back.
        X = (voices[speakers] + residuals) @ _axes(self.dim, self.seed)
        return Session(X, speakers, durations)


def _profile(dim: int, decay: float) -> FloatArray:
    """Geometric fall from 1 to `decay`."""
    return np.geomspace(1.0, decay, dim)


@functools.cache
def _axes(dim: int, seed: int) -> FloatArray:
    """Random orthonormal rows."""
    rng = named_generator(seed, "PldaWorld", "axes", dim)
    axes: FloatArray = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    axes.flags.writeable = False  # shared by all worlds of this seed
    return axes


@functools.lru_cache(maxsize=64)
def _separation(world: PldaWorld) -> float:
    """Scale of the profile at which the true model has the wanted error rate.

    The error rate falls as the scale grows. It is measured on the same pairs at
    every scale, so the search sees one monotone, deterministic curve.
    """
    rng = named_generator(0, "PldaWorld", "search")
    n = max(_PAIRS, min(10 * _PAIRS, _NUMBERS // world.dim))
    noise = [
        np.sqrt(world.residual_variance(world.draw_durations(n, rng))) for _ in range(2)
    ]
    shape = (world.dim, n)
    voice, other, one, two = (rng.standard_normal(shape, np.float32) for _ in range(4))
    one *= noise[0].astype(np.float32)
    two *= noise[1].astype(np.float32)
    profile = _profile(world.dim, world.decay)

    def excess(log_scale: float) -> float:
        psi = np.exp(log_scale) * profile
        terms = pair_coefficients(psi)
        same, different = np.zeros(n), np.zeros(n)
        for axis in range(world.dim):
            spread = np.float32(np.sqrt(psi[axis]))
            cross, square = terms.cross[axis], terms.test[axis]
            u = spread * voice[axis] + one[axis]
            v = spread * voice[axis] + two[axis]
            w = spread * other[axis] + two[axis]
            bias = square * u**2
            same += cross * (u * v) + square * v**2 + bias
            different += cross * (u * w) + square * w**2 + bias
        return _crossing(same, different) - world.eer

    return float(np.exp(brentq(excess, np.log(1e-6), np.log(1e6), xtol=1e-3)))


def _crossing(same: FloatArray, different: FloatArray) -> float:
    """Equal error rate of as many pairs of either kind (metrics lie to the right)."""
    # With n of each kind, sorted, misses = false alarms where same[i] passes
    # different[n - 1 - i].
    rising, falling = np.sort(same), np.sort(different)[::-1]
    return float(np.searchsorted(rising - falling, 0.0)) / len(same)
