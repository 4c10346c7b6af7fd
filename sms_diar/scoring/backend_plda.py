"""The PLDA model inside a back end: taken out, put in, and used for trials.

A back end keeps only what the score of two single vectors needs. Adaptation
needs the model itself, and so does enrolment from several vectors, whose score
weighs their mean by their number. The model can be recovered: with
``gain**2 = psi / (1 + 2 psi)`` follows ``psi = gain**2 / (1 - 2 gain**2)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring._arrays import as_counts, as_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.plda import pair_coefficients, project
from sms_diar.types import FloatArray, IntArray, PldaModel


def plda_of(backend: BackEnd) -> PldaModel:
    """Recover the PLDA model of a back end, up to rounding.

    Parameters
    ----------
    backend : BackEnd
        Of kind "plda".

    Returns
    -------
    model : PldaModel
        Of the vectors that ``phi_of`` gives. The relative error of psi grows with
        psi itself; it is about 1e-12 where psi is 1000.

    Raises
    ------
    InvalidParameterError
        The back end scores by cosine, or its numbers are not those of a model.
    """
    if backend.kind != "plda":
        raise InvalidParameterError(
            f"plda_of: backend must score by PLDA, got one of kind {backend.kind!r}"
        )
    r, q = backend.projection.shape
    cross = backend.gain**2
    if r != q or (cross >= 0.5).any():
        raise _no_model()
    psi = cross / (1.0 - 2.0 * cross)
    if not np.allclose(backend.square, pair_coefficients(psi).test, rtol=1e-6):
        raise _no_model()
    try:
        mean = np.linalg.solve(backend.projection, -backend.shift).astype(np.float64)
    except np.linalg.LinAlgError:
        raise _no_model() from None
    return PldaModel(mean, backend.projection, psi)


def with_plda(backend: BackEnd, model: PldaModel) -> BackEnd:
    """Copy of a back end that scores by another PLDA model.

    Parameters
    ----------
    backend : BackEnd
        Its chain, extractor, notes and use of length normalisation are kept; one
        that scored by cosine gets no length normalisation.
    model : PldaModel
        Of the vectors that ``phi_of`` gives.
    """
    q = len(backend.matrix)
    if model.dim != q:
        raise InvalidParameterError(
            f"with_plda: model must have the {q} dimensions that the chain of the "
            f"back end gives, got {model.dim}"
        )
    weights = pair_coefficients(model.psi)
    normalises = bool(backend.norm_weights.any())
    return replace(
        backend,
        projection=model.transform,
        shift=-model.transform @ model.mean,
        norm_weights=1.0 / (model.psi + 1.0) if normalises else np.zeros(q),
        gain=np.sqrt(weights.cross),
        square=weights.test,
        constant=weights.constant,
        kind="plda",
    )


def phi_of(backend: BackEnd, X: npt.ArrayLike) -> FloatArray:
    """Map raw vectors by the chain of a back end, up to its scorer.

    Parameters
    ----------
    backend : BackEnd
        Any.
    X : array-like of shape (n, d)
        Raw embeddings.

    Returns
    -------
    phi : ndarray of shape (n, q)
        What the PLDA model of the back end is about.
    """
    q = len(backend.matrix)
    chain = replace(
        backend,
        projection=np.eye(q),
        shift=np.zeros(q),
        norm_weights=np.zeros(q),
        gain=np.ones(q),
        square=np.zeros(q),
        constant=0.0,
    )
    return chain.features(chain.prepare(X)).U


@dataclass(frozen=True, eq=False)
class TrialTerms:
    """Scores of enrolled speakers against test vectors in factored form.

    ``score(i, j) = enrol[i] @ test[j] + bias[i]``

    Parameters
    ----------
    enrol : ndarray of shape (n, 2 q)
        Weights, for each enrolled speaker, of a test vector and of its squares.
    bias : ndarray of shape (n,)
        What all scores of an enrolled speaker share.
    test : ndarray of shape (m, 2 q)
        Test vectors in the space of the model, and their squares.
    """

    enrol: FloatArray
    bias: FloatArray
    test: FloatArray

    def pairs(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Scores of chosen pairs, one for each entry of the two index arrays."""
        inner = np.einsum("ij,ij->i", self.enrol[rows], self.test[columns])
        scores: FloatArray = inner + self.bias[rows]
        return scores

    def block(self, rows: slice, columns: slice = slice(None)) -> FloatArray:
        """Scores of some enrolled speakers against some test vectors."""
        scores: FloatArray = self.enrol[rows] @ self.test[columns].T
        scores += self.bias[rows, None]
        return scores


def trial_terms(
    model: PldaModel,
    enrol: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    n_enroll: npt.ArrayLike = 1,
    normalize_length: bool = False,
) -> TrialTerms:
    """Do once what the scores of many trials share.

    Parameters
    ----------
    model : PldaModel
        The model.
    enrol : array-like of shape (n, d)
        One row for each enrolled speaker: the mean of its vectors.
    test : array-like of shape (m, d)
        Single vectors.
    n_enroll : int or array-like of shape (n,), default=1
        How many vectors each row of `enrol` is the mean of.
    normalize_length : bool, default=False
        Scale in the space of the model as Kaldi's tools do.

    Returns
    -------
    terms : TrialTerms
        Of the scores that ``PldaScorer(model).score_matrix(enrol, test,
        n_enroll=n_enroll)`` gives.
    """
    owner = "trial_terms"
    rows = as_rows(owner, "enrol", enrol, model.dim)
    counts = as_counts(owner, "n_enroll", n_enroll, len(rows))
    u = project(model, rows, normalize_length=normalize_length, n_examples=counts)
    v = project(
        model,
        as_rows(owner, "test", test, model.dim),
        normalize_length=normalize_length,
    )
    of_v, of_squares, bias = np.empty_like(u), np.empty_like(u), np.empty(len(u))
    for n in np.unique(counts):
        weights = pair_coefficients(model.psi, int(n))
        chosen = counts == n
        of_v[chosen] = u[chosen] * weights.cross
        of_squares[chosen] = weights.test
        bias[chosen] = u[chosen] ** 2 @ weights.enrol + weights.constant
    return TrialTerms(np.hstack((of_v, of_squares)), bias, np.hstack((v, v**2)))


def _no_model() -> InvalidParameterError:
    return InvalidParameterError(
        "plda_of: backend must hold the numbers of a PLDA model, got others; it was "
        "not made by build_backend"
    )


@dataclass(frozen=True, eq=False)
class ModelSpace:
    """A back end of kind "plda", and the space where its model is diagonal.

    Parameters
    ----------
    backend : BackEnd
        Scores by PLDA.
    psi : ndarray of shape (r,)
        Variances between speakers; those within are 1.
    """

    backend: BackEnd
    psi: FloatArray

    def vectors(self, X: FloatArray) -> FloatArray:
        """Map raw embeddings to that space; lengths are scaled as scores want it."""
        backend = self.backend
        u: FloatArray = phi_of(backend, X) @ backend.projection.T + backend.shift
        if backend.norm_weights.any():
            energy = u**2 @ backend.norm_weights
            energy[energy == 0.0] = 1.0
            u *= np.sqrt(backend.score_dim / energy)[:, None]
        return u


def model_space(backend: BackEnd) -> ModelSpace:
    """Space of the PLDA model of a back end of kind "plda"."""
    return ModelSpace(backend, plda_of(backend).psi)
