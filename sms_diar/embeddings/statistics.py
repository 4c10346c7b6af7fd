"""Baum-Welch statistics, which are sufficient statistics for i-vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count
from sms_diar.embeddings.mixture import BLOCK, GaussianMixture, check_frames
from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, FloatArray, IntArray

Segments: TypeAlias = Iterable[tuple[str, AnyArray]]
_OWNER = "collect_statistics"


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over the frames of each of n segments, weighted by posteriors.

    Parameters
    ----------
    ids : tuple of str
        Segment ids.
    zeroth : ndarray of shape (n, c)
        Number of frames assigned to each component of the mixture.
    first : ndarray of shape (n, c, d)
        Sums of these frames, not centred. They take 8 n c d bytes.
    """

    ids: tuple[str, ...]
    zeroth: FloatArray
    first: FloatArray

    def __post_init__(self) -> None:
        n, c = self.zeroth.shape if self.zeroth.ndim == 2 else (-1, -1)
        if n != len(self.ids) or self.first.ndim != 3 or self.first.shape[:2] != (n, c):
            raise InvalidParameterError(
                f"zeroth and first must be of shapes ({len(self.ids)}, c) and "
                f"({len(self.ids)}, c, d), got {self.zeroth.shape} and "
                f"{self.first.shape}",
                owner="Statistics",
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory size of the arrays in bytes."""
        return self.zeroth.nbytes + self.first.nbytes

    def select(self, rows: Sequence[int] | IntArray) -> Statistics:
        """Select segments, in the order of `rows`."""
        indices = np.asarray(rows, dtype=np.int64)
        names = tuple(self.ids[row] for row in indices)
        return Statistics(names, self.zeroth[indices], self.first[indices])

    def batches(self, size: int) -> Iterator[Statistics]:
        """Yield batches of at most `size` segments, as views."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Statistics(self.ids[part], self.zeroth[part], self.first[part])


def segment_statistics(
    mixture: GaussianMixture, frames: AnyArray, *, top: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute zeroth (c,) and first order statistics (c, d) of one segment.

    These are the sums of posteriors and the weighted sums of the frames, of shape
    (n, d), of which there may be none. `top` is as for `GaussianMixture.posteriors`.
    """
    zeroth = np.zeros(mixture.n_components)
    first = np.zeros(mixture.means.shape)
    for start in range(0, len(frames), BLOCK):
        X = np.asarray(frames[start : start + BLOCK], dtype=np.float64)
        posteriors, _ = mixture.posteriors(X, top=top)
        zeroth += posteriors.sum(axis=0)
        first += posteriors.T @ X
    return zeroth, first


def collect_statistics(
    mixture: GaussianMixture,
    segments: Segments,
    *,
    top: int | None = None,
    workers: int = 1,
) -> Statistics:
    """Compute statistics of many segments in one pass.

    Parameters
    ----------
    mixture : GaussianMixture
        Background model.
    segments : iterable of (str, ndarray of shape (n_frames, d))
        Segment ids with frames; consumed lazily.
    top : int, optional
        Number of components used for each frame; see `GaussianMixture.posteriors`.
    workers : int, default=1
        Number of threads; results depend neither on it nor on the other segments.
    """
    if top is not None:
        check_count(_OWNER, "top", top)
    workers = check_count(_OWNER, "workers", workers)
    of_batch = partial(batch_statistics, mixture, top=top)
    batches = ([segment] for segment in segments)
    return _join(mixture, ordered_map(of_batch, batches, workers=workers))


def batch_statistics(
    mixture: GaussianMixture,
    batch: Sequence[tuple[str, AnyArray]],
    *,
    top: int | None = None,
) -> Statistics:
    """Compute statistics of a few segments in the current thread."""
    c, d = mixture.means.shape
    zeroth, first = np.empty((len(batch), c)), np.empty((len(batch), c, d))
    for row, (name, frames) in enumerate(batch):
        check_frames(_OWNER, frames, d, f"frames of {name!r}")
        zeroth[row], first[row] = segment_statistics(mixture, frames, top=top)
    return Statistics(tuple(name for name, _ in batch), zeroth, first)


def _join(mixture: GaussianMixture, parts: Iterable[Statistics]) -> Statistics:
    arrays = [batch_statistics(mixture, []), *parts]
    return Statistics(
        tuple(name for part in arrays for name in part.ids),
        np.concatenate([part.zeroth for part in arrays]),
        np.concatenate([part.first for part in arrays]),
    )
