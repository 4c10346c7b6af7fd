"""Cosine of the angle between vectors, behind the interface of all scorers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring._arrays import as_rows
from sms_diar.scoring.scorer import BilinearScorer, PairwiseTerms
from sms_diar.types import FloatArray


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
