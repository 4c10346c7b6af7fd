"""Scores of pairs under a PLDA model: log-likelihood ratios."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar.preprocessing import RecordingPca
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring._arrays import as_counts, as_rows
from sms_diar.scoring.plda import pair_coefficients, project, transform_plda
from sms_diar.scoring.scorer import BilinearScorer, PairwiseTerms
from sms_diar.types import FloatArray, PldaModel


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
