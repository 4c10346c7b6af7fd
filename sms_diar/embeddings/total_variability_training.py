"""EM training of the total variability matrix, with minimum divergence.

With the statistics of `sms_diar.embeddings.total_variability`, whitened by S_c and
summed over segments s, an iteration computes

    (1)  A_c = sum_s N_sc E[w_s w_s'],  C_c = sum_s F_sc E[w_s]'       E step
    (2)  T_c = C_c inv(A_c)                                            M step

Minimum divergence re-estimates the prior of w: the posteriors of the n training
segments do not average to ``N(0, I)`` but to ``N(u, P)`` with

    (3)  u = sum_s E[w_s] / n,  P = sum_s E[w_s w_s'] / n - u u'
    (4)  m_c <- m_c + T_c u,  T_c <- T_c P^(1/2)

The model with the new prior equals a model with the parameters (4) and the standard
prior. Neither step can lower the likelihood.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._random import named_generator
from sms_diar._validation import check_count
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.statistics import Statistics
from sms_diar.embeddings.total_variability import (
    BATCH,
    TotalVariability,
    colour,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray

_OWNER = "train_total_variability"
_START = 0.1  # initial effect of a random unit w on the means, in standard deviations


@dataclass(frozen=True, eq=False)
class TotalVariabilityFit:
    """Trained model and history of the training.

    Parameters
    ----------
    model : TotalVariability
        Trained model.
    log_likelihoods : ndarray of shape (n_iter + 1,)
        Log-likelihood per frame of the training statistics before the first iteration
        and after each iteration; never decreasing.
    """

    model: TotalVariability
    log_likelihoods: FloatArray


@dataclass(frozen=True, eq=False)
class TotalVariabilityState:
    """State of the training after some iterations, for resuming.

    `matrix` and `means` have shapes (c, d, r) and (c, d). `log_likelihoods` are the
    values before each iteration so far; at least one.
    """

    matrix: FloatArray
    means: FloatArray
    log_likelihoods: tuple[float, ...]


@dataclass(eq=False)
class _Sums:
    """Sums over the posteriors of all segments that the M step needs."""

    squares: FloatArray  # A_c (1), lower triangles, shape: (c, r(r+1)/2)
    cross: FloatArray  # C_c (1), shape: (c d, r)
    mean: FloatArray  # sum of E[w], shape: (r,)
    prior: FloatArray  # sum of E[ww'], lower triangle, shape: (r(r+1)/2,)
    log_likelihood: float

    def __iadd__(self, other: _Sums) -> _Sums:
        self.squares += other.squares
        self.cross += other.cross
        self.mean += other.mean
        self.prior += other.prior
        self.log_likelihood += other.log_likelihood
        return self


def train_total_variability(
    statistics: Statistics,
    mixture: GaussianMixture,
    rank: int = 100,
    *,
    n_iter: int = 10,
    minimum_divergence: bool = True,
    seed: int = 0,
    workers: int = 1,
    on_iteration: Callable[[int, float], None] | None = None,
    on_state: Callable[[TotalVariabilityState], None] | None = None,
    resume: TotalVariabilityState | None = None,
) -> TotalVariabilityFit:
    """Train T by EM from a random initialisation.

    Parameters
    ----------
    statistics : Statistics
        Statistics of the training segments; segments without frames are ignored.
    mixture : GaussianMixture
        Background model with which the statistics were collected.
    rank : int, default=100
        Dimension of the i-vectors.
    n_iter : int, default=10
        Number of iterations.
    minimum_divergence : bool, default=True
        If True, also re-estimate the prior of w. If False, the means do not change.
    seed : int, default=0
        Random seed of the initialisation.
    workers : int, default=1
        Number of threads; the result does not depend on it.
    on_iteration : callable, optional
        Function called with the iteration number, from 0, and its log-likelihood.
    on_state : callable, optional
        Function called after each iteration with the state of the training.
    resume : TotalVariabilityState, optional
        State from which to continue. With the same statistics and settings, the result
        is bit-identical to uninterrupted training.
    """
    rank = check_count(_OWNER, "rank", rank)
    n_iter = check_count(_OWNER, "n_iter", n_iter)
    workers = check_count(_OWNER, "workers", workers)
    c, d = mixture.means.shape
    if statistics.first.shape[1:] != (c, d):
        problem = (
            f"must have {c} components and {d} dimensions like the mixture, got "
            f"{statistics.first.shape[1:]}"
        )
        raise InvalidParameterError(problem, owner=_OWNER, parameter="statistics")
    if rank > c * d:
        problem = (
            f"must be at most {c * d}, the total dimension of all means, got {rank}"
        )
        raise InvalidParameterError(problem, owner=_OWNER, parameter="rank")
    frames = statistics.zeroth.sum(axis=1)
    spoken = np.flatnonzero(frames > 0.0)
    if len(spoken) <= rank:
        problem = (
            f"must have more segments than the rank ({rank}), got {len(spoken)} "
            f"segments with frames; lower the rank or cut the recordings into more "
            f"segments"
        )
        raise InvalidParameterError(problem, owner=_OWNER, parameter="statistics")
    if len(spoken) < len(statistics):
        statistics = statistics.select(spoken)
    likelihoods: list[float] = []
    if resume is None:
        model = _random_start(mixture, rank, seed)
    else:
        model = TotalVariability(resume.matrix, resume.means, mixture)
        likelihoods += resume.log_likelihoods
    for iteration in range(len(likelihoods), n_iter + 1):
        sums = _expect(model, statistics, workers=workers)
        likelihoods.append(sums.log_likelihood / float(frames.sum()))
        if on_iteration is not None:
            on_iteration(iteration, likelihoods[-1])
        if iteration < n_iter:
            model = _maximise(
                model, sums, len(statistics), minimum_divergence=minimum_divergence
            )
            if on_state is not None:
                trace = tuple(likelihoods)
                on_state(TotalVariabilityState(model.matrix, model.means, trace))
    return TotalVariabilityFit(model, np.array(likelihoods))


def _random_start(mixture: GaussianMixture, rank: int, seed: int) -> TotalVariability:
    c, d = mixture.means.shape
    white = named_generator(seed, "total variability").standard_normal((c, d, rank))
    white *= _START / np.sqrt(rank)
    return TotalVariability(colour(mixture, white), mixture.means, mixture)


def _expect(
    model: TotalVariability,
    statistics: Statistics,
    *,
    workers: int,
) -> _Sums:
    model.prepare()
    of_batch = partial(_batch_sums, model)
    batches = statistics.batches(BATCH)
    parts = ordered_map(of_batch, batches, workers=workers)
    return reduce(operator.iadd, parts)


def _batch_sums(model: TotalVariability, part: Statistics) -> _Sums:
    rows, columns = model.triangle
    # shapes: (batch, c d), (batch, r), (batch, r, r)
    white = model.white_first(part)
    vectors, covariances, log_likelihoods = model.solve_all(part, white)
    squares = covariances[:, rows, columns]  # E[ww'], shape: (batch, r(r+1)/2)
    squares += vectors[:, rows] * vectors[:, columns]
    return _Sums(
        part.zeroth.T @ squares,
        white.T @ vectors,
        vectors.sum(axis=0),
        squares.sum(axis=0),
        float(log_likelihoods.sum()),
    )


def _maximise(
    model: TotalVariability, sums: _Sums, n: int, *, minimum_divergence: bool
) -> TotalVariability:
    c, d = model.means.shape
    white = model.white_matrix.reshape(c, d, model.rank).copy()
    for component in range(c):
        square = model.unpack(sums.squares[component][None])[0]
        if square.trace() > np.finfo(float).tiny:  # skip components without frames
            cross = sums.cross[component * d : (component + 1) * d]  # shape: (d, r)
            white[component] = np.linalg.solve(square, cross.T).T  # equation (2)
    matrix = colour(model.mixture, white)
    means = model.means
    if minimum_divergence:
        # Equations (3) and (4); the Cholesky factor serves as the square root of P.
        centre = sums.mean / n
        spread = model.unpack(sums.prior[None])[0] / n - np.outer(centre, centre)
        means = means + matrix @ centre
        matrix = matrix @ np.linalg.cholesky(spread)
    return TotalVariability(matrix, means, model.mixture)
