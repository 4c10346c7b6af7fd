"""Variational Bayes: a mixture or Markov chain of speakers of a PLDA model.

In the space where a PLDA model is diagonal, a segment of speaker s is
``sqrt(psi) * y_s`` plus white noise, and ``y_s`` is standard normal. Variational
Bayes approximates the joint posterior of the ``y_s`` and of the labels by a product,
and improves both factors in turn. The priors of speakers that are not needed tend to
zero, so the number of speakers decreases from its initial value.

The model was published by F. Landini, J. Profant, M. Diez, L. Burget, "Bayesian HMM
clustering of x-vector sequences (VBx) in speaker diarization: theory,
implementation and analysis on standard tasks", 2022; equation numbers are those
of the paper. Its chain has transitions ``loop * I + (1 - loop) * pi``, which cost
O(S) a step and not O(S**2). Without a chain, segments are independent draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax

from sms_diar._validation import is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class VbResult:
    """Posterior of the S speakers and of the labels of n segments.

    `gamma` of shape (n, S) are responsibilities and `pi` priors of the speakers, which
    tend to zero if not needed. `elbo` is the lower bound of the evidence after each
    iteration; it never falls. `alpha` and `variance` of shape (S, D) are posterior
    means and variances of the speakers.
    """

    gamma: FloatArray
    pi: FloatArray
    elbo: FloatArray
    alpha: FloatArray
    variance: FloatArray
    converged: bool


def vb_mixture(
    F: npt.ArrayLike,
    psi: npt.ArrayLike,
    gamma: npt.ArrayLike,
    *,
    Fa: float = 1.0,
    Fb: float = 1.0,
    pi: npt.ArrayLike | None = None,
    loop_probability: float | None = None,
    max_iter: int = 40,
    tol: float = 1e-6,
) -> VbResult:
    """Improve responsibilities `gamma` until the evidence bound converges.

    Segments `F` of shape (n, D) are in the space where the covariances of the PLDA
    model are the identity within speakers and ``diag(psi)`` between them; `gamma` has
    shape (n, S). `Fa` is the weight of the data, below one if segments overlap; with a
    weight `Fb` of the prior above one, fewer speakers remain. `pi` are initial priors,
    equal if None. For segments in temporal order, `loop_probability` in [0, 1) is the
    probability that the next segment has the same speaker; with None or 0 the order is
    ignored. The run ends after `max_iter` iterations, or when the bound rises by less
    than `tol`. An iteration costs O(n S D).
    """
    rows, weights, start = (np.asarray(part, np.float64) for part in (F, psi, gamma))
    n_speakers = start.shape[1]
    priors = np.full(n_speakers, 1.0 / n_speakers) if pi is None else np.asarray(pi)
    loop = loop_probability or 0.0
    rho = rows * np.sqrt(weights)  # (18)
    # Part of the log density of a segment that is independent of speakers, in (23).
    shared = -0.5 * (np.sum(rows**2, axis=1) + rows.shape[1] * np.log(2.0 * np.pi))
    responsibilities, converged = start, False
    bounds: list[float] = []
    while len(bounds) < max_iter and not converged:
        speakers = _speakers(rho, weights, responsibilities, Fa / Fb)
        expected = (speakers.variance + speakers.alpha**2) @ weights
        fit = rho @ speakers.alpha.T - 0.5 * expected  # (23)
        density = Fa * (fit + shared[:, None])
        step = _mixture(density, priors) if loop == 0 else _chain(density, priors, loop)
        responsibilities, priors = step.gamma, step.pi
        bounds.append(step.log_likelihood - Fb * _divergence(speakers))  # (25)
        converged = len(bounds) > 1 and bounds[-1] - bounds[-2] < tol
    return VbResult(
        responsibilities,
        priors,
        np.array(bounds),
        speakers.alpha,
        speakers.variance,
        converged,
    )


def soften(labels: IntArray, smoothing: float = 5.0) -> FloatArray:
    """Return responsibilities with log odds `smoothing` for the given labels."""
    hard = np.eye(int(labels.max()) + 1)[labels]
    gamma: FloatArray = softmax(smoothing * hard, axis=1)
    return gamma


def check_loop(owner: str, value: float | None) -> None:
    """Raise an error if a loop probability is neither in [0, 1) nor None."""
    if value is not None and (not is_real(value) or not 0.0 <= value < 1.0):
        problem = f"must be a number in [0, 1) or None, got {value!r}"
        raise InvalidParameterError(problem, owner=owner, parameter="loop_probability")


class _Speakers(NamedTuple):
    alpha: FloatArray
    variance: FloatArray


class _Step(NamedTuple):
    gamma: FloatArray
    pi: FloatArray
    log_likelihood: float


def _speakers(
    rho: FloatArray, psi: FloatArray, gamma: FloatArray, ratio: float
) -> _Speakers:
    """Return the posterior of the speakers, given responsibilities: (17) and (16)."""
    variance = 1.0 / (1.0 + ratio * np.outer(gamma.sum(axis=0), psi))
    return _Speakers(ratio * variance * (gamma.T @ rho), variance)


def _divergence(speakers: _Speakers) -> float:
    """Kullback-Leibler divergence of all speakers from their standard normal prior."""
    alpha, variance = speakers
    return 0.5 * float(np.sum(variance + alpha**2 - 1.0 - np.log(variance)))


def _mixture(density: FloatArray, pi: FloatArray) -> _Step:
    joint = density + _log(pi)
    evidence = logsumexp(joint, axis=1, keepdims=True)
    gamma: FloatArray = np.exp(joint - evidence)
    return _Step(gamma, gamma.mean(axis=0), float(evidence.sum()))


def _chain(density: FloatArray, pi: FloatArray, loop: float) -> _Step:
    """Forward-backward: (19) to (22), and the priors of (24).

    Forward values are scaled to sum to one, so that drawing a new speaker has
    the same log probability ``log((1 - loop) * pi)`` at every step.
    """
    n, n_speakers = density.shape
    stay, draw = np.log(loop), _log((1.0 - loop) * pi)
    forward, scale = np.empty((n, n_speakers)), np.empty(n)
    entry = _log(pi)
    for t in range(n):
        joint = density[t] + entry
        scale[t] = _log_sum(joint)
        forward[t] = joint - scale[t]
        entry = np.logaddexp(stay + forward[t], draw)
    backward = np.zeros((n, n_speakers))
    for t in range(n - 1, 0, -1):
        ahead = density[t] + backward[t] - scale[t]
        backward[t - 1] = np.logaddexp(stay + ahead, _log_sum(draw + ahead))
    gamma: FloatArray = np.exp(forward + backward)
    drawn = np.exp(draw + density[1:] + backward[1:] - scale[1:, None])
    priors = gamma[0] + drawn.sum(axis=0)
    return _Step(gamma, priors / priors.sum(), float(scale.sum()))


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # the logarithm of a prior of zero
        logs: FloatArray = np.log(values)
    return logs


def _log_sum(values: FloatArray) -> float:
    # scipy's logsumexp spends most of its time on checks for vectors this short.
    top = values.max()
    return float(top + np.log(np.sum(np.exp(values - top))))
