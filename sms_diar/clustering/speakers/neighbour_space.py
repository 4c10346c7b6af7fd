"""A space in which speakers stand out, learnt from the session without labels.

Two rows that are nearest neighbours are mostly one speaker's, and so are two windows
that follow each other in time. The covariance of their differences therefore has the
shape of the covariance *within* speakers, whatever the extractor, and no label was
needed. Measured in its units, the variance of the session stands out in the K - 1
directions that separate K speakers; the others are noise and are left out.

Neighbours are chosen by a metric, which follows from the covariance, which follows
from the neighbours: three rounds settle it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.backend_plda import with_plda
from sms_diar.types import BoolArray, FloatArray, IntArray, PldaModel

_ROUNDS = 3
_NEIGHBOURS = 2  # of a row, whose differences count
_SHARE = 0.01  # of a long session that counts as neighbours instead
_SHRINKAGE = 0.5  # of the covariance, towards equal variance in all directions
_STANDS_OUT = 2.0  # variance of a direction that is kept, in medians
_GAP = 0.5  # seconds between windows that follow each other
_CALM = 0.5  # share of such pairs that count: across a change of speaker they differ
_PAIRS = 20.0  # such pairs at which they weigh half
_FEWEST_PAIRS = 10
_MOST_PAIRS = 40_000  # of neighbours; of long sessions some rows are asked only
_BLOCK = 512  # rows whose distances to all others are held at once,
_MOST_DISTANCES = 1 << 24  # but no more distances than these (128 MiB)
_DIFFERENCES = 8192  # of pairs, held at once: 13 MB of 192 dimensions
_WIDE = 512  # dimensions above which fewer rows are rotated into their own span first


@dataclass(frozen=True, eq=False)
class NeighbourSpace:
    """Axes of a session, in units of the noise.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Of the directions of the session.
    axes : ndarray of shape (d, q)
        Columns; the noise along each has about unit variance.
    variances : ndarray of shape (q,)
        Of the session along the axes, falling.
    """

    mean: FloatArray
    axes: FloatArray
    variances: FloatArray

    def project(self, directions: FloatArray) -> FloatArray:
        """Coordinates of rows of unit length."""
        projected: FloatArray = (directions - self.mean) @ self.axes
        return projected

    def backend(self) -> BackEnd:
        """Back end that scores raw rows by a PLDA model of these variances."""
        q = len(self.variances)
        chain = FoldedChain(self.axes.T, -(self.mean @ self.axes), in_length=1.0)
        psi = np.maximum(self.variances - 1.0, 0.1)
        model = PldaModel(np.zeros(q), np.eye(q), psi)
        return with_plda(replace(build_backend(chain), out_length=0.0), model)


def learn_space(directions: FloatArray, times: RowTimes | None) -> NeighbourSpace:
    """Learn the space of a session.

    Parameters
    ----------
    directions : ndarray of shape (n, d)
        Rows of unit length, none a copy of another.
    times : RowTimes or None
        When they were spoken; windows that overlap are no neighbours.
    """
    n, d = directions.shape
    mean = directions.mean(axis=0)
    centred = directions - mean
    basis = None
    if d > max(n, _WIDE):
        # The span of the rows contains all differences: the axes are the same, at the
        # cost of matrices of shape (n, n) instead of (d, d).
        basis = np.linalg.qr(centred.T)[0]  # shape: (d, n)
        centred = centred @ basis
    whiten = _inverse_root(_within(centred, times, d))
    white = centred @ whiten
    variances, vectors = np.linalg.eigh(white.T @ white / n)
    variances, vectors = variances[::-1], vectors[:, ::-1]
    most = max(1, min(n - 1, d))
    noise = max(float(np.median(variances[:most])), 1e-12)
    outstanding = int(np.count_nonzero(variances[:most] > _STANDS_OUT * noise))
    q = min(most, max(2, outstanding))
    axes = whiten @ vectors[:, :q] / np.sqrt(noise)
    if basis is not None:
        axes = basis @ axes
    return NeighbourSpace(mean, axes, variances[:q] / noise)


def neighbours_of(
    rows: FloatArray, k: int, times: RowTimes | None, queries: IntArray
) -> tuple[IntArray, BoolArray]:
    """Nearest other rows of some rows, by Euclidean distance.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        All rows.
    k : int
        How many, below n.
    times : RowTimes or None
        Rows that overlap in time are passed over.
    queries : ndarray of shape (m,)
        Rows whose neighbours are wanted.

    Returns
    -------
    neighbours : ndarray of shape (m, k)
        Nearest first.
    exists : ndarray of shape (m, k)
        False where no row was left that does not overlap.
    """
    found = np.empty((len(queries), k), dtype=np.int64)
    exists = np.empty((len(queries), k), dtype=np.bool_)
    for first, distances in distance_blocks(rows, times, queries):
        last = first + len(distances)
        near = np.argpartition(distances, k - 1, axis=1)[:, :k]
        own = np.take_along_axis(distances, near, axis=1)
        order = np.argsort(own, axis=1, kind="stable")
        found[first:last] = np.take_along_axis(near, order, axis=1)
        exists[first:last] = np.isfinite(np.take_along_axis(own, order, axis=1))
    return found, exists


def neighbour_count(n: int, least: int) -> int:
    """How many rows are neighbours: a share of a long session, never all others."""
    return min(max(least, int(_SHARE * n)), n - 1)


def distance_blocks(
    rows: FloatArray, times: RowTimes | None, queries: IntArray
) -> Iterator[tuple[int, FloatArray]]:
    """Squared distances of blocks of queries to all rows.

    Yields the place of the first query of a block, and distances of shape (block, n);
    they are infinite from a row to itself and to rows that overlap it in time.
    """
    energy = np.sum(rows**2, axis=1)
    size = max(1, min(_BLOCK, _MOST_DISTANCES // len(rows)))
    for first in range(0, len(queries), size):
        block = queries[first : first + size]
        distances = energy[block, None] + energy
        distances -= 2.0 * rows[block] @ rows.T  # in place: a third is not held
        distances[np.arange(len(block)), block] = np.inf
        if times is not None:
            begins = times.start < times.end[block, None] - 1e-6
            goes_on = times.end > times.start[block, None] + 1e-6
            distances[begins & goes_on] = np.inf
        yield first, distances


def _within(centred: FloatArray, times: RowTimes | None, dim: int) -> FloatArray:
    """Estimate the covariance within speakers, up to its scale, and shrink it.

    Parameters
    ----------
    centred : ndarray of shape (n, d)
        Rows with mean zero.
    times : RowTimes or None
        As in `learn_space`.
    dim : int
        Dimensions of the session, of which the rows may span fewer.
    """
    n, d = centred.shape
    k = neighbour_count(n, _NEIGHBOURS)
    asked = min(n, max(_MOST_PAIRS // k, 1))
    queries = np.unique(np.linspace(0, n - 1, asked).astype(np.int64))
    within = np.eye(d)
    for _ in range(_ROUNDS):
        metric = centred @ _inverse_root(within)
        near, exists = neighbours_of(metric, k, times, queries)
        pairs = np.repeat(queries, k)[exists.ravel()], near[exists]
        covariance = _of_differences(centred, *pairs)
        if times is not None:
            covariance = _with_successors(covariance, centred, metric, times)
        level = max(float(np.trace(covariance)) / dim, 1e-12)
        within = (1.0 - _SHRINKAGE) * covariance / level + _SHRINKAGE * np.eye(d)
    return within


def _with_successors(
    covariance: FloatArray, centred: FloatArray, metric: FloatArray, times: RowTimes
) -> FloatArray:
    """Mix in the differences of windows that follow each other, the calmer half."""
    before, after = times.successors(_GAP)
    if len(before) < _FEWEST_PAIRS:
        return covariance
    moved = np.sum((metric[before] - metric[after]) ** 2, axis=1)
    calm = moved <= np.quantile(moved, _CALM)
    other = _of_differences(centred, before[calm], after[calm])
    weight = np.count_nonzero(calm) / (np.count_nonzero(calm) + _PAIRS)
    scale = float(np.trace(other)) / max(float(np.trace(covariance)), 1e-12)
    mixed: FloatArray = (1.0 - weight) * scale * covariance + weight * other
    return mixed


def _of_differences(rows: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    covariance: FloatArray = np.zeros((rows.shape[1], rows.shape[1]))
    for first in range(0, len(one), _DIFFERENCES):  # all pairs of an hour are 60 MB
        part = slice(first, first + _DIFFERENCES)
        differences = rows[one[part]]
        differences -= rows[other[part]]
        covariance += differences.T @ differences
    covariance /= max(2 * len(one), 1)
    return covariance


def _inverse_root(covariance: FloatArray) -> FloatArray:
    """Columns that whiten."""
    values, vectors = np.linalg.eigh(covariance)
    whitening: FloatArray = vectors / np.sqrt(np.maximum(values, 1e-12))
    return whitening
