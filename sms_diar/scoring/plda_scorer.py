"""Log-likelihood ratios of pairs under a PLDA model."""

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
        The model.
    normalize_length : bool, default=False
        Scale vectors in the diagonal space as Kaldi's tools do by default; see
        :func:`~sms_diar.scoring.project`. Without, scores are exact.
    simple_length_norm : bool, default=False
        With `normalize_length`, scale to the length sqrt(d) instead.
    projection : array-like of shape (k, d) or None, default=None
        Score ``projection @ x`` with the model projected alike.

    Attributes
    ----------
    model : PldaModel
        The model that scores; of k dimensions if there is a projection.

    Notes
    -----
    For vectors u and v in the diagonal space, with sums over dimensions, ::

        score(u, v) = sum( psi / (1 + 2 psi) * u * v )
                      - sum( psi**2 / (2 (1 + psi) (1 + 2 psi)) * u**2 )
                      - sum( psi**2 / (2 (1 + psi) (1 + 2 psi)) * v**2 )
                      + sum( log(1 + psi) - log(1 + 2 psi) / 2 )

    so with ``U = sqrt(psi / (1 + 2 psi)) * u`` it is one inner product, a bias of
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
        """Dimensions of the vectors it takes."""
        return self._dim

    def prepare(self, X: npt.ArrayLike, *, n_examples: npt.ArrayLike = 1) -> FloatArray:
        """Map the rows of `X` to the diagonal space of the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Vectors.
        n_examples : int or array-like of shape (n,), default=1
            How many vectors each row is the mean of; only length normalisation
            looks at it.

        Returns
        -------
        phi : ndarray of shape (n, k)
            Input of ``pairwise_terms``.
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
        """Factor the scores of all pairs of prepared vectors.

        Parameters
        ----------
        phi : ndarray of shape (n, k)
            From ``prepare``.

        Returns
        -------
        terms : PairwiseTerms
            ``score(i, j) = U[i] @ U[j] + bias[i] + bias[j] + constant`` with the
            formula of the class's notes.
        """
        weights = pair_coefficients(self.model.psi)
        return PairwiseTerms(
            U=phi * np.sqrt(weights.cross),
            bias=phi**2 @ weights.test,
            constant=weights.constant,
        )

    def score(self, enrol: npt.ArrayLike, test: npt.ArrayLike) -> float:
        """Score one vector against one, or against several of one speaker.

        Parameters
        ----------
        enrol : array-like of shape (d,) or (n, d)
            A vector, or n vectors of one speaker: their mean is scored as such.
        test : array-like of shape (d,)
            The other vector.

        Returns
        -------
        score : float
            Log-likelihood ratio; above 0 speaks for the same speaker.
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
        """Score all rows of `A` against all rows of `B`.

        Parameters
        ----------
        A : array-like of shape (n, d)
            Vectors, or means of several vectors of one speaker each.
        B : array-like of shape (m, d) or None, default=None
            Single vectors; None scores `A` against itself.
        n_enroll : int or array-like of shape (n,), default=1
            How many vectors each row of `A` is the mean of.

        Returns
        -------
        scores : ndarray of shape (n, m)
            Log-likelihood ratios; symmetric if `B` is None and `n_enroll` is 1.
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
            chosen = counts == n
            some = enrol[chosen]
            scores[chosen] = (
                (some * weights.cross) @ test.T
                + (some**2 @ weights.enrol)[:, None]
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
    """Scorer for the vectors of one recording.

    Parameters
    ----------
    model : PldaModel
        Model of vectors like those of the recording.
    X : array-like of shape (n, d)
        All vectors of the recording; one is enough.
    target_energy, extra, shrinkage
        Which directions are kept; see `RecordingPca`. The defaults are Kaldi's,
        whose diarization recipes set the target between 0.1 and 0.9.
    normalize_length, simple_length_norm : bool
        Length normalisation after the projection; see `PldaScorer`.

    Returns
    -------
    scorer : PldaScorer
        Takes vectors of d dimensions; ``scorer.score_matrix(X)`` are the scores
        Kaldi writes.
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
