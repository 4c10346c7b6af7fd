"""Universal background model: a mixture of all speech, grown by splitting.

One Gaussian becomes two, four and so on, with a few iterations of EM after each
split. Frames are read anew in every iteration, so they may lie on disk; the workers
of a cluster keep them. They are cut into blocks of a fixed size here, so that results
depend neither on how the source cuts them nor on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sms_diar._parallel import Shelf, ordered_map
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
_STEP = 0.2  # standard deviations by which the halves of a split leave the mean


@dataclass(frozen=True)
class UbmStep:
    """One iteration of EM.

    Parameters
    ----------
    n_components : int
        Size of the mixture.
    log_likelihood : float
        Mean over the frames, of the mixture that the iteration started from.
    floored : int
        Variances (of full covariances: directions) that were raised to the floor.
    replaced : int
        Components that had too few frames and took a share of the heaviest ones.
    """

    n_components: int
    log_likelihood: float
    floored: int
    replaced: int


@dataclass(frozen=True, eq=False)
class UbmFit:
    """A trained mixture and how it came about.

    The log-likelihood never falls from one step to the next, except where the
    number of components changed or the earlier step floored or replaced some.
    """

    mixture: GaussianMixture
    steps: tuple[UbmStep, ...]
    n_frames: int


@dataclass(frozen=True, eq=False)
class UbmState:
    """Training after some iterations: all that the next ones depend on.

    Parameters
    ----------
    mixture : GaussianMixture
        What was reached.
    steps : tuple of UbmStep
        The iterations so far, at least one.
    generator : mapping
        State of the generator, as NumPy gives it.
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
        Blocks of frames of any length. Read once for each iteration: a list, a
        `FrameStore`, any object whose ``iter`` starts again, but not a generator.
    n_components : int, default=128
        Gaussians; not necessarily a power of two.
    covariance : {'diagonal', 'full'}, default='diagonal'
        Shape of the Gaussians.
    n_iter : int, default=10
        Iterations of EM with all components.
    split_iter : int, default=4
        Iterations between two splits.
    variance_floor : float, default=0.01
        Least variance, as a share of that of all frames in the same direction.
    min_frames : float, default=20.0
        Components with fewer frames are replaced by half of the heaviest one.
    seed : int, default=0
        Seed of the directions of the splits.
    workers : int, default=1
        Threads; the result does not depend on it.
    on_step : callable, optional
        Called after each iteration.
    on_state : callable, optional
        Called after each iteration, with what it takes to go on from there.
    resume : UbmState, optional
        Go on from here: the result is that of training without a break, to the last
        bit, if frames and settings are the same.
    """
    n_components = check_count(_OWNER, "n_components", n_components)
    check_choice(_OWNER, "covariance", covariance, COVARIANCES)
    n_iter = check_count(_OWNER, "n_iter", n_iter)
    split_iter = check_count(_OWNER, "split_iter", split_iter)
    check_positive(_OWNER, "variance_floor", variance_floor)
    check_not_negative(_OWNER, "min_frames", min_frames)
    workers = check_count(_OWNER, "workers", workers)
    if isinstance(frames, Iterator):
        raise InvalidParameterError(
            f"{_OWNER}: frames must be an iterable that can be read again, such as a "
            f"list of blocks, got a {type(frames).__name__}, which is empty after the "
            f"first iteration"
        )
    with Shelf() as shelf:
        total = _global_moments(
            frames, full=covariance == "full", workers=workers, shelf=shelf
        )
        n_frames = int(total.counts[0])
        if n_frames < max(min_frames, 2.0) * n_components:
            raise InvalidParameterError(
                f"{_OWNER}: frames must be at least {max(min_frames, 2.0):g} for each "
                f"of the {n_components} components, got {n_frames} frames; take fewer "
                f"components or more speech"
            )
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
            moments = _moments(mixture, frames, workers=workers, shelf=shelf)
            mixture, step = _maximise(moments, floor, min_frames, generator)
            steps.append(step)
            if on_step is not None:
                on_step(step)
            if on_state is not None:
                on_state(UbmState(mixture, tuple(steps), generator.bit_generator.state))
    return UbmFit(mixture, tuple(steps), n_frames)


def count_steps(n_components: int, *, n_iter: int = 10, split_iter: int = 4) -> int:
    """Iterations of EM that `train_ubm` takes."""
    return len(_plan(n_components, n_iter, split_iter))


def _plan(n_components: int, n_iter: int, split_iter: int) -> list[int]:
    """Number of components in each iteration; a single Gaussian needs only one."""
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
    """Cut or join blocks of any length into blocks of `size` frames.

    Numbers stay as they are stored; as ``float64`` they would take twice the bytes on
    their way to a worker.
    """
    waiting: list[AnyArray] = []
    held = 0
    for part in frames:
        rest = part
        while held + len(rest) >= size:
            taken = size - held
            yield np.concatenate([*waiting, rest[:taken]])
            waiting, held, rest = [], 0, rest[taken:]
        if len(rest):
            waiting.append(rest)
            held += len(rest)
    if held:
        yield np.concatenate(waiting)


@dataclass(eq=False)
class _Moments:
    """Sums over frames, relative to `centre`, weighted with posteriors."""

    centre: FloatArray
    counts: FloatArray
    first: FloatArray
    second: FloatArray
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
    Z = X - centre
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
    shelf: Shelf,
) -> _Moments:
    of_block = partial(_block_moments, mixture, mixture.weights @ mixture.means)
    blocks = cut_blocks(frames)
    return _sum(ordered_map(of_block, blocks, workers=workers, shelf=shelf))


def _block_moments(
    mixture: GaussianMixture, centre: FloatArray, block: AnyArray
) -> _Moments:
    X = block.astype(np.float64)
    posteriors, log_likelihoods = mixture.posteriors(X)
    found = _weighted(X, posteriors, centre, full=mixture.is_full)
    found.log_likelihood = float(log_likelihoods.sum())
    return found


def _sum(parts: Iterator[_Moments]) -> _Moments:
    total = next(parts)
    for part in parts:
        total += part
    return total


def _global_moments(
    frames: Iterable[AnyArray], *, full: bool, workers: int, shelf: Shelf
) -> _Moments:
    def checked() -> Iterator[AnyArray]:
        dim = None
        for part in frames:
            if part.ndim != 2:
                raise InvalidParameterError(
                    f"{_OWNER}: frames must be of shape (n, d), got {part.shape}"
                )
            dim = part.shape[1] if dim is None else dim
            check_frames(_OWNER, part, dim)
            yield part

    start = next(cut_blocks(checked()), None)
    if start is None:
        raise InvalidParameterError(f"{_OWNER}: frames must not be empty, got none")
    # Near enough to the mean of all that the squares keep their digits.
    centre = start.astype(np.float64).mean(axis=0)
    of_block = partial(_plain_moments, centre, full=full)
    blocks = cut_blocks(checked())
    return _sum(ordered_map(of_block, blocks, workers=workers, shelf=shelf))


def _plain_moments(centre: FloatArray, block: AnyArray, *, full: bool) -> _Moments:
    X = block.astype(np.float64)
    return _weighted(X, np.ones((len(X), 1)), centre, full=full)


class _Floor:
    """The least variances, from those of all frames, and the first Gaussian."""

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
        # Of constant coordinates only rounding errors are left.
        constant = spread <= 1e-12 * (mean**2 + np.finfo(float).tiny)
        if constant.any():
            raise InvalidParameterError(
                f"{_OWNER}: frames must vary in every dimension, got the same value "
                f"everywhere in dimension {int(np.argmax(constant))}"
            )
        if variances.ndim == 1:
            self.least = share * variances
        else:
            try:
                self.factor = np.linalg.cholesky(variances)
            except np.linalg.LinAlgError:
                raise InvalidParameterError(
                    f"{_OWNER}: frames must span all their dimensions for full "
                    f"covariances, got linearly dependent ones; take diagonal ones"
                ) from None
            self.inverse = np.linalg.inv(self.factor)
        self.single = GaussianMixture(np.ones(1), mean[None], variances[None])

    def raise_to(self, covariances: FloatArray) -> tuple[FloatArray, int]:
        """Covariances above the floor, and how many variances were raised."""
        if covariances.ndim == 2:
            low = covariances < self.least
            return np.where(low, self.least, covariances), int(low.sum())
        # Where all frames together are white, the floor is the same everywhere.
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
    shifts = moments.first / counts[:, None]
    if moments.second.ndim == 2:
        covariances = moments.second / counts[:, None] - shifts**2
    else:
        outer = shifts[:, :, None] * shifts[:, None, :]
        covariances = moments.second / counts[:, None, None] - outer
    starved = np.flatnonzero(moments.counts < max(min_frames, 1.0))
    kept = np.flatnonzero(moments.counts >= max(min_frames, 1.0))
    if not len(kept):  # pragma: no cover - there are min_frames for each component
        kept, starved = starved[:1], starved[1:]
    raised, floored = floor.raise_to(covariances[kept])
    weights = moments.counts[kept]
    mixture = GaussianMixture(
        weights / weights.sum(), moments.centre + shifts[kept], raised
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
        # Of the same length in any direction, lest a short one take long to part.
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
