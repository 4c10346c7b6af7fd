"""Interface of scorers, and the bilinear form shared by PLDA and cosine scores.

Clustering repeatedly needs the best partners of one vector. Both PLDA and cosine scores
of a pair are an inner product plus one term for each vector, so after one pass over the
vectors a query is a matrix-vector product.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring._arrays import as_rows
from sms_diar.types import FloatArray

_ROWS = 64


@dataclass(frozen=True, eq=False)
class PairwiseTerms:
    """Scores of all pairs in factored form.

    ``score(i, j) = U[i] @ U[j] + bias[i] + bias[j] + constant``

    Parameters
    ----------
    U : ndarray of shape (n, q)
        Factored vector of each row.
    bias : ndarray of shape (n,)
        Term of each vector that is added to all of its scores.
    constant : float
        Constant term of all scores.
    """

    U: FloatArray
    bias: FloatArray
    constant: float

    def __len__(self) -> int:
        return len(self.U)

    def row(self, i: int) -> FloatArray:
        """Return the scores of vector `i` against all vectors, including itself."""
        scores: FloatArray = self.U @ self.U[i] + self.bias
        scores += self.bias[i] + self.constant
        return scores

    def matrix(self, other: PairwiseTerms | None = None) -> FloatArray:
        """Return the scores against the vectors of `other`, or among themselves."""
        right = self if other is None else other
        scores: FloatArray = self.U @ right.U.T
        # A few rows at a time, because all sums of biases would double the memory.
        for start in range(0, len(scores), _ROWS):
            some = scores[start : start + _ROWS]
            some += self.bias[start : start + _ROWS, None] + right.bias
            some += self.constant
        return scores

    def select(self, rows: slice) -> PairwiseTerms:
        """Return the terms of some of the vectors."""
        return PairwiseTerms(self.U[rows], self.bias[rows], self.constant)


@runtime_checkable
class Scorer(Protocol):
    """Similarity of pairs of vectors; higher scores favour the same speaker.

    ``score``, ``score_matrix`` and ``score_blocks`` take raw vectors;
    ``pairwise_terms`` takes the result of ``prepare``.
    """

    @property
    def dim(self) -> int:
        """Dimension of the input vectors."""

    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Precompute what all scores of a vector share."""

    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores of all pairs of prepared vectors."""

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against a vector, or against the mean of several."""

    def score_matrix(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Score all rows of `A` against all rows of `B`, or among themselves."""

    def score_blocks(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None, *, block: int = 1024
    ) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the same matrix in tiles."""


class BilinearScorer(metaclass=ABCMeta):
    """Base class of scorers that are defined by ``prepare`` and ``pairwise_terms``."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimension of the input vectors."""

    @abstractmethod
    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Precompute what all scores of a vector share."""

    @abstractmethod
    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores of all pairs of prepared vectors."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against a vector, or against the mean of several.

        Parameters
        ----------
        enrol : array-like of shape (d,) or (n, d)
            A vector, or vectors of one speaker, which are averaged. Scale them to equal
            length first if longer vectors should not have more weight.
        test : array-like of shape (d,)
            Vector to compare.
        """
        mean, _, probe = self._pair(enrol, test)
        return float(self.score_matrix(mean, probe)[0, 0])

    def score_matrix(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Score all rows of `A`, shape (n, d), against all rows of `B`, shape (m, d).

        None for `B` scores `A` against itself. The result has shape (n, m); use
        ``score_blocks`` if it does not fit into memory.
        """
        first = self.pairwise_terms(self.prepare(A))
        if B is None:
            return first.matrix()
        return first.matrix(self.pairwise_terms(self.prepare(B)))

    def score_blocks(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None, *, block: int = 1024
    ) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the matrix of ``score_matrix`` in tiles: rows, columns and scores.

        A tile has at most `block` rows and columns, so that at most ``block**2`` scores
        are held in memory.
        """
        check_count(self._name, "block", block)
        first = self.pairwise_terms(self.prepare(A))
        second = first if B is None else self.pairwise_terms(self.prepare(B))
        return _tiles(first, second, block)

    def _pair(
        self, enrol: npt.ArrayLike, test: npt.ArrayLike
    ) -> tuple[FloatArray, int, FloatArray]:
        """Return the enrolment mean as a row, its vector count, and the test row."""
        rows = as_rows(self._name, "enrol", np.atleast_2d(np.asarray(enrol)), self.dim)
        probe = np.asarray(test, dtype=np.float64)
        if probe.shape != (self.dim,) or not len(rows):
            raise InvalidParameterError(
                f"score takes enrol of shape (n, {self.dim}) and test of shape "
                f"({self.dim},), got {rows.shape} and {probe.shape}",
                owner=self._name,
            )
        return rows.mean(axis=0, keepdims=True), len(rows), probe[None]


def _tiles(
    first: PairwiseTerms, second: PairwiseTerms, block: int
) -> Iterator[tuple[slice, slice, FloatArray]]:
    for top in range(0, len(first), block):
        rows = slice(top, min(top + block, len(first)))
        for start in range(0, len(second), block):
            columns = slice(start, min(start + block, len(second)))
            yield rows, columns, first.select(rows).matrix(second.select(columns))


class CosineScorer(BilinearScorer):
    """Score pairs by the cosine of their angle, from -1 to 1.

    Parameters
    ----------
    dim : int
        Dimension of the vectors.

    Notes
    -----
    The score of a zero vector with any vector is 0.

    Examples
    --------
    >>> from sms_diar.scoring import CosineScorer
    >>> CosineScorer(2).score_matrix([[2.0, 0.0]], [[3.0, 4.0], [0.0, 5.0]])
    array([[0.6, 0. ]])
    """

    def __init__(self, dim: int) -> None:
        self._dim = check_count(self._name, "dim", dim)

    @property
    def dim(self) -> int:
        """Dimension of the input vectors."""
        return self._dim

    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Scale each row of `X` to unit length."""
        return scale_rows(as_rows(self._name, "X", X, self._dim))

    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores; the bias and the constant are zero."""
        return PairwiseTerms(phi, np.zeros(len(phi)), 0.0)
