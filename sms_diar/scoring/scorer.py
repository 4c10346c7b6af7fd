"""Scorers of pairs: cosine, and log-likelihood ratios of PLDA.

Clustering repeatedly needs the best partners of one vector. Both PLDA and cosine scores
of a pair are an inner product plus one term for each vector, so after one pass over the
vectors a query is a matrix-vector product.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import RecordingPca, scale_rows
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring._arrays import as_counts, as_rows
from sms_diar.scoring.plda import pair_coefficients, project, transform_plda
from sms_diar.types import FloatArray, IntArray, PldaModel

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

    def select(self, rows: IntArray) -> PairwiseTerms:
        """Return the terms of some of the vectors."""
        return PairwiseTerms(self.U[rows], self.bias[rows], self.constant)


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

        None for `B` scores `A` against itself. The result has shape (n, m).
        """
        first = self.pairwise_terms(self.prepare(A))
        if B is None:
            return first.matrix()
        return first.matrix(self.pairwise_terms(self.prepare(B)))

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


class PldaScorer(BilinearScorer):
    """Score pairs by ``log p(a, b | same) - log p(a, b | different)``.

    Parameters
    ----------
    model : PldaModel
        PLDA model.
    normalize_length : bool, default=False
        If True, normalise lengths in the diagonal space as Kaldi does by default; see
        :func:`~sms_diar.scoring.project`. If False, scores are exact.
    simple_length_norm : bool, default=False
        If True and `normalize_length` is set, scale to length sqrt(d) instead.
    projection : array-like of shape (k, d) or None, default=None
        Matrix that is applied to both the vectors and the model before scoring.

    Attributes
    ----------
    model : PldaModel
        Model used for scoring, with k dimensions if there is a projection.

    Notes
    -----
    For vectors u and v in the diagonal space, with sums over dimensions, ::

        score(u, v) = sum( psi / (1 + 2 psi) * u * v )
                      - sum( psi**2 / (2 (1 + psi) (1 + 2 psi)) * u**2 )
                      - sum( psi**2 / (2 (1 + psi) (1 + 2 psi)) * v**2 )
                      + sum( log(1 + psi) - log(1 + 2 psi) / 2 )

    With ``U = sqrt(psi / (1 + 2 psi)) * u`` this is an inner product, plus a bias of
    each vector and a constant.

    Examples
    --------
    With psi = 4 the weights are 4/9, -8/45, -8/45 and log(5/3):

    >>> from sms_diar.scoring import PldaScorer, plda_from_covariances
    >>> scorer = PldaScorer(plda_from_covariances([0.0], [[1.0]], [[4.0]]))
    >>> round(scorer.score([1.5], [1.0]), 6)
    0.599715
    """

    def __init__(
        self,
        model: PldaModel,
        *,
        normalize_length: bool = False,
        simple_length_norm: bool = False,
        projection: npt.ArrayLike | None = None,
    ) -> None:
        self.model = model
        self.normalize_length = normalize_length
        self.simple_length_norm = simple_length_norm
        self._dim = model.dim
        self._projection: FloatArray | None = None
        if projection is not None:
            self._projection = as_rows(self._name, "projection", projection, model.dim)
            self.model = transform_plda(model, self._projection)

    @property
    def dim(self) -> int:
        """Dimension of the input vectors."""
        return self._dim

    def prepare(self, X: npt.ArrayLike, *, n_examples: npt.ArrayLike = 1) -> FloatArray:
        """Map the rows of `X`, shape (n, d), to the diagonal space of the model.

        `n_examples` is the number of vectors averaged in each row; it is only used for
        length normalisation. The result has shape (n, k).
        """
        rows = as_rows(self._name, "X", X, self._dim)
        if self._projection is not None:
            rows = rows @ self._projection.T
        return project(
            self.model,
            rows,
            normalize_length=self.normalize_length,
            simple_length_norm=self.simple_length_norm,
            n_examples=n_examples,
        )

    def pairwise_terms(self, phi: FloatArray) -> PairwiseTerms:
        """Factor the scores of prepared vectors; see the notes of the class."""
        weights = pair_coefficients(self.model.psi)
        return PairwiseTerms(
            U=phi * np.sqrt(weights.cross),
            bias=phi**2 @ weights.test,
            constant=weights.constant,
        )

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against one vector, or n vectors, of one speaker.

        The result is the log-likelihood ratio; the mean of n vectors is scored
        accordingly.
        """
        mean, n, probe = self._pair(enrol, test)
        return float(self.score_matrix(mean, probe, n_enroll=n)[0, 0])

    def score_matrix(
        self,
        A: npt.ArrayLike,
        B: npt.ArrayLike | None = None,
        *,
        n_enroll: npt.ArrayLike = 1,
    ) -> FloatArray:
        """Score all rows of `A`, shape (n, d), against all rows of `B`, shape (m, d).

        Parameters
        ----------
        A : array-like of shape (n, d)
            Vectors, or means of several vectors of one speaker each.
        B : array-like of shape (m, d) or None, default=None
            Single vectors; None scores `A` against itself.
        n_enroll : int or array-like of shape (n,), default=1
            Number of vectors averaged in each row of `A`.
        """
        rows = as_rows(self._name, "A", A, self._dim)
        counts = as_counts(self._name, "n_enroll", n_enroll, len(rows))
        if (counts == 1).all():
            return super().score_matrix(rows, B)
        enrol = self.prepare(rows, n_examples=counts)
        test = self.prepare(rows if B is None else B)
        scores = np.empty((len(enrol), len(test)))
        for n in np.unique(counts):
            weights = pair_coefficients(self.model.psi, int(n))
            has_count = counts == n
            means = enrol[has_count]
            scores[has_count] = (
                (means * weights.cross) @ test.T
                + (means**2 @ weights.enrol)[:, None]
                + test**2 @ weights.test
                + weights.constant
            )
        return scores


def recording_scorer(
    model: PldaModel,
    X: npt.ArrayLike,
    *,
    target_energy: float = 0.5,
    extra: int = 1,
    shrinkage: Shrinkage = 0.0,
    normalize_length: bool = True,
    simple_length_norm: bool = False,
) -> PldaScorer:
    """Build a scorer for one recording, restricted to its principal directions.

    As in Kaldi's ``ivector-plda-scoring-dense``, the vectors and the model are
    projected on principal directions of the recording, followed by length
    normalisation.

    Parameters
    ----------
    model : PldaModel
        PLDA model of such vectors.
    X : array-like of shape (n, d)
        All vectors of the recording; at least one.
    target_energy, extra, shrinkage
        Selection of the directions; see `RecordingPca`. The defaults are Kaldi's;
        its diarization recipes use targets between 0.1 and 0.9.
    normalize_length, simple_length_norm : bool
        Length normalisation after the projection; see `PldaScorer`.

    Returns
    -------
    scorer : PldaScorer
        Scorer for vectors with d dimensions. ``scorer.score_matrix(X)`` returns the
        scores that Kaldi writes.
    """
    rows = as_rows("recording_scorer", "X", X, model.dim)
    pca = RecordingPca(target_energy=target_energy, extra=extra, shrinkage=shrinkage)
    components = pca.fit(rows).components_
    return PldaScorer(
        model,
        normalize_length=normalize_length,
        simple_length_norm=simple_length_norm,
        projection=None if len(components) == model.dim else components,
    )
