"""A space in which speakers are separated, learnt from a session without labels.

Nearest neighbours mostly belong to one speaker, and so do consecutive windows. The
covariance of their differences therefore has the shape of the covariance *within*
speakers, whatever the extractor. In its units, speakers show as directions of large
variance. Neighbours and metric depend on each other and are estimated in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sms_diar.clustering.speakers.rows import (
    MAX_QUERIES,
    RowTimes,
    chunks,
    distance_blocks,
    sum_rows,
)
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.backend_plda import with_plda
from sms_diar.types import AnyArray, FloatArray, IntArray, PldaModel

ROUNDS = 3
"""Number of estimates of metric and neighbours."""

NEIGHBOURS = 2
"""Neighbours per row whose differences are used, or 1 % of the rows if that is more."""

SHRINKAGE = 0.5
"""Weight of equal variance in all directions in the covariance within speakers."""

SELECTION_BIAS = 1.2
"""Variance within speakers, divided by the variance between nearest neighbours."""

CALM = 0.5
"""Share of consecutive windows that are used: those with the smallest differences. The
speaker may change between the others."""


@dataclass(frozen=True, eq=False)
class SessionSpace:
    """Axes of a session in units of the noise.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Mean of the directions of the session.
    axes : ndarray of shape (d, q)
        One axis per column; the noise along each has about unit variance.
    psi : ndarray of shape (q,)
        Variance between speakers along the axes.
    """

    mean: FloatArray
    axes: FloatArray
    psi: FloatArray

    def coordinates(self, rows: AnyArray) -> FloatArray:
        """Return coordinates in units of the noise, shape (n, q)."""
        coordinates: FloatArray = (rows - self.mean) @ self.axes
        return coordinates

    def project(self, directions: AnyArray) -> FloatArray:
        """Project rows of unit length; reliable axes have more weight."""
        weights = np.sqrt(self.psi / (1.0 + self.psi))
        projected: FloatArray = (directions - self.mean) @ (self.axes * weights)
        return projected

    def backend(self, max_axes: int, in_length: float | None = 1.0) -> BackEnd:
        """Return a back end that scores raw rows by a PLDA model of the first axes.

        Rows are scaled to `in_length` first, unless it is None.
        """
        axes, psi = self.axes[:, :max_axes], self.psi[:max_axes]
        chain = FoldedChain(axes.T, -(self.mean @ axes), in_length=in_length)
        model = PldaModel(np.zeros(len(psi)), np.eye(len(psi)), psi)
        return with_plda(replace(build_backend(chain), out_length=0.0), model)


def learn_space(directions: FloatArray, times: RowTimes | None) -> SessionSpace:
    """Learn the space of a session.

    Parameters
    ----------
    directions : ndarray of shape (n, d)
        Distinct rows of unit length.
    times : RowTimes or None
        Times of the rows; windows that overlap are not neighbours.
    """
    n, d = directions.shape
    mean = directions.mean(axis=0)
    centred = directions - mean
    basis = None
    if d > n:
        # The rows span all differences, so the axes are the same, with matrices of
        # shape (n, n) instead of (d, d).
        basis = np.linalg.qr(centred.T)[0]  # shape: (d, n)
        centred = centred @ basis
    whiten = _inverse_root(_within(centred, times, d))
    white = centred @ whiten
    variances, vectors = np.linalg.eigh(white.T @ white / n)
    most = max(1, min(n - 1, d))
    variances, vectors = variances[::-1][:most], vectors[:, ::-1][:, :most]
    noise = _noise(white @ vectors, variances, times)
    q = max(1, int(np.count_nonzero(variances > noise)))
    axes = whiten @ vectors[:, :q] / np.sqrt(noise)
    if basis is not None:
        axes = basis @ axes
    return SessionSpace(mean, axes, np.maximum(variances[:q] / noise - 1.0, 1e-6))


def space_along(axes: FloatArray, rows: AnyArray) -> SessionSpace:
    """Return the space of given axes, shape (d, q), with mean and variance of rows."""
    mean, total = _mean_and_covariance(rows)
    variances = np.einsum("ij,ij->j", axes, total @ axes)
    return SessionSpace(mean, axes, np.maximum(variances - 1.0, 1e-6))


def space_of_speakers(rows: AnyArray, labels: IntArray) -> SessionSpace:
    """Learn the space of many rows, shape (n, d), from speakers 0, 1, ..."""
    n = len(rows)
    mean, total = _mean_and_covariance(rows)
    sums, sizes = sum_rows(labels, rows), np.bincount(labels)
    means = sums / sizes[:, None] - mean
    within = total - means.T @ (sizes[:, None] * means) / n
    within *= n / max(n - len(sizes), 1)
    whiten = _inverse_root(within)
    variances, vectors = np.linalg.eigh(whiten.T @ total @ whiten)
    q = max(1, int(np.count_nonzero(variances > 1.0)))
    axes = whiten @ vectors[:, ::-1][:, :q]
    return SessionSpace(mean, axes, np.maximum(variances[::-1][:q] - 1.0, 1e-6))


def _mean_and_covariance(rows: AnyArray) -> tuple[FloatArray, FloatArray]:
    n, d = rows.shape
    mean: FloatArray = rows.mean(axis=0, dtype=np.float64)
    total = np.zeros((d, d))
    for part in chunks(n):
        centred = rows[part] - mean
        total += centred.T @ centred
    return mean, total / n


def _noise(places: FloatArray, variances: FloatArray, times: RowTimes | None) -> float:
    """Estimate the variance within speakers along an axis.

    It is the smaller one of two estimates: the median over axes, which is too large if
    a crowd varies along all of them, and the variance between nearest neighbours.

    Parameters
    ----------
    places : ndarray of shape (n, m)
        Rows in whitened coordinates.
    variances : ndarray of shape (m,)
        Variance of the rows along each axis.
    times : RowTimes or None
        Times of the rows.
    """
    one, other = _neighbours(places, 1, times)
    pairs = np.inf
    if len(one):
        differences = places[one] - places[other]  # shape: (n_pairs, m)
        pairs = SELECTION_BIAS * float(np.mean(differences**2)) / 2.0
    return max(min(float(np.median(variances)), pairs), 1e-12)


def _within(centred: FloatArray, times: RowTimes | None, dim: int) -> FloatArray:
    """Estimate the covariance within speakers up to its scale, and shrink it.

    `dim` is the dimension of the vectors, of which the rows may span less.
    """
    n, d = centred.shape
    k = min(max(NEIGHBOURS, n // 100), n - 1)
    within = np.eye(d)
    for _ in range(ROUNDS):
        metric = centred @ _inverse_root(within)
        one, other = _neighbours(metric, k, times)
        covariance = _covariance(centred, one, other)
        if times is not None:
            covariance = _with_successors(covariance, centred, metric, times)
        level = max(float(np.trace(covariance)) / dim, 1e-12)
        within = (1.0 - SHRINKAGE) * covariance / level + SHRINKAGE * np.eye(d)
    return within


def _neighbours(
    rows: FloatArray, k: int, times: RowTimes | None
) -> tuple[IntArray, IntArray]:
    """Return pairs of evenly spaced rows and their k nearest neighbours."""
    n = len(rows)
    queries = np.unique(np.linspace(0, n - 1, min(n, MAX_QUERIES)).astype(np.int64))
    one, other = [], []
    for first, distances in distance_blocks(rows, times, queries):
        nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
        exists = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
        block = queries[first : first + len(distances)]
        one.append(np.repeat(block, k)[exists.ravel()])
        other.append(nearest[exists])
    return np.concatenate(one), np.concatenate(other)


def _with_successors(
    covariance: FloatArray, centred: FloatArray, metric: FloatArray, times: RowTimes
) -> FloatArray:
    """Average with the covariance of consecutive windows, without large differences."""
    before, after = times.successors()
    if not len(before):
        return covariance
    moved = np.sum((metric[before] - metric[after]) ** 2, axis=1)
    calm = moved <= np.quantile(moved, CALM)
    consecutive = _covariance(centred, before[calm], after[calm])
    scale = float(np.trace(consecutive)) / max(float(np.trace(covariance)), 1e-12)
    mixed: FloatArray = (scale * covariance + consecutive) / 2.0
    return mixed


def _covariance(rows: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    """Return half the covariance of the differences of pairs of rows."""
    n, shape = len(one), (len(one), len(rows))
    signs = np.ones(n)
    differences = csr_array((signs, (np.arange(n), one)), shape)
    differences -= csr_array((signs, (np.arange(n), other)), shape)
    # The sum over pairs without the differences in memory: X' L X, L of shape (n, n).
    covariance: FloatArray = rows.T @ ((differences.T @ differences) @ rows)
    covariance /= max(2 * n, 1)
    return covariance


def _inverse_root(covariance: FloatArray) -> FloatArray:
    """Return a matrix whose columns whiten."""
    values, vectors = np.linalg.eigh(covariance)
    whitening: FloatArray = vectors / np.sqrt(np.maximum(values, 1e-12))
    return whitening
