"""What a scorer is, and the bilinear form all of ours share.

Clustering by scores asks again and again for the best partners of one vector.
Both PLDA and cosine scores of a pair are an inner product plus a term of each
member, so after one pass over the vectors a query is a matrix-vector product.
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
        One vector for each row that was prepared.
    bias : ndarray of shape (n,)
        Its own part of each of its scores.
    constant : float
        The part that all scores share.
    """

    U: FloatArray
    bias: FloatArray
    constant: float

    def __len__(self) -> int:
        return len(self.U)

    def row(self, i: int) -> FloatArray:
        """Scores of vector `i` against all, itself among them."""
        scores: FloatArray = self.U @ self.U[i] + self.bias
        scores += self.bias[i] + self.constant
        return scores

    def matrix(self, other: PairwiseTerms | None = None) -> FloatArray:
        """Scores of all vectors against those of `other`, or among themselves."""
        right = self if other is None else other
        scores: FloatArray = self.U @ right.U.T
        # A few rows at a time: the sums of biases of all would be as large again.
        for start in range(0, len(scores), _ROWS):
            some = scores[start : start + _ROWS]
            some += self.bias[start : start + _ROWS, None] + right.bias
            some += self.constant
        return scores

    def select(self, rows: slice) -> PairwiseTerms:
        """Terms of some of the vectors."""
        return PairwiseTerms(self.U[rows], self.bias[rows], self.constant)


@runtime_checkable
class Scorer(Protocol):
    """Similarity of pairs of vectors; higher means more likely one speaker.

    ``score``, ``score_matrix`` and ``score_blocks`` take vectors as they are;
    ``pairwise_terms`` takes what ``prepare`` returned.
    """

    @property
    def dim(self) -> int:
        """Dimensions of the vectors it takes."""

    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Do once what every score of a vector needs."""

    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores of all pairs of prepared vectors."""

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against one, or against the mean of several."""

    def score_matrix(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Score all rows of `A` against all rows of `B`, or among themselves."""

    def score_blocks(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None, *, block: int = 1024
    ) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the same matrix in tiles."""


class BilinearScorer(metaclass=ABCMeta):
    """Scores that follow from ``prepare`` and ``pairwise_terms``."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimensions of the vectors it takes."""

    @abstractmethod
    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Do once what every score of a vector needs."""

    @abstractmethod
    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores of all pairs of prepared vectors."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against one, or against the mean of several.

        Parameters
        ----------
        enrol : array-like of shape (d,) or (n, d)
            A vector, or the vectors of one speaker, which are averaged. Scale
            them to one length before, if the longer ones shall not weigh more.
        test : array-like of shape (d,)
            The other vector.

        Returns
        -------
        score : float
            Higher means more likely the same speaker.
        """
        mean, _, probe = self._pair(enrol, test)
        return float(self.score_matrix(mean, probe)[0, 0])

    def score_matrix(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Score all rows of `A` against all rows of `B`.

        Parameters
        ----------
        A : array-like of shape (n, d)
            Vectors.
        B : array-like of shape (m, d) or None, default=None
            Others; None scores `A` against itself.

        Returns
        -------
        scores : ndarray of shape (n, m)
            Takes n * m numbers of memory; see ``score_blocks`` for more.
        """
        left = self.pairwise_terms(self.prepare(A))
        if B is None:
            return left.matrix()
        return left.matrix(self.pairwise_terms(self.prepare(B)))

    def score_blocks(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None, *, block: int = 1024
    ) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield the matrix of ``score_matrix`` in tiles.

        Parameters
        ----------
        A, B : array-like
            As for ``score_matrix``.
        block : int, default=1024
            Rows and columns of a tile at most, so that no more than ``block**2``
            scores are held at a time.

        Yields
        ------
        rows, columns : slice
            Where the tile belongs.
        scores : ndarray
            The tile.
        """
        check_count(self._name, "block", block)
        left = self.pairwise_terms(self.prepare(A))
        right = left if B is None else self.pairwise_terms(self.prepare(B))
        return _tiles(left, right, block)

    def _pair(
        self, enrol: npt.ArrayLike, test: npt.ArrayLike
    ) -> tuple[FloatArray, int, FloatArray]:
        """Mean of the enrolment as a row, how many made it, and the test row."""
        rows = as_rows(self._name, "enrol", np.atleast_2d(np.asarray(enrol)), self.dim)
        probe = np.asarray(test, dtype=np.float64)
        if probe.shape != (self.dim,) or not len(rows):
            raise InvalidParameterError(
                f"{self._name}: score takes enrol of shape (n, {self.dim}) and test "
                f"of shape ({self.dim},), got {rows.shape} and {probe.shape}"
            )
        return rows.mean(axis=0, keepdims=True), len(rows), probe[None]


def _tiles(
    left: PairwiseTerms, right: PairwiseTerms, block: int
) -> Iterator[tuple[slice, slice, FloatArray]]:
    for top in range(0, len(left), block):
        rows = slice(top, min(top + block, len(left)))
        for start in range(0, len(right), block):
            columns = slice(start, min(start + block, len(right)))
            yield rows, columns, left.select(rows).matrix(right.select(columns))


class CosineScorer(BilinearScorer):
    """Score pairs by the cosine of their angle, from -1 to 1.

    Parameters
    ----------
    dim : int
        Dimensions of the vectors.

    Notes
    -----
    A zero vector has no direction; its score with any vector is 0.

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
        """Dimensions of the vectors it takes."""
        return self._dim

    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Scale each row of `X` to unit length."""
        return scale_rows(as_rows(self._name, "X", X, self._dim))

    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores: the inner product is all there is."""
        return PairwiseTerms(phi, np.zeros(len(phi)), 0.0)
