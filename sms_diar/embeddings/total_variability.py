"""Total variability model: a low-dimensional offset of the means for each segment.

Frames of a segment that belong to component c are distributed as
``N(m_c + T_c w, S_c)`` with one ``w ~ N(0, I)`` for the whole segment. The i-vector is
the posterior mean of w. With the zeroth order statistics N_c, and with first order
statistics F_c and T_c that are centred and whitened by S_c,

    (1)  L = I + sum_c N_c T_c' T_c        precision of w
    (2)  b = sum_c T_c' F_c
    (3)  E[w] = inv(L) b,  cov[w] = inv(L).

The products ``T_c' T_c`` are stored as triangles, so the precisions of a batch of
segments are one matrix product of shapes (batch, c) and (c, r(r+1)/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count, check_finite
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.statistics import Statistics
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray

BATCH = 64  # segments per batch; their precisions take 5 MiB at rank 100


class Ivectors(NamedTuple):
    """Posterior of w for each segment.

    Attributes
    ----------
    means : ndarray of shape (n, r)
        I-vectors.
    covariances : ndarray of shape (n, r, r)
        Posterior covariances; for short segments they approach the identity.
    log_likelihoods : ndarray of shape (n,)
        Log marginal likelihood of the statistics of each segment, up to a term that
        depends neither on the means nor on T (see `TotalVariability.posterior`).
    """

    means: FloatArray
    covariances: FloatArray
    log_likelihoods: FloatArray


@dataclass(frozen=True, eq=False)
class TotalVariability:
    """Total variability model.

    Parameters
    ----------
    matrix : ndarray of shape (c, d, r)
        Total variability matrix T, one block for each component.
    means : ndarray of shape (c, d)
        Means for ``w = 0``.
    mixture : GaussianMixture
        Mixture with the covariances around the shifted means; its own means are used
        to align frames.
    """

    matrix: FloatArray
    means: FloatArray
    mixture: GaussianMixture

    def __post_init__(self) -> None:
        shape = self.mixture.means.shape
        if self.matrix.ndim != 3 or self.matrix.shape[:2] != shape:
            raise InvalidParameterError(
                f"must be of shape ({shape[0]}, {shape[1]}, r) like the mixture, got "
                f"{self.matrix.shape}",
                owner="TotalVariability",
                parameter="matrix",
            )
        if self.means.shape != shape:
            problem = f"must be of shape {shape}, got {self.means.shape}"
            raise InvalidParameterError(
                problem, owner="TotalVariability", parameter="means"
            )
        for name in ("matrix", "means"):
            check_finite("TotalVariability", name, getattr(self, name))

    @property
    def rank(self) -> int:
        """Dimension of the i-vectors."""
        return int(self.matrix.shape[2])

    @cached_property
    def triangle(self) -> tuple[IntArray, IntArray]:
        """Row and column indices of the lower triangle, in storage order."""
        return np.tril_indices(self.rank)

    @cached_property
    def white_matrix(self) -> FloatArray:
        """Whitened T, shape (c d, r)."""
        blocks = whiten(self.mixture, self.matrix)
        return np.ascontiguousarray(blocks.reshape(-1, self.rank))

    @cached_property
    def white_means(self) -> FloatArray:
        """Whitened means, shape (c, d)."""
        white: FloatArray = whiten(self.mixture, self.means[:, :, None])[:, :, 0]
        return white

    @cached_property
    def products(self) -> FloatArray:
        """Lower triangles of ``T_c' inv(S_c) T_c``, shape (c, r(r+1)/2)."""
        rows, columns = self.triangle
        blocks = self.white_matrix.reshape(self.matrix.shape)
        packed = np.empty((len(blocks), len(rows)))
        for c, block in enumerate(blocks):
            packed[c] = (block.T @ block)[rows, columns]
        return packed

    def white_first(self, statistics: Statistics) -> FloatArray:
        """Return centred and whitened first order statistics, shape (n, c d)."""
        # shape: (n, c, d)
        centred = statistics.first - statistics.zeroth[:, :, None] * self.means
        scales = self.mixture.whitening
        if self.mixture.is_full:
            white = np.einsum("cij,ncj->nci", scales, centred, optimize=True)
        else:
            white = centred
            white *= scales
        return np.ascontiguousarray(white).reshape(len(statistics), -1)

    @cached_property
    def _unfold(self) -> IntArray:
        """Index in a stored triangle of each entry of the full matrix, shape (r r,)."""
        rows, columns = self.triangle
        indices = np.empty((self.rank, self.rank), dtype=np.int64)
        indices[rows, columns] = indices[columns, rows] = np.arange(len(rows))
        return indices.ravel()

    def precisions(self, zeroth: FloatArray) -> FloatArray:
        """Return the precision L of w for each segment (1), shape (n, r, r)."""
        rows, columns = self.triangle
        packed = zeroth @ self.products
        packed[:, rows == columns] += 1.0
        return self.unpack(packed)

    def unpack(self, packed: FloatArray) -> FloatArray:
        """Expand triangles to symmetric matrices, shape (n, r, r)."""
        full: FloatArray = packed.take(self._unfold, axis=1)
        return full.reshape(-1, self.rank, self.rank)

    def posterior(self, statistics: Statistics) -> Ivectors:
        """Return posterior means and covariances of a batch of segments.

        The log-likelihoods are relative to the same frames under zero means: frames
        are weighted by their posteriors, w is integrated out, and the second order
        statistics, which do not depend on any parameter of this model, cancel.
        """
        self._check(statistics)
        vectors, inverses, likelihoods = self.solve_all(
            statistics, self.white_first(statistics)
        )
        covariances: FloatArray = 0.5 * (inverses + inverses.transpose(0, 2, 1))
        return Ivectors(vectors, covariances, likelihoods)

    def solve_all(self, batch: Statistics, white: FloatArray) -> Ivectors:
        """Compute posteriors (3) from whitened first order statistics (n, c d)."""
        precisions = self.precisions(batch.zeroth)  # L (1), shape: (n, r, r)
        linear = white @ self.white_matrix  # b (2), shape: (n, r)
        inverses = np.asarray(np.linalg.inv(precisions), dtype=np.float64)
        vectors: FloatArray = (inverses @ linear[:, :, None])[:, :, 0]
        factors = np.linalg.cholesky(precisions)
        logs = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        # F'm - N m'm / 2 for the original F; centring has changed it to F - N m.
        means = self.white_means
        offset = white @ means.ravel() + 0.5 * batch.zeroth @ (means**2).sum(axis=1)
        likelihoods = 0.5 * np.einsum("ni,ni->n", vectors, linear) - logs + offset
        return Ivectors(vectors, inverses, likelihoods)

    def extract(self, statistics: Statistics, *, workers: int = 1) -> FloatArray:
        """Compute i-vectors without covariances in batches, shape (n, r).

        Results do not depend on the number of threads, `workers`.
        """
        workers = check_count("TotalVariability", "workers", workers)
        self._check(statistics)
        self.prepare()
        results = ordered_map(self.solve, statistics.batches(BATCH), workers=workers)
        return np.concatenate([np.empty((0, self.rank)), *results])

    def solve(self, batch: Statistics) -> FloatArray:
        """Return the i-vectors of a batch (3), in the current thread."""
        linear = self.white_first(batch) @ self.white_matrix  # b (2), shape: (n, r)
        solved = np.linalg.solve(self.precisions(batch.zeroth), linear[:, :, None])
        return np.asarray(solved[:, :, 0], dtype=np.float64)

    def prepare(self) -> None:
        """Compute cached values that are shared by threads."""
        _ = self.products, self.white_matrix, self.white_means, self._unfold

    def _check(self, statistics: Statistics) -> None:
        shape = self.means.shape
        if statistics.first.shape[1:] != shape:
            raise InvalidParameterError(
                f"must have {shape[0]} components and {shape[1]} dimensions, got "
                f"{statistics.first.shape[1:]}; collect them with the mixture of this "
                f"model",
                owner="TotalVariability",
                parameter="statistics",
            )


def whiten(mixture: GaussianMixture, blocks: FloatArray) -> FloatArray:
    """Apply the whitening of each component to its block, shape (c, d, r)."""
    scales = mixture.whitening
    white: FloatArray = (
        scales @ blocks if mixture.is_full else scales[:, :, None] * blocks
    )
    return white


def colour(mixture: GaussianMixture, blocks: FloatArray) -> FloatArray:
    """Apply the inverse of `whiten`."""
    if mixture.is_full:
        return np.asarray(np.linalg.solve(mixture.whitening, blocks), dtype=np.float64)
    return blocks / mixture.whitening[:, :, None]
