"""EM for the total variability matrix, with the minimum-divergence step.

The first half of an M-step is the most likely T for the posteriors of w at hand.
The second is the most likely prior: posteriors of training segments do not average
to ``N(0, I)`` but to some ``N(u, P)``. The model with that prior is the same as one
with ``T P^(1/2)``, means ``m + T u`` and the standard prior, so this moves the
means too, and neither half can lower the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sms_diar._parallel import Shelf, ordered_map
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
_START = 0.1  # standard deviations by which a random unit w moves each mean


@dataclass(frozen=True, eq=False)
class TotalVariabilityFit:
    """A trained model and how it came about.

    Parameters
    ----------
    model : TotalVariability
        The result.
    log_likelihoods : ndarray of shape (n_iter + 1,)
        Of the training statistics, per frame, before the first iteration and
        after each; never falling.
    """

    model: TotalVariability
    log_likelihoods: FloatArray


@dataclass(frozen=True, eq=False)
class TotalVariabilityState:
    """Training after some iterations: all that the next ones depend on.

    Parameters
    ----------
    matrix, means : ndarrays of shapes (c, d, r) and (c, d)
        The model that was reached.
    log_likelihoods : tuple of float
        Those before each of the iterations so far, at least one.
    """

    matrix: FloatArray
    means: FloatArray
    log_likelihoods: tuple[float, ...]


@dataclass(eq=False)
class _Sums:
    """What an M-step needs of the posteriors of all segments."""

    squares: FloatArray  # sum of N_c E[ww'], lower triangles, shape (c, r(r+1)/2)
    cross: FloatArray  # sum of F_c E[w]', shape (c d, r)
    mean: FloatArray  # sum of E[w]
    prior: FloatArray  # sum of E[ww'], lower triangle
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
    """Train T by EM from a random start.

    Parameters
    ----------
    statistics : Statistics
        Of the training segments; those without frames have no say.
    mixture : GaussianMixture
        The background model that the statistics were collected with.
    rank : int, default=100
        Dimensions of the i-vectors.
    n_iter : int, default=10
        Iterations.
    minimum_divergence : bool, default=True
        Fit the prior of w too, as above. Without, means stay those of the mixture.
    seed : int, default=0
        Seed of the start.
    workers : int, default=1
        Threads; the result does not depend on it.
    on_iteration : callable, optional
        Called with the iteration, from 0, and its log-likelihood.
    on_state : callable, optional
        Called after each iteration, with what it takes to go on from there.
    resume : TotalVariabilityState, optional
        Go on from here: the result is that of training without a break, to the last
        bit, if statistics and settings are the same.
    """
    rank = check_count(_OWNER, "rank", rank)
    n_iter = check_count(_OWNER, "n_iter", n_iter)
    workers = check_count(_OWNER, "workers", workers)
    c, d = mixture.means.shape
    if statistics.first.shape[1:] != (c, d):
        raise InvalidParameterError(
            f"{_OWNER}: statistics must be of {c} components and {d} dimensions like "
            f"the mixture, got {statistics.first.shape[1:]}"
        )
    if rank > c * d:
        raise InvalidParameterError(
            f"{_OWNER}: rank must be at most {c * d}, the dimensions of all means "
            f"together, got {rank}"
        )
    frames = statistics.zeroth.sum(axis=1)
    spoken = np.flatnonzero(frames > 0.0)
    if len(spoken) <= rank:
        raise InvalidParameterError(
            f"{_OWNER}: statistics must be of more segments than the rank ({rank}), "
            f"got {len(spoken)} segments with frames; lower the rank or cut the "
            f"recordings into more segments"
        )
    if len(spoken) < len(statistics):
        statistics = statistics.select(spoken)
    likelihoods: list[float] = []
    if resume is None:
        model = _random_start(mixture, rank, seed)
    else:
        model = TotalVariability(resume.matrix, resume.means, mixture)
        likelihoods += resume.log_likelihoods
    with Shelf() as shelf:
        for iteration in range(len(likelihoods), n_iter + 1):
            sums = _expect(model, statistics, workers=workers, shelf=shelf)
            likelihoods.append(sums.log_likelihood / float(frames.sum()))
            if on_iteration is not None:
                on_iteration(iteration, likelihoods[-1])
            if iteration < n_iter:
                model = _maximise(
                    model, sums, len(statistics), minimum_divergence=minimum_divergence
                )
                if on_state is not None:
                    reached = tuple(likelihoods)
                    on_state(TotalVariabilityState(model.matrix, model.means, reached))
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
    shelf: Shelf | None = None,
) -> _Sums:
    model.prepare()
    of_batch = partial(_batch_sums, model)
    batches = statistics.batches(BATCH)
    parts = ordered_map(of_batch, batches, workers=workers, shelf=shelf)
    total = next(parts)
    for part in parts:
        total += part
    return total


def _batch_sums(model: TotalVariability, part: Statistics) -> _Sums:
    rows, columns = model.triangle
    white = model.white_first(part)
    vectors, covariances, log_likelihoods = model.solve_all(part, white)
    squares = covariances[:, rows, columns]
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
        if square.trace() > np.finfo(float).tiny:  # else no frame bears on it
            cross = sums.cross[component * d : (component + 1) * d]
            white[component] = np.linalg.solve(square, cross.T).T
    matrix = colour(model.mixture, white)
    means = model.means
    if minimum_divergence:
        centre = sums.mean / n
        spread = model.unpack(sums.prior[None])[0] / n - np.outer(centre, centre)
        means = means + matrix @ centre
        matrix = matrix @ np.linalg.cholesky(spread)
    return TotalVariability(matrix, means, model.mixture)
