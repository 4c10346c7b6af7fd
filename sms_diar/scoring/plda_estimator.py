"""PLDA as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self

import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sms_diar.preprocessing._base import RowTransformer
from sms_diar.preprocessing.speakers import check_speakers, speaker_stats
from sms_diar.scoring.plda import project
from sms_diar.scoring.plda_scorer import PldaScorer
from sms_diar.scoring.plda_training import Estimation, fit_plda
from sms_diar.types import FloatArray


class Plda(ClassNamePrefixFeaturesOutMixin, RowTransformer):  # type: ignore[misc]
    """Train PLDA on labelled vectors, then score vectors or transform them.

    Parameters
    ----------
    n_iter : int, default=10
        Maximum number of EM iterations.
    tol : float, default=0.0
        Stop when the gain in log-likelihood per vector falls below this value.
    estimation : {"ml", "kaldi"}, default="ml"
        Variant of the algorithm; see :func:`~sms_diar.scoring.fit_plda`.
    normalize_length : bool, default=False
        If True, normalise lengths in the diagonal space as Kaldi does by default.
    simple_length_norm : bool, default=False
        If True and `normalize_length` is set, scale to length sqrt(d) instead.

    Attributes
    ----------
    model_ : PldaModel
        Trained model.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        Log-likelihoods at the start and after each iteration.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of columns of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.scoring import Plda
    >>> X = np.array([[0.0], [0.1], [5.0], [5.2], [9.0], [8.9]])
    >>> plda = Plda().fit(X, ["ann", "ann", "bob", "bob", "cy", "cy"])
    >>> plda.score_matrix([[0.0]], [[0.2], [5.0]]) > 0.0
    array([[ True, False]])
    """

    def __init__(
        self,
        *,
        n_iter: int = 10,
        tol: float = 0.0,
        estimation: Estimation = "ml",
        normalize_length: bool = False,
        simple_length_norm: bool = False,
    ) -> None:
        self.n_iter = n_iter
        self.tol = tol
        self.estimation = estimation
        self.normalize_length = normalize_length
        self.simple_length_norm = simple_length_norm

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Train on the rows of `X` with speakers `y`."""
        rows, labels = self._labelled_rows(X, y)
        check_speakers(self._name, speaker_stats(rows, labels))
        fit = fit_plda(
            rows, labels, n_iter=self.n_iter, tol=self.tol, estimation=self.estimation
        )
        self.model_ = fit.model
        self.log_likelihoods_ = fit.log_likelihoods
        self.n_iter_ = fit.n_iter
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Map the rows of `X` to the diagonal space of the model."""
        check_is_fitted(self)
        return project(
            self.model_,
            self._rows(X, reset=False),
            normalize_length=self.normalize_length,
            simple_length_norm=self.simple_length_norm,
        )

    def scorer(self) -> PldaScorer:
        """Return a scorer with the trained model."""
        check_is_fitted(self)
        return PldaScorer(
            self.model_,
            normalize_length=self.normalize_length,
            simple_length_norm=self.simple_length_norm,
        )

    def score_matrix(
        self, A: npt.ArrayLike, B: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Return the log-likelihood ratios of all rows of `A` and `B`."""
        return self.scorer().score_matrix(A, B)

    @property
    def _n_features_out(self) -> int:
        return self.model_.dim

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
