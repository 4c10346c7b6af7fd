"""Universal background model: a Gaussian mixture trained by splitting and EM.

One Gaussian is split into two, four and so on, with a few iterations of EM after each
split. With the posterior p_tc of component c for frame x_t, an iteration computes

    (1)  N_c = sum_t p_tc,  F_c = sum_t p_tc x_t,  S_c = sum_t p_tc x_t x_t'   E step
    (2)  w_c = N_c / sum_k N_k
    (3)  m_c = F_c / N_c
    (4)  C_c = S_c / N_c - m_c m_c'                                             M step

where all x_t are relative to a common centre, to limit rounding errors. For diagonal
covariances only the diagonal of S_c is computed. Frames are read again in every
iteration, so they may be on disk; workers of a cluster cache them. They are cut into
blocks of a fixed size, so that results depend neither on the blocks of the source nor
on the number of workers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._random import named_generator
from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
)
from sms_diar.embeddings.mixture import BLOCK, GaussianMixture, check_frames
from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, FloatArray

COVARIANCES = ("diagonal", "full")
_OWNER = "train_ubm"
_STEP = 0.2  # distance of the halves of a split from the mean, in standard deviations


@dataclass(frozen=True)
class UbmStep:
    """One iteration of EM.

    Parameters
    ----------
    n_components : int
        Number of components of the mixture.
    log_likelihood : float
        Mean log-likelihood per frame of the mixture before the iteration.
    floored : int
        Number of variances (for full covariances: directions) raised to the floor.
    replaced : int
        Number of components with too few frames that were replaced.
    """

    n_components: int
    log_likelihood: float
    floored: int
    replaced: int


@dataclass(frozen=True, eq=False)
class UbmFit:
    """Trained mixture and history of the training.

    The log-likelihood never decreases from one step to the next, unless the number of
    components changed or the earlier step floored or replaced some.
    """

    mixture: GaussianMixture
    steps: tuple[UbmStep, ...]
    n_frames: int


@dataclass(frozen=True, eq=False)
class UbmState:
    """State of the training after some iterations, at least one, for resuming.

    `generator` is the state of the NumPy random generator.
    """

    mixture: GaussianMixture
    steps: tuple[UbmStep, ...]
    generator: Mapping[str, Any]


def train_ubm(
    frames: Iterable[FloatArray],
    n_components: int = 128,
    *,
    covariance: str = "diagonal",
    n_iter: int = 10,
    split_iter: int = 4,
    variance_floor: float = 0.01,
    min_frames: float = 20.0,
    seed: int = 0,
    workers: int = 1,
    on_step: Callable[[UbmStep], None] | None = None,
    on_state: Callable[[UbmState], None] | None = None,
    resume: UbmState | None = None,
) -> UbmFit:
    """Train a mixture by splitting and EM.

    Parameters
    ----------
    frames : iterable of ndarrays of shape (n, d)
        Blocks of frames of any length. They are read once per iteration, so this must
        be a list, a `FrameStore` or another re-iterable object, but not a generator.
    n_components : int, default=128
        Number of Gaussians; not necessarily a power of two.
    covariance : {'diagonal', 'full'}, default='diagonal'
        Type of the covariances.
    n_iter : int, default=10
        Number of EM iterations with all components.
    split_iter : int, default=4
        Number of EM iterations between two splits.
    variance_floor : float, default=0.01
        Minimum variance as a fraction of the variance of all frames in the same
        direction.
    min_frames : float, default=20.0
        Components with fewer frames are replaced by half of the heaviest component.
    seed : int, default=0
        Random seed of the split directions.
    workers : int, default=1
        Number of threads; the result does not depend on it.
    on_step : callable, optional
        Function called after each iteration.
    on_state : callable, optional
        Function called after each iteration with the state of the training.
    resume : UbmState, optional
        State from which to continue. With the same frames and settings, the result is
        bit-identical to uninterrupted training.
    """
    n_components = check_count(_OWNER, "n_components", n_components)
    check_choice(_OWNER, "covariance", covariance, COVARIANCES)
    n_iter = check_count(_OWNER, "n_iter", n_iter)
    split_iter = check_count(_OWNER, "split_iter", split_iter)
    check_positive(_OWNER, "variance_floor", variance_floor)
    check_not_negative(_OWNER, "min_frames", min_frames)
    workers = check_count(_OWNER, "workers", workers)
    if isinstance(frames, Iterator):
        problem = (
            f"must be an iterable that can be read again, such as a list of blocks, "
            f"got a {type(frames).__name__}, which is empty after the first iteration"
        )
        raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
    total = _global_moments(frames, full=covariance == "full", workers=workers)
    n_frames = int(total.counts[0])
    if n_frames < max(min_frames, 2.0) * n_components:
        problem = (
            f"must be at least {max(min_frames, 2.0):g} for each of the "
            f"{n_components} components, got {n_frames} frames; use fewer components "
            f"or more speech"
        )
        raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
    floor = _Floor(total, variance_floor)
    mixture = floor.single
    generator = named_generator(seed, "ubm")
    steps: list[UbmStep] = []
    if resume is not None:
        mixture, steps = resume.mixture, list(resume.steps)
        generator.bit_generator.state = dict(resume.generator)
    for size in _plan(n_components, n_iter, split_iter)[len(steps) :]:
        if size > mixture.n_components:
            mixture = _split(mixture, size, generator)
        moments = _moments(mixture, frames, workers=workers)
        mixture, step = _maximise(moments, floor, min_frames, generator)
        steps.append(step)
        if on_step is not None:
            on_step(step)
        if on_state is not None:
            on_state(UbmState(mixture, tuple(steps), generator.bit_generator.state))
    return UbmFit(mixture, tuple(steps), n_frames)


def count_steps(n_components: int, *, n_iter: int = 10, split_iter: int = 4) -> int:
    """Return the number of EM iterations of `train_ubm`."""
    return len(_plan(n_components, n_iter, split_iter))


def count_component_passes(
    n_components: int, *, n_iter: int = 10, split_iter: int = 4
) -> int:
    """Return the sum of the numbers of components over the EM iterations."""
    return sum(_plan(n_components, n_iter, split_iter))


def _plan(n_components: int, n_iter: int, split_iter: int) -> list[int]:
    """Return the number of components in each iteration."""
    plan = [1]
    sizes = _sizes(n_components)
    for size in sizes[1:-1]:
        plan += [size] * split_iter
    return plan + [n_components] * (n_iter if len(sizes) > 1 else 0)


def _sizes(n_components: int) -> list[int]:
    sizes = [1]
    while sizes[-1] < n_components:
        sizes.append(min(2 * sizes[-1], n_components))
    return sizes


def cut_blocks(frames: Iterable[AnyArray], size: int = BLOCK) -> Iterator[AnyArray]:
    """Regroup blocks of any length into blocks of `size` frames.

    The dtype is kept, because ``float64`` would double the bytes sent to a worker.
    """
    pending: list[AnyArray] = []
    n_pending = 0
    for part in frames:
        remaining = part
        while n_pending + len(remaining) >= size:
            n_taken = size - n_pending
            yield np.concatenate([*pending, remaining[:n_taken]])
            pending, n_pending, remaining = [], 0, remaining[n_taken:]
        if len(remaining):
            pending.append(remaining)
            n_pending += len(remaining)
    if n_pending:
        yield np.concatenate(pending)


@dataclass(eq=False)
class _Moments:
    """Sums over frames (1), relative to `centre`."""

    centre: FloatArray  # shape: (d,)
    counts: FloatArray  # N_c, shape: (c,)
    first: FloatArray  # F_c, shape: (c, d)
    second: FloatArray  # S_c, shape: (c, d) or (c, d, d)
    log_likelihood: float

    def __iadd__(self, other: _Moments) -> _Moments:
        self.counts += other.counts
        self.first += other.first
        self.second += other.second
        self.log_likelihood += other.log_likelihood
        return self


def _weighted(
    X: FloatArray, posteriors: FloatArray, centre: FloatArray, *, full: bool
) -> _Moments:
    Z = X - centre  # shape: (n, d)
    first = posteriors.T @ Z
    if full:
        second = np.stack([(Z.T * column) @ Z for column in posteriors.T])
    else:
        second = posteriors.T @ (Z * Z)
    return _Moments(centre, posteriors.sum(axis=0), first, second, 0.0)


def _moments(
    mixture: GaussianMixture,
    frames: Iterable[AnyArray],
    *,
    workers: int,
) -> _Moments:
    of_block = partial(_block_moments, mixture, mixture.weights @ mixture.means)
    blocks = cut_blocks(frames)
    parts = ordered_map(of_block, blocks, workers=workers)
    return reduce(operator.iadd, parts)


def _block_moments(
    mixture: GaussianMixture, centre: FloatArray, block: AnyArray
) -> _Moments:
    X = block.astype(np.float64)
    posteriors, log_likelihoods = mixture.posteriors(X)
    moments = _weighted(X, posteriors, centre, full=mixture.is_full)
    moments.log_likelihood = float(log_likelihoods.sum())
    return moments


def _global_moments(
    frames: Iterable[AnyArray], *, full: bool, workers: int
) -> _Moments:
    def checked() -> Iterator[AnyArray]:
        dim = None
        for part in frames:
            if part.ndim != 2:
                problem = f"must be of shape (n, d), got {part.shape}"
                raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
            dim = part.shape[1] if dim is None else dim
            check_frames(_OWNER, part, dim)
            yield part

    start = next(cut_blocks(checked()), None)
    if start is None:
        problem = "must not be empty, got none"
        raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
    # Close enough to the global mean to limit rounding errors in the squares.
    centre = start.astype(np.float64).mean(axis=0)
    of_block = partial(_plain_moments, centre, full=full)
    blocks = cut_blocks(checked())
    parts = ordered_map(of_block, blocks, workers=workers)
    return reduce(operator.iadd, parts)


def _plain_moments(centre: FloatArray, block: AnyArray, *, full: bool) -> _Moments:
    X = block.astype(np.float64)
    return _weighted(X, np.ones((len(X), 1)), centre, full=full)


class _Floor:
    """Minimum variances, derived from all frames, and the initial Gaussian."""

    def __init__(self, total: _Moments, share: float) -> None:
        n = total.counts[0]
        shift = total.first[0] / n
        mean = total.centre + shift
        self.share = share
        if total.second.ndim == 2:
            variances = total.second[0] / n - shift**2
            spread = variances
        else:
            variances = total.second[0] / n - np.outer(shift, shift)
            spread = np.diagonal(variances)
        # Constant dimensions have only rounding errors left.
        constant = spread <= 1e-12 * (mean**2 + np.finfo(float).tiny)
        if constant.any():
            problem = (
                f"must vary in every dimension, got the same value everywhere in "
                f"dimension {int(np.argmax(constant))}"
            )
            raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
        if variances.ndim == 1:
            self.least = share * variances
        else:
            try:
                self.factor = np.linalg.cholesky(variances)
            except np.linalg.LinAlgError:
                raise InvalidParameterError(
                    "must span all their dimensions for full covariances, got "
                    "linearly dependent ones; use diagonal ones",
                    owner=_OWNER,
                    parameter="frames",
                ) from None
            self.inverse = np.linalg.inv(self.factor)
        self.single = GaussianMixture(np.ones(1), mean[None], variances[None])

    def raise_to(self, covariances: FloatArray) -> tuple[FloatArray, int]:
        """Return floored covariances, and the number of variances that were raised."""
        if covariances.ndim == 2:
            low = covariances < self.least
            return np.where(low, self.least, covariances), int(low.sum())
        # In the space where all frames are white, the floor is the same everywhere.
        white = self.inverse @ covariances @ self.inverse.T
        values, vectors = np.linalg.eigh(0.5 * (white + white.transpose(0, 2, 1)))
        low = values < self.share
        if not low.any():
            return 0.5 * (covariances + covariances.transpose(0, 2, 1)), 0
        axes = self.factor @ vectors
        raised = (axes * np.maximum(values, self.share)[:, None, :]) @ axes.transpose(
            0, 2, 1
        )
        return 0.5 * (raised + raised.transpose(0, 2, 1)), int(low.sum())


def _maximise(
    moments: _Moments,
    floor: _Floor,
    min_frames: float,
    generator: np.random.Generator,
) -> tuple[GaussianMixture, UbmStep]:
    counts = np.maximum(moments.counts, np.finfo(float).tiny)
    shifts = moments.first / counts[:, None]  # equation (3), shape: (c, d)
    if moments.second.ndim == 2:
        covariances = moments.second / counts[:, None] - shifts**2
    else:
        # equation (4), shape: (c, d, d)
        outer = shifts[:, :, None] * shifts[:, None, :]
        covariances = moments.second / counts[:, None, None] - outer
    starved = np.flatnonzero(moments.counts < max(min_frames, 1.0))
    sufficient = np.flatnonzero(moments.counts >= max(min_frames, 1.0))
    if not len(sufficient):  # pragma: no cover - there are enough frames for one
        sufficient, starved = starved[:1], starved[1:]
    raised, floored = floor.raise_to(covariances[sufficient])
    weights = moments.counts[sufficient]  # equation (2)
    mixture = GaussianMixture(
        weights / weights.sum(), moments.centre + shifts[sufficient], raised
    )
    if len(starved):
        mixture = _split(mixture, len(moments.counts), generator)
    likelihood = moments.log_likelihood / float(moments.counts.sum())
    step = UbmStep(len(moments.counts), likelihood, floored, len(starved))
    return mixture, step


def _split(
    mixture: GaussianMixture, size: int, generator: np.random.Generator
) -> GaussianMixture:
    """Split the heaviest components in two until there are `size`."""
    weights = mixture.weights.tolist()
    means = list(mixture.means)
    covariances = list(mixture.covariances)
    while len(weights) < size:
        heaviest = int(np.argmax(weights))
        # Equal lengths in all directions, because short steps separate slowly.
        step = generator.standard_normal(mixture.dim)
        step *= _STEP * np.sqrt(mixture.dim) / np.linalg.norm(step)
        spread = covariances[heaviest]
        offset = (
            np.linalg.cholesky(spread) @ step
            if mixture.is_full
            else np.sqrt(spread) * step
        )
        weights[heaviest] /= 2.0
        weights.append(weights[heaviest])
        means.append(means[heaviest] + offset)
        means[heaviest] = means[heaviest] - offset
        covariances.append(spread)
    return GaussianMixture(
        np.array(weights), np.array(means), np.array(covariances, dtype=np.float64)
    )
