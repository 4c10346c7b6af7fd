"""Access to the PLDA model inside a back end: extract, replace, score trials.

A back end stores only what is needed to score two single vectors. Adaptation needs the
model itself, and so does enrolment from several vectors, where the score depends on
their number. The model can be recovered: ``gain**2 = psi / (1 + 2 psi)`` implies
``psi = gain**2 / (1 - 2 gain**2)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring._arrays import as_counts, as_rows
from sms_diar.scoring.backend import BackEnd, cosine_fields, plda_fields
from sms_diar.scoring.plda import pair_coefficients, project
from sms_diar.types import FloatArray, IntArray, PldaModel


def plda_of(backend: BackEnd) -> PldaModel:
    """Recover the PLDA model of a back end of kind "plda", up to rounding.

    It is a model of the vectors returned by `phi_of`. The relative error of psi grows
    with psi; it is about 1e-12 for psi = 1000. Raises `InvalidParameterError` if the
    back end scores by cosine, or its values do not belong to a PLDA model.
    """
    if backend.kind != "plda":
        problem = f"must score by PLDA, got one of kind {backend.kind!r}"
        raise InvalidParameterError(problem, owner="plda_of", parameter="backend")
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
    """Return a copy of a back end that scores with another PLDA model.

    The model applies to the vectors returned by `phi_of`. Chain, extractor, notes and
    length normalisation are kept; a cosine back end gets no length normalisation.
    """
    q = len(backend.matrix)
    if model.dim != q:
        problem = (
            f"must have the {q} dimensions of the output of the back end's chain, got "
            f"{model.dim}"
        )
        raise InvalidParameterError(problem, owner="with_plda", parameter="model")
    normalises = bool(backend.norm_weights.any())
    return replace(backend, **plda_fields(model, normalize_length=normalises))


def phi_of(backend: BackEnd, X: npt.ArrayLike) -> FloatArray:
    """Apply the chain of a back end to raw vectors (n, d), without its scorer.

    The result has shape (n, q); the PLDA model of the back end applies to it.
    """
    chain = replace(backend, **cosine_fields(len(backend.matrix)))
    return chain.features(chain.prepare(X)).U


@dataclass(frozen=True, eq=False)
class TrialTerms:
    """Scores of enrolled speakers against test vectors in factored form.

    ``score(i, j) = enrol[i] @ test[j] + bias[i]``. The rows of `enrol`, of shape
    (n, 2 q), are weights of a test vector and of its squares; the rows of `test`, of
    shape (m, 2 q), are test vectors in the space of the model, followed by their
    squares.
    """

    enrol: FloatArray
    bias: FloatArray
    test: FloatArray

    def pairs(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the scores of selected pairs, one per entry of the index arrays."""
        inner = np.einsum("ij,ij->i", self.enrol[rows], self.test[columns])
        scores: FloatArray = inner + self.bias[rows]
        return scores

    def block(self, rows: slice, columns: slice = slice(None)) -> FloatArray:
        """Return the scores of some enrolled speakers against some test vectors."""
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
    """Precompute the terms that are shared by many trials.

    `enrol` of shape (n, d) are means of `n_enroll` vectors of each enrolled speaker;
    `test` of shape (m, d) are single vectors. If `normalize_length`, lengths are
    normalised in the space of the model as Kaldi does. The scores are equal to
    ``PldaScorer(model).score_matrix(enrol, test, n_enroll=n_enroll)``.
    """
    owner = "trial_terms"
    rows = as_rows(owner, "enrol", enrol, model.dim)
    counts = as_counts(owner, "n_enroll", n_enroll, len(rows))
    # shapes: (n, q), (m, q)
    u = project(model, rows, normalize_length=normalize_length, n_examples=counts)
    v = project(
        model,
        as_rows(owner, "test", test, model.dim),
        normalize_length=normalize_length,
    )
    of_v, of_squares, bias = np.empty_like(u), np.empty_like(u), np.empty(len(u))
    for n in np.unique(counts):
        weights = pair_coefficients(model.psi, int(n))
        has_count = counts == n
        of_v[has_count] = u[has_count] * weights.cross
        of_squares[has_count] = weights.test
        bias[has_count] = u[has_count] ** 2 @ weights.enrol + weights.constant
    return TrialTerms(np.hstack((of_v, of_squares)), bias, np.hstack((v, v**2)))


def _no_model() -> InvalidParameterError:
    return InvalidParameterError(
        "must contain the values of a PLDA model, got other values; it was not made "
        "by build_backend",
        owner="plda_of",
        parameter="backend",
    )


@dataclass(frozen=True, eq=False)
class ModelSpace:
    """Back end of kind "plda" with the space in which its model is diagonal.

    `psi` of shape (r,) are the between-speaker variances; the within-speaker variances
    are 1.
    """

    backend: BackEnd
    psi: FloatArray

    def vectors(self, X: FloatArray) -> FloatArray:
        """Map raw embeddings to that space, shape (n, r), with length normalisation."""
        backend = self.backend
        u: FloatArray = phi_of(backend, X) @ backend.projection.T + backend.shift
        if backend.norm_weights.any():
            energy = u**2 @ backend.norm_weights
            energy[energy == 0.0] = 1.0
            u *= np.sqrt(backend.score_dim / energy)[:, None]
        return u


def model_space(backend: BackEnd) -> ModelSpace:
    """Return the diagonal space of a back end of kind "plda"."""
    return ModelSpace(backend, plda_of(backend).psi)
